"""Silence about overflow, division by zero and invalid operations while a step runs, as in TensorFlow.

``numpy.errstate`` costs as much as a small product, most of it for reading its arguments, so the state is made once and
only put in place; with a NumPy that keeps it elsewhere ``numpy.errstate`` does it.

>>> token = silence()
>>> np.geterr()["divide"]
'ignore'
>>> restore(token)
>>> np.geterr()["divide"]
'warn'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _with_errstate() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    def silence() -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def restore(state: Any) -> None:
        state.__exit__(None, None, None)

    return silence, restore


def _with_prepared_state() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """The two functions, made of NumPy's context variable; AttributeError if there is no such thing."""
    umath = np._core.umath  # type: ignore[attr-defined]
    variable, quiet = umath._extobj_contextvar, umath._make_extobj(all="ignore")
    put, restore = variable.set, variable.reset

    def silence() -> Any:
        return put(quiet)

    before = np.geterr()
    token = silence()
    is_silent = set(np.geterr().values()) == {"ignore"}
    restore(token)
    if not is_silent or np.geterr() != before:
        raise AttributeError("the variable is not what decides")
    return silence, restore


def _chosen() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    try:
        return _with_prepared_state()
    except (AttributeError, TypeError, ValueError):
        return _with_errstate()


silence, restore = _chosen()
"""Begin and end of the silence; what the one returns the other takes."""
