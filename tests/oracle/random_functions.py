"""Random graphs with functions, and with nodes that call them: conditionals, loops, cases, calls.

A body is grown like a graph, from what its arguments offer, and may call further functions:

    message, is_recursive = random_functions(random.Random(1), usable_ops("2.21"), "2.21", 8)

gives a GraphDef whose library holds all that its nodes call. Half of the graphs are about handles: calls take and give
them back, mostly stay calls, and few kinds of nodes ask for few devices, so that requests meet across calls.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import DType, as_dtype
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.op_def import OpDef
from gpuplace.kernels.registry import default_catalogue
from tests.support.node_specs import PRODUCER, add_node_def, graph_def_class
from tests.support.random_graphs import RandomGraph

DEEPEST = 3
"""Functions call functions at most so deep."""

HANDLE_OPS = (
    "VarHandleOp VarHandleOp Identity Identity Identity ReadVariableOp AssignVariableOp ResourceApplyGradientDescent "
    "ResourceApplyMomentum ResourceApplyMomentum VarIsInitializedOp IteratorV2 IteratorGetNext FIFOQueueV2 "
    "QueueEnqueueV2 MutexV2 IdentityN Switch Merge Const NoOp Neg"
).split()
"""What graphs about handles are made of."""

HANDLE_DEVICES = [
    "/cpu:0",
    "/gpu:0",
    "/gpu:1",
    "/device:GPU:*",
    "/device:CPU:*",
    "/device:*:1",
    "/task:0",
    "/gpu:7",
]


class Library:
    """The functions of one graph.

    Args:
        rng: source of randomness.
        ops: what may be used.
        rules: "1.15" or "2.21".
    """

    def __init__(self, rng: random.Random, ops: dict[str, OpDef], rules: str) -> None:
        self.rng, self.ops, self.rules = rng, ops, rules
        self.message = graph_def_class()()
        self.message.versions.producer = PRODUCER
        self.signatures: dict[str, tuple[tuple[DType, ...], tuple[DType, ...], int]] = {}
        self.callers = [
            name
            for name in (
                "If",
                "StatelessIf",
                "While",
                "StatelessWhile",
                "Case",
                "StatelessCase",
                "PartitionedCall",
                "StatefulPartitionedCall",
            )
            if name in default_catalogue(rules).ops
        ]
        self.lowered = rng.choice([1.0, 0.9, 0.5])
        self.is_recursive = False
        self.about_handles = rng.random() < 0.5
        if self.about_handles:
            self.lowered = rng.choice([0.0, 0.2, 0.5])
        self.open: list[tuple[str, tuple[DType, ...], tuple[DType, ...]]] = []
        self.count = 0

    def function(self, wanted: Sequence[DType], given: Sequence[DType], depth: int) -> str:
        """A function of these types: one that is there, or a new one."""
        same = [
            name
            for name, (inputs, outputs, deep) in self.signatures.items()
            if (inputs, outputs) == (tuple(wanted), tuple(given)) and deep >= depth
        ]
        if same and self.rng.random() < 0.4:
            return self.rng.choice(same)
        name, self.count = f"f{self.count}", self.count + 1
        self.open.append((name, tuple(wanted), tuple(given)))
        body = FunctionGraph(self, depth + 1)
        for i, dtype in enumerate(wanted):
            body.outputs.setdefault(dtype.name, []).append(f"a{i}")
        body.grow(self.rng.choice([0, 1, 3, 5]))
        results = [body.source(dtype) for dtype in given]
        self.open.pop()
        made = self.message.library.function.add()
        made.signature.name = name
        for i, dtype in enumerate(wanted):
            made.signature.input_arg.add(name=f"a{i}", type=dtype.as_datatype_enum)
        for i, (dtype, result) in enumerate(zip(given, results, strict=True)):
            made.signature.output_arg.add(name=f"r{i}", type=dtype.as_datatype_enum)
            made.ret[f"r{i}"] = body.named(str(result))
        for spec in body.specs:
            add_node_def(made.node_def, spec, [body.named(text) for text in spec.inputs])
        for i, spec in enumerate(body.specs):
            if self.rng.random() < 0.1:
                made.signature.control_output.append(f"c{i}")
                made.control_ret[f"c{i}"] = spec.name
        if self.rng.random() < 0.5:
            made.signature.is_stateful = True
        if self.rng.random() < 0.03:
            made.attr["_noinline"].b = True
        self.signatures[name] = tuple(wanted), tuple(given), depth
        return name


class FunctionGraph(RandomGraph):
    """A graph, or a function's body, that calls functions of a library."""

    def __init__(self, library: Library, depth: int = 0) -> None:
        super().__init__(library.rng, library.ops)
        self.library, self.depth = library, depth
        self.malformed = self.malformed and self.rng.random() < 0.3
        self.call_rate = 0.0 if depth >= DEEPEST else [0.5, 0.25, 0.15][depth]
        self.ranges: dict[str, dict[str, range]] = {}
        if library.about_handles:
            self.common = [name for name in HANDLE_OPS if name in self.ops]
            self.any_rate = self.rng.choice([0.0, 0.0, 0.1])
            self.reuse_rate = self.rng.choice([0.8, 0.95])
            self.device_rate = self.rng.choice([0.1, 0.3, 0.6])
            self.class_rate = self.rng.choice([0.0, 0.0, 0.2])
            self.devices = self.rng.choice([HANDLE_DEVICES[:2], HANDLE_DEVICES[:3], HANDLE_DEVICES])
            self.call_rate = 0.0 if depth >= DEEPEST else [0.4, 0.3, 0.2][depth]

    def grow(self, count: int) -> list[Any]:
        while len(self.specs) < count:
            names = self.names if self.rng.random() < self.any_rate else self.common
            if self.rng.random() < self.call_rate:
                self.call()
            else:
                self.add(self.ops[self.rng.choice(names)])
        return self.specs

    def pick_allowed(self, allowed: Sequence[DType]) -> DType:
        if self.library.about_handles and as_dtype("float32") in allowed and self.rng.random() < 0.95:
            return as_dtype("float32")
        return super().pick_allowed(allowed)

    def pick_type(self) -> DType:
        if self.library.about_handles and self.rng.random() < 0.9:
            return as_dtype("float32")
        return super().pick_type()

    def emit(self, op: str, inputs: Sequence[str], attrs: dict[str, Any], given: Sequence[DType]) -> str:
        name = super().emit(op, inputs, attrs, given)
        op_def = default_catalogue(self.library.rules).ops.get(op)
        if op_def is None:
            self.ranges[name] = {f"r{i}": range(i, i + 1) for i in range(len(given))}
        else:
            self.ranges[name] = op_def.output_ranges({**op_def.defaults, **attrs})
        return name

    def named(self, text: str) -> str:
        """An input as a function's nodes write it."""
        node, _, output = text.partition(":")
        if node not in self.ranges or text.startswith("^"):
            return text
        position = int(output or 0)
        for argument, span in self.ranges[node].items():
            if position in span:
                return f"{node}:{argument}:{position - span.start}"
        raise AssertionError(text)

    def some_types(self, most: int) -> list[DType]:
        """Types of values that are there already, mostly."""
        there = [as_dtype(name) for name in self.outputs if not name.endswith("_ref")]
        if self.library.about_handles:
            there = [as_dtype("resource")] * 3 + there[:1]
        count = self.rng.randint(0, most)
        return [
            self.rng.choice(there) if there and self.rng.random() < 0.8 else self.pick_type()
            for _ in range(count)
        ]

    def call(self) -> None:
        """Adds a node that calls functions."""
        if self.library.open and self.rng.random() < 0.02:
            self.call_again()
            return
        kind = self.rng.choice([*self.library.callers, "direct"])
        if self.library.about_handles and self.rng.random() < 0.8:
            kind = self.rng.choice(["PartitionedCall", "StatefulPartitionedCall"])
        lowered = self.rng.random() < self.library.lowered
        attrs: dict[str, Any] = {}
        first: list[DType] = []
        if kind.endswith("While"):
            wanted = self.some_types(3)
            if all(dtype.name == "resource" for dtype in wanted):
                wanted.append(as_dtype("int32"))  # 2.21 crashes on loops over nothing but held resources
            given = wanted
            attrs["T"] = tuple(wanted)
            attrs["cond"] = self.reference(wanted, [as_dtype("bool")])
            attrs["body"] = self.reference(wanted, given)
        else:
            wanted, given = self.some_types(3), self.some_types(2)
            if kind != "direct":
                attrs["Tin"], attrs["Tout"] = tuple(wanted), tuple(given)
        if kind.endswith("If"):
            chosen = as_dtype("bool" if self.rng.random() < 0.98 else self.rng.choice(["int32", "float32"]))
            attrs["Tcond"] = chosen
            first = [chosen]
            attrs["then_branch"] = self.reference(wanted, given)
            attrs["else_branch"] = self.reference(wanted, given)
        elif kind.endswith("Case"):
            first = [as_dtype("int32")]
            count = self.rng.randint(1, 3)
            attrs["branches"] = tuple(self.reference(wanted, given) for _ in range(count))
        elif kind.endswith("Call"):
            attrs["f"] = self.reference(wanted, given)
        op = self.library.function(wanted, given, self.depth) if kind == "direct" else kind
        if lowered:
            is_call = kind == "direct" or kind.endswith("Call")
            attrs["_lower_as_multi_device_function" if is_call else "_lower_using_switch_merge"] = True
        if self.rng.random() < 0.03:
            attrs["_XlaMustCompile"] = self.rng.random() < 0.7
        if self.rng.random() < 0.02:
            attrs["_tpu_replicate"] = b"x"
        self.emit_call(op, attrs, (*first, *wanted), given)

    def call_again(self) -> None:
        """Adds a call of a function that is being made, which stays a call."""
        name, wanted, given = self.rng.choice(self.library.open)
        attrs = {"Tin": wanted, "Tout": given, "f": FunctionRef(name)}
        self.library.is_recursive = True
        self.emit_call("StatefulPartitionedCall", attrs, wanted, given)

    def emit_call(
        self, op: str, attrs: dict[str, Any], wanted: Sequence[DType], given: Sequence[DType]
    ) -> None:
        """Adds a calling node with inputs of these types."""
        inputs = [str(self.source(dtype)) for dtype in wanted]
        while self.specs and self.rng.random() < self.control_rate:
            inputs.append(f"^{self.rng.choice(self.specs).name}")
        self.emit(op, inputs, attrs, given)

    def reference(self, wanted: Sequence[DType], given: Sequence[DType]) -> FunctionRef:
        """A function of the library."""
        return FunctionRef(self.library.function(wanted, given, self.depth))


def random_functions(rng: random.Random, ops: dict[str, OpDef], rules: str, nodes: int) -> tuple[Any, bool]:
    """A GraphDef of about so many nodes, before its functions are counted, and whether a function calls itself."""
    library = Library(rng, ops, rules)
    graph = FunctionGraph(library)
    graph.grow(nodes)
    for spec in graph.specs:
        add_node_def(library.message.node, spec, spec.inputs)
    return library.message, library.is_recursive
