"""Names of NumPy 1 that scripts for TensorFlow 1 use and NumPy 2 has removed.

gpuplace needs NumPy 2, but such scripts were written for NumPy 1: ``gpuplace run`` restores these names in
the script's process only. Names that NumPy still has are unchanged.

Source: NumPy's release notes, 1.16 (iterables of arrays), 1.24 (aliases of Python's types), 2.0 (members of the main
namespace) and 2.4.
"""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["give_back"]

_TYPES = {name: getattr(builtins, name) for name in ("bool", "int", "float", "complex", "object", "str")}
_RENAMED = {
    "Inf": "inf",
    "Infinity": "inf",
    "NINF": "",
    "NaN": "nan",
    "PINF": "inf",
    "alltrue": "all",
    "cumproduct": "cumprod",
    "complex_": "complex128",
    "float_": "float64",
    "in1d": "isin",
    "infty": "inf",
    "product": "prod",
    "row_stack": "vstack",
    "sometrue": "any",
    "string_": "bytes_",
    "trapz": "trapezoid",
    "unicode_": "str_",
}
"""Old name -> current name."""


def _asscalar(a: Any) -> Any:
    return a.item()


def _asfarray(a: Any, dtype: Any = np.float64) -> Any:
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _msort(a: Any) -> Any:
    return np.sort(a, axis=0)


_OF_SEQUENCES = ("concatenate", "dstack", "hstack", "stack", "vstack")
"""Functions of several arrays, which NumPy 1 accepts from any iterable, such as a ``map``."""


def _of_iterables(function: Any) -> Any:
    @functools.wraps(function)
    def joined(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        return function(list(arrays) if isinstance(arrays, Iterator) else arrays, *args, **kwargs)

    joined.__wrapped_for_scripts__ = True  # type: ignore[attr-defined]
    return joined


def give_back(numpy: Any = np) -> None:
    """Restore missing names, the argument ``newshape`` of ``reshape``, and the joining of iterators of arrays.

    >>> give_back()
    >>> np.float is float, np.product([2, 3]).item(), np.reshape([1, 2], newshape=(2, 1)).shape
    (True, 6, (2, 1))
    >>> np.hstack(np.asfarray([part]) for part in (1, 2)).tolist()
    [1.0, 2.0]

    Args:
        numpy: the module.
    """
    namespace = vars(numpy)
    for name, kind in _TYPES.items():
        namespace.setdefault(name, kind)
    namespace.setdefault("unicode", str)
    namespace.setdefault("asscalar", _asscalar)
    namespace.setdefault("asfarray", _asfarray)
    namespace.setdefault("msort", _msort)
    for name in _OF_SEQUENCES:
        if not hasattr(namespace[name], "__wrapped_for_scripts__"):
            namespace[name] = _of_iterables(namespace[name])
    for old, name in _RENAMED.items():
        namespace.setdefault(old, namespace[name] if name else -namespace["inf"])
    reshape = namespace["reshape"]
    if "newshape" in inspect.signature(reshape).parameters:
        return

    @functools.wraps(reshape)
    def reshaped(*args: Any, newshape: Any = None, **kwargs: Any) -> Any:
        return reshape(*args, **kwargs) if newshape is None else reshape(*args, shape=newshape, **kwargs)

    reshaped.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *inspect.signature(reshape).parameters.values(),
            inspect.Parameter("newshape", inspect.Parameter.KEYWORD_ONLY, default=None),
        ]
    )
    namespace["reshape"] = reshaped
