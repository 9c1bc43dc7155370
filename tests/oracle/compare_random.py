"""Compare what gpuplace computes with what TensorFlow does, for random inputs of the ops in `random_cases`.

    PYTHONPATH=. TENSORFLOW_PYTHON tests/oracle/compare_random.py [--cases 20] [--seed 0] [--show 3] [OP ...]

``TENSORFLOW_PYTHON`` is an interpreter with TensorFlow 2.21 that can import gpuplace too: both run in one process,
each case in a graph and a session of its own, on the CPU. A case is an op with inputs and attributes; compared are its
outputs and the variables it changes, then the gradients of its floating-point outputs with respect to all such inputs,
where TensorFlow has a gradient, and the class of the error where one is raised. An op that only works beside others has
random programs of its own, whose results are compared. An error is relative to the larger of the element and the mean
of its tensor. At the end, where no op is named: how many ops are compared how often, and the largest errors by type.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow
from tensorflow.python.framework import op_def_library, op_def_registry

import gpuplace
from gpuplace.graph.apply_op import apply_op
from gpuplace.kernels.compute import computable_ops
from gpuplace.release import set_release
from tests.ops.cases import Case, Handle, Ref
from tests.oracle import (
    random_basic,
    random_cases,
    random_datasets,
    random_flow,
    random_functions_of_matrices,
    random_others,
    random_resources,
    random_state,
)
from tests.oracle.random_cases import UNLIKE, Draw
from tests.oracle.random_programs import PROGRAMS
from tests.oracle.record.ops import _defaults, _is_type, _sentence

v1 = tensorflow.compat.v1

LIMITS = {"float64": 1e-10, "complex128": 1e-10, "float16": 8e-3, "bfloat16": 6e-2}
"""The largest relative error that is none, by type; 2e-5 for single precision."""

COARSE = {
    **dict.fromkeys(("ResizeBilinear", "ResizeBilinearGrad", "ResizeBicubic", "ResizeBicubicGrad"), 3e-6),
    "CropAndResizeGradImage": 3e-6,
    **dict.fromkeys(("CTCLoss", "CTCBeamSearchDecoder"), 2e-5),
}
"""Ops whose weights TensorFlow computes in single precision, whatever the type."""

HALF_SUMS = {"BlockLSTM": 2e-2}
"""Ops whose sums TensorFlow rounds to half precision after every step, and the error that is none for halves."""

NEWER = frozenset(
    {
        "LSTMBlockCell",
        "GRUBlockCell",
        "RGBToHSV",
        "AdjustContrastv2",
        "ResizeBilinearGrad",
        "SparseSparseMaximum",
        "SparseSparseMinimum",
        "Svd",
        "Qr",
        "Snapshot",
        "ParseExample",
        "ParseSingleExample",
        "ParseSingleSequenceExample",
        "RandomShuffle",
        "RFFT3D",
        "IRFFT3D",
        "FakeQuantWithMinMaxArgsGradient",
        "FakeQuantWithMinMaxVarsGradient",
        "FakeQuantWithMinMaxVarsPerChannelGradient",
    }
)
"""Ops of which the releases, or gpuplace, differ in whether there is a gradient and how it fails: only values are
compared."""

VALUES_ALONE = frozenset(
    {
        *("ResizeBilinearGrad", "SelfAdjointEigV2", "Svd", "Qr"),
        *(
            "MatrixDiagV2",
            "MatrixDiagPartV2",
            "MatrixSetDiagV2",
        ),  # 2.21 aligns the gradient's diagonals to the right
    }
)
"""Ops whose gradient is another one, as signs are, or only one of the two has."""

OUTPUTS = {f"FusedBatchNorm{version}": 3 for version in ("", "V2", "V3")}
"""How many outputs are compared, of ops whose others are for their gradient alone; and as many inputs' gradients."""

FIRST_ALONE = frozenset({"SparseSoftmaxCrossEntropyWithLogits"})
"""Ops that have a gradient for the first output alone in 1.15."""

ALWAYS_KNOWN = frozenset(
    {
        *("SpaceToBatchND", "BatchToSpaceND", "ParallelConcat", "ExtractImagePatches"),
        *("MatrixSolveLs", "FractionalAvgPool", "TridiagonalSolve"),
    }
)
"""Ops whose inputs TensorFlow wants to be of known rank."""

