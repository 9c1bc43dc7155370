"""What of an op's signature can be worked out once, so that adding an operation does only what differs each time.

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
        arg: its definition.
        name: its name.
        type: the type where the signature fixes it.
        type_attr: the attribute that holds the type of a single tensor or of ``N`` of them.
        number_attr: the attribute that holds how many there are.
        is_single: whether it takes one tensor, and no reference.
        is_ref: whether it takes references.
        allowed: types that may be passed, None for any.
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
    """Names of the types that an attribute allows, which are quicker to look up than types; None for any."""
    return None if attr.allowed is None else frozenset([getattr(item, "name", "") for item in attr.allowed])


_PLAIN = {"bool": bool, "int": int, "float": float, "string": bytes}


class Attribute:
    """An attribute.

    Attributes:
        attr: its definition.
        name: its name.
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
        """``given`` in the form in which it is kept, where that is plain and the value allowed; else None."""
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
    """An op's signature, taken apart.

    Attributes:
        op_def: the signature.
        inputs: the input arguments.
        attributes: the attributes, by name.
        types: names of those attributes that hold one type.
        template: all attributes in order, by default where they have one; else ``MISSING``.
        missing: names of those without a default.
        has_lists: whether an input is a list of tensors.
        has_references: whether an input is taken by reference.
        plain_outputs: the outputs where each is a single tensor of a type that is fixed or in an attribute, else None.
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
        """The type of each output tensor; KeyError for a missing attribute."""
        if self.plain_outputs is None:
            return self.op_def.output_types(attrs)
        types = []
        for arg in self.plain_outputs:
            dtype = arg.type if arg.type is not None else attrs[arg.type_attr]  # type: ignore[index]
            types.append(ref_type(dtype) if arg.is_ref else dtype)
        return types


def signature_of(op_def: OpDef) -> Signature:
    """The signature of ``op_def``, taken apart at its first use."""
    found = op_def.__dict__.get(_ATTRIBUTE)
    if found is None:
        found = op_def.__dict__[_ATTRIBUTE] = Signature(op_def)
    return found
