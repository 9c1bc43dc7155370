"""Add an operation from Python arguments; every function of the op library ends here.

``apply_op("MatMul", a=..., b=..., transpose_a=True)`` converts the inputs in the order of the signature, infers
the type and length attributes from them, checks everything against the signature, and adds the operation.

Source: tensorflow/python/framework/op_def_library.py, release 1.15 (order of inference, messages).
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from gpuplace.display import safe_text
from gpuplace.dtypes import DType, as_array, as_dtype, own_array
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.graph.convert import convert_n_to_tensor, convert_to_tensor, get_default_graph, graph_of
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_def import OpDef, op_registry
from gpuplace.graph.op_notation import NO_DEFAULT, ArgDef, AttrDef
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.scopes import ColocationBlock, enter_name
from gpuplace.graph.signature import signature_of
from gpuplace.graph.stacks import is_default_graph
from gpuplace.shapes import Dimension, as_shape


def apply_op(op_type: str, name: str | None = None, **arguments: Any) -> Operation:
    """Add an operation of type ``op_type`` to the graph of its inputs, or to the default graph.

    Args:
        op_type: op type.
        name: name of the operation; default: the op type.
        **arguments: inputs and attributes, by their names in the signature. An attribute that is None or omitted is
            inferred from an input or has its default.

    Raises:
        TypeError: an argument is missing, unknown, or of a type that the op does not accept.
        ValueError: types, lengths or shapes do not match.
        gpuplace.errors.NotFoundError: no op of this type is registered.
    """
    op_def = op_registry().lookup(op_type)
    graph = graph_of(arguments.values())
    if is_default_graph(graph):
        return _add(graph, op_def, name or op_type, arguments)
    with graph.as_default():
        return _add(graph, op_def, name or op_type, arguments)


def _add(graph: Graph, op_def: OpDef, name: str, arguments: dict[str, Any]) -> Operation:
    """Add an operation to the default graph."""
    of_thread = graph.scopes.of_thread
    outer = of_thread.name_stack
    scope = enter_name(graph, name)
    try:
        call = _Call(op_def, arguments)
        call.take_inputs()
        attrs = call.attributes()
        if not scope:
            scope = graph.unique_name(op_def.name)
        if scope[0] not in _FIRST:
            raise ValueError(f"'{safe_text(scope)}' is not a valid node name")
        if not call.references:
            return graph._add_op(scope, op_def.name, op_def, tuple(call.inputs), attrs)
        with ColocationBlock(graph, [tensor.op for tensor in call.references]):
            return graph._add_op(scope, op_def.name, op_def, tuple(call.inputs), attrs)
    finally:
        of_thread.name_stack = outer


_FIRST = frozenset(string.ascii_letters + string.digits + ".")
"""First character of an operation name; scopes are checked separately."""


class _Call:
    """Converter for the arguments of one call."""

    __slots__ = ("op_def", "signature", "left", "inputs", "references", "attrs", "origin")

    def __init__(self, op_def: OpDef, arguments: dict[str, Any]) -> None:
        self.op_def = op_def
        self.signature = signature_of(op_def)
        self.left = arguments
        self.inputs: list[Tensor] = []
        self.references: list[Tensor] = []
        """Inputs passed by reference; the operation is colocated with their producers."""
        self.attrs: dict[str, Any] = {}
        self.origin: dict[str, str] = {}
        """Attribute name -> the input that it was inferred from."""
        for name in self.signature.types:
            given = arguments.get(name)
            if given is not None:
                self.attrs[name] = _type_attr(name, given)

    def take_inputs(self) -> None:
        """Convert the input values in order, and infer attributes from them."""
        left, attrs, origin = self.left, self.attrs, self.origin
        for entry in self.signature.inputs:
            try:
                value = left.pop(entry.name)
            except KeyError:
                if f"{entry.name}_" not in left:  # a parameter whose name is a Python keyword
                    raise TypeError(f"No argument for input {entry.name} of {self.op_def}") from None
                value = left.pop(f"{entry.name}_")
            if not entry.is_single:
                self._take_other(entry.arg, value)
                continue
            attr = entry.type_attr
            wanted = attrs.get(attr) if attr is not None else entry.type
            if type(value) is not Tensor:
                value = self._single_input(entry.arg, value)
            dtype = value.dtype.base_dtype
            if dtype is not wanted and wanted is not None:
                value = self._single_input(entry.arg, value)  # raises the error
            if attr is not None and attr not in origin:
                origin[attr] = entry.name
                attrs.setdefault(attr, dtype)
                if entry.allowed is not None and dtype.name not in entry.allowed:
                    _check_allowed(self.op_def.attr_defs[attr], [value.dtype], entry.name)
            self.inputs.append(value)

    def _take_other(self, arg: ArgDef, value: object) -> None:
        """Add an input that is a list or a reference."""
        tensors = self._list_input(arg, value) if arg.is_list else [self._single_input(arg, value)]
        if arg.is_ref:
            for tensor in tensors:
                if not tensor.dtype.is_ref_dtype:
                    raise TypeError(
                        f"'{self.op_def.name}' Op requires that input '{arg.name}' be a mutable tensor"
                        f" (e.g.: a tf.Variable)"
                    )
            self.references.extend(tensors)
        self._infer(arg, tensors)
        self.inputs.extend(tensors)

    def _default_type(self, arg: ArgDef) -> DType | None:
        attr = self.op_def.attr_defs.get(arg.type_attr or "")
        return (
            attr.default
            if attr is not None and attr.has_default and isinstance(attr.default, DType)
            else None
        )

    def _single_input(self, arg: ArgDef, value: Any) -> Tensor:
        wanted = arg.type if arg.type is not None else self.attrs.get(arg.type_attr or "")
        try:
            return convert_to_tensor(value, wanted, arg.name, self._default_type(arg), as_ref=arg.is_ref)
        except TypeError as error:
            if wanted is None:
                raise
            raise TypeError(
                f"Expected {wanted.name} passed to parameter '{arg.name}' of op '{self.op_def.name}', got {value!r} of"
                f" type '{type(value).__name__}' instead. Error: {error}"
            ) from None
        except ValueError as error:
            found = _dtype_of(value)
            if found is None:
                raise ValueError(
                    f"Tried to convert '{arg.name}' to a tensor and failed. Error: {error}"
                ) from None
            if wanted is None or wanted.is_compatible_with(found):
                raise
            raise TypeError(self._wrong_type(arg, found, wanted)) from None

    def _wrong_type(self, arg: ArgDef, found: DType, wanted: DType) -> str:
        start = f"Input '{arg.name}' of '{self.op_def.name}' Op has type {found.name} that does not match"
        if arg.type is not None:
            return f"{start} expected type of {wanted.name}."
        origin = self.origin.get(arg.type_attr or "")
        if origin is None:
            return f"{start} attr '{arg.type_attr}' of type {wanted.name}."
        return f"{start} type {wanted.name} of argument '{origin}'."

    def _list_input(self, arg: ArgDef, value: object) -> list[Tensor]:
        if not isinstance(value, (list, tuple)):
            raise TypeError(
                f"Expected list for '{arg.name}' argument to '{self.op_def.name}' Op, not {value}."
            )
        wanted = arg.type if arg.type is not None else self.attrs.get(arg.type_attr or "")
        if wanted is None and arg.number_attr is not None:
            for item in value:
                declared = (
                    _dtype_of(item)
                    if isinstance(item, Tensor) or hasattr(item, "_as_graph_element")
                    else None
                )
                if declared is not None:
                    wanted = declared.base_dtype
                    break
        try:
            tensors = convert_n_to_tensor(value, wanted, arg.name, self._default_type(arg), as_ref=arg.is_ref)
            if (
                wanted is None
                and arg.number_attr is not None
                and len({t.dtype.base_dtype for t in tensors}) > 1
            ):
                raise TypeError
        except (TypeError, ValueError):
            types = [d.name if (d := _dtype_of(item)) else "<NOT CONVERTIBLE TO TENSOR>" for item in value]
            start = f"Tensors in list passed to '{arg.name}' of '{self.op_def.name}' Op have types [{', '.join(types)}]"
            if wanted is not None and arg.type is not None:
                raise TypeError(f"{start} that do not match expected type {wanted.name}.") from None
            if wanted is not None and arg.type_attr in self.origin:
                raise TypeError(
                    f"{start} that do not match type {wanted.name} inferred from earlier arguments."
                ) from None
            raise TypeError(f"{start} that don't all match.") from None
        return tensors

    def _infer(self, arg: ArgDef, tensors: list[Tensor]) -> None:
        types = [tensor.dtype.base_dtype for tensor in tensors]
        if arg.number_attr is not None:
            length = self.attrs.get(arg.number_attr)
            if length is not None and length != len(tensors):
                raise ValueError(
                    f"List argument '{arg.name}' to '{self.op_def.name}' Op with length {len(tensors)} must"
                    f" match length {length} of"
                    f" argument '{self.origin[arg.number_attr]}'."
                )
            minimum = self.op_def.attr_defs[arg.number_attr].minimum
            if minimum is not None and len(tensors) < minimum:
                raise ValueError(
                    f"List argument '{arg.name}' to '{self.op_def.name}' Op with length {len(tensors)}"
                    f" shorter than minimum length {minimum}."
                )
            self._note(arg.number_attr, len(tensors), arg.name)
        if arg.type_list_attr is not None:
            known_types = self.attrs.get(arg.type_list_attr)
            if known_types is not None and known_types != tuple(types):
                names, known_names = (
                    ", ".join(dtype.name for dtype in some) for some in (types, known_types)
                )
                raise TypeError(
                    f"Input '{arg.name}' of '{self.op_def.name}' Op has type list of {names} that does not match"
                    f" type list {known_names} of argument '{self.origin[arg.type_list_attr]}'."
                )
            self._note(arg.type_list_attr, tuple(types), arg.name)
            _check_allowed(self.op_def.attr_defs[arg.type_list_attr], types, arg.name)
        elif arg.type_attr is not None:
            if types:
                self._note(arg.type_attr, types[0], arg.name)
            elif arg.type_attr not in self.attrs and self._default_type(arg) is None:
                raise TypeError(
                    f"Don't know how to infer type variable from empty input list passed to input"
                    f" '{arg.name}' of '{self.op_def.name}' Op."
                )
            _check_allowed(self.op_def.attr_defs[arg.type_attr], types, arg.name)

    def _note(self, attr: str, value: object, arg: str) -> None:
        self.attrs.setdefault(attr, value)
        self.origin.setdefault(attr, arg)

    def attributes(self) -> dict[str, Any]:
        """Return all attributes of the signature: inferred, passed, or default values.

        Raises:
            TypeError: an attribute is missing, unknown, or of another type.
            ValueError: an attribute has a value that is not allowed.
        """
        signature, inferred, left = self.signature, self.attrs, self.left
        attrs = {**signature.template, **inferred}
        if left:
            for name in [name for name in left if name[-1] == "_" and name[:-1] in signature.attributes]:
                left[name[:-1]] = left.pop(name)
            for name in [name for name in left if name in signature.attributes]:
                attr = signature.attributes[name]
                argument = left.pop(name)
                if name in inferred:
                    if name not in self.origin and attr.is_type:
                        _check_allowed(attr.attr, [inferred[name]], name)
                elif argument is not None:
                    plain = attr.plain_value(argument)
                    attrs[name] = (
                        plain if plain is not None else normalize_attr(attr.attr, argument, self.op_def.name)
                    )
        for name in signature.missing:
            if attrs[name] is NO_DEFAULT:
                raise TypeError(f"No argument for attr {name}")
        if left:
            raise TypeError(
                f"apply_op() got unexpected keyword arguments: {', '.join(sorted(left))}; {self.op_def}"
            )
        return attrs


def _dtype_of(value: Any) -> DType | None:
    if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
        return as_dtype(value.dtype)
    try:
        return as_dtype(as_array(value).dtype)
    except (TypeError, ValueError):
        return None


def _check_allowed(attr: AttrDef, types: list[DType], label: str) -> None:
    if attr.allowed is None:
        return
    for dtype in types:
        if dtype.base_dtype not in attr.allowed:
            allowed = ", ".join(d.name for d in attr.allowed)
            raise TypeError(
                f"Value passed to parameter '{label}' has DataType {dtype.name} not in list of allowed"
                f" values: {allowed}"
            )


def normalize_attr(attr: AttrDef, value: Any, op_name: str) -> Any:
    """Return the Python form of an attribute value, checked against the attribute's definition.

    Raises:
        TypeError: the value has the wrong type.
        ValueError: the value is not allowed or too small, or a list is too short.
    """
    if attr.is_list:
        if not isinstance(value, (list, tuple, np.ndarray)):
            raise TypeError(f"Expected list for attr {attr.name}")
        result: Any = tuple(_scalar_attr(attr, item) for item in value)
        if attr.minimum is not None and len(result) < attr.minimum:
            raise ValueError(
                f"Attr '{attr.name}' of '{op_name}' Op passed list of length {len(result)} less than"
                f" minimum {attr.minimum}."
            )
        items = result
    else:
        result = _scalar_attr(attr, value)
        if attr.minimum is not None and attr.type == "int" and result < attr.minimum:
            raise ValueError(
                f"Attr '{attr.name}' of '{op_name}' Op passed {result} less than minimum {attr.minimum}."
            )
        items = (result,)
    if attr.allowed is not None:
        for item in items:
            if attr.element_type == "type":
                _check_allowed(attr, [item], attr.name)
            elif item not in attr.allowed:
                allowed = '", "'.join(v.decode() for v in attr.allowed)
                raise ValueError(
                    f"Attr '{attr.name}' of '{op_name}' Op passed string '{item.decode(errors='replace')}'"
                    f' not in: "{allowed}".'
                )
    return result


def _type_attr(name: str, value: Any) -> DType:
    try:
        return as_dtype(value).base_dtype
    except TypeError:
        raise TypeError(f"Expected DataType for argument '{name}' not {value!r}.") from None


def _scalar_attr(attr: AttrDef, value: Any) -> Any:
    kind = attr.element_type
    if kind == "type":
        return _type_attr(attr.name, value)
    if kind == "shape":
        return as_shape(value)
    if kind == "string" and isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else value
    if kind == "bool" and isinstance(value, (bool, np.bool_)):
        return bool(value)
    if kind == "int" and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if kind == "int" and isinstance(value, Dimension) and value.value is not None:
        return value.value
    if (
        kind == "float"
        and isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
    ):
        return float(value)
    if kind == "tensor":
        return value if isinstance(value, TensorValue) else TensorValue.of_array(own_array(value))
    if kind == "func" and isinstance(value, (str, FunctionRef)):
        return FunctionRef(value) if isinstance(value, str) else value
    if kind == "func" and hasattr(value, "add_to_graph"):
        value.add_to_graph(get_default_graph())
        return FunctionRef(value.name)
    raise TypeError(f"Expected {kind} for argument '{attr.name}' not {value!r}.")