NOWHERE = {
    **dict.fromkeys(
        ("BytesInUse", "BytesLimit", "MaxBytesInUse"),
        "an allocator's statistics, which no other allocator has to the byte",
    ),
    "GatherTree": "only in tf.contrib of 1.15, which tests/tf1/test_decoding.py compares with the definition",
    **dict.fromkeys(("NcclAllReduce", "NcclReduce", "NcclBroadcast"), "only with several GPUs"),
    **dict.fromkeys(("_Send", "_Recv"), "only between devices: every step on several has them"),
    **dict.fromkeys(
        ("BatchNormWithGlobalNormalization", "BatchNormWithGlobalNormalizationGrad"),
        "only in graphs of 2015, which TensorFlow 2.21 does not run",
    ),
}
"""Ops that cannot be compared beside TensorFlow 2.21 on a CPU, and why."""

HALVES = ("float16", "bfloat16")

CASES_OF = {
    **random_cases.CASES_OF,
    **random_basic.CASES_OF,
    **random_state.CASES_OF,
    **random_others.CASES_OF,
    **random_functions_of_matrices.CASES_OF,
}

PROGRAMS_OF = {**random_datasets.PROGRAMS_OF, **random_resources.PROGRAMS_OF, **random_flow.PROGRAMS_OF}
"""Op types whose cases are programs of their own."""


class TensorFlow:
    """The graph functions of TensorFlow that a case needs."""

    tf, errors = v1, tensorflow.errors

    @staticmethod
    def attrs(case: Case) -> dict[str, Any]:
        definition = op_def_registry.get(case.op)
        given = {
            name: (
                tensorflow.as_dtype(value)
                if _is_type(definition, name)
                else tensorflow.make_tensor_proto(value)
                if isinstance(value, np.ndarray)
                else value
            )
            for name, value in case.attrs.items()
        }
        return {**_defaults(definition), **given}

    @staticmethod
    def make(op_type: str, arguments: list[Any], attrs: dict[str, Any]) -> list[Any]:
        names = [arg.name for arg in op_def_registry.get(op_type).input_arg]
        made = op_def_library.apply_op(op_type, **dict(zip(names, arguments, strict=True)), **attrs)
        return [] if isinstance(made, tensorflow.Operation) else list(_operation(made).outputs)

    @staticmethod
    def variable(value: Ref | Handle) -> tuple[Any, Any]:
        made = v1.Variable(value.value, use_resource=isinstance(value, Handle))
        return (made.handle if isinstance(value, Handle) else made._variable), made


class Gpuplace:
    """The same of gpuplace."""

    tf, errors = gpuplace, gpuplace.errors

    @staticmethod
    def attrs(case: Case) -> dict[str, Any]:
        return dict(case.attrs)

    @staticmethod
    def make(op_type: str, arguments: list[Any], attrs: dict[str, Any]) -> list[Any]:
        names = [arg.name for arg in op_def_registry.get(op_type).input_arg]
        return list(apply_op(op_type, **dict(zip(names, arguments, strict=True)), **attrs).outputs)

    @staticmethod
    def variable(value: Ref | Handle) -> tuple[Any, Any]:
        made = gpuplace.Variable(value.value, use_resource=isinstance(value, Handle))
        return (made.handle if isinstance(value, Handle) else made._ref()), made


def _operation(made: Any) -> Any:
    while isinstance(made, (list, tuple)):
        made = made[0]
    return made.op


@dataclass
class Answer:
    """What one of the two gave: arrays, or the name of an error's class."""

    outputs: list[Any] = field(default_factory=list)
    variables: list[Any] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)
    error: str = ""
    message: str = ""
    gradient_error: str = ""
    gradient_message: str = ""


