"""Chrome traces of measured steps, beside what TensorFlow's ``Timeline`` made of the same ones."""

import base64
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.graphdef.messages import StepStats
from gpuplace.python.client import timeline

RECORDED = {
    rules: json.loads((Path(__file__).parents[2] / "data" / f"timelines_{name}.json").read_text())["steps"]
    for rules, name in (("1.15", "1_15"), ("2.21", "2_21"))
}


def unpacked(text):
    return zlib.decompress(base64.b64decode(text))


def canonical(trace):
    """The events with the text of descriptions, which protobuf releases write differently, in one form.

    A tensor's snapshot is nowhere before it was made: TensorFlow has those of ops of no length there.
    """
    made = {event["id"]: event["ts"] for event in trace["traceEvents"] if event["ph"] == "N"}
    for event in trace["traceEvents"]:
        if event["ph"] == "O":
            event["ts"] = max(event["ts"], made[event["id"]])
        snapshot = event.get("args", {}).get("snapshot")
        if isinstance(snapshot, dict):
            snapshot["tensor_description"] = " ".join(snapshot["tensor_description"].split())
    return trace


@pytest.mark.parametrize(("rules", "name"), [(rules, name) for rules in RECORDED for name in RECORDED[rules]])
def test_events_are_those_of_tensorflow(rules, name):
    tf.set_release(rules)
    recorded = RECORDED[rules][name]
    step = StepStats.FromString(unpacked(recorded["step_stats"]))
    before = step.SerializeToString()
    answers = json.loads(unpacked(recorded["answers"]))
    assert len(answers) == (12 if rules == "2.21" else 4)
    for options, (trace, maximums) in answers.items():
        flags, op_time = options.split()
        found = timeline.Timeline(step).analyze_step_stats(flags[0] == "1", flags[1] == "1", op_time)
        ours = json.loads(found.chrome_trace.format_to_string())
        assert canonical(ours) == canonical(trace), options
        assert {
            allocator: [most.timestamp, most.num_bytes, sorted(most.tensors)]
            for allocator, most in found.allocator_maximums.items()
        } == maximums
    assert step.SerializeToString() == before


def test_what_was_recorded_holds_something_of_everything():
    kinds = {
        event["ph"]
        for recorded in RECORDED["2.21"].values()
        for trace, _ in json.loads(unpacked(recorded["answers"])).values()
        for event in trace["traceEvents"]
    }
    assert kinds == set("MXNODCst")
    devices = StepStats.FromString(unpacked(RECORDED["1.15"]["training_3"]["step_stats"])).dev_stats
    assert {device.device for device in devices} > {"/host:CPU"}


def traced():
    tf.use_machine("1x Tesla K40c")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        with tf.device("/gpu:0"):
            product = tf.matmul(x, x, name="product")
        with tf.device("/cpu:0"):
            total = tf.add(product, x, name="total")
        metadata = tf.RunMetadata()
        with tf.Session() as session:
            full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(total, {x: [[1.0] * 4] * 4}, options=full, run_metadata=metadata)
    return metadata


REQUIRED = {"M": {"args"}, "X": {"ts", "dur", "tid"}, "C": {"ts", "args"}}
"""Keys of an event beside name, ph and pid, by its kind, in "Trace Event Format" of the Catapult project."""


def test_a_session_s_own_step_is_a_valid_trace():
    line = timeline.Timeline(traced().step_stats)
    trace = json.loads(line.generate_chrome_trace_format(show_memory=True))
    assert set(trace) == {"traceEvents"}
    names = {event["pid"]: event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    arrows = {"s": [], "t": []}
    for event in trace["traceEvents"]:
        assert {"name", "ph", "pid"} | REQUIRED.get(event["ph"], {"ts", "tid", "id"}) <= set(event)
        assert event["pid"] in names
        assert all(
            isinstance(event[key], int) and event[key] >= 0 for key in ("ts", "dur", "tid") if key in event
        )
        if event["ph"] in arrows:
            arrows[event["ph"]].append(event["id"])
    assert arrows["s"] == arrows["t"]
    ops = {
        (event["args"]["name"], names[event["pid"]].rpartition("/")[2])
        for event in trace["traceEvents"]
        if event["ph"] == "X"
    }
    assert {
        ("product", "device:GPU:0 Compute"),
        ("product", "stream:all Compute"),
        ("total", "device:CPU:0 Compute"),
    } <= ops


def test_copies_are_arrows():
    """From what made a tensor, or was fed, to what received it on another device, and from there to what took it."""
    trace = json.loads(timeline.Timeline(traced().step_stats).generate_chrome_trace_format())
    events = trace["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    ends = {}
    for event in events:
        if event["ph"] in "st":
            device = names[event["pid"]].removesuffix(" Compute").rpartition(":")
            ends.setdefault((event["id"], event["name"]), []).append(f"{device[0][-3:]}:{device[2]}")
    between = {(name, *devices) for (_, name), devices in ends.items() if len(set(devices)) == 2}
    assert between == {("_arg_x_0_0", "CPU:0", "GPU:0"), ("product", "GPU:0", "CPU:0")}
    starts = {event["id"]: event["ts"] for event in events if event["ph"] == "s"}
    assert all(starts[event["id"]] <= event["ts"] for event in events if event["ph"] == "t")


def test_the_most_memory_of_an_allocator():
    found = timeline.Timeline(traced().step_stats).analyze_step_stats().allocator_maximums
    assert found["GPU_0_bfc"].num_bytes == 128 and found["GPU_0_bfc"].tensors == {"x/_1", "product"}


def test_scripts_import_it_from_tensorflow(tmp_path):
    script = tmp_path / "trace.py"
    script.write_text(
        "import tensorflow as tf\n"
        "from tensorflow.python.client import timeline\n"
        "import tensorflow.python.client.timeline as same\n"
        "metadata = tf.RunMetadata()\n"
        "with tf.Session() as session:\n"
        "    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)\n"
        "    session.run(tf.constant(1.0), options=options, run_metadata=metadata)\n"
        "print(timeline is same, timeline.Timeline(step_stats=metadata.step_stats)"
        ".generate_chrome_trace_format()[:22])\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "gpuplace", "run", str(script)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "{", '"traceEvents":', "["]
