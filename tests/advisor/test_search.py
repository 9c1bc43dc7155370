"""The search: what it counts, that it finds the best of small problems, its budgets, and what it refuses."""

import itertools
import math
import os
import random
import subprocess
import sys

import pytest

from gpuplace.advisor import chains, pipeline_load, split_search
from gpuplace.advisor.bounds import lower_bound
from gpuplace.advisor.solve import evaluate, solve
from gpuplace.advisor.workloads import read_workload, split_of
from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError
from tests.advisor.workload_examples import JUDGES, as_text, fits, random_workload

OBJECTIVES = ("throughput", "latency")


def examples(objective, count, most, first=0):
    """Problems for which there is a split, with what they were read from."""
    for seed in itertools.count(first):
        workload = random_workload(seed, most, training=objective == "throughput" and seed % 2 == 1)
        try:
            yield seed, workload, read_workload(as_text(workload), objective)
        except InvalidArgumentError:
            continue
        count -= 1
        if not count:
            return


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_are_what_the_definition_says(objective):
    chance = random.Random(3)
    infinite = 0
    for _, workload, problem in examples(objective, 60, 12):
        device_of_group = [chance.randrange(len(problem.devices)) for _ in range(problem.group_count)]
        device_of = [device_of_group[group] for group in problem.groups]
        if any(
            problem.seconds[at, problem.devices[one].kind] == math.inf for at, one in enumerate(device_of)
        ):
            continue
        expected = JUDGES[objective](workload, split_of(problem, device_of))
        assert evaluate(problem, objective, device_of) == pytest.approx(expected, rel=1e-12)
        infinite += expected == math.inf
    assert (infinite > 0) == (objective == "latency")


def test_sums_stay_right_while_groups_move():
    for _, workload, problem in examples("throughput", 20, 12):
        terms = split_search.SearchOptions("throughput", 1.0, 10, 0, False)
        found = split_search.Searcher(problem, terms, None, {})
        chain = chains.Chain(found.context, [5, 7])
        state, chance = chain.state, random.Random(1)
        chain.value(found.best.device * 0 + len(problem.devices) - 1)
        for _ in range(100):
            group, to = chance.randrange(problem.group_count), chance.randrange(len(problem.devices))
            if found.context.net.seconds[group * len(problem.devices) + to] < math.inf:
                pipeline_load.move_group(found.context.net, state, group, to)
        device_of = [state.device[group] for group in problem.groups]
        assert max(state.load) == pytest.approx(JUDGES["throughput"](workload, split_of(problem, device_of)))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_small_problems_are_split_best(objective, monkeypatch):
    """By annealing alone, beside all splits."""
    monkeypatch.setattr(split_search, "_ALL", 0)
    equal = count = 0
    for seed, workload, problem in examples(objective, 12, 6):
        found = solve(problem, objective, steps=2000, seed=seed, use_numba=False)
        split = split_of(problem, found.device_of)
        assert fits(workload, split)
        assert found.value == pytest.approx(JUDGES[objective](workload, split), rel=1e-12)
        best = math.inf
        for one in itertools.product(range(len(problem.devices)), repeat=problem.group_count):
            split = split_of(problem, [one[group] for group in problem.groups])
            if fits(workload, split):
                best = min(best, JUDGES[objective](workload, split))
        assert found.bound <= best * (1 + 1e-12) and found.value >= best * (1 - 1e-12)
        equal += found.value == pytest.approx(best, rel=1e-12)
        count += 1
    assert equal >= 0.99 * count


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_where_all_splits_are_tried_the_best_is_proved(objective, monkeypatch):
    for _, _, problem in examples(objective, 5, 6, first=100):
        proved = solve(problem, objective, steps=2000, use_numba=False)
        assert proved.gap == 0 and proved.value == proved.bound
        monkeypatch.setattr(split_search, "_ALL", 0)
        assert solve(problem, objective, steps=2000, use_numba=False).value == pytest.approx(proved.value)
        monkeypatch.undo()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_steps_and_seed_decide(objective):
    _, _, problem = next(examples(objective, 1, 40, first=40))
    runs = [solve(problem, objective, steps=400, seed=seed, use_numba=False) for seed in (1, 1, 2)]
    assert runs[0].device_of == runs[1].device_of and runs[0].steps == runs[1].steps <= 480
    assert runs[0].value <= lower_bound(problem, objective) * 100


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_compiled_loops_give_the_same_split(objective, monkeypatch):
    pytest.importorskip("numba")
    _, _, problem = next(examples(objective, 1, 40, first=40))
    monkeypatch.setattr(split_search, "_SMALL", 0)
    for seed in range(3):
        slow = solve(problem, objective, steps=1500, seed=seed, use_numba=False)
        quick = solve(problem, objective, steps=1500, seed=seed)
        assert (slow.device_of, slow.value, slow.steps) == (quick.device_of, quick.value, quick.steps)


