"""What may move alone, what is held together at each level, and the clock that all of them share."""

import math

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.advisor.bounds import step_bound
from gpuplace.advisor.chains import Chain, SearchContext
from gpuplace.advisor.solve import Progress
from gpuplace.advisor.steps import step_search
from gpuplace.advisor.steps.advise import _case
from gpuplace.advisor.steps.placed_choice import place_choice
from gpuplace.advisor.steps.step_problem import is_split_of, levels_of, step_problem
from gpuplace.advisor.steps.step_search import Budget, StepSearch
from gpuplace.errors import ResourceExhaustedError
from tests.advisor.step_graphs import graph_of, large


def layers(count=4, width=2048):
    with tf.Graph().as_default() as graph:
        top = tf.Variable(tf.ones([4096, width]), trainable=False, name="rows")
        for number in range(count):
            with tf.variable_scope(f"layer_{number}"):
                top = tf.nn.relu(tf.matmul(top, tf.get_variable("w", (width, width))))
        loss = tf.reduce_mean(tf.square(top - tf.reduce_mean(top, [1], keepdims=True)))
        tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    return graph


def case_and_bound(graph, machine="2x K80", **options):
    options = {"fetches": "train", **options}
    return _case(graph, machine, "step_time", None, None, None, {}, options, None)[:2]


def case_of(graph, machine="2x K80", **options):
    return case_and_bound(graph, machine, **options)[0]


@pytest.fixture(scope="module")
def layered():
    case = case_of(layers())
    return case, step_problem(case.scorer)


def test_each_kernel_of_a_gradient_is_a_unit_of_its_op(layered):
    units = layered[0].scorer.units
    of = dict(zip(units.names, units.ops, strict=True))
    for kernel in ("MatMul", "MatMul_1"):
        assert of[f"gradients/layer_1/MatMul_grad/{kernel}"] == "layer_1/MatMul"
    together = next(region for region in units.regions if region.scope == "layer_1/MatMul")
    assert sorted(units.names[unit] for unit in together.units) == [
        "gradients/layer_1/MatMul_grad/MatMul",
        "gradients/layer_1/MatMul_grad/MatMul_1",
        "layer_1/MatMul",
    ]


def test_a_level_holds_together_what_the_one_before_does_not(layered):
    case, made = layered
    levels = levels_of(case.scorer, made)
    counts = [level.group_count for level in levels]
    assert len(levels) >= 3 and counts == sorted(set(counts)) and levels[-1] is made.problem
    for coarse, fine in zip(levels, levels[1:], strict=False):
        split = np.random.default_rng(0).integers(0, 2, coarse.group_count)[coarse.groups]
        assert is_split_of(coarse, split) and is_split_of(fine, split)
    alone = np.arange(made.problem.group_count)[made.problem.groups] % 2
    assert not is_split_of(levels[0], alone)


def looped():
    """Products in a loop."""
    with tf.Graph().as_default() as graph:
        start = tf.constant(0), tf.ones([512, 512])
        _, found = tf.while_loop(
            lambda at, _: at < 8, lambda at, rows: (at + 1, tf.matmul(rows, rows)), start, name="loop"
        )
        tf.reduce_sum(found, name="train")
    return graph


@pytest.mark.parametrize("machine", ["2x P100", "1x V100, 1x K80", "4x K80"])
@pytest.mark.parametrize("has_loop", [False, True])
def test_the_search_has_the_estimates_clock_to_the_last_bit(machine, has_loop):
    """As it stands and compiled, by the search's groups and by units, and of the placement that TensorFlow makes."""
    options = {"trip_counts": {"loop": 8}} if has_loop else {}
    case = case_of(looped() if has_loop else layers(2, 512), machine, **options)
    scorer = case.scorer
    made = step_problem(scorer)
    chains = [
        Chain(SearchContext(made.problem, "step_time", is_compiled), [1, 1]) for is_compiled in (False, True)
    ]
    clocks = scorer.clock, scorer.clock.compiled()
    random, devices = np.random.default_rng(1), len(scorer.candidates.placement.device_set)
    for _ in range(6):
        device_of = random.integers(0, devices, len(scorer.units.names))
        step = place_choice(case, device_of).estimate
        values = {chain.value(groups_of(made, scorer, device_of)) for chain in chains}
        values |= {clock.seconds(scorer.node_devices(device_of)) for clock in clocks}
        flow, times = scorer.clock.compiled().run(step.part.device)
        assert values == {step.step_time, scorer.score(device_of).step_time}
        assert times == step.times and vars(flow.copies) == vars(step.flow.copies)


