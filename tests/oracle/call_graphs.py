"""Graphs whose nodes call functions that take and give back resources.

The first ones are the situations of TensorFlow's own tests of nested placement (`NestedPlacerTest`), with ops that have
kernels; the others vary who asks for a device, how often a handle is passed, and how deep the calls go.

>>> graph_def("recursion").library.function[0].signature.name
'again'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuplace.dtypes import as_dtype
from gpuplace.graph.attr_value import FunctionRef
from tests.support.node_specs import PRODUCER, NodeSpec, add_node_def, graph_def_class, node

CPU, GPU, GPU1 = "/cpu:0", "/gpu:0", "/gpu:1"


@dataclass(frozen=True)
class Body:
    """A function of the library."""

    name: str
    takes: str
    """Types of its arguments `a0`, `a1`, ..., one letter each: `r`esource, `f`loat, `v`ariant, `s`tring."""
    gives: dict[str, str]
    """Result -> what it is, in the form of an input."""
    nodes: tuple[NodeSpec, ...] = ()
    types: str = ""
    """Types of its results; resources where left out."""


_TYPES = {"r": "resource", "f": "float32", "v": "variant", "s": "string"}


def types_of(letters: str) -> tuple[Any, ...]:
    """The types that letters stand for."""
    return tuple(as_dtype(_TYPES[letter]) for letter in letters)


def body(name: str, takes: str, gives: Sequence[str], *nodes: NodeSpec, types: str = "") -> Body:
    """A function; `gives` is what its results are."""
    return Body(
        name, takes, {f"r{i}": what for i, what in enumerate(gives)}, nodes, types or "r" * len(gives)
    )


def call(
    name: str, function: Body | str, *inputs: str, device: str = "", op: str = "PartitionedCall", **attrs: Any
) -> NodeSpec:
    """A node that calls a function; one that is only named takes and gives a resource."""
    called = function if isinstance(function, Body) else body(function, "r", ["a0"])
    return NodeSpec(
        name,
        op,
        inputs,
        device,
        attrs={
            "Tin": types_of(called.takes),
            "Tout": types_of(called.types),
            "f": FunctionRef(called.name),
            **attrs,
        },
    )


def handle(name: str, device: str = "") -> NodeSpec:
    """A variable's handle."""
    return node(name, "VarHandleOp", device=device, dtype="float32", shared_name=name)


def same(
    name: str, source: str, device: str = "", *, groups: Sequence[str] = (), type: str = "resource"
) -> NodeSpec:
    """An Identity."""
    return node(name, "Identity", source, device=device, groups=tuple(groups), T=type)


def both(name: str, var: str, accum: str, device: str = "") -> NodeSpec:
    """An op that takes two handles."""
    return node(
        name, "ResourceApplyMomentum", var, accum, "number", "number", "number", device=device, T="float32"
    )


