"""An advice beside the placers of the literature; and what the search predicts beside the last judgement."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.advisor.exact import has_solver
from gpuplace.advisor.placers import Costs, heft, m_etf, m_topo
from gpuplace.advisor.steps.initial_choices import published_choices
from gpuplace.advisor.steps.placed_choice import place_choice
from gpuplace.advisor.steps.step_problem import levels_of, step_problem, with_room_for
from tests.advisor.step_graphs import branches, graph_of, stack

PROGRAMS = {
    "branches": (branches(count=3, width=1024), {"rows": (512, 1024)}),
    "layers over time": (stack(layers=3, steps=4, units=256), {"rows": (64, 4, 256)}),
}


def advised(name, machine="2x V100, 1x P100", steps=40, **options):
    build, feeds = PROGRAMS[name]
    return tf.advise(graph_of(build), "train", feeds, machine, steps=steps, **options)


@pytest.fixture(scope="module", params=PROGRAMS)
def advice(request):
    return advised(request.param)


def test_no_placer_of_the_literature_is_better(advice):
    scorer = advice._case.scorer
    made = step_problem(scorer)
    for problem in levels_of(scorer, made)[-2:]:
        for placed in (heft, m_etf, m_topo):
            split = np.array(placed(Costs(problem)), dtype=np.int64)
            other = place_choice(advice._case, made.units_of(scorer, split)).score
            assert other.missing or advice.value <= other.step_time * (1 + 1e-9)


def test_the_fullest_device_is_no_fuller_than_by_stretches():
    advice = advised("branches", objective="memory")
    made = step_problem(advice._case.scorer)
    split = np.array(m_topo(Costs(made.problem)), dtype=np.int64)
    other = place_choice(advice._case, made.units_of(advice._case.scorer, split)).score
    assert advice.value <= other.value and advice.value < 0.7 * advice.before


def test_the_search_predicts_what_is_judged(advice):
    scorer = advice._case.scorer
    assert len(scorer.barriers.groups)
    random, devices = np.random.default_rng(3), len(advice.placement.device_set)
    for _ in range(6):
        choice = random.integers(-1, devices, len(scorer.units.names))
        value = place_choice(advice._case, choice).score.step_time
        assert scorer.score(choice).step_time == scorer.rough_score(choice)[1] == value


def test_placers_take_no_more_than_their_time():
    advice = advised("branches")
    made = step_problem(advice._case.scorer)
    assert not list(published_choices([made.problem], 1e-9))
    splits = list(published_choices([made.problem], 1e9))
    assert len(splits) == 3 + has_solver()
    assert all(len(split) == made.problem.node_count for split in splits)


def test_what_fits_by_the_allocator_fits_a_level():
    advice = advised("branches")
    problem = step_problem(advice._case.scorer).problem
    gpu = next(number for number, device in enumerate(problem.devices) if not device.is_pool)
    everything = np.full(problem.node_count, gpu)
    alike = [device.kind == problem.devices[gpu].kind for device in problem.devices]
    tight = with_room_for(problem, [])
    assert [device.memory for device in tight.devices] == [device.memory for device in problem.devices]
    sizes = problem.sizes * 1e6
    roomy = with_room_for(type(problem)(**{**vars(problem), "sizes": sizes}), [everything])
    for device, before, is_alike in zip(roomy.devices, problem.devices, alike, strict=True):
        assert device.memory == (max(before.memory, sizes.sum()) if is_alike else before.memory)


@pytest.mark.skipif(not has_solver(), reason="HiGHS is not installed")
def test_the_solver_of_programs_prints_nothing(capfd):
    advice = advised("branches", steps=None, seconds=3)
    assert advice.value <= advice.before
    printed = capfd.readouterr()
    assert not printed.out and not printed.err
