"""Remedies are tried: the change that an explanation proposes takes the node to the device type that it promises."""

from dataclasses import replace

import pytest

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.device.machine import Machine
from gpuplace.dtypes import as_dtype
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from tests.oracle.corner_graphs import GRAPHS
from tests.oracle.node_specs import placement_graph

TWO_TASKS = DeviceSet(
    [
        DeviceAttributes(f"/job:{job}/replica:0/task:0/device:{kind}:0")
        for job in ("localhost", "worker")
        for kind in ("CPU", "GPU")
    ]
)
MACHINES = {
    "2 GPU": Machine.parse("2x Tesla K40c").device_set(environ={}),
    "CPU": Machine.parse("cpu").device_set(environ={}),
    "2 tasks": TWO_TASKS,
}


def placed(specs, rules, devices, soft):
    catalogue = default_catalogue(rules)
    placer = Placer(placement_graph(specs, catalogue), catalogue, rules=rules)
    return placer.place(devices, soft=soft, on_error="keep")


def kind_of(device):
    return device.rpartition("device:")[2].partition(":")[0]


@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("rules", ["1.15", "2.21"])
def test_a_proposed_request_works(rules, machine, soft):
    tried = 0
    for name, specs in GRAPHS.items():
        try:
            before = placed(specs, rules, MACHINES[machine], soft)
        except OpError:
            continue
        for spec in specs:
            for remedy in before.explain(spec.name).remedies:
                for requests in map(dict, remedy.requests):
                    assert all(device in remedy.text for device in requests.values())
                    assert all(other in remedy.text for other in requests if other != spec.name)
                    changed = [replace(s, device=requests.get(s.name, s.device)) for s in specs]
                    after = placed(changed, rules, MACHINES[machine], soft)
                    got = after.get(spec.name, "nowhere")
                    assert kind_of(got) == remedy.device_type, (name, spec.name, remedy, got)
                    tried += 1
    assert tried > 5


@pytest.mark.parametrize("rules", ["1.15", "2.21"])
def test_a_type_that_is_said_to_have_a_kernel_has_one(rules):
    tried = 0
    for name, specs in GRAPHS.items():
        try:
            placement = placed(specs, rules, MACHINES["2 GPU"], False)
        except OpError:
            continue
        for spec in specs:
            for remedy in placement.explain(spec.name).remedies:
                culprit = remedy.text.removeprefix("colocated with ").split(",")[0]
                lacking = placement.graph.index.get(culprit, placement.graph.index[spec.name])
                fact = placement.facts_of(lacking)
                for attr, types in remedy.types:
                    for text in types:
                        other = as_dtype(
                            {"half": "float16", "float": "float32", "double": "float64"}.get(text, text)
                        )
                        value = (other,) if isinstance(fact.attrs[attr], tuple) else other
                        kernel, _ = placement.placer.catalogue.kernels.find(
                            fact.signature.op_type, {**fact.attrs, attr: value}, remedy.device_type
                        )
                        assert kernel is not None, (name, spec.name, remedy)
                        tried += 1
    assert tried > 50