def run(side: Any, case: Case, known_shapes: bool, gradients: list[Any] | None) -> Answer:
    """Builds and runs a case; with values for the gradients of the outputs it runs the gradients."""
    answer, tf = Answer(), side.tf
    failures = (side.errors.OpError, ValueError, TypeError, LookupError, NotImplementedError)
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        feeds: dict[Any, Any] = {}
        variables: list[Any] = []

        def tensor(value: Any) -> Any:
            if isinstance(value, list):
                return [tensor(item) for item in value]
            if isinstance(value, (Ref, Handle)):
                handle, variable = side.variable(value)
                variables.append(variable)
                return handle
            dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
            made = tf.placeholder(dtype, value.shape if known_shapes else None)
            feeds[made] = (
                value.copy() if isinstance(value, np.ndarray) else value
            )  # InplaceAdd writes into it
            return made

        arguments = [tensor(value) for value in case.inputs]
        with tf.Session() as session:
            try:
                outputs = side.make(case.op, arguments, side.attrs(case))
                session.run([variable.initializer for variable in variables])
                step = outputs or tf.get_default_graph().get_operations()[-1]
                if outputs and outputs[0].dtype.base_dtype == tf.resource:
                    step = []
                found = session.run(step, feeds)
                answer.outputs = list(found) if outputs else []
                answer.variables = [session.run(variable) for variable in variables]
            except failures as error:
                answer.error, answer.message = type(error).__name__, _sentence(str(error)).split("\n")[0]
                return answer
            if gradients is None:
                return answer
            flat = list(feeds)
            xs = [made for made in flat if made.dtype.is_floating or made.dtype.is_complex]
            ys = [out for out in outputs if out.dtype.is_floating or out.dtype.is_complex]
            if not xs or not ys:
                return answer
            try:
                number = 1 if case.op in FIRST_ALONE or case.op in OUTPUTS else len(ys)
                given = [tf.constant(value) for value in gradients[:number]]
                made = tf.gradients(ys[:number], xs, given)
                flat_made = [part for one in made for part in _parts(one)]
                found = session.run([part for part in flat_made if part is not None], feeds)
                values = iter(found)
                answer.gradients = [None if part is None else next(values) for part in flat_made]
            except failures as error:
                answer.gradient_error = type(error).__name__
                answer.gradient_message = str(error).split("\n")[0]
    return answer


def _parts(gradient: Any) -> list[Any]:
    return [gradient.values, gradient.indices] if hasattr(gradient, "indices") else [gradient]


def error_between(ours: Any, theirs: Any, coarse: float = 0.0) -> tuple[float, str]:
    """The largest relative error, and what is wrong in kind."""
    if (ours is None) != (theirs is None):
        return 0.0, f"{'no gradient' if ours is None else 'a gradient'} here alone"
    if theirs is None:
        return 0.0, ""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype != theirs.dtype and "OSU".find(theirs.dtype.kind) < 0:
        return 0.0, f"{ours.dtype} is not {theirs.dtype}"
    if ours.shape != theirs.shape:
        return 0.0, f"shape {ours.shape} is not {theirs.shape}"
    name = theirs.dtype.name
    if theirs.dtype.kind in "fc" or name == "bfloat16":
        kind = np.complex128 if theirs.dtype.kind == "c" else np.float64
        a, b = ours.astype(kind), theirs.astype(kind)
        special = ~np.isfinite(b) | ~np.isfinite(a)
        if not np.array_equal(np.where(special, a, 0), np.where(special, b, 0), equal_nan=True):
            return 0.0, f"infinite or undefined elsewhere: {ours!r} is not {theirs!r}"
        a, b = np.where(special, 0, a), np.where(special, 0, b)
        if not b.size:
            return 0.0, ""
        scale = np.maximum(np.abs(b), np.abs(b).mean())
        worst = float((np.abs(a - b) / np.where(scale == 0, 1, scale)).max())
        return worst, "" if worst <= max(
            coarse, LIMITS.get(name, 2e-5)
        ) else f"{worst:.2g} apart: {ours!r} is not {theirs!r}"
    if ours.tolist() != theirs.tolist():
        return 0.0, f"{ours!r} is not {theirs!r}"
    return 0.0, ""


@dataclass
class Row:
    """What was found for an op."""

    coarse: float = 0.0
    coarse_half: float = 0.0
    cases: int = 0
    raised: int = 0
    gradients: int = 0
    forward: float = 0.0
    forward_half: float = 0.0
    gradient: float = 0.0
    gradient_half: float = 0.0
    failures: list[str] = field(default_factory=list)
    by_type: dict[tuple[str, str], float] = field(default_factory=dict)
    """The largest error of what is compared (``forward``, ``gradient``) and of a type."""

    def note(self, what: str, ours: list[Any], theirs: list[Any], where: str, compared: Any = None) -> None:
        if len(ours) != len(theirs):
            self.failures.append(f"{where}: {len(ours)} results, {len(theirs)} of TensorFlow")
            return
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            kind = np.asarray(other).dtype.name
            coarse = max(self.coarse, self.coarse_half if kind in HALVES else 0.0)
            worst, text = compared(one, other) if compared else error_between(one, other, coarse)
            self.by_type[what, kind] = max(self.by_type.get((what, kind), 0.0), worst)
            half = kind in HALVES
            name = f"{what}_half" if half else what
            setattr(self, name, max(getattr(self, name), worst))
            if text:
                self.failures.append(f"{where} {what} {index}: {text}")


