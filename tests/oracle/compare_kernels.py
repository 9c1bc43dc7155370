"""Compare gpuplace's choice of kernel and of host-memory arguments with TensorFlow's, for nodes of every op.

    python tests/oracle/compare_kernels.py --python TENSORFLOW_PYTHON [--release 2.21] [--per-op 40]

Nodes are made from the signatures: every combination of the values that decide a kernel, or a fixed random choice of
``--per-op`` of them. ``TENSORFLOW_PYTHON`` is an interpreter with TensorFlow 2.21, or with tensorflow-gpu 1.15.5.
"""

import argparse
import base64
import itertools
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from gpuplace.dtypes import ALL_DTYPES, DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_notation import AttrDef
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.shapes import TensorShape

ASK = Path(__file__).with_name("kernels_of_tensorflow.py")
DEVICE_TYPES = ("CPU", "GPU", "XLA_CPU_JIT", "FPGA")
LAST_TYPE = {"1.15": 23, "2.21": 33}
UNLISTED = {"string": b"unlisted", "int": 77, "bool": False}


def values_to_try(attr: AttrDef, constrained: set, release: str) -> list:
    """Values of an attribute: those that rows and signature name and one that none does, or just a valid one."""
    if attr.element_type == "type":
        types = sorted(
            attr.allowed or [dtype for dtype in ALL_DTYPES if int(dtype) <= LAST_TYPE[release]], key=int
        )
        if not attr.is_list:
            return types
        pairs = [(a, b) for a, b in zip(types, types[1:])]
        return [(), *[(dtype,) * 2 for dtype in types], *pairs]
    if constrained:
        return [*sorted(constrained), UNLISTED[attr.element_type]]
    if attr.has_default:
        return [attr.default]
    if attr.is_list:
        return [()]
    if attr.type == "string":
        return [attr.allowed[0] if attr.allowed else b""]
    return [
        {"int": max(2, attr.minimum or 0), "float": 0.0, "bool": False, "shape": TensorShape(None)}.get(
            attr.type
        )
    ]


def nodes(op_def: OpDef, catalogue: Catalogue, limit: int) -> list[dict]:
    """Attributes of nodes of an op."""
    constrained: dict[str, set] = {}
    for row in catalogue.kernels.rows(op_def.name):
        for name, allowed in row.constraints:
            constrained.setdefault(name, set()).update(allowed)
    choices = [
        values_to_try(attr, constrained.get(attr.name, set()), str(catalogue.release))
        for attr in op_def.attrs
    ]
    labels = sorted({row.label.encode() for row in catalogue.kernels.rows(op_def.name)} | {b""})
    choices.append(labels)
    count = 1
    for choice in choices:
        count *= len(choice)
    if count <= limit:
        combinations = list(itertools.product(*choices))
    else:
        chooser = random.Random(op_def.name)
        combinations = [tuple(chooser.choice(choice) for choice in choices) for _ in range(limit)]
    names = [attr.name for attr in op_def.attrs] + ["_kernel"]
    return [
        {name: value for name, value in zip(names, values) if value not in (None, b"") or name != "_kernel"}
        for values in combinations
    ]


def as_json(value, attr_type: str) -> dict | None:
    """An AttrValue in protobuf's JSON mapping; None for kinds that decide no kernel and are left out."""
    fields = {"type": "type", "int": "i", "bool": "b", "string": "s", "shape": "shape"}
    is_list = attr_type.startswith("list(")
    kind = attr_type[len("list(") : -1] if is_list else attr_type
    if kind not in fields or value is None:
        return None
    if is_list:
        return {"list": {fields[kind]: [one_as_json(item) for item in value]}}
    return {fields[kind]: one_as_json(value)}


def one_as_json(value):
    if isinstance(value, DType):
        return value.enum_name
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, TensorShape):
        if value.ndims is None:
            return {"unknownRank": True}
        return {"dim": [{"size": str(-1 if size is None else size)} for size in value.as_list()]}
    return value


def letters(positions: frozenset, count: int) -> str:
    return "".join("h" if position in positions else "d" for position in range(count))


def ours(catalogue: Catalogue, op_def: OpDef, attrs: dict, device_type: str) -> dict:
    try:
        row, mismatch = catalogue.kernels.find(op_def.name, attrs, device_type)
    except InvalidArgumentError as error:
        return {"kernel": None, "kind": "invalid", "text": error.message}
    answer = {"kernel": row and str(row), "kind": "found" if row else "mismatch" if mismatch else "none"}
    inputs, outputs = catalogue.kernels.host_memory(op_def, attrs, device_type)
    answer["inputs"] = letters(inputs, len(op_def.input_types(attrs)))
    answer["outputs"] = letters(outputs, len(op_def.output_types(attrs)))
    return answer


def theirs(answer: dict) -> dict:
    error = answer["error"]
    if error is None:
        kind = "found"
    elif "No registered" not in error:
        return {"kernel": None, "kind": "invalid", "text": error}
    else:
        kind = "mismatch" if "attributes didn't match" in error else "none"
    return {
        "kernel": answer["kernel"],
        "kind": kind,
        "inputs": answer["inputs"],
        "outputs": answer["outputs"],
    }


def compare(python: str, release: str, per_op: int) -> tuple[int, list[str]]:
    """How many questions were asked, and a line for each answer that differs."""
    catalogue = default_catalogue(release)
    asked: list[tuple[OpDef, dict]] = []
    for name in catalogue.ops.names():
        op_def = catalogue.ops.lookup(name)
        asked += [(op_def, attrs) for attrs in nodes(op_def, catalogue, per_op)]
    questions = []
    for op_def, attrs in asked:
        kinds = {attr.name: attr.type for attr in op_def.attrs} | {"_kernel": "string"}
        mapped = {name: as_json(value, kinds[name]) for name, value in attrs.items()}
        questions.append(
            [op_def.name, {name: value for name, value in mapped.items() if value}, DEVICE_TYPES]
        )
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("questions.json", "answers.json")]
        files[0].write_text(json.dumps(questions))
        subprocess.run([python, ASK, *files], check=True)
        answers = json.loads(files[1].read_text())
    differences = []
    for (op_def, attrs), rows in zip(asked, answers, strict=True):
        for device_type, row in zip(DEVICE_TYPES, rows, strict=True):
            mine, right = ours(catalogue, op_def, attrs, device_type), theirs(row)
            texts = mine.pop("text", ""), right.pop("text", "")
            if mine != right:
                differences.append(
                    f"{op_def.name} {attrs} on {device_type}: {mine} {texts[0]}, TensorFlow: {right} {texts[1]}"
                )
    return len(asked) * len(DEVICE_TYPES), differences


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True)
    parser.add_argument("--release", default="2.21")
    parser.add_argument("--per-op", type=int, default=40)
    args = parser.parse_args()
    count, differences = compare(args.python, args.release, args.per_op)
    print(*differences, sep="\n")
    print(f"{count} answers compared with TensorFlow {args.release}: {len(differences)} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
