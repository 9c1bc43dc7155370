"""Compare the shapes that gpuplace infers with those of TensorFlow's C++ functions, for random ops and programs.

    PYTHONPATH=. TENSORFLOW_PYTHON tests/oracle/compare_shapes.py [--cases 20] [--seed 0] [--show 5] [NAME ...]

``TENSORFLOW_PYTHON`` is an interpreter with TensorFlow 2.21 that can import gpuplace too. A name is an op of
`random_cases`, `random_basic` or `random_state`, a kind of programs of `random_programs`, or ``expressions``: graphs of
some dozens of random ops, their gradients included. Inputs are constants or placeholders whose shapes are known, known
in part, or not at all. Both sides get the same GraphDef without the shapes that its program knew. An output's shape is
to be the same, or known here alone; of single ops the latter is compared with the shape that the op gives when it runs.
Programs that are known here to fail, and not there, are counted.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow

from gpuplace.errors import OpError
from gpuplace.graphdef.load import load_graph_def
from tests.ops.cases import Handle, Ref
from tests.oracle.compare_random import CASES_OF, Draw, TensorFlow, run_program
from tests.oracle.random_programs import PROGRAMS
from tests.oracle.random_shapes import expressions
from tests.oracle.record.shapes import imported, shapes, without_shapes
from tests.support.inferred_shapes import compared, inferred

v1 = tensorflow.compat.v1
EXPRESSIONS = "expressions"
REFUSALS = (tensorflow.errors.OpError, ValueError, TypeError, LookupError, NotImplementedError)

NOT_ALIKE = {
    ("Svd", 1): "[0] is what TensorFlow says without vectors, a scalar what it gives",
    ("Svd", 2): "as for output 1",
    (
        "FusedBatchNormV3",
        5,
    ): "what the library wants to keep: of a GPU one number, whatever it is called on a CPU",
    ("SplitV", 0): "with an axis that is not known TensorFlow splits the last one",
    ("Conv2DBackpropInput", 0): "1.15 does not take the batch from the gradient",
    ("Substr", 0): "its broadcast of unknown shapes has a rank there",
}
"""Outputs, by op and number, of which TensorFlow says what may not be; of SplitV all outputs are."""

Graphs = Iterator[tuple[Any, dict[str, Any] | None]]
"""GraphDefs, each with the shapes of its nodes' outputs when it runs, as far as that was tried; None: it fails."""


def hidden(draw: Draw, shape: tuple[int, ...]) -> list[int | None] | None:
    """A shape, or what is known of it."""
    how = draw.pick("known", "partial", "partial", "rank", "unknown")
    if how == "unknown":
        return None
    if how == "rank":
        return [None] * len(shape)
    return [None if how == "partial" and draw.chance(2) else size for size in shape]


def of_op(name: str, number: int, seed: int) -> Graphs:
    """Single ops with random inputs."""
    for index in range(number):
        draw = Draw(name, seed, index)
        case = CASES_OF[name](draw)
        feeds: dict[Any, Any] = {}
        with v1.Graph().as_default() as graph, v1.device("/cpu:0"):

            def tensor(value: Any, feeds: dict[Any, Any] = feeds, draw: Draw = draw) -> Any:
                if isinstance(value, list):
                    return [tensor(item) for item in value]
                if isinstance(value, (Ref, Handle)):
                    return TensorFlow.variable(value)[0]
                dtype = v1.string if value.dtype == object else v1.as_dtype(value.dtype)
                if draw.chance(2 if value.dtype.kind in "iuO" else 4):
                    return v1.constant(value.tolist() if dtype == v1.string else value, dtype, value.shape)
                made = v1.placeholder(dtype, hidden(draw, value.shape))
                feeds[made] = value
                return made

            try:
                outputs = TensorFlow.make(
                    case.op, [tensor(value) for value in case.inputs], TensorFlow.attrs(case)
                )
            except REFUSALS:
                continue
            given: dict[str, Any] | None = {}
            if outputs and outputs[0].dtype.base_dtype not in (v1.resource, v1.variant):
                with v1.Session() as session:
                    try:
                        session.run(v1.global_variables_initializer())
                        found = session.run(outputs, feeds)
                        given = {outputs[0].op.name: [list(np.shape(value)) for value in found]}
                    except REFUSALS:
                        given = None
            yield graph.as_graph_def(), given


