"""Text of `log_device_placement`: the "Device mapping" block and a line per node, as each release writes them.

=======  ============================================  ==============================================
release  a line                                        order of lines
=======  ============================================  ==============================================
1.0      `MatMul: /job:.../task:0/gpu:0`               reverse post-order over the edges
1.4      `MatMul: /job:.../task:0/device:GPU:0`,       reverse post-order over the edges
         but `/job:.../task:0/cpu:0`
1.15     `MatMul: (MatMul): /job:.../device:GPU:0`     as decided: graph order, generators last
2.21     the same                                      the same
=======  ============================================  ==============================================

`gpuplace.placer.edge_order` computes the reverse post-order.

>>> from gpuplace.device.device_set import DeviceAttributes, DeviceSet
>>> print(device_mapping(DeviceSet([DeviceAttributes("/job:localhost/replica:0/task:0/device:CPU:0")]), "1.15"), end="")
Device mapping: no known devices.

Source: the "Using GPUs" guide of releases 1.0 and 1.4; tensorflow/core/common_runtime/direct_session.cc and placer.cc,
releases 1.15 and 2.21.
"""

from __future__ import annotations

from gpuplace.device.device_set import DeviceSet
from gpuplace.device.parsed_name import parse_name
from gpuplace.placer.edge_order import EDGE_ORDERED_RELEASES, edge_order
from gpuplace.placer.placed import Placed
from gpuplace.progress import track


def device_name(name: str, release: str) -> str:
    """Return a full device name as a release prints it.

    >>> name = "/job:localhost/replica:0/task:0/device:CPU:0"
    >>> [device_name(name, release)[-12:] for release in ("1.0", "1.4", "1.15")]
    ['task:0/cpu:0', 'task:0/cpu:0', 'device:CPU:0']
    """
    parsed = parse_name(name)
    if parsed is None:
        return name
    if release == "1.0" or (release == "1.4" and parsed.type == "CPU"):
        return parsed.to_legacy_string()
    return parsed.to_string()


def device_mapping(device_set: DeviceSet, release: str) -> str:
    """Return the "Device mapping" block: each physical device with its description; ends in a newline."""
    lines = []
    for device in device_set:
        if device.physical_device_desc:
            text = device.physical_device_desc
            if release in EDGE_ORDERED_RELEASES:
                text = text.partition(", compute capability")[0]
            lines.append(f"{device_name(device.name, release)} -> {text}")
    if not lines:
        return "Device mapping: no known devices.\n"
    return "\n".join(["Device mapping:", *lines]) + "\n"


def placement_lines(placement: Placed, release: str) -> str:
    """Return a line per placed node, in the release's order; each ends in a newline."""
    graph, devices = placement.graph, placement.devices.tolist()
    names = [device_name(name, release) for name in placement.device_set.names]
    if release in EDGE_ORDERED_RELEASES:
        lines = [
            f"{graph.names[node]}: {names[devices[node]]}" for node in edge_order(graph) if devices[node] >= 0
        ]
    elif placement.decisions is None:
        lines = []
    else:
        lines = [
            f"{graph.names[node]}: ({graph.op_type(node)}): {names[devices[node]]}"
            for node in track(
                placement.decisions.visiting_order(graph).tolist(), len(graph), "writing the log"
            )
            if devices[node] >= 0
        ]
    return "".join(f"{line}\n" for line in lines)


def log(placement: Placed, release: str) -> str:
    """Return the device mapping and the lines together, as a program's first `Session.run` prints them."""
    return device_mapping(placement.device_set, release) + placement_lines(placement, release)
