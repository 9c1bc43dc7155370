"""Short campaigns of damaged logs, steps and traces, in this process."""

import argparse

import pytest

import gpuplace as tf
from gpuplace.graphdef.messages import StepStats
from tests.fuzz import graph_defs, texts

LABEL = "/job:localhost/replica:0/task:0/device:"


@pytest.mark.parametrize(("name", "count"), [("logs", 600), ("steps", 300), ("traces", 300)])
def test_damaged_texts_are_refused_or_understood(name, count):
    inputs = texts.INPUTS[name]
    ends = set()
    for number in range(count):
        source, random = inputs.case(4321, number)
        ends.update(inputs.attempt(source, random))
    assert any(end.endswith("answer") for end in ends) and len(ends) > 1


def test_a_campaign(capfd):
    arguments = argparse.Namespace(executions=40, processes=2, seed=7, time_limit=10.0, seconds=0, save=None)
    assert graph_defs.Campaign(arguments, texts.INPUTS["logs"]).run() == 0
    assert "40 executions in" in capfd.readouterr().out


def test_an_input_has_time_in_proportion_to_its_size():
    limit = texts.INPUTS["logs"].limit
    assert limit(b"a" * 100_000) - limit(b"") == pytest.approx(10 * (limit(b"a" * 10_000) - limit(b"")))


def test_a_device_that_only_an_earlier_session_used():
    lines = [f"a: (Add): {LABEL}CPU:1", f"a: (Add): {LABEL}CPU:0", f"b: (Add): {LABEL}CPU:0"]
    frame = tf.parse_log("\n".join([lines[0], "Device mapping: no known devices.", *lines[1:]])).frame()
    assert frame["device"].tolist() == ["CPU:1", "CPU:0", "CPU:0"]


def test_two_spellings_of_a_device():
    stats = StepStats()
    for name in ("/device:GPU:0", "/gpu:0"):
        stats.dev_stats.add(device=name).node_stats.add(
            node_name="a", all_start_micros=1, all_end_rel_micros=1
        )
    assert tf.timeline(stats).frame()["lane"].tolist() == ["GPU:0", "GPU:0"]