def compare(op_type: str, number: int, seed: int) -> Row:
    """Runs random cases of an op on both sides."""
    row = Row(COARSE.get(op_type, 0.0), HALF_SUMS.get(op_type, 0.0))
    for index in range(number):
        draw = Draw(op_type, seed, index)
        case = CASES_OF[op_type](draw)
        known = bool(draw.rng.integers(2)) or op_type in ALWAYS_KNOWN
        where = f"{op_type} {index} {_brief(case)}{'' if known else ' (shapes unknown)'}"
        theirs = run(TensorFlow, case, known, None)
        grads = [
            draw.values(np.asarray(out).dtype, np.asarray(out).shape)
            for out in theirs.outputs
            if np.asarray(out).dtype.kind in "fc" or np.asarray(out).dtype.name == "bfloat16"
        ]
        if not theirs.error:
            theirs = run(TensorFlow, case, known, grads)
        ours = run(Gpuplace, case, known, grads)
        row.cases += 1
        if ours.error != theirs.error:
            row.failures.append(
                f"{where}: {ours.error or 'no error'} ({ours.message}), TensorFlow: "
                f"{theirs.error or 'none'} ({theirs.message})"
            )
            continue
        if theirs.error:
            row.raised += 1
            continue
        count = OUTPUTS.get(op_type)
        row.note("forward", ours.outputs[:count], theirs.outputs[:count], where, UNLIKE.get(op_type))
        row.note("forward", ours.variables, theirs.variables, f"{where} variable")
        if op_type in VALUES_ALONE or case.label == random_others.VALUES:
            continue
        if ours.gradient_error != theirs.gradient_error:
            row.failures += (
                []
                if op_type in NEWER
                else [
                    f"{where} gradient: {ours.gradient_error or 'no error'} ({ours.gradient_message}), TensorFlow: "
                    f"{theirs.gradient_error or 'none'} ({theirs.gradient_message})"
                ]
            )
            continue
        row.gradients += any(one is not None for one in theirs.gradients)
        row.note("gradient", ours.gradients[:count], theirs.gradients[:count], where)
    return row


def staging_of(tf: Any) -> Any:
    """Where the classes of staging areas are."""
    if tf is gpuplace:
        return gpuplace.contrib.staging
    from tensorflow.python.ops import data_flow_ops

    return data_flow_ops


def run_program(tf: Any, program: Any) -> tuple[list[Any], set[str]]:
    """What a program returns, or the name of an error's class, and the types of the ops it built."""
    with tf.Graph().as_default() as graph, tf.device("/cpu:0"), tf.Session() as session:
        try:
            found = program(tf, session)
        except (
            tf.errors.OpError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            NotImplementedError,
        ) as error:
            found = [f"{type(error).__name__}: {str(error).splitlines()[0]}"]
        types = {op.type for op in graph.get_operations()}
        for function in graph.as_graph_def().library.function:
            types |= {node.op for node in function.node_def}
    return found, types


def compare_own(op_type: str, number: int, seed: int) -> Row:
    """Runs the random programs of an op on both sides."""
    row = Row()
    for index in range(number):
        theirs, _ = run_program(v1, PROGRAMS_OF[op_type](Draw(op_type, seed, index)))
        ours, types = run_program(gpuplace, PROGRAMS_OF[op_type](Draw(op_type, seed, index)))
        where = f"{op_type} {index}"
        row.cases += 1
        row.raised += any(isinstance(one, str) for one in theirs)
        if op_type not in types:
            row.failures.append(f"{where}: the op is not in the graph")
        row.note("forward", ours, theirs, f"{where} of {ours!r}"[:300])
    return row


