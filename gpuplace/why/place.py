"""Places a graph and says why: the placer's outcome as a `Placement`, its first fault as TensorFlow's error."""

from __future__ import annotations

from typing import Unpack

from gpuplace.device.device_set import DeviceSet
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.placer import Placer
from gpuplace.placer.placing import PlacingOptions, place_nodes
from gpuplace.why.messages import SOFT_FIELD, error_of
from gpuplace.why.placement import Placement


def place_graph(
    graph: PlacementGraph,
    device_set: DeviceSet,
    catalogue: Catalogue,
    *,
    rules: str = "1.15",
    on_error: str = "raise",
    release: str | None = None,
    **options: Unpack[PlacingOptions],
) -> Placement:
    """Says where TensorFlow would run every node of `graph`.

    Args:
        graph: the nodes and edges.
        device_set: the machine.
        catalogue: op definitions and kernels.
        rules: rule set, `"1.15"` or `"2.21"`.
        on_error: `"raise"`, or `"keep"` to go on and keep what can be placed.
        release: whose error sentences to use; `rules` by default.
        **options: `soft`, `assigned` and `default_local_device`, as of `place_nodes`.

    Raises:
        InvalidArgumentError: a node cannot be placed, or the graph is not sound.
        NotFoundError: an op is not registered.
        FailedPreconditionError: the machine has no device.
        InternalError: a device of `assigned` cannot be.
    """
    placer = Placer(graph, catalogue, rules=rules, release=release)
    return place_again(placer, device_set, on_error=on_error, **options)


def place_again(
    placer: Placer,
    device_set: DeviceSet,
    *,
    on_error: str = "raise",
    soft_switch: str = SOFT_FIELD,
    **options: Unpack[PlacingOptions],
) -> Placement:
    """Places a graph whose placer is there already, on any machine; see `place_graph`.

    Args:
        placer: the graph.
        device_set, on_error: as of `place_graph`.
        soft_switch: what turns on soft placement where the graph is placed, for advice.
        **options: as of `place_graph`.
    """
    if on_error not in ("raise", "keep"):
        raise ValueError(f"on_error is 'raise' or 'keep', not {on_error!r}")
    keep = on_error == "keep"
    placement = place_nodes(placer, device_set, keep=keep, into=Placement, **options)
    placement.soft_switch = soft_switch
    if placement.faults and not keep:
        raise error_of(placement, placement.faults[0])
    return placement
