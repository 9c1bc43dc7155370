"""Identical devices are numbered so that as few nodes move as possible, and the step takes no longer for it."""

import itertools
import math

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.advise import _case
from gpuplace.advisor.steps.device_labels import (
    FINAL,
    LOSSLESS,
    labellings,
    moved_nodes,
    relabeled,
    without_idle,
)
from gpuplace.advisor.steps.placed_choice import place_choice
from gpuplace.advisor.steps.searched_choice import with_other_labels
from tests.advisor.step_graphs import branches, graph_of, image_towers, large, towers

MACHINES = [
    "2x V100",
    "4x V100",
    "6x V100",
    "4x A100",
    "4x K80",
    "4x K40c, links switch=2",
    "2x V100, 2x P100",
    "2 CPU, 3x T4",
    "worker*3: 2x K80",
]


def kinds_of(machine):
    """Devices that a machine has, and what two of them have in common if they may take each other's place."""
    case = case_of(branches(count=1, width=64, blocks=1), machine)
    models = case.scorer.step.machinery.models
    kinds = [
        (device.device_type, model and model.name, number == 0)
        for number, (device, model) in enumerate(zip(case.original.device_set, models, strict=True))
    ]
    return case.scorer.step.machinery, kinds


def case_of(build, machine, keep=None):
    return _case(graph_of(build), machine, "step_time", keep, None, None, {}, {"fetches": "train"}, None)[0]


def keeps_links(machinery, labels):
    """Whether what crosses each link, as pairs of devices, crosses an equal link by other labels."""

    def crossings(label):
        found, beside = {}, []
        for one, other in itertools.permutations(range(len(labels)), 2):
            begin, end = machinery.physical[one], machinery.physical[other]
            if begin == end:
                beside.append((label[one], label[other]))
                continue
            if begin >= 0 and end >= 0 and machinery.links.board[begin] == machinery.links.board[end]:
                beside.append((label[one], label[other], "board"))
            route = machinery.links.between(begin, end)
            for position, link in enumerate(route.links):
                key = link, machinery.links.links[link].bandwidth
                found.setdefault(key, []).append(
                    (label[one], label[other], position, route.latency, route.kind)
                )
        return sorted((bandwidth, sorted(pairs)) for (_, bandwidth), pairs in found.items()), sorted(
            beside, key=str
        )

    return crossings(list(labels)) == crossings(list(range(len(labels))))


def permutations_of(kinds):
    """Labels by which devices that are alike take each other's place."""
    for labels in itertools.permutations(range(len(kinds))):
        if all(kinds[device] == kinds[label] for device, label in enumerate(labels)):
            yield labels


@pytest.mark.parametrize("seed", range(40))
def test_labels_come_in_the_order_of_their_moves(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 7))
    stays = rng.integers(0, 9, (count, count)).astype(float) * (rng.random((count, count)) < rng.random())
    kinds = rng.integers(0, 3, count).tolist()
    found = [tuple(labels.tolist()) for labels in labellings(stays, kinds)]
    assert sorted(found) == sorted(permutations_of(kinds))
    counts = [sum(stays[device, label] for device, label in enumerate(labels)) for labels in found]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("machine", MACHINES)
def test_labels_keep_every_link_of_a_machine(machine):
    machinery, kinds = kinds_of(machine)
    stays = np.random.default_rng(1).integers(0, 9, (len(kinds), len(kinds))).astype(float)
    found = [tuple(labels.tolist()) for labels in labellings(stays, kinds, machinery)]
    wanted = [labels for labels in permutations_of(kinds) if keeps_links(machinery, labels)]
    assert sorted(found) == sorted(wanted) and tuple(range(len(kinds))) in found
    assert len(wanted) == {
        "2x V100": 2,  # below one switch
        "4x V100": 2,  # two NVLink lanes from 0 to 3, 3 to 2 and 2 to 1: read backwards, it is the same
        "4x A100": 4,  # all by NVSwitch, but two pairs on PCIe switches of two sockets
        "worker*3: 2x K80": 2
        * 2**3,  # the session's own task keeps its place, its GPUs and the other tasks do not
    }.get(machine, len(wanted))


@pytest.mark.parametrize(
    "machine", ["2x V100", "4x V100", "4x K80", "4x A100", "2x V100, 2x P100", "2 CPU, 3x T4"]
)
@pytest.mark.parametrize(
    "build",
    [towers(count=2, width=256), branches(blocks=1, width=256), large(layers=4, width=256)],
    ids=["towers", "branches", "large"],
)
def test_no_labels_move_fewer_nodes(build, machine):
    case = case_of(build, machine)
    scorer, devices = case.scorer, len(case.original.device_set)
    machinery, kinds = kinds_of(machine)
    keeping = [np.array(labels) for labels in permutations_of(kinds) if keeps_links(machinery, labels)]
    rng = np.random.default_rng(devices)
    units = len(scorer.units.names)
    fewer = 0
    for number in range(12):
        choice = rng.integers(-(number % 2), devices, units)
        if number % 3:  # most of it on one device, as in programs
            choice = np.where(rng.random(units) < 0.8, rng.integers(devices), choice)
        before = scorer.score(choice)
        found = relabeled(scorer, choice, LOSSLESS, math.inf)
        after, moved = scorer.score(found), moved_nodes(scorer, found)
        assert after.missing <= before.missing and after.value <= before.value * (1 + 1e-6)
        assert moved <= moved_nodes(scorer, choice)
        fewer += moved < moved_nodes(scorer, choice)
        assert np.array_equal(relabeled(scorer, found, LOSSLESS, math.inf), found)
        at = np.array([found[unit] if found[unit] >= 0 else home(scorer, unit) for unit in range(units)])
        for labels in keeping:
            other = np.where(at < 0, -1, labels[at])
            if scorer.score(other).value <= after.value * (1 + 1e-9):
                assert moved_nodes(scorer, other) >= moved
    assert fewer


