"""``tensorflow.python.util.serialization``: JSON forms of objects that ``json`` cannot serialize.

Source: tensorflow/python/util/serialization.py, release 1.15 (names, forms).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.shapes import Dimension, TensorShape


def get_json_type(obj: Any) -> Any:
    """Return an object as lists, dicts, numbers and strings: the ``default`` of ``json.dumps``.

    >>> import json
    >>> import numpy as np
    >>> json.dumps({"shape": TensorShape([None, 3]), "numbers": np.arange(2), "kind": max}, default=get_json_type)
    '{"shape": [null, 3], "numbers": [0, 1], "kind": "max"}'

    Args:
        obj: an object with ``get_config``, an array, a NumPy number, a function or class, a shape, a size or
            a mapping.

    Raises:
        TypeError: the argument has another type.
    """
    if hasattr(obj, "get_config"):
        return {"class_name": type(obj).__name__, "config": obj.get_config()}
    if type(obj).__module__ == "numpy":  # an array or a number
        return obj.tolist()
    if callable(obj):
        return obj.__name__
    if isinstance(obj, Dimension):
        return obj.value
    if isinstance(obj, TensorShape):
        return obj.as_list()
    if isinstance(obj, Mapping):
        return dict(obj)
    raise TypeError("Not JSON Serializable:", obj)