NUMBER = node("number", "Placeholder", dtype="float32")
SWAP = body("swap", "rr", ["o0:output:0", "o1:output:0"], same("o0", "a1"), same("o1", "a0"))
CROSSED = body("crossed", "rr", ["a1", "a0"])
PASS = body("pass", "r", ["a0"])
TWICE = body("twice", "r", ["a0", "a0"])
PAIR = body("pair", "rr", ["a0", "a1"])
DOUBLED = body("doubled", "fr", ["a1", "mul:y:0"], node("mul", "Neg", "a0", T="float32"), types="rf")
MADE = body("made", "f", ["made:resource:0", "a0"], handle("made"), types="rf")
MADE_ON_CPU = body("made_on_cpu", "f", ["made:resource:0", "a0"], handle("made", CPU), types="rf")
MADE_ON_GPU = body("made_on_gpu", "", ["made:resource:0"], handle("made", GPU))
MADE_ABSENT = body("made_absent", "", ["made:resource:0"], handle("made", "/gpu:7"))
TABLE = body(
    "table",
    "f",
    ["made:table_handle:0", "a0"],
    node("made", "HashTableV2", key_dtype="string", value_dtype="int64"),
    types="rf",
)
MADE_TWO = body("made_two", "", ["one:resource:0", "two:resource:0"], handle("one", CPU), handle("two", GPU))
OUTER = body("outer", "f", ["y:output:0", "y:output:1"], call("y", MADE_ON_CPU, "a0"), types="rf")
AGAIN = body("again", "r", ["out:output:0"], call("out", "again", "a0"))
FIRST = body("first", "r", ["out:output:0"], call("out", "second", "a0"))
SECOND = body("second", "r", ["out:output:0"], call("out", "first", "a0"))
ON_GPU = body("on_gpu", "r", ["there:output:0"], same("there", "a0", GPU))
ON_CPU = body("on_cpu", "r", ["there:output:0"], same("there", "a0", CPU))
PAIRED = body("paired", "rr", ["x:output:0", "y:output:0"], same("x", "a0", CPU), same("y", "a1", GPU))
USES = body("uses", "r", ["inner:output:0"], call("inner", PASS, "a0"))
INLINED = {"_lower_as_multi_device_function": True}
READ = body(
    "read",
    "r",
    ["a0", "value:value:0"],
    node("value", "ReadVariableOp", "a0", dtype="float32", device=GPU),
    types="rf",
)
COLOCATED = body(
    "colocated", "rr", ["x:output:0", "y:output:0"], same("x", "a0"), same("y", "a1", groups=["x"])
)
CLASHING = body(
    "clashing",
    "",
    ["two:output:0"],
    handle("one", CPU),
    handle("other", GPU),
    same("two", "other:resource:0", groups=["one"]),
)
MALFORMED = body("malformed", "r", ["x:output:0"], same("x", "a0", "/gpu"))
NO_KERNEL = body(
    "no_kernel",
    "r",
    ["a0"],
    node("x", "MatMul", "m:output:0", "m:output:0", T="string"),
    node("m", "Placeholder", dtype="string"),
)
BACK_TO_BACK = body(
    "back_to_back",
    "f",
    ["w:output:0"],
    handle("cpu", CPU),
    call("y", PASS, "cpu:resource:0"),
    call("w", PASS, "y:output:0"),
    handle("gpu", GPU),
    call("z", PASS, "gpu:resource:0"),
    node("add", "ResourceApplyMomentum", "w:output:0", "z:output:0", "a0", "a0", "a0", T="float32"),
)

Graph = tuple[list[NodeSpec], list[Body]]


