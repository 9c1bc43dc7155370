"""Functions of a graph's library, and their bodies with all references resolved.

A function's nodes name their inputs by output argument, `"split:output:1"`, and the function's arguments by name,
`"x"`. A resolved body is a list of arguments, nodes and results, in the order in which TensorFlow creates them:

    args       x                    nodes      add/y, add        results    (add, 0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.long_list import MAX_LENGTH
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_notation import ArgDef
from gpuplace.graph.op_sets import CALL_OPS
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.node_facts import declared_types
from gpuplace.placer.placement_graph import split_tensor_name

CALL_ATTR = "_lower_as_multi_device_function"
"""Marks the calls to inline."""

_MAX_SIZE = (1 << 40) + 1
"""Node count at which counting stops."""


@dataclass(frozen=True)
class BodyNode:
    """A node of a function in the library."""

    name: str
    op_type: str
    attrs: Mapping[str, Any]
    """A `str` value refers to an attribute of the function."""
    inputs: tuple[str, ...]
    """`"node:argument:index"`, the name of an argument, or `"^node"`."""
    device: str


@dataclass(frozen=True)
class FunctionBody:
    """A function of the library."""

    op_def: OpDef
    nodes: tuple[BodyNode, ...]
    returns: Mapping[str, str] = field(default_factory=dict)
    """Result argument -> its source, in the form of an input."""
    control_returns: tuple[str, ...] = ()
    """Nodes that must run even if no result needs them."""
    stays_called: bool = False
    """Whether calls of the function are never inlined (`_noinline`)."""


@dataclass(frozen=True)
class Instance:
    """A function's body for one call. References are positions, `args` first, then `nodes`."""

    args: tuple[str, ...]
    nodes: tuple[BodyNode, ...]
    """The nodes in TensorFlow's order of creation, with concrete attributes."""
    inputs: tuple[tuple[tuple[int, int], ...], ...]
    """Per node: `(position, output)` of each data input."""
    controls: tuple[tuple[int, ...], ...]
    """Per node: the positions of its control inputs."""
    results: tuple[tuple[int, int], ...]
    control_results: tuple[int, ...]


