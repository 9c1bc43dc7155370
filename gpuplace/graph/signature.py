"""Precompute everything about an op's signature that does not depend on the operation.

>>> from gpuplace.graph.op_def import op_registry
>>> matmul = signature_of(op_registry("1.15").lookup("MatMul"))
>>> [(entry.name, entry.type_attr) for entry in matmul.inputs], matmul.plain_outputs[0].type_attr
([('a', 'T'), ('b', 'T')], 'T')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.dtypes import DType, ref_type
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_notation import ArgDef, AttrDef

_ATTRIBUTE = "_signature"


class Input:
    """An input argument.

    Attributes:
        arg: definition of the argument.
        name: name of the argument.
        type: type, if the signature fixes it.
        type_attr: attribute with the type of a single tensor or of ``N`` tensors.
        number_attr: attribute with the number of tensors.
        is_single: whether it takes one tensor, not by reference.
        is_ref: whether it takes references.
        allowed: types that may be passed; None for any.
    """

    __slots__ = ("arg", "name", "type", "type_attr", "number_attr", "is_single", "is_ref", "allowed")

    def __init__(self, arg: ArgDef, op_def: OpDef) -> None:
        self.arg = arg
        self.name = arg.name
        self.type = arg.type
        self.type_attr = arg.type_attr
        self.number_attr = arg.number_attr
        self.is_ref = arg.is_ref
        self.is_single = not arg.is_list and not arg.is_ref
        attr = op_def.attr_defs.get(arg.type_attr or "")
        self.allowed = None if attr is None else names_of_types(attr)


def names_of_types(attr: AttrDef) -> frozenset[str] | None:
    """Return the names of the types that an attribute allows; None for any. Names are faster to look up than types."""
    return None if attr.allowed is None else frozenset([getattr(item, "name", "") for item in attr.allowed])


_PLAIN = {"bool": bool, "int": int, "float": float, "string": bytes}


class Attribute:
    """An attribute.

    Attributes:
        attr: definition of the attribute.
        name: name of the attribute.
        is_type: whether it holds a type.
    """

    __slots__ = ("attr", "name", "is_type", "_plain", "_element", "_allowed", "_minimum")

    def __init__(self, attr: AttrDef) -> None:
        self.attr = attr
        self.name = attr.name
        self.is_type = attr.type == "type"
        self._plain = None if attr.is_list else _PLAIN.get(attr.type)
        self._element = _PLAIN.get(attr.element_type) if attr.is_list and attr.allowed is None else None
        self._allowed = attr.allowed
        self._minimum = attr.minimum

    def plain_value(self, given: Any) -> Any:
        """Return the stored form of ``given`` if it is simple and allowed; otherwise None."""
        kind = type(given)
        if kind is str and self._plain is bytes:
            kind, given = bytes, given.encode()
        if kind is self._plain:
            if self._allowed is not None and given not in self._allowed:
                return None
            return given if self._minimum is None or given >= self._minimum else None
        if self._element is None or not (kind is list or kind is tuple):
            return None
        if len(given) < (self._minimum or 0) or any(type(item) is not self._element for item in given):
            return None
        return tuple(given)


class Signature:
    """An op's signature in precomputed form.

    Attributes:
        op_def: the signature.
        inputs: the input arguments.
        attributes: attribute name -> attribute.
        types: names of the attributes that hold one type.
        template: all attributes in order, with their defaults or ``MISSING``.
        missing: names of the attributes without a default.
        has_lists: whether an input is a list of tensors.
        has_references: whether an input is taken by reference.
        plain_outputs: the outputs if each is a single tensor whose type is fixed or in an attribute; otherwise None.
    """

    __slots__ = (
        "op_def", "inputs", "attributes", "types", "template", "missing", "plain_outputs",
        "has_lists", "has_references",
    )  # fmt: skip

    def __init__(self, op_def: OpDef) -> None:
        self.op_def = op_def
        self.inputs = tuple([Input(arg, op_def) for arg in op_def.inputs])
        self.attributes = {attr.name: Attribute(attr) for attr in op_def.attrs}
        self.types = tuple([attr.name for attr in op_def.attrs if attr.type == "type"])
        self.template = {attr.name: attr.default for attr in op_def.attrs}
        self.missing = tuple([attr.name for attr in op_def.attrs if not attr.has_default])
        self.has_lists = any(arg.is_list for arg in op_def.inputs)
        self.has_references = any(arg.is_ref for arg in op_def.inputs)
        outputs = op_def.outputs
        self.plain_outputs = None if any(arg.is_list for arg in outputs) else outputs

    def output_types(self, attrs: Mapping[str, Any]) -> Sequence[DType]:
        """Return the type of each output tensor; KeyError for a missing attribute."""
        if self.plain_outputs is None:
            return self.op_def.output_types(attrs)
        types = []
        for arg in self.plain_outputs:
            dtype = arg.type if arg.type is not None else attrs[arg.type_attr]  # type: ignore[index]
            types.append(ref_type(dtype) if arg.is_ref else dtype)
        return types


def signature_of(op_def: OpDef) -> Signature:
    """Return the precomputed signature of ``op_def``, created at first use."""
    found = op_def.__dict__.get(_ATTRIBUTE)
    if found is None:
        found = op_def.__dict__[_ATTRIBUTE] = Signature(op_def)
    return found
