"""Functions of a graph's library, and their bodies with all references resolved.

A function's nodes name their inputs by output argument, `"split:output:1"`, and its own arguments by name, `"x"`.
Resolved, the body is a list of arguments, nodes and results in the order in which TensorFlow makes them:

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
"""Marks the calls that are to be replaced."""

_MAX_SIZE = (1 << 40) + 1
"""Nodes; more are not counted."""


@dataclass(frozen=True)
class BodyNode:
    """A node of a function, as the library has it."""

    name: str
    op_type: str
    attrs: Mapping[str, Any]
    """A `str` value stands for an attribute of the function."""
    inputs: tuple[str, ...]
    """`"node:argument:index"`, the name of an argument, or `"^node"`."""
    device: str


@dataclass(frozen=True)
class FunctionBody:
    """A function, as the library has it."""

    op_def: OpDef
    nodes: tuple[BodyNode, ...]
    returns: Mapping[str, str] = field(default_factory=dict)
    """Result argument -> what it is, in the form of an input."""
    control_returns: tuple[str, ...] = ()
    """Nodes that have to run even if no result needs them."""
    stays_called: bool = False
    """Whether its author asked that it be called and never copied (`_noinline`)."""


@dataclass(frozen=True)
class Instance:
    """A function's body for one call: references are positions, `args` first, then `nodes`."""

    args: tuple[str, ...]
    nodes: tuple[BodyNode, ...]
    """In the order in which TensorFlow makes them; their attributes are concrete."""
    inputs: tuple[tuple[tuple[int, int], ...], ...]
    """Per node: `(position, output)` of each data input."""
    controls: tuple[tuple[int, ...], ...]
    """Per node: the positions of what it waits for."""
    results: tuple[tuple[int, int], ...]
    control_results: tuple[int, ...]


class Bodies:
    """Instances of the functions of a library.

    Attributes:
        written: how many nodes and inputs the functions looked at so far have in the library.

    Args:
        load: gives a function by name, None if there is none.
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
        """Whether calls of a function are left alone."""
        body = self._load(name)
        return body is not None and body.stays_called

    def types(self, name: str, attrs: Mapping[str, Any]) -> tuple[Sequence[DType], Sequence[DType]]:
        """Types of a function's arguments and results."""
        op_def = self._op_defs[name]
        return declared_types(op_def, _complete(op_def, attrs))

    def result_counts(self, name: str, attrs: Mapping[str, Any]) -> list[tuple[str, int]]:
        """`(name, how many results)` of each of a function's result arguments."""
        op_def = self._op_defs[name]
        given = _complete(op_def, attrs)
        return [(arg.name, len(arg.types(given)) if arg.is_list else 1) for arg in op_def.outputs]

    def least_size(self, name: str) -> int:
        """At least so many nodes come from a call, those of the calls within included: told without making them."""
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
        """The function that is to be copied in place of a node of a body, None if the node stays."""
        if node.attrs.get(CALL_ATTR) is not True:
            return None
        function = node.attrs.get("f") if node.op_type in CALL_OPS else None
        return function.name if isinstance(function, FunctionRef) else node.op_type

    def passed(self, function: FunctionRef) -> list[bool]:
        """For each argument, whether it is returned unchanged."""
        body = self.instance(function.name, function.attrs)
        given = {position for position, _ in body.results}
        return [i in given for i in range(len(body.args))]

    def instance(self, name: str, attrs: Mapping[str, Any]) -> Instance:
        """The body for a call with these attributes.

        Raises:
            InvalidArgumentError: the function is not sound.
            NotFoundError: the call leaves an attribute out.
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
        given = _complete(body.op_def, attrs)
        args = [name for arg in body.op_def.inputs for name in _argument_names(arg, given)]
        arguments = {name: (name, 0) for name in args}
        nodes = [_concrete(node, given) for node in body.nodes]
        ranges = {node.name: self._ranges(node) for node in nodes}

        def resolve(text: str) -> tuple[str, int]:
            if text in arguments:
                return arguments[text]
            node, _, rest = text.partition(":")
            argument, _, index = rest.partition(":")
            outputs = ranges.get(node)
            if outputs is None or (argument and argument not in outputs):
                # TensorFlow 1 also wrote plain tensor names
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
        # TensorFlow sorts them by their place in the function, each once.
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
            for name in _argument_names(arg, given)
        ]
        order = _order(args, nodes, inputs, controls, self._catalogue)
        place = {old: new for new, old in enumerate([*range(len(args)), *order])}
        picked = [old - len(args) for old in order]
        return Instance(
            tuple(args),
            tuple(nodes[i] for i in picked),
            tuple(tuple((place[source], output) for source, output in inputs[i]) for i in picked),
            tuple(tuple(place[source] for source in controls[i]) for i in picked),
            tuple((place[source], output) for source, output in results),
            tuple(place[control_at(name)] for name in body.control_returns),
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
    """A call's attributes with those that the function has by default.

    Raises:
        NotFoundError: one is missing.
        InvalidArgumentError: an argument's type is an attribute that the function does not have.
    """
    given = {**op_def.defaults, **attrs}
    own = {attr.name for attr in op_def.attrs}
    for arg in (*op_def.inputs, *op_def.outputs):
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr):
            if name is not None and name not in own:
                raise InvalidArgumentError.of(
                    f"No attr with name '{name}' for arg '{arg.name}' of function {op_def.name}"
                )
    for attr in op_def.attrs:
        if attr.name not in given:
            raise NotFoundError.of(
                f"Attr {attr.name} is not found from {_summary(op_def)}",
                hint="a call gives a function's attributes as its own, not inside its attribute f",
            )
    return given


def _summary(op_def: OpDef) -> str:
    """A signature as TensorFlow's messages have it."""

    def listed(args: tuple[ArgDef, ...]) -> str:
        return ", ".join(f"{arg.name}:{_type_text(arg)}" for arg in args)

    attrs = "".join(f"; attr={attr.name}:{attr.type}" for attr in op_def.attrs)
    signature = f"{listed(op_def.inputs)} -> {listed(op_def.outputs)}"
    return f"Op<name={op_def.name}; signature={signature}{attrs}>"


def _type_text(arg: ArgDef) -> str:
    kind = arg.type.name if arg.type is not None else arg.type_attr or ""
    kind = f"{arg.number_attr}*{kind}" if arg.number_attr else kind
    return f"Ref({kind})" if arg.is_ref else kind


def _order(
    args: list[str],
    nodes: list[BodyNode],
    inputs: list[tuple[tuple[int, int], ...]],
    controls: list[tuple[int, ...]],
    catalogue: Catalogue,
) -> list[int]:
    """Positions of the nodes as TensorFlow makes them: of those whose inputs are there, the first."""
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


def _concrete(node: BodyNode, given: Mapping[str, Any]) -> BodyNode:
    if not any(isinstance(value, str) for value in node.attrs.values()):
        return node
    attrs = {
        name: given[value] if isinstance(value, str) else value
        for name, value in node.attrs.items()
        if not (isinstance(value, str) and value not in given)
    }
    return BodyNode(node.name, node.op_type, attrs, node.inputs, node.device)