def test_where_numba_is_switched_off_answers_are_the_same(tmp_path):
    pytest.importorskip("numba")
    _, workload, problem = next(examples("throughput", 1, 40, first=40))
    (tmp_path / "workload.json").write_text(as_text(workload))
    program = (
        "import sys; from gpuplace.advisor.solve import solve; from gpuplace.advisor.workloads import read_workload\n"
        "problem = read_workload(open(sys.argv[1]).read(), 'throughput')\n"
        "print(solve(problem, 'throughput', steps=25000, seed=2).device_of)"
    )
    run = [sys.executable, "-c", program, str(tmp_path / "workload.json")]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(solve(problem, "throughput", steps=25000, seed=2).device_of))


def test_a_long_chain_is_cut_as_its_best_stretches():
    """Ten equal nodes in a row on two devices: five and five, and one transfer paid at both ends."""
    nodes = [
        {"id": at, "supportedOnFpga": 1, "cpuLatency": 99, "fpgaLatency": 2, "isBackwardNode": 0, "size": 1}
        for at in range(10)
    ]
    edges = [{"sourceId": at, "destId": at + 1, "cost": 0.5} for at in range(9)]
    workload = {"maxSizePerFPGA": 9, "maxFPGAs": 2, "maxCPUs": 0, "nodes": nodes, "edges": edges}
    found = solve(read_workload(as_text(workload), "throughput"), "throughput", steps=100, use_numba=False)
    assert (found.value, found.bound) == (10.5, 10.0) and found.gap == pytest.approx(0.05)
    found = solve(read_workload(as_text(workload), "latency"), "latency", steps=100, use_numba=False)
    assert found.value == 21.0  # the memory of one device is one node too small


def test_zero_costs_and_unconnected_nodes():
    nodes = [
        {"id": at, "supportedOnFpga": 1, "cpuLatency": 0, "fpgaLatency": 0, "isBackwardNode": 0, "size": 0}
        for at in range(30)
    ]
    workload = {"maxSizePerFPGA": 0, "maxFPGAs": 3, "maxCPUs": 1, "nodes": nodes, "edges": []}
    for objective in OBJECTIVES:
        found = solve(read_workload(as_text(workload), objective), objective, use_numba=False)
        assert found.value == found.bound == found.gap == 0 and found.seconds < 5  # done at once


def test_what_cannot_fit_is_said_with_how_much():
    """Three nodes of 6 do not fit on two devices of 9, as no node can be cut."""
    nodes = [
        {"id": at, "supportedOnFpga": 1, "cpuLatency": 1, "fpgaLatency": 1, "isBackwardNode": 0, "size": 6}
        for at in range(3)
    ]
    workload = {"maxSizePerFPGA": 9, "maxFPGAs": 2, "maxCPUs": 0, "nodes": nodes, "edges": []}
    with pytest.raises(ResourceExhaustedError, match="No split .* fits .* 3 units short") as error:
        solve(read_workload(as_text(workload), "throughput"), "throughput", steps=100, use_numba=False)
    assert "add devices" in error.value.hint


def test_ctrl_c_gives_the_best_so_far():
    _, workload, problem = next(examples("throughput", 1, 40, first=40))
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    found = solve(problem, "throughput", seconds=60, use_numba=False, progress=interrupt)
    assert found.was_stopped and len(seen) == 3 and found.value <= seen[-1].objective
    assert fits(workload, split_of(problem, found.device_of))
    assert [one.objective for one in seen] == sorted((one.objective for one in seen), reverse=True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"objective": "speed"}, "Unknown objective 'speed'"),
        ({"seconds": 0}, "seconds must be a positive number; got 0"),
        ({"seconds": math.nan}, "seconds must be a positive number; got nan"),
        ({"steps": 0}, "steps must be a positive integer; got 0"),
        ({"seed": -1}, "seed must be a non-negative integer; got -1"),
    ],
)
def test_wrong_words_are_refused(words, sentence):
    _, _, problem = next(examples("throughput", 1, 4))
    with pytest.raises(InvalidArgumentError, match=sentence):
        solve(problem, **{"objective": "throughput"} | words)


def test_a_split_that_takes_classes_apart_is_refused():
    text = as_text(
        {
            "maxSizePerFPGA": 9,
            "maxFPGAs": 1,
            "maxCPUs": 1,
            "nodes": [
                {"id": at, "supportedOnFpga": 1, "cpuLatency": 1, "fpgaLatency": 1, "colorClass": 0}
                for at in range(2)
            ],
            "edges": [],
        }
    )  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="separates node 0"):
        evaluate(read_workload(text, "throughput"), "throughput", [0, 1])
