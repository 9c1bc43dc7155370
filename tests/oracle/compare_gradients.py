"""The gradients of every op, node by node: those that gpuplace builds beside those of TensorFlow 1.15.5.

    python -m tests.oracle.compare_gradients --python PYTHON3.7_WITH_TENSORFLOW_1.15.5 [--op MatMul]... [--record]

The calls are those of `tests/ops/table_*.py` with at least one float input. Each is made under `/gpu:1` three times:
with known shapes, with an unknown first dimension, and with unknown ranks; whole numbers, such as axes, are constants,
and in the third graph are fed too. Then the float outputs are differentiated. Name, op type, inputs, control inputs,
attributes (values of constants included), device and groups of every node are compared, in order.

Prints the first difference of each op that differs, and how many ops and graphs are equal. `--record` writes
TensorFlow's graphs to `tests/data/gradients.json.gz`, which the test suite reads.

Both sides run `built`, so this module imports only NumPy and what Python 3.7 has.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).parent.parent / "data" / "gradients.json.gz"
SHAPES = ("known", "batch", "rank")
"""How much of the inputs' shapes is known."""
_FLOATS = ("float16", "float32", "float64", "complex64", "complex128")


def plain_cases() -> dict[str, Any]:
    """The calls as JSON: key -> op, inputs and attributes; those without a float input are left out."""
    from gpuplace.graph.op_def import op_registry
    from gpuplace.ops.gradients.registry import gradient_op_types
    from tests.ops.cases import all_cases

    found: dict[str, Any] = {}
    seen: set[str] = set()
    differentiable = set(gradient_op_types())
    for key, (_, case) in all_cases().items():
        if case.op not in differentiable or op_registry().get(case.op) is None:
            continue
        inputs = [_plain(value) for value in case.inputs]
        floats = [one for value in inputs for one in (value if isinstance(value, list) else [value])]
        if any(one is None for one in floats) or not any(one["dtype"] in _FLOATS for one in floats):
            continue
        names = [arg.name for arg in op_registry().lookup(case.op).inputs]
        try:
            plain = {"op": case.op, "inputs": dict(zip(names, inputs)), "attrs": _plain_attrs(case.attrs)}
        except TypeError:  # an attribute that is a function
            continue
        text = json.dumps(plain, sort_keys=True)
        if text not in seen:
            seen.add(text)
            found[key] = plain
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        made = [_plain(one) for one in value]
        return None if None in made else made
    if not isinstance(value, np.ndarray) or value.dtype.name not in (*_FLOATS, "int32", "int64", "bool"):
        return None
    parts = value.astype(np.complex128).ravel()
    return {
        "dtype": value.dtype.name,
        "shape": list(value.shape),
        "values": [[one.real, one.imag] for one in parts.tolist()]
        if value.dtype.kind == "c"
        else value.ravel().tolist(),
    }