class Bodies:
    """Instances of the functions of a library.

    Attributes:
        written: total number of nodes and inputs, in the library, of the functions loaded so far.

    Args:
        load: returns a function by name; None if there is none.
        op_defs: the signatures of all functions.
        catalogue: the ops.
    """

    def __init__(
        self,
        load: Callable[[str], FunctionBody | None],
        op_defs: Mapping[str, OpDef],
        catalogue: Catalogue,
    ) -> None:
        self._source = load
        self._seen: set[str] = set()
        self.written = 0
        self._op_defs = op_defs
        self._catalogue = catalogue
        self._plain: dict[str, Instance] = {}
        self._sizes: dict[str, int] = {}
        self._open: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._op_defs

    def _load(self, name: str) -> FunctionBody | None:
        body = self._source(name)
        if body is not None and name not in self._seen:
            self._seen.add(name)
            self.written += sum(1 + len(node.inputs) for node in body.nodes)
        return body

    def stays_called(self, name: str) -> bool:
        """Return whether calls of a function are never inlined."""
        body = self._load(name)
        return body is not None and body.stays_called

    def types(self, name: str, attrs: Mapping[str, Any]) -> tuple[Sequence[DType], Sequence[DType]]:
        """Return the types of a function's arguments and results."""
        op_def = self._op_defs[name]
        return declared_types(op_def, _complete(op_def, attrs))

    def result_counts(self, name: str, attrs: Mapping[str, Any]) -> list[tuple[str, int]]:
        """Return `(name, number of results)` for each of a function's result arguments."""
        op_def = self._op_defs[name]
        complete_attrs = _complete(op_def, attrs)
        return [(arg.name, len(arg.types(complete_attrs)) if arg.is_list else 1) for arg in op_def.outputs]

    def least_size(self, name: str) -> int:
        """Return a lower bound on the nodes that inlining a call adds, including nested calls, without inlining it."""
        stack = [name]
        while stack:
            current = stack[-1]
            body = self._load(current) if current not in self._sizes else None
            if body is None:
                self._sizes.setdefault(current, 0)
                stack.pop()
                continue
            calls = [
                call for call in map(self.called, body.nodes) if call is not None and call in self._op_defs
            ]
            missing = [call for call in calls if call not in self._sizes and call not in self._open]
            if missing and current not in self._open:
                self._open.add(current)
                stack.extend(dict.fromkeys(missing))
                continue
            self._open.discard(current)
            size = len(body.nodes) + sum(self._sizes.get(call, 0) for call in calls)
            self._sizes[current] = min(size, _MAX_SIZE)
            stack.pop()
        return self._sizes[name]

    @staticmethod
    def called(node: BodyNode) -> str | None:
        """Return the function that replaces a node of a body when inlined; None if the node stays."""
        if node.attrs.get(CALL_ATTR) is not True:
            return None
        function = node.attrs.get("f") if node.op_type in CALL_OPS else None
        return function.name if isinstance(function, FunctionRef) else node.op_type

    def passed(self, function: FunctionRef) -> list[bool]:
        """Return whether each argument is returned unchanged."""
        body = self.instance(function.name, function.attrs)
        returned = {position for position, _ in body.results}
        return [i in returned for i in range(len(body.args))]

    def instance(self, name: str, attrs: Mapping[str, Any]) -> Instance:
        """Return the body for a call with these attributes.

        Raises:
            InvalidArgumentError: the function is invalid.
            NotFoundError: the call lacks an attribute.
        """
        body = self._load(name)
        if body is None:
            raise InvalidArgumentError.of(f"Function {name} is not defined.")
        if not body.op_def.attrs and name in self._plain:
            return self._plain[name]
        instance = self._resolve(body, attrs)
        if not body.op_def.attrs:
            self._plain[name] = instance
        return instance

    def _resolve(self, body: FunctionBody, attrs: Mapping[str, Any]) -> Instance:
        complete_attrs = _complete(body.op_def, attrs)
        args = [name for arg in body.op_def.inputs for name in _argument_names(arg, complete_attrs)]
        arguments = {name: (name, 0) for name in args}
        nodes = [_concrete(node, complete_attrs) for node in body.nodes]
        ranges = {node.name: self._ranges(node) for node in nodes}

        def resolve(text: str) -> tuple[str, int]:
            if text in arguments:
                return arguments[text]
            node, _, rest = text.partition(":")
            argument, _, index = rest.partition(":")
            outputs = ranges.get(node)
            if outputs is None or (argument and argument not in outputs):
                # TensorFlow 1 also writes plain tensor names
                plain, output = split_tensor_name(text)
                if plain in ranges and not argument:
                    return plain, output
                raise InvalidArgumentError.of(f"Function {body.op_def.name}: input {text} is not found")
            first = outputs[argument].start if argument else 0
            return node, first + (min(int(index[:12]), MAX_LENGTH) if index.isdecimal() else 0)

        position = {name: i for i, name in enumerate([*args, *(node.name for node in nodes)])}

        def at(reference: tuple[str, int]) -> tuple[int, int]:
            return position[reference[0]], reference[1]

        def control_at(name: str) -> int:
            if name not in position:
                raise InvalidArgumentError.of(
                    f"Function {body.op_def.name}: control input {name} is not found"
                )
            return position[name]

        inputs = [
            tuple(at(resolve(text)) for text in node.inputs if not text.startswith("^")) for node in nodes
        ]
        # TensorFlow sorts control inputs by position in the function, without duplicates.
        controls = [
            tuple(
                sorted(
                    {control_at(text[1:].partition(":")[0]) for text in node.inputs if text.startswith("^")}
                )
            )
            for node in nodes
        ]
        results = [
            at(resolve(body.returns.get(name, name)))
            for arg in body.op_def.outputs
            for name in _argument_names(arg, complete_attrs)
        ]
        order = _order(args, nodes, inputs, controls, self._catalogue)
        new_position = {old: new for new, old in enumerate([*range(len(args)), *order])}
        selected = [old - len(args) for old in order]
        return Instance(
            tuple(args),
            tuple(nodes[i] for i in selected),
            tuple(tuple((new_position[source], output) for source, output in inputs[i]) for i in selected),
            tuple(tuple(new_position[source] for source in controls[i]) for i in selected),
            tuple((new_position[source], output) for source, output in results),
            tuple(new_position[control_at(name)] for name in body.control_returns),
        )

    def _ranges(self, node: BodyNode) -> dict[str, range]:
        op_def = self._op_defs.get(node.op_type) or self._catalogue.ops.lookup(node.op_type)
        try:
            return op_def.output_ranges({**op_def.defaults, **node.attrs})
        except KeyError as error:
            raise InvalidArgumentError.of(
                f"NodeDef missing attr {error} from Op<{op_def}>; node: {node.name}"
            ) from None


