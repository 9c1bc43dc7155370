"""What one recorded case of an op is, and where the recorded answers are.

A table (`table_<name>.py`) lists cases: op type, inputs in the order of the signature, attributes. The script
`tests/oracle/record/ops.py` runs them in TensorFlow 2.21 and writes `recorded/<name>.json`; `test_kernels.py` runs them
through gpuplace's functions. This module and the tables import nothing but NumPy and ml_dtypes, since TensorFlow's
Python reads them too.

    Case("MatMul", [f32([[1, 2]]), f32([[3], [4]])], {"transpose_a": False})
    Case("ConcatV2", [[f32([1]), f32([2])], i32(0)])          # a list input is a list
    Case("AssignAdd", [Ref(f32([1])), f32([2])])               # a variable by reference; Handle(...) for a resource
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

RECORDED = Path(__file__).parent / "recorded"

TABLES: tuple[str, ...] = (
    *(
        "elementwise",
        "array",
        "reduction",
        "random",
        "neural",
        "sparse",
        "state",
        "summaries",
        "image",
        "signals",
        "functions",
    ),
)
"""Names of the tables, by hand."""


@dataclass(frozen=True)
class Ref:
    """An input that is a reference variable holding ``value``; None: uninitialised, of ``dtype`` and ``shape``."""

    value: Any
    dtype: str = "float32"
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Handle:
    """An input that is the handle of a resource variable holding ``value``; None as in ``Ref``."""

    value: Any
    dtype: str = "float32"
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Case:
    """One call of an op."""

    op: str
    inputs: list[Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    """Attributes that the inputs do not decide; types as names (``"int32"``), strings as ``bytes`` or ``str``."""
    label: str = ""
    """Tells the cases of one op apart, for people; a number is added where needed."""
    rtol: float | None = None
    """Relative tolerance; by element type where None. 0 asks for the very same bits."""
    atol: float = 0.0
    """Absolute tolerance."""
    only_class: bool = False
    """Of an error compare the class alone: its sentence names what differs between the releases."""
    cpu_only: bool = False
    """The result on a GPU is another one by design (another random stream)."""


def f32(value: Any) -> np.ndarray:
    """A float32 array."""
    return np.asarray(value, np.float32)


def f64(value: Any) -> np.ndarray:
    """A float64 array."""
    return np.asarray(value, np.float64)


def f16(value: Any) -> np.ndarray:
    """A float16 array."""
    return np.asarray(value, np.float16)


def bf16(value: Any) -> np.ndarray:
    """A bfloat16 array."""
    return np.asarray(value, np.float32).astype(ml_dtypes.bfloat16)


def i32(value: Any) -> np.ndarray:
    """An int32 array."""
    return np.asarray(value, np.int32)


def i64(value: Any) -> np.ndarray:
    """An int64 array."""
    return np.asarray(value, np.int64)


def i8(value: Any) -> np.ndarray:
    """An int8 array."""
    return np.asarray(value, np.int8)


def u8(value: Any) -> np.ndarray:
    """An uint8 array."""
    return np.asarray(value, np.uint8)


def c64(value: Any) -> np.ndarray:
    """A complex64 array."""
    return np.asarray(value, np.complex64)


def b(value: Any) -> np.ndarray:
    """A bool array."""
    return np.asarray(value, np.bool_)


def s(value: Any) -> np.ndarray:
    """A string array: an object array of ``bytes``."""
    flat = np.asarray(value, np.str_ if not _has_bytes(value) else np.bytes_)
    result = np.empty(flat.shape, object)
    for index in np.ndindex(flat.shape):
        item = flat[index]
        result[index] = bytes(item) if isinstance(item, bytes) else str(item).encode()
    return result


def _has_bytes(value: Any) -> bool:
    return isinstance(value, bytes) or (isinstance(value, list) and any(map(_has_bytes, value)))


def ramp(*shape: int, dtype: Any = np.float32, start: float = 0.5, step: float = 0.25) -> np.ndarray:
    """Distinct values in the given shape: ``start``, ``start + step``, ..."""
    return (start + step * np.arange(int(np.prod(shape)))).reshape(shape).astype(dtype)


def load_table(name: str) -> dict[str, Case]:
    """The cases of a table by their key: op, label, and a number where several are alike."""
    keyed: dict[str, Case] = {}
    for case in importlib.import_module(f"tests.ops.table_{name}").CASES:
        base = f"{case.op}-{case.label}" if case.label else case.op
        key, number = base, 1
        while key in keyed:
            number += 1
            key = f"{base}-{number}"
        keyed[key] = case
    return keyed


def all_cases() -> dict[str, tuple[str, Case]]:
    """Every case of every table: ``table/key`` to the table's name and the case."""
    return {f"{table}/{key}": (table, case) for table in TABLES for key, case in load_table(table).items()}


