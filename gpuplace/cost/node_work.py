"""A ``Work`` for every node of a step.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.ops.array.constant import placeholder
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.cost.shapes.step_shapes import step_shapes
>>> with Graph().as_default() as graph:
...     rows = placeholder("float32", [None, 10], name="rows")
...     _ = apply_op("MatMul", "product", a=rows, b=rows, transpose_b=True)
>>> shapes = step_shapes(graph, {"rows": (64, 10)})
>>> step_work(shapes)[shapes.graph.index["product"]].flops
81920.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuplace.cost.shapes import calls
from gpuplace.cost.shapes.branches import dead_nodes, known_branches
from gpuplace.cost.shapes.engine import Engine, sizes_of
from gpuplace.cost.shapes.kinds import Kind, Sizes, filled_with
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.graph.op_sets import BRANCH_OPS, CALL_OPS, WHILE_OPS
from gpuplace.kernels.work.find import work_of
from gpuplace.kernels.work.models import Task
from gpuplace.kernels.work.record import Work

_CALLS = CALL_OPS | BRANCH_OPS | WHILE_OPS


def step_work(shapes: StepShapes) -> list[Work]:
    """What one execution of each node's kernel has to do, by the node's position; equal work is one object.

    Args:
        shapes: of a graph.
    """
    engine, rests_on = shapes.engine, shapes.rests_on
    sizes, inputs = shapes.sizes, shapes.inputs
    found: list[Work] = []
    for node, kind in enumerate(shapes.kinds):
        outputs = sizes[node]
        try:
            key = tuple([sizes[source][output] for source, output in inputs[node]]), outputs
        except IndexError:  # a node has no such output
            key = tuple([sizes_of(sizes[source], output) for source, output in inputs[node]]), outputs
        made = kind.work.get(key)
        if made is None:
            made = kind.work[key] = _work(engine, node, kind, key[0], outputs)
        because = rests_on.get(node) if rests_on else None
        if because is not None and (made.nbytes or made.flops):
            given = kind.work.get((key, because))
            if given is None:
                given = kind.work[key, because] = replace(made, assumed=(*made.assumed, because))
            made = given
        found.append(made)
    return found


def _work(
    engine: Engine, node: int, kind: Kind, given: tuple[Sizes, ...], outputs: tuple[Sizes, ...]
) -> Work:
    if kind.op_type in _CALLS or kind.op_type in engine.graph.functions:
        return _work_of_call(engine, node, kind, given, outputs)
    return work_of(_task(engine, node, kind, given, outputs))


def _task(
    engine: Engine, node: int, kind: Kind, given: tuple[Sizes, ...], outputs: tuple[Sizes, ...]
) -> Task:
    """What the rules of work are asked; an unknown size counts as 1."""
    types = kind.input_types
    dtypes = tuple(
        types[at].base_dtype if at < len(types) else engine.kinds[source].dtypes[output]
        for at, (source, output) in enumerate(engine.inputs[node])
    )
    in_sizes, out_sizes = (tuple([filled_with(one, 1) for one in each]) for each in (given, outputs))
    return Task(kind.op_type, kind.attrs, in_sizes, dtypes, out_sizes, kind.dtypes)


def _work_of_call(
    engine: Engine, node: int, kind: Kind, given: tuple[Sizes, ...], outputs: tuple[Sizes, ...]
) -> Work:
    """The sum over a function's body; of the branches of a conditional the longest, of a loop one trip."""
    first = 1 if kind.op_type in BRANCH_OPS else 0
    if kind.op_type in BRANCH_OPS:
        names = branches_that_run(engine, node, kind)
    elif kind.op_type in WHILE_OPS:
        names = [calls.function_name(kind, "body")]
    else:
        names = [calls.function_name(kind, "f") if kind.op_type in CALL_OPS else kind.op_type]
    found = longest_body(engine, names, calls.arguments_of(engine, node, first))
    if found is None:
        plain = work_of(_task(engine, node, kind, given, outputs))
        return replace(plain, assumed=(f"The body of {kind.op_type} is not known",))
    longest = found[1]
    if kind.op_type in WHILE_OPS:
        return replace(longest, assumed=(*longest.assumed, "One trip of the loop is assumed"))
    if kind.op_type in BRANCH_OPS and len(names) > 1:
        return replace(longest, assumed=(*longest.assumed, "The longest branch is assumed to be taken"))
    return longest


def branches_that_run(engine: Engine, node: int, kind: Kind) -> list[str]:
    """Return the functions of which a conditional calls one: that one alone where its predicate is known.

    Args:
        engine: the graph.
        node: the conditional.
        kind: its kind.
    """
    names, known = calls.branches_of(kind.attrs), engine.value_of_input(node, 0)
    if (
        known is None
        or known[1] is not None
        or known[0].size != 1
        or known[0].dtype == object
        or len(names) < 2
    ):
        return names
    value = known[0].item()
    if "branches" not in kind.attrs:
        return [names[0 if value else 1]]
    return [names[int(value) if 0 <= value < len(names) else -1]]


def longest_body(
    engine: Engine, names: Sequence[str], arguments: Sequence[calls.Argument]
) -> tuple[str, Work] | None:
    """Return the function whose body has most to do, and all its work; None where no body is known.

    Args:
        engine: the graph that calls one of them.
        names: the functions.
        arguments: what they get.
    """
    longest: tuple[str, Work] | None = None
    for name in names:
        body = calls.inner(engine, name, arguments)
        if body is None:
            continue
        total = _total(body)
        if longest is None or (total.flops, total.nbytes) > (longest[1].flops, longest[1].nbytes):
            longest = name, total
    return longest


def _total(body: Engine) -> Work:
    """Return the work of all nodes of a body that run, as one record."""
    dead, unknown = dead_nodes(body.graph, known_branches(body))
    flops = read = written = gpu_bytes = 0.0
    launches = gpu_launches = 0
    dtype, assumed, most = "float32", dict[str, None](), -1.0
    parts: list[tuple[str, Work]] = []
    if any(unknown.values()):
        assumed["Conditionals in called functions are assumed to take the branch for True"] = None
    for node, kind in enumerate(body.kinds):
        if dead[node]:
            continue
        outputs = body.shapes[node] or ()
        given = tuple([body.sizes(source, output) for source, output in body.inputs[node]])
        work = _work(body, node, kind, given, outputs)
        flops, read, written = flops + work.flops, read + work.bytes_read, written + work.bytes_written
        launches, gpu_launches = launches + work.launches, gpu_launches + work.gpu_launches
        gpu_bytes += work.gpu_bytes
        parts += work.parts or [(kind.op_type, work)]
        if work.flops > most:
            dtype, most = work.dtype, work.flops
        if work.model == "guess" and work.nbytes:
            assumed[f"{kind.op_type} has no model: its bytes alone are counted"] = None
        assumed.update(dict.fromkeys(work.assumed))
    return Work(
        dtype, flops, read, written, launches,
        gpu_bytes=gpu_bytes, gpu_launches=gpu_launches, model="call", assumed=tuple(assumed),
        parts=tuple(parts),
    )  # fmt: skip
