"""Function bodies in a page: those of functions that the graph calls without inlining.

Each is a separate graph. Bodies that a body calls come after it, as far as there is room.
"""

from __future__ import annotations

from collections import deque

from gpuplace.errors import OpError
from gpuplace.runtime.session.function_placement import place_function
from gpuplace.typing import PlacementLike
from gpuplace.views.tables.calls import all_calls
from gpuplace.why.placement import Placement

MOST_BODIES = 64
"""Maximum number of function bodies in a page."""
MOST_NODES = 10_000
"""Maximum number of nodes in all bodies together."""


def bodies_of(
    placement: PlacementLike, *, most_bodies: int = MOST_BODIES, most_nodes: int = MOST_NODES
) -> dict[str, Placement]:
    """Return the placed body of each called function, those called by the graph itself first.

    A body is left out if it cannot be placed alone, since only a call determines its attributes, or if there is no
    room.

    Args:
        placement: a `Placement`; a log has no functions.
        most_bodies: maximum number of bodies.
        most_nodes: maximum number of nodes in all bodies together.
    """
    bodies: dict[str, Placement] = {}
    if not isinstance(placement, Placement):
        return bodies
    waiting = deque((placement, call, name) for name, call in _called(placement).items())
    seen = {name for _, _, name in waiting}
    while waiting and len(bodies) < most_bodies:
        outer, call, name = waiting.popleft()
        try:
            body = place_function(outer, name, call)
        except (OpError, ValueError):
            continue
        if len(body) > most_nodes:
            continue
        most_nodes -= len(body)
        bodies[name] = body
        new = {other: by for other, by in _called(body).items() if other not in seen}
        seen.update(new)
        waiting.extend((body, by, other) for other, by in new.items())
    return bodies


def _called(placement: Placement) -> dict[str, str]:
    """Return the first calling node of each function."""
    call_of: dict[str, str] = {}
    for node, calls in all_calls(placement).items():
        for call in calls:
            call_of.setdefault(call.function, placement.graph.names[node])
    return call_of
