"""Two steps in one view."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.views.timelines.beside import beside
from tests.views.timelines.steps import tower_step


@pytest.fixture
def both():
    tf.use_machine("2x Tesla K40c")
    first, second = tower_step(), tower_step()
    return first, second, beside(("predicted", first), ("measured", second))


def test_all_events_of_both_are_there(both):
    first, second, joined = both
    assert len(joined) == len(first) + len(second)
    assert sorted(joined.names) == sorted([*first.names, *second.names])
    assert np.all(np.diff(joined.start_us) >= 0)
    assert joined.total_us == max(first.total_us, second.total_us)
    assert len(joined.copies) == len(first.copies) + len(second.copies)


def test_lanes_of_a_device_are_neighbours(both):
    first, _, joined = both
    labels = [lane.label for lane in joined.lanes]
    assert labels[:2] == ["CPU:0 predicted", "CPU:0 measured"]
    assert len(labels) == 2 * len(first.lanes)
    assert [use.nodes for use in joined.uses][::2] == [use.nodes for use in first.uses]


def test_events_keep_what_they_waited_for(both):
    first, second, joined = both
    for step, word in ((first, "predicted"), (second, "measured")):
        there = {
            (joined.names[event], joined.ops[event]): event
            for event in range(len(joined))
            if joined.lanes[joined.lane[event]].label.endswith(word)
        }
        for event, key in enumerate(zip(step.names, step.ops, strict=True)):
            waited = [step.names[before] for before in step.inputs(event)]
            found = [joined.names[before] for before in joined.inputs(there[key])]
            assert sorted(found) == sorted(waited)
            assert all(
                joined.lanes[joined.lane[before]].label.endswith(word) for before in joined.inputs(there[key])
            )


def test_it_is_drawn(both):
    joined = both[2]
    assert "CPU:0 predicted" in joined.svg()
    assert "GPU:1" in str(joined)


def test_one_step_alone_says_what_it_is(both):
    alone = beside(("predicted", both[0]))
    assert [lane.label.split()[1] for lane in alone.lanes] == ["predicted"] * len(both[0].lanes)
    assert alone.path_text == both[0].path_text


def test_tasks_stay_together():
    graph = tf.Graph()
    with graph.as_default():
        for job in ("ps", "worker"):
            with tf.device(f"/job:{job}/gpu:0"):
                a = tf.placeholder(tf.float32, [8, 8], name=f"a_{job}")
                made = tf.matmul(a, a, name=f"product_{job}")
    machine = "ps: 1x K80; worker: 1x K80"
    step = tf.estimate(graph, ["product_ps", made], {"a_ps": (8, 8), "a_worker": (8, 8)}, machine).timeline()
    both = beside(("one", step), ("two", step))
    tasks = [lane.task for lane in both.lanes]
    assert tasks == sorted(tasks) and len(set(tasks)) == 2
    assert [lane.device for lane in both.lanes][:1] == ["/job:one_ps/replica:0/task:0/device:CPU:0"]
    lines = both.svg().count('class="tick" x1="8"')
    assert lines == 1
