"""The TensorFlow release whose behavior is reproduced.

The release determines device names and line format of logs, error messages, placement rules and the kernel catalogue.
``"1.0"`` and ``"1.4"`` change texts only: their rules and catalogue are those of 1.15.

>>> rules("1.4"), rules("2.21")
('1.15', '2.21')
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from gpuplace.process import PROCESS

RELEASES = ("1.0", "1.4", "1.15", "2.21")
"""Supported releases, oldest first."""

TAGS = {"1.0": "v1.0.1", "1.4": "v1.4.1", "1.15": "v1.15.5", "2.21": "v2.21.0"}
"""Source tag of the last version of each release."""
NUMBERS = {release: tag.removeprefix("v") for release, tag in TAGS.items()}
"""Full version number of each release."""

DEFAULT_RELEASE = "1.15"
ENVIRONMENT_VARIABLE = "GPUPLACE_RELEASE"

_acted: ContextVar[str | None] = ContextVar("acted", default=None)
_actors: set[int] = set()
"""Ids of the tokens of active `acting_as` blocks; while there are none, nothing reads the context variable."""

_environ = os.environ
_variables: Any = getattr(_environ, "_data", None)
"""The internal dictionary of ``os.environ``; it avoids two exceptions per look-up of an unset variable, which matters
because the release is looked up for every operation of a graph.
"""
_key: Any = os.environ.encodekey(ENVIRONMENT_VARIABLE) if _variables is not None else ENVIRONMENT_VARIABLE


def _is_not_set() -> bool:
    """Return whether the environment certainly sets no release, by a fast check."""
    return os.environ is _environ and _variables is not None and _key not in _variables


def resolve(release: str | None = None, of_file: str | None = None) -> str:
    """Return a valid release.

    Args:
        release: one of ``RELEASES``; None: the release of the process.
        of_file: release that wrote the graph, used if neither ``release`` nor the process sets one; None: unknown.

    Raises:
        ValueError: there is no such release.
    """
    if release is None:
        return get_release(of_file or DEFAULT_RELEASE)
    if release not in RELEASES:
        raise ValueError(f"Unknown release {release!r}: choose one of {', '.join(RELEASES)}")
    return release


def get_release(default: str = DEFAULT_RELEASE) -> str:
    """Return the release set by ``set_release`` or the environment variable GPUPLACE_RELEASE.

    Args:
        default: release to return if neither is set.
    """
    if _actors and (acted := _acted.get()) is not None:
        return acted
    if PROCESS.release is not None:
        return PROCESS.release
    if _is_not_set():
        return default
    named = os.environ.get(ENVIRONMENT_VARIABLE) or default
    if named not in RELEASES:
        raise ValueError(f"{ENVIRONMENT_VARIABLE}={named!r} is unknown: choose one of {', '.join(RELEASES)}")
    return named


def is_chosen() -> bool:
    """Return whether ``set_release``, the environment or a surrounding block sets the release."""
    return get_release("") != ""


def chosen_release() -> str | None:
    """Return the release set by ``set_release``, or None."""
    return PROCESS.release


def set_release(release: str | None) -> None:
    """Set the release of this process: the TensorFlow version whose behavior and texts are reproduced.

    Args:
        release: one of ``RELEASES``; None: the environment's or the default release.

    Raises:
        ValueError: there is no such release.
    """
    PROCESS.release = None if release is None else resolve(release)


@contextmanager
def acting_as(release: str) -> Iterator[None]:
    """Use another release within a block of one thread or task.

    Args:
        release: one of ``RELEASES``.

    Raises:
        ValueError: there is no such release.
    """
    token = _acted.set(resolve(release))
    _actors.add(id(token))
    try:
        yield
    finally:
        _actors.discard(id(token))
        _acted.reset(token)


def rules(release: str | None = None) -> str:
    """Return the release, ``"1.15"`` or ``"2.21"``, whose placement rules and catalogue apply to ``release``."""
    if release is None and PROCESS.release is None and not _actors and _is_not_set():
        return "1.15"
    return "2.21" if resolve(release) == "2.21" else "1.15"
