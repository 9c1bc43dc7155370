"""Places a graph and says why: the placer's outcome as a `Placement`, its first fault as TensorFlow's error."""

from __future__ import annotations

from collections.abc import Mapping

from gpuplace.device.device_set import DeviceSet
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.placer import Placer
from gpuplace.placer.placing import place_nodes
from gpuplace.why.messages import SOFT_FIELD, error_of
from gpuplace.why.placement import Placement


def place_graph(
    graph: PlacementGraph,
    device_set: DeviceSet,
    catalogue: Catalogue,
    *,
    soft: bool = False,
    rules: str = "1.15",
    assigned: Mapping[str, str] | None = None,
    default_local_device: str | None = None,
    on_error: str = "raise",
    release: str | None = None,
) -> Placement:
    """Says where TensorFlow would run every node of `graph`.

    Args:
        graph: the nodes and edges.
        device_set: the machine.
        catalogue: op definitions and kernels.
        soft: `allow_soft_placement`.
        rules: rule set, `"1.15"` or `"2.21"`.
        assigned: node name -> full name of the device that it already has.
        default_local_device: full name of the device to prefer where a node is free.
        on_error: `"raise"`, or `"keep"` to go on and keep what can be placed.
        release: whose error sentences to use; `rules` by default.

    Raises:
        InvalidArgumentError: a node cannot be placed, or the graph is not sound.
        NotFoundError: an op is not registered.
        FailedPreconditionError: the machine has no device.
        InternalError: a device of `assigned` cannot be.
    """
    return place_again(
        Placer(graph, catalogue, rules=rules, release=release),
        device_set,
        soft=soft,
        assigned=assigned,
        default_local_device=default_local_device,
        on_error=on_error,
    )


def place_again(
    placer: Placer,
    device_set: DeviceSet,
    *,
    soft: bool = False,
    assigned: Mapping[str, str] | None = None,
    default_local_device: str | None = None,
    on_error: str = "raise",
    soft_switch: str = SOFT_FIELD,
) -> Placement:
    """Places a graph whose placer is there already, on any machine; see `place_graph`.

    Args:
        placer: the graph.
        device_set, soft, assigned, default_local_device, on_error: as of `place_graph`.
        soft_switch: what turns on soft placement where the graph is placed, for advice.
    """
    if on_error not in ("raise", "keep"):
        raise ValueError(f"on_error is 'raise' or 'keep', not {on_error!r}")
    keep = on_error == "keep"
    placement = place_nodes(
        placer,
        device_set,
        soft=soft,
        assigned=assigned,
        default_local_device=default_local_device,
        keep=keep,
        into=Placement,
    )
    placement.soft_switch = soft_switch
    if placement.faults and not keep:
        raise error_of(placement, placement.faults[0])
    return placement
