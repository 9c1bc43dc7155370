"""Place a graph and explain the result: the outcome as a `Placement`, the first fault as TensorFlow's error."""

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
    """Compute where TensorFlow would run every node of `graph`.

    Args:
        graph: the nodes and edges.
        device_set: the machine's devices.
        catalogue: op definitions and kernels.
        rules: the rule set, `"1.15"` or `"2.21"`.
        on_error: `"raise"`, or `"keep"` to continue after an error and keep the nodes that can be placed.
        release: the release whose error messages are used; `rules` by default.
        **options: `soft`, `assigned` and `default_local_device`, as in `place_nodes`.

    Raises:
        InvalidArgumentError: a node cannot be placed, or the graph is invalid.
        NotFoundError: an op is not registered.
        FailedPreconditionError: the machine has no device.
        InternalError: a device in `assigned` is invalid.
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
    """Place a graph on any machine with its existing placer; see `place_graph`.

    Args:
        placer: the graph's placer.
        device_set, on_error: as in `place_graph`.
        soft_switch: the setting that turns on soft placement for the caller, named in hints.
        **options: as in `place_graph`.
    """
    if on_error not in ("raise", "keep"):
        raise ValueError(f"on_error must be 'raise' or 'keep', not {on_error!r}")
    keep = on_error == "keep"
    placement = place_nodes(placer, device_set, keep=keep, into=Placement, **options)
    placement.soft_switch = soft_switch
    if placement.faults and not keep:
        raise error_of(placement, placement.faults[0])
    return placement