def of_programs(name: str, number: int, seed: int) -> Graphs:
    """What random programs build."""
    for index in range(number):
        with built_graphs() as graphs:
            run_program(v1, PROGRAMS[name](Draw(name, seed, index)))
        for graph in graphs:
            yield graph.as_graph_def(), {}


@contextmanager
def built_graphs() -> Iterator[list[Any]]:
    """Notes the graphs that are made."""
    graphs: list[Any] = []
    plain = v1.Graph

    class Watched(plain):
        def __init__(self) -> None:
            super().__init__()
            graphs.append(self)

    v1.Graph = Watched
    try:
        yield graphs
    finally:
        v1.Graph = plain


def of_expressions(number: int, seed: int) -> Graphs:
    """Graphs of many ops."""
    for index in range(number):
        with v1.Graph().as_default() as graph:
            expressions(v1, Draw(EXPRESSIONS, seed, index), REFUSALS)
            yield graph.as_graph_def(), {}


def differences(graph_def: Any, given: dict[str, Any] | None, counts: Counter[str]) -> Iterator[str]:
    """What is worse here than there, or wrong; counts what was compared."""
    message = without_shapes(graph_def)
    try:
        theirs = shapes(imported(message))
    except REFUSALS as error:
        counts["not imported"] += 1
        del error
        return
    try:
        found = inferred(load_graph_def(message.SerializeToString()), "2.21")
    except OpError as error:
        counts["known to fail"] += 1
        if given:
            yield f"refused here: {error.message}"
        return
    except Exception as error:  # any failure is a finding
        counts["failed"] += 1
        yield f"failed here: {type(error).__name__}: {error}, at {traceback.extract_tb(error.__traceback__)[-1]}"
        return
    for name, there in theirs.items():
        node = found.graph.index.get(name)
        if node is None:  # what it was inlined to has other names
            continue
        for output, (ours, other) in enumerate(zip(found.sizes[node], there, strict=True)):
            verdict = compared(ours, other)
            real = (given or {}).get(name)
            if verdict == "better" and real is not None and compared(ours, real[output]) == "wrong":
                verdict, other = "wrong", real[output]
            counts[verdict] += 1
            op_type = found.kinds[node].op_type
            if (
                verdict in ("wrong", "worse")
                and (op_type, output if op_type != "SplitV" else 0) not in NOT_ALIKE
            ):
                inputs = [found.sizes[source][at] for source, at in found.inputs[node]]
                yield f"{verdict}: {op_type} {name}:{output} {ours}, TensorFlow {other}; of {inputs}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="ops, kinds of programs or 'expressions'; default: all")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="how many differences of a name are printed")
    args = parser.parse_args()
    v1.disable_v2_behavior()
    total: Counter[str] = Counter()
    failed = 0
    for name in args.names or (*CASES_OF, *PROGRAMS, EXPRESSIONS):
        graphs: Graphs
        if name == EXPRESSIONS:
            graphs = of_expressions(args.cases, args.seed)
        else:
            of: Callable[[str, int, int], Graphs] = of_programs if name in PROGRAMS else of_op
            graphs = of(name, args.cases, args.seed)
        shown: dict[str, None] = {}
        for graph_def, given in graphs:
            total["graphs"] += 1
            for text in differences(graph_def, given, total):
                shown[text] = None
        if shown:
            failed += 1
            print(
                f"{name}: {len(shown)} differ",
                *[f"    {text[:400]}" for text in list(shown)[: args.show]],
                sep="\n",
            )
            sys.stdout.flush()
    print(f"{failed} names differ; {dict(total)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
