"""``tf.version``: the TensorFlow release that gpuplace reproduces, set by `set_release` or the environment.

>>> import gpuplace as tf
>>> tf.version.VERSION, tf.VERSION, tf.version.GRAPH_DEF_VERSION
('1.15.5', '1.15.5', 134)

Source: tensorflow/_api/v1/version, release 1.15 (names); tensorflow/core/public/version.h of each release.
"""

from __future__ import annotations

from gpuplace.graph.graph import GRAPH_DEF_VERSIONS
from gpuplace.release import NUMBERS, TAGS, get_release, rules

__all__ = [
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]

GRAPH_DEF_VERSION_MIN_CONSUMER = 0
"""The smallest `GRAPH_DEF_VERSION` of a TensorFlow that can read this release's graphs."""
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
"""The smallest `GRAPH_DEF_VERSION` of a TensorFlow whose graphs this release can read."""
VERSION: str
"""The full version number, such as ``"1.15.5"``."""
GIT_VERSION: str
"""The git tag of the version."""
GRAPH_DEF_VERSION: int
"""The version number of graphs that this release writes."""


def __getattr__(name: str) -> str | int:
    """Return a name that depends on the release; AttributeError for other names."""
    if name == "VERSION":
        return NUMBERS[get_release()]
    if name == "GIT_VERSION":
        return TAGS[get_release()]
    if name == "GRAPH_DEF_VERSION":
        return GRAPH_DEF_VERSIONS[rules()]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
