"""Serialize user-defined functions: their code, defaults and closures.

The text contains Python bytecode for the same Python version.

Source: tensorflow/python/keras/utils/generic_utils.py and ops/rnn_cell_wrapper_impl.py, release 1.15 (form).
"""

from __future__ import annotations

import base64
import marshal
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def function_texts(function: Callable[..., Any]) -> tuple[Any, str, str]:
    """Serialize a function.

    >>> code, kind, module = function_texts(lambda x: x + 1)
    >>> kind, function_from(code, kind, None, {})(2)
    ('lambda', 3)

    Args:
        function: a Python function, or another callable with a name.

    Returns:
        Its code, defaults and closure, ``"lambda"`` and its module; for a callable that is not a Python function, its
        name, ``"function"`` and its module.
    """
    if not isinstance(function, types.FunctionType):
        return function.__name__, "function", function.__module__
    code = base64.encodebytes(marshal.dumps(function.__code__)).decode("ascii")
    closed = function.__closure__ and tuple(cell.cell_contents for cell in function.__closure__)
    return (code, function.__defaults__, closed or None), "lambda", function.__module__


def function_from(text: Any, kind: str, module: str | None, custom: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the function from a serialized form.

    Args:
        text: its code, defaults and closure; or its name.
        kind: ``"lambda"`` for code, ``"function"`` for a name.
        module: the module that provides the code's globals; there is a warning if it is not loaded.
        custom: additional names for the code.

    Raises:
        TypeError: the kind is unknown.
        ValueError: the name is not in ``custom``.
    """
    names: dict[str, Any] = {"__builtins__": __builtins__}
    if module in sys.modules:
        names |= vars(sys.modules[module])
    elif module is not None:
        warnings.warn(
            f"{module} is not loaded, but a layer uses it. It may cause errors.", UserWarning, stacklevel=2
        )
    names |= custom
    if kind == "function":
        if text not in custom:
            raise ValueError(f"Unknown function in wrapper:{text}")
        function: Callable[..., Any] = custom[text]
        return function
    if kind != "lambda":
        raise TypeError("Unknown function type:", kind)
    code, defaults, closed = text
    body = marshal.loads(base64.decodebytes(code.encode("ascii")))
    cells = None if closed is None else tuple(types.CellType(value) for value in closed)
    return types.FunctionType(body, names, body.co_name, None if defaults is None else tuple(defaults), cells)