GRAPHS: dict[str, Graph] = {
    "one_resource": (
        [
            node("a", "Placeholder", device=GPU, dtype="float32"),
            handle("b", CPU),
            call("y", DOUBLED, "a", "b"),
            same("r1", "y"),
            same("r2", "y:1", type="float32"),
        ],
        [DOUBLED],
    ),
    "one_resource_overridden": (
        [
            node("a", "Placeholder", device=GPU, dtype="float32"),
            handle("b", CPU),
            call("y", DOUBLED, "a", "b"),
            same("r1", "y", GPU),
            same("r2", "y:1", type="float32"),
        ],
        [DOUBLED],
    ),
    "one_resource_through_identities": (
        [
            node("a", "Placeholder", dtype="float32"),
            handle("b"),
            same("ai", "a", GPU, type="float32"),
            same("bi", "b", CPU),
            call("y", DOUBLED, "ai", "bi"),
            same("r1", "y"),
            same("r2", "y:1", type="float32"),
        ],
        [DOUBLED],
    ),
    "two_resources": (
        [handle("a", CPU), handle("b", GPU), call("y", SWAP, "a", "b"), same("r1", "y"), same("r2", "y:1")],
        [SWAP],
    ),
    "two_resources_call_on_cpu": (
        [
            handle("a", CPU),
            handle("b", GPU),
            call("y", SWAP, "a", "b", device=CPU),
            same("r1", "y"),
            same("r2", "y:1"),
        ],
        [SWAP],
    ),
    "two_resources_one_free": (
        [
            handle("a"),
            handle("b", GPU),
            call("y", SWAP, "a", "b", device=CPU),
            same("r1", "y"),
            same("r2", "y:1"),
        ],
        [SWAP],
    ),
    "two_resources_one_free_other_on_cpu": (
        [
            handle("a"),
            handle("b", CPU),
            call("y", SWAP, "a", "b", device=CPU),
            same("r1", "y"),
            same("r2", "y:1"),
        ],
        [SWAP],
    ),
    "one_resource_many_readers": (
        [
            handle("a"),
            handle("b", CPU),
            call("y", SWAP, "a", "b"),
            same("r1", "y"),
            same("r2", "y"),
            same("r3", "y:1", GPU),
        ],
        [SWAP],
    ),
    "same_resource_twice": (
        [handle("a"), call("y", SWAP, "a", "a", device=GPU), same("r1", "y"), same("r2", "y:1", CPU)],
        [SWAP],
    ),
    "same_resource_twice_many_readers": (
        [
            handle("a"),
            call("y", SWAP, "a", "a", device=GPU),
            same("r1", "y"),
            same("r2", "y", CPU),
            same("r3", "y:1"),
        ],
        [SWAP],
    ),
    "same_resource_twice_in_conflict": (
        [handle("a"), call("y", SWAP, "a", "a", device=GPU), same("r1", "y", GPU), same("r2", "y:1", CPU)],
        [SWAP],
    ),
    "same_resource_twice_other_order": (
        [handle("a"), call("y", SWAP, "a", "a", device=GPU), same("r1", "y", CPU), same("r2", "y:1", GPU)],
        [SWAP],
    ),
    "same_resource_twice_uncrossed": (
        [handle("a"), call("y", PAIR, "a", "a"), same("r1", "y", CPU), same("r2", "y:1", GPU)],
        [PAIR],
    ),
    "reader_yields": ([handle("a", CPU), call("y", PASS, "a"), same("r1", "y", GPU)], [PASS]),
    "reader_yields_call_placed": (
        [handle("a", CPU), call("y", PASS, "a", device=GPU), same("r1", "y", GPU)],
        [PASS],
    ),
    "handle_through_identity": (
        [handle("b", CPU), same("bi", "b"), call("y", PASS, "bi"), same("r1", "y", GPU)],
        [PASS],
    ),
    "conflict_with_a_call": (
        [NUMBER, handle("a", CPU), handle("b", GPU), call("y", PASS, "a"), both("add", "y", "b")],
        [PASS],
    ),
    "conflict_of_two_calls": (
        [
            NUMBER,
            handle("a", CPU),
            handle("b", GPU),
            call("y", PASS, "a"),
            call("z", PASS, "b"),
            both("add", "y", "z"),
        ],
        [PASS],
    ),
    "back_to_back": (
        [
            NUMBER,
            handle("a", CPU),
            handle("b", GPU),
            call("y", PASS, "a"),
            call("w", PASS, "y"),
            call("z", PASS, "b"),
            both("add", "w", "z"),
        ],
        [PASS],
    ),
    "back_to_back_inside": ([NUMBER, call("y", BACK_TO_BACK, "number")], [BACK_TO_BACK, PASS]),
    "made_inside": ([NUMBER, call("y", MADE_ON_CPU, "number"), same("id", "y", GPU)], [MADE_ON_CPU]),
    "made_inside_freely": ([NUMBER, call("y", MADE, "number"), same("id", "y", GPU1)], [MADE]),
    "made_inside_a_call_inside": (
        [NUMBER, call("y", OUTER, "number"), same("id", "y", GPU)],
        [OUTER, MADE_ON_CPU],
    ),
    "made_on_the_cpu_only": ([NUMBER, call("y", TABLE, "number"), same("id", "y", GPU)], [TABLE]),
    "made_where_nothing_is": ([call("y", MADE_ABSENT), same("id", "y", GPU)], [MADE_ABSENT]),
    "made_two": ([NUMBER, call("y", MADE_TWO), both("add", "y", "y:1")], [MADE_TWO]),
    "made_two_in_conflict": (
        [NUMBER, handle("a", GPU1), call("y", MADE_ON_GPU), both("add", "y", "a")],
        [MADE_ON_GPU],
    ),
    "asked_inside": ([handle("a", CPU), call("y", ON_GPU, "a"), same("r1", "y")], [ON_GPU]),
    "asked_inside_and_outside": ([handle("a"), call("y", ON_GPU, "a"), same("r1", "y", CPU)], [ON_GPU]),
    "asked_before": ([handle("a"), same("ai", "a", CPU), call("y", ON_GPU, "ai"), same("r1", "y")], [ON_GPU]),
    "asked_differently_by_two_calls": (
        [handle("a"), call("y", ON_GPU, "a"), call("z", ON_CPU, "y"), same("r1", "z")],
        [ON_GPU, ON_CPU],
    ),
    "asked_differently_beside_each_other": (
        [handle("a"), call("y", ON_GPU, "a"), call("z", ON_CPU, "a"), same("r1", "y"), same("r2", "z")],
        [ON_GPU, ON_CPU],
    ),
    "three_calls_beside_each_other": (
        [
            handle("a"),
            call("x", ON_GPU, "a"),
            call("y", ON_CPU, "a"),
            call("z", ON_GPU, "a"),
            same("r1", "y"),
            same("r2", "z", GPU1),
        ],
        [ON_GPU, ON_CPU],
    ),
    "read_inside": (
        [handle("a"), call("y", READ, "a"), same("r1", "y"), same("r2", "y:1", CPU, type="float32")],
        [READ],
    ),
    "colocated_inside": (
        [
            handle("a", CPU),
            handle("b", GPU),
            call("y", COLOCATED, "a", "b"),
            same("r1", "y"),
            same("r2", "y:1"),
        ],
        [COLOCATED],
    ),
    "colocated_inside_readers_ask": (
        [
            handle("a"),
            handle("b"),
            call("y", COLOCATED, "a", "b"),
            same("r1", "y", CPU),
            same("r2", "y:1", GPU),
        ],
        [COLOCATED],
    ),
    "colocated_inside_sources_ask": (
        [
            handle("a"),
            handle("b"),
            same("ai", "a", CPU),
            same("bi", "b", GPU),
            call("y", COLOCATED, "ai", "bi"),
            same("r1", "y"),
            same("r2", "y:1"),
        ],
        [COLOCATED],
    ),
    "clash_inside": ([call("y", CLASHING), same("r1", "y")], [CLASHING]),
    "malformed_inside": ([handle("a"), call("y", MALFORMED, "a"), same("r1", "y")], [MALFORMED]),
    "no_kernel_inside": ([handle("a"), call("y", NO_KERNEL, "a"), same("r1", "y")], [NO_KERNEL]),
    "two_outputs_of_one": (
        [handle("a"), call("y", TWICE, "a"), same("r1", "y", GPU), same("r2", "y:1", CPU)],
        [TWICE],
    ),
    "unread": ([handle("a", CPU), call("y", PASS, "a", device=GPU)], [PASS]),
    "readers_of_one_output": (
        [
            handle("a"),
            call("y", PASS, "a"),
            same("r1", "y", GPU1),
            same("r2", "y", CPU),
            same("r3", "y", GPU),
        ],
        [PASS],
    ),
    "assigned_through_a_call": (
        [
            NUMBER,
            handle("a"),
            call("y", PASS, "a"),
            node("set", "AssignVariableOp", "y", "number", device=GPU1, dtype="float32"),
            node("get", "ReadVariableOp", "y", device=CPU, dtype="float32"),
        ],
        [PASS],
    ),
    "table_through_a_call": (
        [
            node("a", "HashTableV2", key_dtype="string", value_dtype="int64"),
            call("y", PASS, "a", device=GPU),
            same("r1", "y", GPU),
        ],
        [PASS],
    ),
    "table_meets_gpu": (
        [
            NUMBER,
            node("a", "HashTableV2", key_dtype="string", value_dtype="int64"),
            handle("b", GPU),
            call("y", PAIR, "a", "b"),
            both("add", "y", "y:1"),
        ],
        [PAIR],
    ),
    "colocated_with_a_reader": (
        [
            handle("a", CPU),
            call("y", PASS, "a"),
            same("r1", "y"),
            node("c", "NoOp", groups=["r1"], device=GPU),
        ],
        [PASS],
    ),
    "colocated_with_the_call": (
        [handle("a", CPU), call("y", PASS, "a", device=GPU), node("c", "NoOp", groups=["y"])],
        [PASS],
    ),
    "reader_inlined": (
        [handle("a"), call("y", PASS, "a"), call("c", ON_CPU, "y", **INLINED), same("d", "y", GPU)],
        [PASS, ON_CPU],
    ),
    "reader_inlined_twice": (
        [
            handle("a"),
            call("y", PASS, "a"),
            same("b", "y", GPU),
            call("c", PAIRED, "y", "y", **INLINED),
            same("d", "y", GPU1),
        ],
        [PASS, PAIRED],
    ),
    "reader_is_a_call_made_before": (
        [
            handle("a"),
            call("c", USES, "a", **INLINED),
            call("z", ON_CPU, "c"),
            same("d", "c", GPU),
            same("e", "z", GPU1),
        ],
        [USES, PASS, ON_CPU],
    ),
    "recursion": ([handle("a"), call("y", AGAIN, "a"), same("r1", "y")], [AGAIN]),
    "recursion_of_two": ([handle("a"), call("y", FIRST, "a"), same("r1", "y")], [FIRST, SECOND]),
    "recursion_below": (
        [handle("a"), call("y", "start", "a", device=GPU, op="StatefulPartitionedCall"), same("r1", "y")],
        [body("start", "r", ["in:output:0"], call("in", "first", "a0", device=CPU)), FIRST, SECOND],
    ),
    "recursion_and_a_conflict": (
        [NUMBER, handle("a", CPU), handle("b", GPU), call("y", AGAIN, "a"), both("add", "a", "b")],
        [AGAIN],
    ),
    "recursion_and_a_malformed_device": (
        [handle("a"), same("odd", "a", "/gpu"), call("y", AGAIN, "a")],
        [AGAIN],
    ),
    "recursion_and_an_absent_device": (
        [handle("a"), same("far", "a", "/gpu:7"), call("y", AGAIN, "a")],
        [AGAIN],
    ),
    "recursion_and_a_colocation": (
        [handle("a", CPU), handle("b", GPU), same("c", "b", groups=["a"]), call("y", AGAIN, "a")],
        [AGAIN],
    ),
    "fault_inside_the_second_call": (
        [handle("a"), call("y", AGAIN, "a"), call("z", CLASHING), call("x", MALFORMED, "a")],
        [AGAIN, CLASHING, MALFORMED],
    ),
    "fault_inside_the_first_call": (
        [handle("a"), call("z", CLASHING), call("x", MALFORMED, "a"), call("y", AGAIN, "a")],
        [AGAIN, CLASHING, MALFORMED],
    ),
}
"""Name -> nodes, and the functions that they call."""


def graph_def(name: str) -> Any:
    """The GraphDef of one of them."""
    return graph_def_of(*GRAPHS[name])


def graph_def_of(nodes: Sequence[NodeSpec], bodies: Sequence[Body]) -> Any:
    """A GraphDef with a library."""
    message = graph_def_class()()
    message.versions.producer = PRODUCER
    for function in bodies:
        made = message.library.function.add()
        made.signature.name = function.name
        for i, dtype in enumerate(types_of(function.takes)):
            made.signature.input_arg.add(name=f"a{i}", type=dtype.as_datatype_enum)
        for (result, what), dtype in zip(function.gives.items(), types_of(function.types), strict=True):
            made.signature.output_arg.add(name=result, type=dtype.as_datatype_enum)
            made.ret[result] = what
        for spec in function.nodes:
            add_node_def(made.node_def, spec, spec.inputs)
    for spec in nodes:
        add_node_def(message.node, spec, spec.inputs)
    return message
