"""The log of each release: names, order of lines, the mapping block."""

import pytest

from gpuplace.device.device_set import DeviceSet
from gpuplace.device.machine import Machine
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.edge_order import edge_order
from gpuplace.placer.placer import Placer
from gpuplace.why.place import place_again
from gpuplace.why.placement_log import device_mapping
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import node, placement_graph

LOCAL = "/job:localhost/replica:0/task:0"


def placed(name, machine="4x Tesla K20m"):
    catalogue = default_catalogue("1.15")
    return place_again(
        Placer(placement_graph(GRAPHS[name], catalogue), catalogue),
        Machine.parse(machine).device_set(environ={}),
    )


def names(placement, release):
    lines = placement.log(release).splitlines()
    return [
        line.split(": ")[0] for line in lines if " -> " not in line and not line.startswith("Device mapping")
    ]


@pytest.mark.parametrize(
    ("graph", "release", "order"),
    [
        ("guide: product", "1.0", "b a m"),
        ("guide: product", "1.4", "b a m"),
        ("guide: product", "1.15", "m a b"),
        ("guide: product", "2.21", "m a b"),
        ("guide: towers", "1.4", "Const_3 Const_2 MatMul_1 Const_1 Const MatMul AddN"),
        ("guide: towers", "1.15", "MatMul MatMul_1 AddN Const Const_1 Const_2 Const_3"),
    ],
)
def test_order_of_lines(graph, release, order):
    assert names(placed(graph), release) == order.split()


def test_lines_of_each_release():
    placement = placed("guide: by hand", "1x Tesla K40c")
    assert placement.log("1.0").splitlines()[2:] == [
        f"b: {LOCAL}/cpu:0",
        f"a: {LOCAL}/cpu:0",
        f"m: {LOCAL}/gpu:0",
    ]
    assert placement.log("1.4").splitlines()[2:] == [
        f"b: {LOCAL}/cpu:0",
        f"a: {LOCAL}/cpu:0",
        f"m: {LOCAL}/device:GPU:0",
    ]
    assert placement.log("1.15").splitlines()[2:] == [
        f"m: (MatMul): {LOCAL}/device:GPU:0",
        f"a: (Const): {LOCAL}/device:CPU:0",
        f"b: (Const): {LOCAL}/device:CPU:0",
    ]
    assert placement.log() == placement.log("1.15")
    with pytest.raises(ValueError, match="Unknown release"):
        placement.log("3.0")


def test_device_mapping():
    devices = Machine.parse("1x Tesla K40c").device_set(environ={})
    assert device_mapping(devices, "1.4") == (
        f"Device mapping:\n{LOCAL}/device:GPU:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0\n"
    )
    assert device_mapping(devices, "1.0").splitlines()[1].startswith(f"{LOCAL}/gpu:0 -> device: 0")
    assert device_mapping(devices, "1.15").endswith("compute capability: 3.5\n")
    assert device_mapping(DeviceSet([]), "1.15") == "Device mapping: no known devices.\n"


def test_edge_order_visits_every_node_once_even_in_a_loop():
    graph = placement_graph(GRAPHS["while loop"])
    order = edge_order(graph)
    assert sorted(order) == list(range(len(graph)))


def test_edge_order_of_a_long_chain_does_not_recurse():
    specs = [node("n0", "Const", dtype="float32")]
    specs += [node(f"n{i}", "Neg", f"n{i - 1}", T="float32") for i in range(1, 5000)]
    assert edge_order(placement_graph(specs)) == list(range(5000))
