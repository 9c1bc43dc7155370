"""A request for an estimate: all that decides about a step besides the graph and the devices of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.subject.subject import feed_name


@dataclass(frozen=True, eq=False)
class StepRequest:
    """A step, and the options of the session that runs it."""

    fetches: Any = None
    """As for `gpuplace.estimate`; None: the default subject."""
    feeds: Mapping[Any, Any] = field(default_factory=dict)
    """Tensor, or its name, to a shape or an array."""
    config: Any = None
    """The ``ConfigProto``."""
    trip_counts: Mapping[str, float] | None = None
    """Name of a loop's frame to how often its body runs."""
    whole_graph: bool = False
    """Whether every node of the graph runs."""

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that are fed, by name of the node."""
        return {
            feed_name(key).partition(":")[0]: value
            for key, value in self.feeds.items()
            if isinstance(value, np.ndarray)
        }
