"""``tf.raw_ops``: each op of the catalogue as a function with keyword arguments.

>>> import gpuplace as tf
>>> float(tf.Session().run(tf.raw_ops.Add(x=1.0, y=2.0)))
3.0

Source: tensorflow/_api/v1/raw_ops, release 1.15 (names).
"""

from __future__ import annotations

import typing as _typing

from gpuplace.graph import generated as _generated
from gpuplace.graph import op_def as _op_def


def __getattr__(name: str) -> _typing.Any:
    if name not in _op_def.op_registry():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _generated.keyword_function(name)


def __dir__() -> list[str]:
    return sorted(name for name in _op_def.op_registry().names() if not name.startswith("_"))
