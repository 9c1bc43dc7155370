"""The time of a step: its search, its bounds and coarser problems."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from gpuplace.advisor import split_search
from gpuplace.advisor.coarsen import coarsened
from gpuplace.advisor.placers import Costs, heft, m_etf
from gpuplace.advisor.problem import Device, Problem, checked
from gpuplace.advisor.solve import evaluate, solve
from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError
from tests.advisor.step_examples import random_split, random_step


def examples(count, most, first=0, gpus=2):
    """Problems of which some split fits."""
    for seed in itertools.count(first):
        try:
            yield seed, checked(random_step(seed, most, gpus))
        except InvalidArgumentError:
            continue
        count -= 1
        if not count:
            return


def chains(length=4, count=2, devices=2, transfer=1.0):
    """Chains side by side, every node a second, on GPUs without a host."""
    nodes = length * count
    sources = [node for node in range(nodes) if (node + 1) % length]
    return Problem(
        tuple(range(nodes)),
        np.ones((nodes, 1)),
        np.zeros(nodes),
        np.full(nodes, transfer),
        np.arange(nodes),
        np.array(sources, np.int64),
        np.array(sources, np.int64) + 1,
        tuple(Device(f"gpu {one}", 0) for one in range(devices)),
    )


@pytest.mark.parametrize(
    ("split", "seconds"),
    [
        ([0] * 8, 8.0),
        ([0] * 4 + [1] * 4, 4.0),
        ([0, 0, 1, 1] + [1] * 4, 6.0),  # the copy goes while GPU 1 computes the other chain
        ([0, 1, 0, 1] + [2] * 4, 7.0),  # three copies, a second each
    ],
)
def test_chains_by_hand(split, seconds):
    assert evaluate(chains(devices=3), "step_time", split) == seconds


def test_small_steps_are_split_best(monkeypatch):
    """By annealing alone, beside all splits; the bound is never above the best."""
    equal = count = 0
    for seed, problem in examples(100, 5, 1000):
        try:
            best = solve(problem, "step_time", steps=1000, use_numba=False)
        except ResourceExhaustedError:  # memory has no room for any split
            continue
        assert best.gap == 0
        with monkeypatch.context() as patched:
            patched.setattr(split_search, "_ALL", 0)
            found = solve(problem, "step_time", steps=150, seed=seed, use_numba=False)
        assert found.bound <= best.value * (1 + 1e-12)
        assert found.value >= best.value * (1 - 1e-12)
        equal += found.value == pytest.approx(best.value, rel=1e-9)
        count += 1
    assert count >= 90 and equal >= 0.99 * count


def test_all_splits_are_tried_where_they_are_few():
    for _, problem in examples(8, 4, 5000):
        sizes = np.bincount(problem.groups, problem.sizes)
        best = math.inf
        for one in itertools.product(range(3), repeat=problem.group_count):
            split = [one[group] for group in problem.groups]
            runs = [problem.seconds[node, problem.devices[at].kind] for node, at in enumerate(split)]
            used = np.bincount(one, sizes, 3)
            if not np.isinf(runs).any() and all(used <= [device.memory for device in problem.devices]):
                best = min(best, evaluate(problem, "step_time", split))
        assert solve(problem, "step_time", steps=1000, use_numba=False).value == best


def test_the_bound_knows_of_copies_and_of_what_lies_between():
    """A node for GPUs alone between two for the host: its copies are on the longest way."""
    seconds = np.array([[1.0, np.inf], [np.inf, 1.0], [1.0, np.inf]])
    devices = (Device("host", 0, is_pool=True), Device("gpu 0", 1), Device("gpu 1", 1))
    ends = np.array([0, 1]), np.array([1, 2])
    problem = Problem((0, 1, 2), seconds, np.zeros(3), np.full(3, 5.0), np.arange(3), *ends, devices)
    found = solve(problem, "step_time", steps=50, use_numba=False)
    assert found.value == found.bound == 13.0
    wide = replace(
        chains(1, 9, 2),
        sources=np.array([*[0] * 7, *range(1, 8)]),
        readers=np.array([*range(1, 8), *[8] * 7]),
        transfer=np.zeros(9),
    )  # one, seven side by side on two devices, one
    assert split_search.Searcher(
        wide, split_search.SearchOptions("step_time", 1.0, 9, 0, False), None, {}
    ).bound == pytest.approx(5.5)


def test_what_is_found_is_never_worse_than_what_is_given():
    chance = random.Random(1)
    for seed, problem in examples(5, 30, 300):
        given = {str(one): random_split(problem, chance) for one in range(3)}
        found = solve(problem, "step_time", steps=60, seed=seed, use_numba=False, initial_splits=given)
        assert found.value <= min(found.starts.values()) and set(given) <= set(found.starts)
        assert found.value == evaluate(problem, "step_time", found.device_of)
        values = [evaluate(problem, "step_time", one) for one in found.alternatives]
        assert values == sorted(values) and found.alternatives[0] == found.device_of
    with pytest.raises(InvalidArgumentError, match="must assign each of"):
        solve(problem, "step_time", initial_splits={"short": [0]})


def test_what_is_told_on_the_way_is_a_split_of_the_objective_told():
    problem, told = checked(random_step(3, 60)), []
    found = solve(problem, "step_time", steps=400, progress=told.append)
    splits = [one for one in told if one.device_of is not None]
    assert splits and splits[-1].objective >= found.value
    for one in splits[:: max(1, len(splits) // 8)]:
        assert evaluate(problem, "step_time", one.device_of) == one.objective


def test_steps_and_seed_decide_and_ctrl_c_gives_the_best_so_far():
    _, problem = next(examples(1, 40, 440))
    runs = [solve(problem, "step_time", steps=120, seed=seed, use_numba=False) for seed in (1, 1, 2)]
    assert runs[0].device_of == runs[1].device_of and runs[0].steps == runs[1].steps
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if progress.fraction > 0.3:
            raise KeyboardInterrupt

    found = solve(problem, "step_time", steps=400, use_numba=False, progress=interrupt)
    assert found.was_stopped and found.value <= seen[-1].objective
    assert [one.objective for one in seen] == sorted((one.objective for one in seen), reverse=True)


def test_compiled_loops_give_the_same_split(monkeypatch):
    pytest.importorskip("numba")
    _, problem = next(examples(1, 30, 440))
    monkeypatch.setattr(split_search, "_SMALL", 0)
    monkeypatch.setattr(split_search, "_ALL", 0)
    slow, quick = (solve(problem, "step_time", steps=200, seed=3, use_numba=use) for use in (False, True))
    assert (slow.device_of, slow.value, slow.bound) == (quick.device_of, quick.value, quick.bound)


def test_memory_spreads_what_is_too_large_for_one():
    problem = replace(chains(6, 1, 3), sizes=np.ones(6))
    problem = replace(problem, devices=tuple(replace(device, memory=2.0) for device in problem.devices))
    found = solve(problem, "step_time", steps=400, use_numba=False)
    assert found.value == 8.0 and np.bincount(found.device_of).tolist() == [2, 2, 2]  # two copies


def test_lists_put_variables_where_they_are_read():
    """A variable and what reads it take no time: neither is to decide for the other's device by itself."""
    seconds = np.array([[0.0, 0.0], [0.0, 0.0], [9.0, 1.0], [9.0, 1.0]])
    devices = (Device("host", 0, is_pool=True), Device("gpu 0", 1), Device("gpu 1", 1))
    ends = np.array([0, 1, 2]), np.array([1, 2, 3])
    problem = Problem(tuple(range(4)), seconds, np.ones(4), np.full(4, 5.0), np.arange(4), *ends, devices)
    for placer in (heft, m_etf):
        split = placer(Costs(problem))
        assert len(set(split)) == 1 and evaluate(problem, "step_time", split) == 2.0


