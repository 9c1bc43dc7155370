"""``tf.version``: the TensorFlow that gpuplace behaves as, which `set_release` or the environment chooses.

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
"""The least `GRAPH_DEF_VERSION` of a TensorFlow that reads graphs of this one."""
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
"""The least `GRAPH_DEF_VERSION` of a TensorFlow whose graphs can be read."""
VERSION: str
"""The release in full, such as ``"1.15.5"``."""
GIT_VERSION: str
"""Its tag."""
GRAPH_DEF_VERSION: int
"""The version of the graphs that are made and written."""


def __getattr__(name: str) -> str | int:
    """What depends on the release; AttributeError for other names."""
    if name == "VERSION":
        return NUMBERS[get_release()]
    if name == "GIT_VERSION":
        return TAGS[get_release()]
    if name == "GRAPH_DEF_VERSION":
        return GRAPH_DEF_VERSIONS[rules()]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