def digest(case: Case) -> str:
    """A short hash of what is computed, by which a stale recording is noticed."""
    hasher = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, (list, tuple)):
            hasher.update(f"[{len(value)}".encode())
            for item in value:
                add(item)
        elif isinstance(value, (Ref, Handle)):
            hasher.update(f"{type(value).__name__}{value.dtype}{value.shape}".encode())
            add(value.value)
        elif isinstance(value, np.ndarray):
            hasher.update(f"{value.dtype}{value.shape}".encode())
            hasher.update(
                repr(value.tolist()).encode()
                if value.dtype == object
                else np.ascontiguousarray(value).tobytes()
            )
        else:
            hasher.update(repr(value).encode())

    add(case.op)
    add(case.inputs)
    add(sorted(case.attrs.items()))
    return hasher.hexdigest()[:12]


def encode_array(array: Any) -> dict[str, Any]:
    """An array as JSON; numbers as text where that is exact and short, else as bytes in base64."""
    # an array of fixed width would lose a text's last bytes where they are zero
    array = np.array(array, object) if isinstance(array, bytes) else np.asarray(array)
    if array.dtype.kind in "SUO":
        values = [v.encode() if isinstance(v, str) else bytes(v) for v in array.ravel().tolist()]
        return {
            "dtype": "string",
            "shape": list(array.shape),
            "base64": [base64.b64encode(v).decode() for v in values],
        }
    result: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.dtype.kind in "iub" and array.size <= 64:
        result["values"] = array.ravel().tolist()
    elif array.dtype.name in ("float32", "float64") and array.size <= 16 and bool(np.isfinite(array).all()):
        result["values"] = [float(str(v)) for v in array.ravel()]
    else:
        result["base64"] = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return result


def decode_array(record: dict[str, Any]) -> np.ndarray:
    """The array that ``encode_array`` wrote."""
    shape = tuple(record["shape"])
    if record["dtype"] == "string":
        array = np.empty(len(record["base64"]), object)
        for index, item in enumerate(record["base64"]):
            array[index] = base64.b64decode(item)
        return array.reshape(shape)
    dtype = (
        np.dtype(ml_dtypes.bfloat16)
        if record["dtype"] == "bfloat16"
        else np.dtype(getattr(ml_dtypes, record["dtype"]))
        if hasattr(ml_dtypes, record["dtype"])
        else np.dtype(record["dtype"])
    )
    if "values" in record:
        return np.array(record["values"], dtype).reshape(shape)
    return np.frombuffer(base64.b64decode(record["base64"]), dtype).reshape(shape)


def read_recorded(table: str) -> dict[str, Any]:
    """Recorded answers of a table, by key: ``digest`` and ``outputs``, ``variables`` or ``error``, ``message``."""
    path = RECORDED / f"{table}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write_recorded(table: str, answers: dict[str, Any]) -> None:
    """Writes the answers, one case a line."""
    lines = [f"{json.dumps(key)}: {json.dumps(answer)}" for key, answer in answers.items()]
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{table}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
