"""Workloads and splits as JSON: what is read, and what is refused with what sentence."""

import copy
import json

import numpy as np
import pytest

from gpuplace.advisor.problem import topological_order
from gpuplace.advisor.workloads import read_workload, split_of
from gpuplace.errors import InvalidArgumentError

WORKLOAD = {
    "maxSizePerFPGA": 10.0,
    "maxFPGAs": 2,
    "maxCPUs": 2,
    "nodes": [
        {"id": 5, "supportedOnFpga": True, "cpuLatency": 9, "fpgaLatency": 1, "size": 4, "colorClass": 2},
        {"id": 2, "supportedOnFpga": 0, "cpuLatency": 3.5, "fpgaLatency": 0, "isBackwardNode": False, "size": 1},
        {"id": 9, "supportedOnFpga": 1, "cpuLatency": 8, "fpgaLatency": 2, "size": 5, "colorClass": 2.0},
    ],
    "edges": [
        {"sourceId": 5, "destId": 2, "cost": 0.5},
        {"sourceId": 5, "destId": 9, "cost": 0.5},
        {"sourceId": 2, "destId": 9, "cost": 0.25},
    ],
}  # fmt: skip


def changed(change):
    workload = copy.deepcopy(WORKLOAD)
    change(workload)
    return json.dumps(workload)


def test_a_workload_is_read():
    problem = read_workload(json.dumps(WORKLOAD), "throughput")
    assert problem.ids == (5, 2, 9)
    assert problem.seconds.tolist() == [[1, 9], [np.inf, 3.5], [2, 8]]
    assert problem.groups.tolist() == [0, 1, 0]
    assert problem.transfer.tolist() == [0.5, 0.25, 0]
    assert [(one.name, one.memory, one.link) for one in problem.devices] == [
        ("fpga 0", 10, 1), ("fpga 1", 10, 1), ("cpu 0", np.inf, 0), ("cpu 1", np.inf, 0),
    ]  # fmt: skip
    assert topological_order(problem).tolist() == [0, 1, 2]


def test_processors_are_one_pool_for_the_latency():
    devices = read_workload(json.dumps(WORKLOAD).encode(), "latency").devices
    assert [(one.name, one.is_pool) for one in devices] == [
        ("fpga 0", False),
        ("fpga 1", False),
        ("cpus", True),
    ]


def test_a_split_goes_out():
    problem = read_workload(json.dumps(WORKLOAD), "throughput")
    split = split_of(problem, [1, 2, 1])
    assert split == {"fpgas": [{"nodes": []}, {"nodes": [5, 9]}], "cpus": [{"nodes": [2]}, {"nodes": []}]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda w: w.pop("nodes"), "has no 'nodes'"),
        (lambda w: w.pop("maxFPGAs"), "the workload has no 'maxFPGAs'"),
        (lambda w: w.update(nodes=[]), "The workload has no nodes"),
        (lambda w: w.update(nodes={}), "'nodes' is an object, not an array"),
        (lambda w: w.update(edges="x"), "'edges' is the text 'x', not an array"),
        (lambda w: w["nodes"].append(7), r"nodes\[3\] is 7, not an object"),
        (lambda w: w["nodes"][1].pop("cpuLatency"), "node 2 has no 'cpuLatency'"),
        (lambda w: w["nodes"][1].update(cpuLatency="slow"), "'cpuLatency' of node 2 is the text 'slow'"),
        (lambda w: w["nodes"][1].update(cpuLatency=-1), "'cpuLatency' of node 2 is -1"),
        (lambda w: w["nodes"][1].update(size=float("nan")), "'size' of node 2 is nan"),
        (lambda w: w["nodes"][1].update(size=10**400), "'size' of node 2 is inf"),
        (lambda w: w["nodes"][1].update(supportedOnFpga=2), "'supportedOnFpga' of node 2 is 2, not true"),
        (lambda w: w["nodes"][1].update(id=5), "Two nodes have the id 5"),
        (lambda w: w["nodes"][1].update(id=None), r"'id' of nodes\[1\] is null"),
        (lambda w: w["nodes"][0].update(colorClass=[]), "'colorClass' of node 5 is an array"),
        (lambda w: w["nodes"][0].update(isBackwardNode=1), "from backward node 5 to forward node 2"),
        (lambda w: w["edges"][0].update(destId=77), r"edges\[0\] names node 77"),
        (lambda w: w["edges"][0].update(cost=3), "costs, 3 and 0.5, but a node has one output"),
        (lambda w: w["edges"].append({"sourceId": 9, "destId": 5, "cost": 1}), "cycle of [23] nodes: "),
        (lambda w: w["edges"].append({"sourceId": 9, "destId": 9, "cost": 1}), "cycle of 1 nodes: 9 -> 9"),
        (lambda w: w.update(maxFPGAs=-1), "must not be negative"),
        (lambda w: w.update(maxFPGAs=1e9), "the maximum is 1024"),
        (lambda w: w.update(maxFPGAs=0, maxCPUs=0), "The problem has no devices"),
        (lambda w: w.update(maxCPUs=0), "No device can run node 2"),
        (lambda w: (w.update(maxCPUs=0), w["nodes"][1].update(colorClass=2)), "No device can run nodes 5, 2, 9, which"),
        (
            lambda w: (w.update(maxSizePerFPGA=8, maxCPUs=0), w["nodes"][1].update(supportedOnFpga=1)),
            "nodes 5, 9 needs 9 units of memory, 1 more than any suitable device",
        ),
        (
            lambda w: (w.update(maxFPGAs=1, maxSizePerFPGA=9.5, maxCPUs=0), w["nodes"][1].update(supportedOnFpga=1)),
            "Together, the nodes need 10 units of memory, 0.5 more than the devices have",
        ),
    ],
)  # fmt: skip
def test_a_wrong_workload_is_refused(change, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        read_workload(changed(change), "throughput")


@pytest.mark.parametrize("text", ["", "{", b"\xff\xfe", "[" * 100_000, "3", '{"nodes": 1}'])
def test_what_is_no_workload_is_refused(text):
    with pytest.raises(InvalidArgumentError):
        read_workload(text, "throughput")


def test_latency_is_not_asked_of_training():
    with pytest.raises(InvalidArgumentError, match="Node 9 is a backward node"):
        read_workload(changed(lambda w: w["nodes"][2].update(isBackwardNode=True)), "latency")