def test_coarse_problems_are_sums_without_cycles():
    chance = random.Random(7)
    for _, problem in examples(12, 60, 700, gpus=3):
        coarse = coarsened(problem, 8)
        one = coarse.problem
        checked(one)  # no cycles, and every group runs somewhere
        assert one.node_count < problem.node_count or problem.node_count <= 8
        finite = np.where(np.isfinite(problem.seconds), problem.seconds, 0)
        for kind in range(3):
            sums = np.bincount(coarse.member_of, finite[:, kind], one.node_count)
            known = np.isfinite(one.seconds[:, kind])
            assert one.seconds[known, kind] == pytest.approx(sums[known])
        assert one.sizes.sum() == problem.sizes.sum()
        crosses = coarse.member_of[problem.sources] != coarse.member_of[problem.readers]
        tensors = np.unique(problem.tensors[crosses & (problem.tensors >= 0)])
        assert one.tensor_transfer.sum() == pytest.approx(problem.tensor_transfer[tensors].sum())
        split = random_split(one, chance)
        device = np.zeros(one.group_count, np.int64)
        device[one.groups] = split
        fine = coarse.finer(device, problem.groups)
        assert fine[problem.groups].tolist() == [split[member] for member in coarse.member_of]
        assert coarse.coarser(fine, problem)[one.groups].tolist() == split


def test_alike_nodes_alone_are_merged_where_that_is_asked():
    chance = random.Random(3)
    for _, problem in examples(6, 50, 900):
        split = np.array(random_split(problem, chance))
        device = np.zeros(problem.group_count, np.int64)
        device[problem.groups] = split
        coarse = coarsened(problem, 4, device)
        assert coarse.finer(coarse.coarser(device, problem), problem.groups).tolist() == device.tolist()
