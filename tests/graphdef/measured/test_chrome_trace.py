"""Steps that are read back from Chrome traces, TensorFlow's and ours."""

import base64
import json
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.graphdef.measured.chrome_trace import step_of_trace
from gpuplace.graphdef.messages import StepStats
from gpuplace.runtime.tracing.chrome_timeline import Timeline

DATA = Path(__file__).parents[2] / "data"
RECORDED = {
    (rules, name): recorded
    for rules, file in (("1.15", "timelines_1_15.json"), ("2.21", "timelines_2_21.json"))
    for name, recorded in json.loads((DATA / file).read_text())["steps"].items()
}


def unpacked(text):
    return zlib.decompress(base64.b64decode(text))


@pytest.mark.parametrize(("rules", "name"), RECORDED)
@pytest.mark.parametrize("options", ["11 schedule", "10 schedule"])
def test_a_trace_of_tensorflow_says_the_same_again(rules, name, options):
    """The trace that is made of what was read of TensorFlow's; of tensors their bytes alone are kept."""
    tf.set_release(rules)
    trace, _ = json.loads(unpacked(RECORDED[rules, name]["answers"]))[options]
    step = step_of_trace(json.dumps(trace))
    shows_memory = options.startswith("11")
    again = json.loads(Timeline(step).generate_chrome_trace_format(show_memory=shows_memory))
    kinds = "MXstC" if shows_memory else "MX"  # without tensors, nothing tells where arrows begin

    def events(found):
        devices = {event["pid"] for event in found["traceEvents"] if event["ph"] == "X"}
        names = {event["pid"]: event["args"]["name"] for event in found["traceEvents"] if event["ph"] == "M"}
        return [
            {**event, "pid": names[event["pid"]], "id": 0}
            for event in found["traceEvents"]
            if event["ph"] in kinds and (event["ph"] != "M" or event["pid"] in devices) and event["name"]
        ]

    assert events(again) == events(trace)


def test_sizes_come_from_tensors():
    step = StepStats()
    device = step.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    for start, size in ((100, 64), (200, 128)):  # a loop runs a node twice
        node = device.node_stats.add(
            node_name="a",
            timeline_label="a = Split()",
            all_start_micros=start,
            all_end_rel_micros=50,
        )
        for slot in range(2):
            memory = node.output.add(slot=slot).tensor_description.allocation_description
            memory.requested_bytes, memory.allocator_name = size * (1 + slot), "cpu"
    trace = Timeline(step).generate_chrome_trace_format(show_memory=True)
    found = step_of_trace(trace).dev_stats[0].node_stats
    sizes = [
        [output.tensor_description.allocation_description.requested_bytes for output in node.output]
        for node in found
    ]
    assert sizes == [[64, 128], [128, 256]]
    assert found[0].output[1].tensor_description.allocation_description.allocator_name == "cpu"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("3", "no list of traceEvents"),
        ('{"traceEvents": {}}', "no list of traceEvents"),
        ("[" * 100_000, "nested too deeply"),
        ("[3]", "event 0 of the trace is incomplete: TypeError"),
        ('[{"ph": "M", "name": "process_name", "pid": 1}]', "event 0 of the trace is incomplete: KeyError"),
        (
            '[{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "a Compute"}},'
            '{"ph": "X", "pid": 1, "tid": 0, "ts": 1e999, "dur": 2, "args": {"name": "b", "op": "c"}}]',
            "event 1 of the trace is incomplete: OverflowError",
        ),
    ],
)
def test_what_is_no_trace(text, message):
    with pytest.raises(ValueError, match=message):
        step_of_trace(text)


def test_other_traces_hold_no_step():
    trace = '[{"ph": "X", "pid": 7, "tid": 1, "ts": 1, "dur": 2, "name": "main"}]'
    assert not step_of_trace(trace).dev_stats
    process = '[{"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "a Compute"}}]'
    assert not step_of_trace(process).dev_stats


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "snapshot"]), inner),
    max_leaves=4,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"ph": st.sampled_from("MXO")},
            optional=dict.fromkeys(("name", "pid", "tid", "ts", "dur", "args"), VALUES),
        ),
        max_size=4,
    )
)
def test_whatever_json_holds_is_a_step_or_a_value_error(events):
    begin = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "a Compute"}}
    try:
        step_of_trace(json.dumps([begin, *events]))
    except ValueError as error:
        assert "is incomplete" in str(error)