def _plain_attrs(attrs: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return value.decode() if isinstance(value, bytes) else value

    made = {
        name: [plain(one) for one in value] if isinstance(value, (list, tuple)) else plain(value)
        for name, value in attrs.items()
    }
    json.dumps(made)
    return made


def _array(plain: dict[str, Any]) -> Any:
    values = plain["values"]
    if plain["dtype"].startswith("complex"):
        values = [complex(*one) for one in values]
    return np.array(values, plain["dtype"]).reshape(plain["shape"])


def built(tf: Any, apply_op: Any, case: dict[str, Any], shapes: str) -> Any:
    """The rows of a graph with a call and its gradients, or the class of the error.

    Args:
        tf: the module.
        apply_op: makes a node: op type, and arguments by keyword.
        case: as `plain_cases` gives it.
        shapes: one of `SHAPES`.
    """
    fed: list[Any] = []
    graph = tf.Graph()

    def given(plain: Any) -> Any:
        if isinstance(plain, list):
            return [given(one) for one in plain]
        if plain["dtype"] not in _FLOATS and shapes != "rank":
            return tf.constant(_array(plain))
        shape = plain["shape"]
        if shapes == "batch" and shape:
            shape = [None, *shape[1:]]
        made = tf.placeholder(plain["dtype"], None if shapes == "rank" else shape)
        if plain["dtype"] in _FLOATS:
            fed.append(made)
        return made

    with graph.as_default(), tf.device("/gpu:1"):
        try:
            arguments = {name: given(plain) for name, plain in case["inputs"].items()}
            made = apply_op(case["op"], **arguments, **case["attrs"])
            outputs = [one for one in graph.get_operations()[-1].outputs if one.dtype.name in _FLOATS]
            del made
            given = [tf.ones_like(one) if one.dtype.is_complex else None for one in outputs]
            tf.gradients(outputs, fed, given)
        except Exception as error:  # the answer of the case
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return rows(graph, tf.make_ndarray)


def rows(graph: Any, make_ndarray: Any) -> list[Any]:
    """Name, type, inputs, device, groups and a digest of the attributes of each node, as a GraphDef writes them."""
    found = []
    for node in graph.as_graph_def().node:
        attrs = {
            name: value.SerializeToString(deterministic=True)
            for name, value in node.attr.items()
            if name != "_output_shapes"
        }
        if "value" in attrs:  # equal values may be written in several ways
            array = make_ndarray(node.attr["value"].tensor)
            attrs["value"] = f"{array.dtype} {array.shape} {array.tolist()}".encode()
        text = json.dumps({name: value.hex() for name, value in attrs.items()}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        groups = [one.decode() for one in node.attr["_class"].list.s] if "_class" in node.attr else []
        found.append([node.name, node.op, list(node.input), node.device, groups, digest])
    return found


def of_tensorflow(cases: dict[str, Any]) -> dict[str, Any]:
    """TensorFlow's rows; run by its Python."""
    import tensorflow as tf
    from tensorflow.contrib import rnn

    assert rnn.LSTMBlockCell  # the module, loaded now, registers the gradients of block cells

    def apply_op(op, **arguments):  # type: ignore[no-untyped-def]
        function = getattr(tf.raw_ops, op)
        names = list(inspect.signature(function).parameters)  # some differ from those of the op
        others = [name for name in names if name not in arguments]
        given = {name if name in names else others.pop(0): value for name, value in arguments.items()}
        return function(**given)

    return {
        f"{key}/{shapes}": built(tf, apply_op, case, shapes)
        for key, case in cases.items()
        for shapes in SHAPES
    }


def of_gpuplace(cases: dict[str, Any]) -> dict[str, Any]:
    """Our rows."""
    import gpuplace as tf
    from gpuplace.graph.apply_op import apply_op

    return {
        f"{key}/{shapes}": built(tf, lambda op, **given: apply_op(op, **given), case, shapes)
        for key, case in cases.items()
        for shapes in SHAPES
    }


def difference(ours: Any, theirs: Any) -> str:
    """The first difference in words; "" where there is none."""
    if isinstance(ours, str) or isinstance(theirs, str):
        is_equal = (
            isinstance(ours, str) and isinstance(theirs, str) and ours.split(":")[0] == theirs.split(":")[0]
        )
        return "" if is_equal else f"{_short(ours)} instead of {_short(theirs)}"
    for one, other in zip(ours, theirs):
        if one != other:
            return f"{one} instead of {other}"
    if len(ours) != len(theirs):
        more = (ours if len(ours) > len(theirs) else theirs)[min(len(ours), len(theirs))]
        return f"{len(ours)} nodes instead of {len(theirs)}: {more}"
    return ""


def _short(rows: Any) -> str:
    return rows if isinstance(rows, str) else f"{len(rows)} nodes"


def main() -> None:
    """Compares."""
    if sys.argv[1:] == ["--tensorflow"]:
        json.dump(of_tensorflow(json.load(sys.stdin)), sys.stdout)
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", required=True, help="Python 3.7 with TensorFlow 1.15.5")
    parser.add_argument("--op", action="append", default=[], help="only this op")
    parser.add_argument("--record", action="store_true", help="write TensorFlow's graphs")
    arguments = parser.parse_args()
    cases = {
        key: case for key, case in plain_cases().items() if not arguments.op or case["op"] in arguments.op
    }
    answer = subprocess.run(
        [arguments.python, __file__, "--tensorflow"],
        input=json.dumps(cases),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    theirs = json.loads(answer.stdout)
    if arguments.record:
        TARGET.write_bytes(gzip.compress(json.dumps({"cases": cases, "graphs": theirs}).encode(), mtime=0))
    ours = of_gpuplace(cases)
    ops: dict[str, str] = {}
    equal = 0
    for key, rows_there in theirs.items():
        op = cases[key.rpartition("/")[0]]["op"]
        told = difference(ours[key], rows_there)
        equal += not told
        if told and not ops.get(op):
            ops[op] = f"{key}: {told}"
        ops.setdefault(op, "")
    for op, told in sorted(ops.items()):
        if told:
            print(op, told[:600])
    print(
        f"{sum(not told for told in ops.values())} of {len(ops)} ops, {equal} of {len(theirs)} graphs are equal"
    )


if __name__ == "__main__":
    main()