def compare_programs(name: str, number: int, seed: int) -> dict[str, Row]:
    """Runs random programs of a kind on both sides; a row for each op type that gpuplace built."""
    rows: dict[str, Row] = {}
    for index in range(number):
        theirs, _ = run_program(v1, PROGRAMS[name](Draw(name, seed, index)))
        ours, types = run_program(gpuplace, PROGRAMS[name](Draw(name, seed, index)))
        row = Row()
        where = f"{name} {index}"
        if theirs and isinstance(theirs[-1], str) and ": " in theirs[-1]:
            row.failures.append(f"{where}: TensorFlow {theirs}")
        else:
            row.note("forward", ours, theirs, f"{where} of {ours!r}"[:300])
        for op_type in types:
            found = rows.setdefault(op_type, Row())
            found.cases += 1
            found.forward = max(found.forward, row.forward)
            found.forward_half = max(found.forward_half, row.forward_half)
            found.failures += row.failures
            for key, worst in row.by_type.items():
                found.by_type[key] = max(found.by_type.get(key, 0.0), worst)
    return rows


def summary(rows: dict[str, Row], wanted: int) -> str:
    """How many ops with a kernel are compared how often, and the largest errors by type.

    Args:
        rows: what was found by op type; of programs of several ops with the kind of program in brackets after it.
        wanted: as many cases are enough.
    """
    ops = computable_ops()
    elsewhere = Counter(
        name.split()[0] for name, row in rows.items() for _ in range(row.cases) if " " in name
    )
    own = [name for name in ops if rows.get(name, Row()).cases >= wanted]
    shared = [name for name in ops if name not in own and elsewhere[name]]
    none = [name for name in ops if name not in own and not elsewhere[name]]
    lines = [
        f"{len(ops)} ops have a kernel: {len(own)} with {wanted} cases of their own or more,"
        f" {len(shared)} in programs of several ops alone, {len(none)} in none",
        *[f"    {name} ({elsewhere[name]} programs)" for name in shared],
        *[f"    {name} (none): {NOWHERE.get(name, '')}" for name in none],
    ]
    worst: dict[tuple[str, str], tuple[float, str]] = {}
    for name, row in rows.items():
        for key, error in row.by_type.items():
            worst[key] = max(worst.get(key, (0.0, "")), (error, name))
    for (what, kind), (error, name) in sorted(worst.items()):
        if error:
            lines.append(f"largest relative error, {what}, {kind}: {error:.1e} ({name})")
    return "\n".join(lines)


def _brief(case: Case) -> str:
    def one(value: Any) -> str:
        if isinstance(value, list):
            return f"[{', '.join(map(one, value))}]"
        if isinstance(value, (Ref, Handle)):
            return f"{type(value).__name__} {one(value.value)}"
        if value.size <= 6 and value.dtype.kind in "iubO":
            return f"{value.dtype.name} {value.tolist()}"
        return f"{value.dtype.name}{list(value.shape)}"

    return f"({', '.join(map(one, case.inputs))}) {case.attrs or ''}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ops", nargs="*", help="op types, or kinds of programs; all where none is named")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="how many failures of an op are printed")
    args = parser.parse_args()
    v1.disable_v2_behavior()
    set_release("2.21")
    line = "{:44} {:>5} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>4}"
    print(line.format("op", "cases", "raised", "gradients", "forward", "half", "gradient", "half", "fail"))
    failed, shown = 0, set[str]()
    found: dict[str, Row] = {}
    programs = [name for name in args.ops or PROGRAMS if name in PROGRAMS]
    rows = (
        (name, (compare if name in CASES_OF else compare_own)(name, args.cases, args.seed))
        for name in args.ops or [*CASES_OF, *PROGRAMS_OF]
        if name not in PROGRAMS
    )
    of_programs = (
        (f"{op_type} ({name})", row)
        for name in programs
        for op_type, row in sorted(compare_programs(name, args.cases, args.seed).items())
    )
    for op_type, row in itertools.chain(rows, of_programs):
        figures = (row.forward, row.forward_half, row.gradient, row.gradient_half)
        texts = [f"{figure:.1e}" if figure else "0" for figure in figures]
        print(
            line.format(op_type, row.cases, row.raised, row.gradients, *texts, len(row.failures)), flush=True
        )
        for failure in [one for one in row.failures if one not in shown][: args.show]:
            shown.add(failure)
            print(f"    {' '.join(failure.split())[:600]}")
        failed += bool(row.failures)
        found[op_type] = row
    print(f"{failed} ops differ")
    if not args.ops:
        print(summary(found, args.cases))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