def groups_of(made, scorer, device_of):
    """[groups of the problem] devices of units."""
    groups = np.zeros(made.problem.group_count, np.int64)
    groups[made.problem.groups] = made.nodes_of(scorer, device_of)
    return groups


def bound_in_numbers(case):
    problem = step_problem(case.scorer).problem
    context = SearchContext(problem, "step_time", False)
    return step_bound(problem, context.step, context.bounds, context.in_lists)


def test_the_tightest_bound_is_told_and_no_choice_is_below_it():
    graph = layers(width=512)
    case, bound = case_and_bound(graph)
    tight, scorer = bound_in_numbers(case), case.scorer
    assert tight > bound * 1.001
    assert tf.advise(graph, "train", machine="2x K80", steps=20).bound == pytest.approx(tight, rel=1e-9)
    random = np.random.default_rng(2)
    for _ in range(30):
        device_of = random.integers(-1, 3, len(scorer.units.names))
        assert scorer.score(device_of).value >= tight * (1 - 1e-9)


def test_a_loop_is_not_bounded_by_a_step_that_knows_no_overlapping_iterations():
    case, bound = case_and_bound(looped(), trip_counts={"loop": 8})
    assert bound_in_numbers(case) > bound
    search = StepSearch(case.scorer, Budget(10.0, 20))
    assert (case.scorer.step.node_runs > 1).any() and search.run() and search.bound == 0


def test_a_long_search_in_numbers_is_heard_before_it_is_over(layered, monkeypatch):
    case, made = layered
    units = len(case.scorer.units.names)
    fair = np.random.default_rng(0).integers(1, 3, units)
    on_cpu, on_gpu = np.zeros(units, np.int64), np.ones(units, np.int64)
    bests = []

    def solve_for_long(*_, progress, **__):
        for objective, choice in ((3.0, fair), (2.0, on_gpu), (2.0, on_cpu)):
            progress(Progress(0.5, objective, 0.0, made.nodes_of(case.scorer, choice)))
            bests.append(search.best[0])
        raise ResourceExhaustedError.of("nothing fits in the end")

    monkeypatch.setattr(step_search, "solve", solve_for_long)
    monkeypatch.setattr(step_search, "_HEARD_EVERY", -1.0)
    monkeypatch.setattr(step_search, "_HEARD_SHARE", math.inf)
    search = StepSearch(case.scorer, Budget(60.0))
    search._consider(on_cpu)
    search._solve(made.problem, 1.0, only_initial=True)
    scores = [case.scorer.score(choice) for choice in (on_cpu, fair, on_gpu)]
    assert scores == sorted(scores, reverse=True)
    assert bests == [scores[1], scores[2], scores[2]]
    assert [score for score, _ in search.elite] == [scores[2], scores[0]]  # one of a search is enough


def test_what_is_there_at_the_peak_of_the_fullest_device(layered):
    scorer = layered[0].scorer
    units, random = len(scorer.units.names), np.random.default_rng(4)
    for choice in (np.ones(units, np.int64), random.integers(0, 3, units)):
        fullest, nbytes, peaks = scorer.at_the_peak(choice)
        _, flow, _ = scorer.evaluate(choice)
        assert peaks.tolist() == scorer.peaks(scorer.node_devices(choice), flow).tolist()
        assert fullest == peaks.argmax() and nbytes.sum() * scorer.scale == pytest.approx(peaks[fullest])
    moved = StepSearch(scorer.unused("memory"), Budget(10.0, 5))._waits(np.ones(units, np.int64))
    assert moved and all(device != 1 for _, device, _ in moved)


@pytest.mark.parametrize("seed", range(3))
def test_the_rough_count_of_memory_is_nearly_the_allocators(seed):
    case = case_of(graph_of(large(layers=6, width=512, has_slots=False)), "4x K80")
    units = len(case.scorer.units.names)
    choice = np.random.default_rng(seed).integers(1, 5, units)
    found = place_choice(case, choice).estimate
    rough = case.scorer.peaks(found.part.device, found.flow)
    real = [found.peak_memory[name] for name in found.device_names]
    assert rough[1:] == pytest.approx(real[1:], rel=0.03)