def _complete(op_def: OpDef, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a call's attributes, with the function's defaults filled in.

    Raises:
        NotFoundError: an attribute is missing.
        InvalidArgumentError: an argument's type is an attribute that the function does not have.
    """
    complete_attrs = {**op_def.defaults, **attrs}
    own = {attr.name for attr in op_def.attrs}
    for arg in (*op_def.inputs, *op_def.outputs):
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr):
            if name is not None and name not in own:
                raise InvalidArgumentError.of(
                    f"No attr with name '{name}' for arg '{arg.name}' of function {op_def.name}"
                )
    for attr in op_def.attrs:
        if attr.name not in complete_attrs:
            raise NotFoundError.of(
                f"Attr {attr.name} is not found from {_summary(op_def)}",
                hint="set the function's attributes on the calling node itself, not inside its attribute f",
            )
    return complete_attrs


def _summary(op_def: OpDef) -> str:
    """Return a signature as TensorFlow's messages print it."""

    def listed(args: tuple[ArgDef, ...]) -> str:
        return ", ".join(f"{arg.name}:{_type_text(arg)}" for arg in args)

    attrs = "".join(f"; attr={attr.name}:{attr.type}" for attr in op_def.attrs)
    signature = f"{listed(op_def.inputs)} -> {listed(op_def.outputs)}"
    return f"Op<name={op_def.name}; signature={signature}{attrs}>"


def _type_text(arg: ArgDef) -> str:
    text = arg.type.name if arg.type is not None else arg.type_attr or ""
    text = f"{arg.number_attr}*{text}" if arg.number_attr else text
    return f"Ref({text})" if arg.is_ref else text


def _order(
    args: list[str],
    nodes: list[BodyNode],
    inputs: list[tuple[tuple[int, int], ...]],
    controls: list[tuple[int, ...]],
    catalogue: Catalogue,
) -> list[int]:
    """Return the nodes in TensorFlow's order of creation: always the first node whose inputs exist."""
    builder = PlacementGraphBuilder(catalogue)
    for name in args:
        builder.add_node(name, "_Arg", {})
    for node, data, control in zip(nodes, inputs, controls, strict=True):
        builder.add_node(node.name, node.op_type, {}, data, control)
    return [i for i in builder.build().order.tolist() if i >= len(args)]


def _argument_names(arg: ArgDef, attrs: Mapping[str, Any]) -> Iterator[str]:
    if arg.is_list:
        return (f"{arg.name}_{i}" for i in range(len(arg.types(attrs))))
    return iter((arg.name,))


def _concrete(node: BodyNode, function_attrs: Mapping[str, Any]) -> BodyNode:
    if not any(isinstance(value, str) for value in node.attrs.values()):
        return node
    attrs = {
        name: function_attrs[value] if isinstance(value, str) else value
        for name, value in node.attrs.items()
        if not (isinstance(value, str) and value not in function_attrs)
    }
    return BodyNode(node.name, node.op_type, attrs, node.inputs, node.device)
