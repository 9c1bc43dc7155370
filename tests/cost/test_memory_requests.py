"""What a step asks of memories is found once; allocators of any size answer."""

import pytest

import gpuplace as tf
from gpuplace.cost.memory import step_requests
from gpuplace.cost.memory.dry_run import DryRun
from gpuplace.tf1.input.staging import StagingArea


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [None, 4096], name="rows")
        with tf.device("/gpu:1"):
            weights = tf.Variable(tf.zeros([4096, 4096]), name="weights")
            top = tf.nn.relu(tf.matmul(rows, weights))
        with tf.device("/gpu:0"):
            loss = tf.reduce_mean(tf.square(tf.layers.dense(top, 4096)), name="loss")
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
    return graph


@pytest.fixture
def runs(monkeypatch):
    """A dry run for each time that a step was gone through."""
    made = []

    class Counted(DryRun):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(step_requests, "DryRun", Counted)
    return made


def said(memory):
    """All that there is to say of the memory of GPUs."""
    return [
        (use.device, use.limit, use.peak, use.step_peak, use.before, use.at, use.alive, use.timeline)
        + (use.fragmentation, use.short, use.failed_at, use.requested)
        for use in memory.devices
    ], memory.sentences()


SOFT = tf.ConfigProto(allow_soft_placement=True)
GROWING = tf.ConfigProto(
    allow_soft_placement=True,
    gpu_options=tf.GPUOptions(allow_growth=True, per_process_gpu_memory_fraction=0.3),
)
UNFOLDED = tf.ConfigProto(allow_soft_placement=True)
UNFOLDED.graph_options.rewrite_options.constant_folding = 2
UNFOLDED.graph_options.optimizer_options.opt_level = -1


@pytest.mark.parametrize(
    ("machine", "config", "is_known"),
    [
        ("2x V100", SOFT, True),
        ("2x Tesla K20m", SOFT, True),
        ("2x GTX 1050", SOFT, True),
        ("2x K40c", GROWING, True),
        ("2x K40c", UNFOLDED, False),
        ("1x K40c", SOFT, False),
        ("3x K40c", SOFT, False),
    ],
)
def test_another_machine_is_asked_the_same(graph, runs, machine, config, is_known):
    feeds = {"rows": (8192, 4096)}
    step = tf.estimate(graph, "train", feeds, machine="2x K40c", config=SOFT)
    assert step.memory.fits and len(runs) == 1
    again = step.what_if(machine, config).memory
    assert len(runs) == (1 if is_known else 2)
    assert said(again) == said(tf.estimate(graph, "train", feeds, machine=machine, config=config).memory)


def test_what_does_not_fit_is_gone_through_once(graph, runs):
    memory = tf.estimate(graph, "train", {"rows": (1 << 19, 4096)}, machine="2x K40c").memory
    assert len(runs) == 1 and not memory.fits
    short = {use.device[-5:]: use.short for use in memory.devices}
    assert short["GPU:0"] > 0
    assert all(use.failed_at in graph.by_name for use in memory.devices)


def test_a_few_placements_are_kept(graph, runs):
    step = tf.estimate(graph, "train", {"rows": (64, 4096)}, machine="2x K40c", config=SOFT)
    for count in (2, 3, 4, 5, 6, 3, 4, 5, 6, 2):
        assert step.what_if(f"{count}x K40c").memory.fits
    assert len(runs) == 6  # the first of five had been given up


def test_what_may_wait_is_asked_for_in_one_order():
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        area = StagingArea([tf.float32], [[64, 64]])
        put = area.put([tf.random_uniform([64, 64])])
        taken = tf.square(area.get())
    asked = set()
    for _ in range(20):
        step = tf.estimate(graph, [put, taken], machine="1x K40c")
        assert step.memory.fits
        (found,) = step.memory_requests.values()
        asked.add(tuple(label for _, label, _, _ in found.requests.rows))
    assert len(asked) == 1


def test_what_a_step_leaves_is_no_request(graph, runs):
    step = tf.estimate(graph, "train", {"rows": (64, 4096)}, machine="2x K40c")
    assert step.memory.fits
    (asked,) = step.memory_requests.values()
    live = {}
    for device, label, nbytes, number in asked.requests.rows:
        if nbytes > 0:
            live[number] = device, label
        else:
            del live[number]
    kept = {asked.called(label, True) for device, label in live.values() if device.endswith("GPU:1")}
    assert {("weights", "variable"), ("weights/Momentum", "variable")} <= kept