def home(scorer, unit):
    """The device that the program has a unit on; -1 if it is on several."""
    groups = np.flatnonzero((scorer.units.of_group == unit) & scorer.candidates.is_free)
    devices = set(scorer.stay[groups].tolist())
    return devices.pop() if len(devices) == 1 else -1


@pytest.mark.parametrize("labels", [(1, 0, 2, 3), (0, 1, 3, 2), (3, 2, 1, 0), (2, 3, 0, 1), (1, 2, 3, 0)])
def test_towers_that_took_each_others_place_go_back(labels):
    slots = ", ".join(f"P100-PCIE @ 0000:0{bus}:00.0" for bus in range(2, 6))
    scorer = case_of(towers(count=4, width=2048, batch=2048), f"{slots}, links switch=4").scorer
    exchange = np.array([0, *(1 + np.array(labels))])
    program = np.array([home(scorer, unit) for unit in range(len(scorer.units.names))])
    exchanged = np.where(program < 0, -1, exchange[program])
    assert moved_nodes(scorer, exchanged) >= 40
    assert (relabeled(scorer, exchanged, LOSSLESS, math.inf) < 0).all()
    advised = np.where(scorer.units.has_variable, 2, program)
    exchanged = np.where(scorer.units.has_variable, exchange[2], exchanged)
    found = relabeled(scorer, exchanged, FINAL, math.inf)
    assert scorer.score(found).value <= scorer.score(advised).value * (1 + 1e-9)
    assert moved_nodes(scorer, found) <= moved_nodes(scorer, advised) < 20


def test_a_kept_node_stays_when_devices_are_exchanged():
    keep = {"block_0/branch_0/weights": "/gpu:2"}
    scorer = case_of(branches(count=3, width=512, blocks=1), "3x P100", keep).scorer
    names, labels = scorer.units.names, scorer.candidates.placement.device_labels
    choice = np.array([2 if name.startswith("block_0/branch_1") else 3 for name in names])
    found = relabeled(scorer, choice, LOSSLESS, math.inf)
    assert scorer.score(found).value <= scorer.score(choice).value * (1 + 1e-9)
    assert moved_nodes(scorer, found) <= moved_nodes(scorer, choice)
    node = scorer.candidates.placement.graph.index["block_0/branch_0/weights"]
    assert labels[scorer.homes(found)[scorer.candidates.group[node]]] == "GPU:2"


@pytest.mark.parametrize(
    ("build", "machine", "least"),
    [(towers(width=256), "4x P100", 1), (branches(blocks=1, width=256), "4x K80", 0)],
    ids=["towers", "branches"],
)
def test_the_fewest_nodes_move_even_where_the_python_gets_longer(build, machine, least):
    case = case_of(build, machine)
    scorer, devices, units = case.scorer, len(case.original.device_set), len(case.scorer.units.names)
    rng = np.random.default_rng(devices)
    taken = longer = 0
    for number in range(20):
        choice = rng.integers(-(number % 2), devices, units)
        if number % 3:  # most of it on one device, as in programs
            choice = np.where(rng.random(units) < 0.8, rng.integers(devices), choice)
        found = with_other_labels(case, choice, 0.0, math.inf)
        fewest = moved_nodes(scorer, relabeled(scorer, choice, FINAL, math.inf))
        assert moved_nodes(scorer, found.device_of) <= fewest <= moved_nodes(scorer, choice)
        taken += fewest < moved_nodes(scorer, choice)
        own, others = (Advice(case, one, "step_time", 0.0) for one in (place_choice(case, choice), found))
        longer += len(others.as_python()) > len(own.as_python()) or len(others.moves) > len(own.moves)
    assert taken > 10 and longer >= least


def test_a_choice_of_the_programs_own_devices_moves_nothing():
    scorer = case_of(towers(), "2x V100").scorer
    program = np.array([home(scorer, unit) for unit in range(len(scorer.units.names))])
    assert (program >= 0).any() and (without_idle(scorer, program) < 0).all()


@pytest.fixture(scope="module", params=["4x V100", "4x A100"])
def images(request):
    graph = graph_of(image_towers())
    config = tf.ConfigProto(allow_soft_placement=True)
    return tf.advise(graph, "train", machine=request.param, config=config, steps=60)


def test_towers_stay_on_their_gpus(images):
    """What is gained is gained by variables and averages on GPUs, not by towers on other GPUs of the same model."""
    assert images.value < 0.7 * images.before
    rows = {row.node: row for row in images.rows()}
    for tower in range(4):
        inside = [
            row for name, row in rows.items() if name.startswith(f"tower_{tower}/") and "GPU" in row.before
        ]
        assert len(inside) > 60 and sum(row.moves for row in inside) < 0.1 * len(inside)
    first = images.moves[0]
    assert first.source.startswith("CPU:0") and not any(name.startswith("tower_") for name in first.nodes)


def test_no_labels_move_fewer_nodes_of_the_graph(images):
    """Also not of its parts that the step does not run."""
    case, placement = images._case, images.placement
    machinery = case.scorer.step.machinery
    before = case.original.devices
    moved = np.count_nonzero(before != placement.devices)
    for labels in itertools.permutations(range(1, 5)):
        other = np.array([0, *labels])[placement.devices]
        if keeps_links(machinery, (0, *labels)):
            assert np.count_nonzero(before != other) >= moved
