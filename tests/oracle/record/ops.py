"""Records what TensorFlow computes for the cases of `tests/ops/table_*.py`.

Run in an environment with TensorFlow 2.21, from the root of the project:

    python tests/oracle/record/ops.py [TABLE ...]        # all tables without an argument

Only cases that are new or whose inputs changed are run, unless `--all` is given. A case runs alone in a version 1 graph
on the CPU, by op type: what a Python function of TensorFlow adds around the op is not part of it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_library, op_def_registry

from tests.ops import cases as c

v1 = tf.compat.v1


def _variable(value: c.Ref | c.Handle) -> tuple[Any, Any]:
    """The tensor that stands for the variable and the variable itself."""
    initial = np.zeros(value.shape, value.dtype) if value.value is None else value.value
    variable = v1.Variable(initial, use_resource=isinstance(value, c.Handle), dtype=initial.dtype)
    return (variable.handle if isinstance(value, c.Handle) else variable._variable), variable


def run_case(case: c.Case) -> dict[str, Any]:
    """The answer to one case; where shapes known in advance are refused, what the kernel says to them."""
    answer = _run(case, known_shapes=True)
    return _run(case, known_shapes=False) if answer.get("error") == "ValueError" else answer


def _run(case: c.Case, known_shapes: bool) -> dict[str, Any]:
    definition = op_def_registry.get(case.op)
    variables: list[Any] = []
    uninitialised: list[Any] = []

    def tensor(value: Any) -> Any:
        if isinstance(value, list):
            return [tensor(item) for item in value]
        if isinstance(value, (c.Ref, c.Handle)):
            handle, variable = _variable(value)
            (uninitialised if value.value is None else variables).append(variable)
            return handle
        return tf.constant(value.tolist(), tf.string, shape=value.shape) if value.dtype == object else value

    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        arguments = {
            arg.name: tensor(value) for arg, value in zip(definition.input_arg, case.inputs, strict=True)
        }
        feeds: dict[Any, Any] = {}

        def fed(value: Any) -> Any:
            if isinstance(value, list):
                return [fed(item) for item in value]
            if not isinstance(value, np.ndarray):
                return value
            placeholder = v1.placeholder(value.dtype, value.shape if known_shapes else None)
            feeds[placeholder] = value
            return placeholder

        arguments = {name: fed(value) for name, value in arguments.items()}
        try:
            attrs = {
                name: (
                    tf.as_dtype(value)
                    if _is_type(definition, name)
                    else tf.make_tensor_proto(value)
                    if isinstance(value, np.ndarray)
                    else value
                )
                for name, value in case.attrs.items()
            }
            result = op_def_library.apply_op(case.op, **arguments, **{**_defaults(definition), **attrs})
            session.run([variable.initializer for variable in variables])
            if isinstance(result, tf.Operation):
                session.run(result, feeds)
                outputs: list[Any] = []
            else:
                flat = tf.nest.flatten(result)
                outputs = session.run(flat, feeds) if flat[0].dtype.base_dtype != tf.resource else []
        except (tf.errors.OpError, ValueError) as error:
            message = error.message if isinstance(error, tf.errors.OpError) else str(error)
            return {
                "error": type(error).__name__,
                "message": _sentence(message),
            }
        answer = {"outputs": [c.encode_array(output) for output in outputs]}
        if variables or uninitialised:
            answer["variables"] = [c.encode_array(session.run(v)) for v in variables + uninitialised]
        return answer


def _sentence(message: str) -> str:
    """The error's own text, without TensorFlow's report of where the node was made."""
    message = re.sub(r"^Graph execution error:.*?\nNode: [^\n]*\n", "", message, flags=re.S)
    return re.sub(r"\s*\[\[\{\{node.*", "", message, flags=re.S)


def _defaults(definition: Any) -> dict[str, Any]:
    """Default values of the attributes that the inputs do not decide."""
    inferred = {
        name for arg in definition.input_arg for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
    }
    values: dict[str, Any] = {}
    for attr in definition.attr:
        if attr.name in inferred or not attr.HasField("default_value"):
            continue
        kind = attr.default_value.WhichOneof("value")
        if kind in ("s", "i", "f", "b", "tensor"):
            values[attr.name] = getattr(attr.default_value, kind)
        elif kind == "type":
            values[attr.name] = tf.as_dtype(attr.default_value.type)
        elif kind == "list":
            listed = attr.default_value.list
            values[attr.name] = list(listed.s or listed.i or listed.f or listed.b)
        elif kind == "shape":
            values[attr.name] = tf.TensorShape(attr.default_value.shape)
    return values


def _is_type(definition: Any, name: str) -> bool:
    return any(attr.name == name and attr.type == "type" for attr in definition.attr)


def main() -> None:
    """Records the tables named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=c.TABLES)
    parser.add_argument("--all", action="store_true", help="also the cases that have an answer already")
    options = parser.parse_args()
    for table in options.tables:
        known = c.read_recorded(table)
        answers, ran = {}, 0
        for key, case in c.load_table(table).items():
            digest = c.digest(case)
            if not options.all and known.get(key, {}).get("digest") == digest:
                answers[key] = known[key]
                continue
            try:
                answers[key] = {"digest": digest, **run_case(case)}
            except Exception:
                print(f"while recording {table}/{key}:", file=sys.stderr)
                raise
            ran += 1
            if "error" in answers[key]:
                print(f"{table}/{key}: {answers[key]['error']}: {answers[key]['message']}")
        c.write_recorded(table, answers)
        print(f"{table}: {ran} of {len(answers)} cases run")


if __name__ == "__main__":
    main()
