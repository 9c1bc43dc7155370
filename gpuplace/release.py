"""Which TensorFlow to behave like.

One option decides device names and line format of logs, error sentences, placement rules and the catalogue of
kernels. ``"1.0"`` and ``"1.4"`` change texts only: their rules and catalogue are those of 1.15.

>>> rules("1.4"), rules("2.21")
('1.15', '2.21')
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

RELEASES = ("1.0", "1.4", "1.15", "2.21")
"""The releases that can be asked for, oldest first."""

TAGS = {"1.0": "v1.0.1", "1.4": "v1.4.1", "1.15": "v1.15.5", "2.21": "v2.21.0"}
"""The last of each release, as its source is tagged."""
NUMBERS = {release: tag.removeprefix("v") for release, tag in TAGS.items()}
"""The same as TensorFlow says it."""

DEFAULT_RELEASE = "1.15"
ENVIRONMENT_VARIABLE = "GPUPLACE_RELEASE"

_chosen: str | None = None
_acted: ContextVar[str | None] = ContextVar("acted", default=None)
_actors = 0
"""How many blocks act as a release of their own; nobody asks for it while there are none."""
_lock = threading.Lock()

_environ = os.environ
_variables: Any = getattr(_environ, "_data", None)
"""The environment as ``os.environ`` keeps it. That one raises and catches two errors for a variable that is not
set: too much for a question that is asked for every operation of a graph.
"""
_key: Any = os.environ.encodekey(ENVIRONMENT_VARIABLE) if _variables is not None else ENVIRONMENT_VARIABLE


def _is_not_set() -> bool:
    """Whether the environment names no release, as far as that can be told at once."""
    return os.environ is _environ and _variables is not None and _key not in _variables


def resolve(release: str | None = None, of_file: str | None = None) -> str:
    """Return the release to behave as, checked.

    Args:
        release: one of ``RELEASES``; None: the one chosen for the process.
        of_file: the release that wrote the graph, used where neither ``release`` nor the process names one; None:
            unknown.

    Raises:
        ValueError: there is no such release.
    """
    if release is None:
        return get_release(of_file or DEFAULT_RELEASE)
    if release not in RELEASES:
        raise ValueError(f"Unknown release {release!r}: choose one of {', '.join(RELEASES)}")
    return release


def get_release(default: str = DEFAULT_RELEASE) -> str:
    """Return the release chosen by ``set_release`` or the environment variable GPUPLACE_RELEASE.

    Args:
        default: the release where neither chooses one.
    """
    if _actors and (acted := _acted.get()) is not None:
        return acted
    if _chosen is not None:
        return _chosen
    if _is_not_set():
        return default
    named = os.environ.get(ENVIRONMENT_VARIABLE) or default
    if named not in RELEASES:
        raise ValueError(f"{ENVIRONMENT_VARIABLE}={named!r} is unknown: choose one of {', '.join(RELEASES)}")
    return named


def is_chosen() -> bool:
    """Whether ``set_release``, the environment, or the caller of this thread chose a release."""
    return get_release("") != ""


def chosen_release() -> str | None:
    """What ``set_release`` chose; None if nothing was chosen."""
    return _chosen


def set_release(release: str | None) -> None:
    """Chooses the release of this process: which TensorFlow to behave and speak as.

    Args:
        release: one of ``RELEASES``; None goes back to the environment's or the default one.

    Raises:
        ValueError: there is no such release.
    """
    global _chosen
    _chosen = None if release is None else resolve(release)


@contextmanager
def acting_as(release: str) -> Iterator[None]:
    """A block of one thread, or task, for which the process's release is another one.

    Args:
        release: one of ``RELEASES``.

    Raises:
        ValueError: there is no such release.
    """
    global _actors
    token = _acted.set(resolve(release))
    with _lock:
        _actors += 1
    try:
        yield
    finally:
        with _lock:
            _actors -= 1
        _acted.reset(token)


def rules(release: str | None = None) -> str:
    """The release, ``"1.15"`` or ``"2.21"``, whose placement rules and catalogue serve ``release``."""
    if release is None and _chosen is None and not _actors and _is_not_set():
        return "1.15"
    return "2.21" if resolve(release) == "2.21" else "1.15"
