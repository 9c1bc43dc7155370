"""Op definitions: the signature of every op, parsed on demand from a release's data file.

The package knows all ops that a TensorFlow release registers (1,400 in 1.15, 1,910 in 2.21), whether or not it can run
them. A graph can be checked and placed from signatures alone.

>>> matmul = op_registry("1.15").lookup("MatMul")
>>> print(matmul)
MatMul(a: T, b: T) -> (product: T)
>>> [attr.name for attr in matmul.attrs if attr.has_default]
['transpose_a', 'transpose_b']

Source: tensorflow/core/framework/op_def.proto and op.cc, release 1.15.
"""

from __future__ import annotations

import platform
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from gpuplace.display import above
from gpuplace.dtypes import DType
from gpuplace.errors import AlreadyExistsError, NotFoundError
from gpuplace.graph.data_file import DataFile, read_data_file
from gpuplace.graph.long_list import SHORT, joined, listed
from gpuplace.graph.op_notation import ATTR_TYPES, ArgDef, AttrDef, parse_arg, parse_attr
from gpuplace.release import rules


@dataclass(frozen=True)
class Deprecation:
    """The GraphDef version from which an op is rejected, and what to use instead."""

    version: int
    explanation: str


@dataclass(frozen=True)
class OpDef:
    """The signature of an op."""

    name: str
    inputs: tuple[ArgDef, ...] = ()
    outputs: tuple[ArgDef, ...] = ()
    attrs: tuple[AttrDef, ...] = ()
    is_stateful: bool = False
    """Whether a run may return other outputs or change state, so that the op is never folded or shared."""
    is_commutative: bool = False
    """Whether ``op(a, b)`` equals ``op(b, a)``."""
    is_aggregate: bool = False
    """Whether it combines any number of inputs of one type, in any grouping."""
    allows_uninitialized_input: bool = False
    """Whether its reference inputs may be uninitialized."""
    is_distributed_communication: bool = False
    """Whether it communicates with other processes."""
    control_outputs: tuple[str, ...] = ()
    deprecation: Deprecation | None = None

    def removal(self, version: int) -> str | None:
        """Return the error message for a removed op; None if graphs of that version may contain it.

        Args:
            version: the graph's producer version.
        """
        gone = self.deprecation
        if gone is None or version < gone.version:
            return None
        why = f". {gone.explanation}" if gone.explanation else ""
        return (
            f"Op {self.name} is not available in GraphDef version {version}. It has been removed in version"
            f" {gone.version}{why}."
        )

    @cached_property
    def message(self) -> Any:
        """The ``OpDef`` message."""
        return above("gpuplace.graphdef.attr_values", "encode_op_def")(self)

    @property
    def input_arg(self) -> Any:
        """The inputs, with the field name of the message."""
        return self.message.input_arg

    @property
    def output_arg(self) -> Any:
        """The outputs, with the field name of the message."""
        return self.message.output_arg

    @property
    def attr(self) -> Any:
        """The attributes, with the field name of the message."""
        return self.message.attr

    @cached_property
    def attr_defs(self) -> dict[str, AttrDef]:
        """Attribute name -> definition."""
        return {attr.name: attr for attr in self.attrs}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Optional attributes with their default values."""
        return {attr.name: attr.default for attr in self.attrs if attr.has_default}

    @cached_property
    def type_attrs(self) -> tuple[str, ...]:
        """The attributes that determine the number and types of tensors."""
        asked = [
            name
            for arg in (*self.inputs, *self.outputs)
            for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
        ]
        return tuple(dict.fromkeys(name for name in asked if name))

    def input_types(self, attrs: Mapping[str, Any]) -> Sequence[DType]:
        """Return the type of each input tensor, with lists expanded; KeyError for a missing attribute.

        Raises:
            InvalidArgumentError: more tensors than a node can have.
        """
        return joined(_types(self.inputs, attrs))

    def output_types(self, attrs: Mapping[str, Any]) -> Sequence[DType]:
        """Return the type of each output tensor, with lists expanded; errors as for `input_types`."""
        return joined(_types(self.outputs, attrs))

    def input_ranges(self, attrs: Mapping[str, Any]) -> dict[str, range]:
        """Argument name -> the positions of its tensors among all input tensors."""
        return _ranges(self.inputs, attrs)

    def output_ranges(self, attrs: Mapping[str, Any]) -> dict[str, range]:
        """Argument name -> the positions of its tensors among all output tensors."""
        return _ranges(self.outputs, attrs)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


def signature_fault(op_def: OpDef) -> str | None:
    """Return the error of an untrusted signature, such as a library function's, or None.

    Source: ValidateOpDef in tensorflow/core/framework/op_def_util.cc, release 1.15.
    """
    kinds = {attr.name: attr.type for attr in op_def.attrs}
    if len(kinds) < len(op_def.attrs):
        return "Duplicate name of an attr"
    for attr in op_def.attrs:
        if attr.element_type not in ATTR_TYPES or (attr.is_list and not attr.type.endswith(")")):
            return f"Unrecognized type '{attr.type}' in attr '{attr.name}'"
    for side, args in (("input", op_def.inputs), ("output", op_def.outputs)):
        for arg in args:
            if (arg.type is not None) + bool(arg.type_attr) + bool(arg.type_list_attr) != 1:
                return f"Exactly one of type, type_attr, type_list_attr must be set for {side} '{arg.name}'"
            wanted = ((arg.type_attr, "type"), (arg.number_attr, "int"), (arg.type_list_attr, "list(type)"))
            for name, kind in wanted:
                if name and name not in kinds:
                    return f"No attr with name '{name}' for {side} '{arg.name}'"
                if name and kinds[name] != kind:
                    return f"Attr '{name}' used for {side} '{arg.name}' has type {kinds[name]} != {kind}"
            if arg.number_attr and arg.type_list_attr:
                return f"Can't have both number_attr and type_list_attr for {side} '{arg.name}'"
    return None


def input_count_fault(op_def: OpDef, declared: Sequence[DType], count: int, node: str) -> str:
    """Return TensorFlow's message for a node with the wrong number of inputs.

    Args:
        op_def: the node's op.
        declared: type of each input that the op declares for the node's attributes.
        count: number of the node's inputs, without control inputs.
        node: name of the node.

    Source: ValidateNodeDef in tensorflow/core/framework/node_def_util.cc, release 1.15.
    """
    types = listed(declared, lambda dtype: str(dtype.short_name))
    return (
        f"NodeDef expected inputs '{types}' do not match {count} inputs specified; Op<{op_def}>; "
        f"NodeDef: {{{{node {node}}}}}"
    )


def _types(args: Sequence[ArgDef], attrs: Mapping[str, Any]) -> list[Sequence[DType]]:
    """Return the types of each argument; arguments with the same list of types also share its references."""
    if len(args) <= SHORT:
        return [arg.types(attrs) for arg in args]
    made: dict[tuple[str | None, bool], Sequence[DType]] = {}
    types = []
    for arg in args:
        key = arg.type_list_attr, arg.is_ref
        if arg.type_list_attr is None:
            types.append(arg.types(attrs))
            continue
        if key not in made:
            made[key] = arg.types(attrs)
        types.append(made[key])
    return types


def _ranges(args: Iterable[ArgDef], attrs: Mapping[str, Any]) -> dict[str, range]:
    ranges, start = {}, 0
    for arg in args:
        stop = start + len(arg.types(attrs))
        ranges[arg.name] = range(start, stop)
        start = stop
    return ranges


def make_op_def(
    name: str,
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    attrs: Iterable[str] = (),
    **properties: Any,
) -> OpDef:
    """Return an ``OpDef`` from TensorFlow's notation, with further ``OpDef`` fields as keywords.

    >>> str(make_op_def("Pick", ["handle: Ref(T)", "at: int32"], ["value: T"], ["T: type"], is_stateful=True))
    'Pick(handle: Ref(T), at: int32) -> (value: T)'

    Raises:
        ValueError: a part is malformed, or a name occurs twice.
    """
    if not _OP_NAME.fullmatch(name):
        raise ValueError(f"Invalid name {name!r} (did you use CamelCase?)")
    try:
        attr_defs = tuple(parse_attr(text) for text in attrs)
        attr_types = {attr.name: attr.type for attr in attr_defs}
        input_defs = tuple(parse_arg(text, attr_types) for text in inputs)
        output_defs = tuple(parse_arg(text, attr_types) for text in outputs)
    except ValueError as error:
        raise ValueError(f"{error}, for Op {name}") from None
    for kind, definitions in (("input", input_defs), ("output", output_defs), ("attr", attr_defs)):
        names = [definition.name for definition in definitions]
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            raise ValueError(f"Duplicate {kind} name {repeated[0]!r} in Op {name}")
    return OpDef(name, input_defs, output_defs, attr_defs, **properties)


_OP_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_>]*")
_FLAGS = {
    "stateful": "is_stateful",
    "commutative": "is_commutative",
    "aggregate": "is_aggregate",
    "allows_uninitialized_input": "allows_uninitialized_input",
    "distributed_communication": "is_distributed_communication",
}


def _parse_block(name: str, lines: str) -> OpDef:
    """Return an op from its block in the data file."""
    parts: dict[str, list[str]] = {"<": [], ">": [], ":": [], "c": [], "!": []}
    for line in lines.splitlines():
        parts[line[0]].append(line[2:])
    properties: dict[str, Any] = {"control_outputs": tuple(parts["c"])}
    for text in parts["!"]:
        word, _, rest = text.partition(" ")
        if word == "deprecated":
            version, _, explanation = rest.partition(" ")
            properties["deprecation"] = Deprecation(int(version), explanation)
        else:
            properties[_FLAGS[word]] = True
    return make_op_def(name, parts["<"], parts[">"], parts[":"], **properties)


class OpRegistry:
    """Op definitions by name: those of a release's data file, if any, and additional registrations.

    Safe to use from several threads; the file is read at the first lookup.
    """

    def __init__(self, release: str | None = None) -> None:
        self.release = release
        """``"1.15"``, ``"2.21"``, or None for a registry that started empty."""
        self.additions = 0
        """Number of additional registrations."""
        self._parsed: dict[str, OpDef] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(cls, release: str | None = None) -> OpRegistry:
        """Return a new registry of everything that ``release`` registers (see ``release.rules``)."""
        return cls(rules(release))

    @cached_property
    def _file(self) -> DataFile:
        if self.release is None:
            return DataFile({}, {})
        return _read_ops(self.release)

    def get(self, name: str) -> OpDef | None:
        """Return the definition of an op, or None if it is not registered."""
        found = self._parsed.get(name)
        if found is None and name in self._file.blocks:
            found = self._parsed.setdefault(name, _parse_block(name, self._file.blocks[name]))
        return found

    def lookup(self, name: str) -> OpDef:
        """Return the definition of an op; NotFoundError, with similar names, if it is not registered."""
        found = self.get(name)
        if found is None:
            import difflib

            similar = difflib.get_close_matches(name, self.names(), n=3, cutoff=0.75)
            raise NotFoundError.of(
                f"Op type not registered '{name}' in binary running on {platform.node()}. Make sure the Op and Kernel"
                " are registered in the binary running in this process.",
                facts={"catalogue": f"TensorFlow {self.release}" if self.release else "a private one"},
                hint=f"did you mean {' or '.join(similar)}?" if similar else None,
            )
        return found

    def names(self) -> tuple[str, ...]:
        """Return all op names, sorted."""
        return tuple(sorted({*self._file.blocks, *self._parsed}))

    def register(self, op_def: OpDef) -> OpDef:
        """Add an op; registering an equal definition again has no effect.

        Raises:
            AlreadyExistsError: the name has another definition.
        """
        with self._lock:
            known = self.get(op_def.name)
            if known is not None and known != op_def:
                raise AlreadyExistsError.of(
                    f"Op with name {op_def.name}", facts={"registered": str(known), "now": str(op_def)}
                )
            if known is None:
                self._parsed[op_def.name] = known = op_def
                self.additions += 1
            return known

    def __contains__(self, name: object) -> bool:
        return name in self._parsed or name in self._file.blocks

    def __len__(self) -> int:
        return len(self.names())


@cache
def _read_ops(release: str) -> DataFile:
    return read_data_file("gpuplace.graph", f"ops-{release}.txt.gz")


@cache
def _registry(release: str) -> OpRegistry:
    return OpRegistry.load(release)


def op_registry(release: str | None = None) -> OpRegistry:
    """Return the process's registry for a release, with additional registrations; one for each set of rules."""
    return _registry(rules(release))
