"""Remedies are tried: the change that an explanation proposes takes the node to the device type that it promises."""

import random
import time
from dataclasses import replace

import pytest

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.device.machine import Machine
from gpuplace.dtypes import as_dtype
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.why.place import place_again
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import node, placement_graph
from tests.support.random_graphs import RandomGraph, usable_ops

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
    return place_again(placer, devices, soft=soft, on_error="keep")


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


@pytest.mark.parametrize("seed", range(40))
def test_remedies_of_random_graphs_work(seed):
    rng = random.Random(seed)
    rules, machine, soft = rng.choice(["1.15", "2.21"]), rng.choice(list(MACHINES)), rng.random() < 0.5
    specs = RandomGraph(rng, usable_ops(rules)).grow(rng.randint(3, 20))
    try:
        before = placed(specs, rules, MACHINES[machine], soft)
    except OpError as error:
        assert error.message
        return
    for spec in specs[:6]:
        explanation = before.explain(spec.name)
        assert str(explanation).startswith(f"{spec.name} ({spec.op}) -> ")
        for remedy in explanation.remedies:
            for requests in map(dict, remedy.requests):
                changed = [replace(s, device=requests.get(s.name, s.device)) for s in specs]
                got = placed(changed, rules, MACHINES[machine], soft).get(spec.name, "nowhere")
                assert kind_of(got) == remedy.device_type, (spec, remedy, got)


def test_an_op_that_only_another_task_may_know():
    specs = [node("f", "IntOutput", device="/job:worker/gpu:0")]
    why = placed(specs, "2.21", TWO_TASKS, False).explain("f")
    assert why.device == "/job:worker/replica:0/task:0/device:GPU:0"
    assert (
        why.steps[0].note == "IntOutput has no kernel in this process: it may have one in the requested task"
    )
    wanted = "/job:worker/replica:0/task:0/device:CPU:0"
    assert why.remedy == (("CPU", f"ask for '{wanted}' instead of '/job:worker/gpu:0'"),)
    assert kind_of(placed([replace(specs[0], device=wanted)], "2.21", TWO_TASKS, False)["f"]) == "CPU"


def test_a_large_group_is_explained_in_time():
    count = 4000
    specs = [
        node("v", "VariableV2", dtype="float32", device="/gpu:0"),
        node("x", "Const", dtype="float32"),
        *(
            node(f"w{i}", "Assign", "v", "x", T="float32", device="/cpu:0" if i % 2 else "")
            for i in range(count)
        ),
    ]
    placement = placed(specs, "2.21", MACHINES["2 GPU"], False)
    start = time.process_time()
    why = placement.explain(f"w{count - 1}")
    assert time.process_time() - start < 5
    assert why.remedy == (("CPU", "v asks for '/gpu:0': ask for '/device:CPU:0' there"),)
    assert f", and {count - 8} more" in str(why)
