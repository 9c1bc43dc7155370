"""What a node can run on when it requests a device, also one of another task."""

import numpy as np
import pytest

import gpuplace
from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.device.parsed_name import ParsedName
from gpuplace.why.kernel_text import supported_when_asking
from tests.oracle.call_graphs import graph_def_of
from tests.support.node_specs import node

TASKS = DeviceSet(
    [
        DeviceAttributes(f"/job:worker/replica:0/task:{task}/device:{kind}:0")
        for task in (0, 1)
        for kind in ("CPU", "GPU")
    ]
)
HERE, THERE = ParsedName("worker", 0, 0, "GPU", 0), ParsedName("worker", 0, 1, "GPU", 0)


@pytest.mark.parametrize("name", [HERE, THERE], ids=["this task", "another task"])
@pytest.mark.parametrize(
    ("spec", "types"),
    [
        (node("x", "Placeholder", dtype="float32"), {"GPU", "CPU"}),
        (node("x", "ReadFile", "name"), {"CPU"}),
        (node("x", "Neg", "name", T="string"), set()),
    ],
    ids=["CPU and GPU", "CPU only", "no kernel for this type"],
)
def test_kernels_of_this_process_count_in_every_task(spec, types, name):
    graph = graph_def_of([node("name", "Placeholder", dtype="string"), spec], [])
    placement = gpuplace.place(graph, TASKS, release="2.21", on_error="keep")
    (number,) = np.flatnonzero(np.array(placement.graph.names) == "x")
    assert {kind for kind, _ in supported_when_asking(placement, int(number), name)} == types


def test_without_devices_nothing_is_supported():
    placement = gpuplace.place(
        graph_def_of([node("x", "Neg", "x0", T="string"), node("x0", "Placeholder", dtype="string")], []),
        DeviceSet([]),
        release="2.21",
        on_error="keep",
    )
    assert all(supported_when_asking(placement, number, THERE) == () for number in range(2))
