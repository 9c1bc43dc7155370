"""The ``Work`` of every node of a step.

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
    """Return the work of one execution of each node, by position; equal work is one object.

    Args:
        shapes: shapes of a graph.
    """
    engine, assumption_of_node = shapes.engine, shapes.assumption_of_node
    sizes, inputs = shapes.sizes, shapes.inputs
    works: list[Work] = []
    for node, kind in enumerate(shapes.kinds):
        outputs = sizes[node]
        try:
            key = tuple([sizes_of(sizes[source], output) for source, output in inputs[node]]), outputs
        except IndexError:  # a node has no such output
            key = tuple([sizes_of(sizes[source], output) for source, output in inputs[node]]), outputs
        work = kind.work.get(key)
        if work is None:
            work = kind.work[key] = _work(engine, node, kind, key[0], outputs)
        assumption = assumption_of_node.get(node) if assumption_of_node else None
        if assumption is not None and (work.nbytes or work.flops):
            guessed = kind.work.get((key, assumption))
            if guessed is None:
                guessed = kind.work[key, assumption] = replace(work, assumed=(*work.assumed, assumption))
            work = guessed
        works.append(work)
    return works


def _work(
    engine: Engine, node: int, kind: Kind, inputs: tuple[Sizes, ...], outputs: tuple[Sizes, ...]
) -> Work:
    if kind.op_type in _CALLS or kind.op_type in engine.graph.functions:
        return _work_of_call(engine, node, kind, inputs, outputs)
    return work_of(_task(engine, node, kind, inputs, outputs))


def _task(
    engine: Engine, node: int, kind: Kind, inputs: tuple[Sizes, ...], outputs: tuple[Sizes, ...]
) -> Task:
    """Return the input of the work rules; an unknown size counts as 1."""
    types = kind.input_types
    dtypes = tuple(
        types[at].base_dtype if at < len(types) else engine.kinds[source].dtype(output)
        for at, (source, output) in enumerate(engine.inputs[node])
    )
    in_sizes, out_sizes = (
        tuple([filled_with(sizes, 1) for sizes in tensors]) for tensors in (inputs, outputs)
    )
    return Task(kind.op_type, kind.attrs, in_sizes, dtypes, out_sizes, kind.dtypes)


def _work_of_call(
    engine: Engine, node: int, kind: Kind, inputs: tuple[Sizes, ...], outputs: tuple[Sizes, ...]
) -> Work:
    """Return the total work of a function's body: a conditional's longest branch, one iteration of a loop."""
    first = 1 if kind.op_type in BRANCH_OPS else 0
    if kind.op_type in BRANCH_OPS:
        names = branches_that_run(engine, node, kind)
    elif kind.op_type in WHILE_OPS:
        names = [calls.function_name(kind, "body")]
    else:
        names = [calls.function_name(kind, "f") if kind.op_type in CALL_OPS else kind.op_type]
    longest_branch = longest_body(engine, names, calls.arguments_of(engine, node, first))
    if longest_branch is None:
        plain = work_of(_task(engine, node, kind, inputs, outputs))
        return replace(plain, assumed=(f"The body of {kind.op_type} is unknown",))
    longest = longest_branch[1]
    if kind.op_type in WHILE_OPS:
        return replace(longest, assumed=(*longest.assumed, "One iteration of the loop is assumed"))
    if kind.op_type in BRANCH_OPS and len(names) > 1:
        return replace(longest, assumed=(*longest.assumed, "The longest branch is assumed to run"))
    return longest


def branches_that_run(engine: Engine, node: int, kind: Kind) -> list[str]:
    """Return the functions that a conditional may call: one if its predicate is known, otherwise all.

    Args:
        engine: shapes and values of the graph.
        node: the conditional.
        kind: its signature.
    """
    names, predicate = calls.branches_of(kind.attrs), engine.value_of_input(node, 0)
    if (
        predicate is None
        or predicate[1] is not None
        or predicate[0].size != 1
        or predicate[0].dtype == object
        or len(names) < 2
    ):
        return names
    value = predicate[0].item()
    if "branches" not in kind.attrs:
        return [names[0 if value else 1]]
    return [names[int(value) if 0 <= value < len(names) else -1]]


def longest_body(
    engine: Engine, names: Sequence[str], arguments: Sequence[calls.Argument]
) -> tuple[str, Work] | None:
    """Return the function whose body has the most work, and that work; None if no body is known.

    Args:
        engine: shapes and values of the calling graph.
        names: names of the functions.
        arguments: arguments of the call.
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
    dtype, assumed, most_flops = "float32", dict[str, None](), -1.0
    parts: list[tuple[str, Work]] = []
    if any(unknown.values()):
        assumed["Conditionals in called functions are assumed to take the branch for True"] = None
    for node, kind in enumerate(body.kinds):
        if dead[node]:
            continue
        outputs = body.shapes[node] or ()
        inputs = tuple([body.sizes(source, output) for source, output in body.inputs[node]])
        work = _work(body, node, kind, inputs, outputs)
        flops, read, written = flops + work.flops, read + work.bytes_read, written + work.bytes_written
        launches, gpu_launches = launches + work.launches, gpu_launches + work.gpu_launches
        gpu_bytes += work.gpu_bytes
        parts += work.parts or [(kind.op_type, work)]
        if work.flops > most_flops:
            dtype, most_flops = work.dtype, work.flops
        if work.model == "guess" and work.nbytes:
            assumed[f"{kind.op_type} has no model: only its bytes are counted"] = None
        assumed.update(dict.fromkeys(work.assumed))
    return Work(
        dtype, flops, read, written, launches,
        gpu_bytes=gpu_bytes, gpu_launches=gpu_launches, model="call", assumed=tuple(assumed),
        parts=tuple(parts),
    )  # fmt: skip
