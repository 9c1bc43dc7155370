"""Texts from files that would command a terminal, or a spreadsheet, are shown and not obeyed."""

import csv
import io
import subprocess
import sys
import unicodedata

import pytest

import gpuplace as tf
from gpuplace.cli.output import render
from gpuplace.display import safe_text
from gpuplace.graphdef.messages import StepStats

EVIL = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e\r\x08\x7f"
LABEL = "/job:localhost/replica:0/task:0/device:GPU:0"


def is_safe(text):
    return not any(unicodedata.category(one) in ("Cc", "Cf", "Cs") and one not in "\n\t" for one in text)


def test_every_character():
    characters = "".join(map(chr, range(0x11000)))
    found = safe_text(characters)
    assert is_safe(found.translate({ord(one): None for one in _INVISIBLE}))
    assert safe_text("Ünïcödé\n\t東京 \u00a0") == "Ünïcödé\n\t東京 \u00a0"
    assert safe_text(EVIL) == r"\x1b]0;title\x07\x1b[2J\x9b31m\u202e\r\x08\x7f"


_INVISIBLE = [one for one in map(chr, range(0xA0, 0x11000)) if unicodedata.category(one) == "Cf"]
"""Among them the soft hyphen and marks of Arabic and Egyptian numbers: they move nothing."""


def graph_def(name="a", op="NoOp", device="", inputs=(), attr=None, group=None):
    message = tf.GraphDef()
    node = message.node.add(name=name, op=op, device=device, input=inputs)
    if attr:
        node.attr[attr].s = EVIL.encode()
    if group:
        node.attr["_class"].list.s.append(group.encode())
    return message


def function_def():
    message = graph_def(op="f" + EVIL)
    message.library.function.add().signature.name = "f" + EVIL
    return message


GRAPHS = {
    "name": graph_def(name="a" + EVIL),
    "op": graph_def(op="NoOp" + EVIL),
    "function": function_def(),
    "device": graph_def(device="/gpu:" + EVIL),
    "job": graph_def(device=f"/job:{EVIL}/gpu:0"),
    "input": graph_def(op="Identity", inputs=["x" + EVIL]),
    "control input": graph_def(inputs=["^x" + EVIL]),
    "attribute": graph_def(attr="a" + EVIL),
    "value": graph_def(attr="a"),
    "group": graph_def(group="loc:@" + EVIL),
}


def texts_of_placement(placement):
    yield from (str(placement), repr(placement), placement.log(), str(placement.blame()))
    yield from map(str, placement.errors)
    yield placement.picture().dot
    for node in placement:
        explanation = placement.explain(node)
        yield from (str(explanation), repr(explanation))
    yield str(placement.diff(placement))


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_graphs(graph):
    tf.use_machine("1x Tesla K20m")
    for read in (
        lambda: tf.import_graph_def(graph, name=""),
        lambda: tf.place(graph),
        lambda: tf.place(graph, on_error="keep"),
    ):
        try:
            found = read()
        except (tf.errors.OpError, ValueError) as error:
            assert is_safe(str(error)), str(error)
            continue
        for text in () if found is None else texts_of_placement(found):
            assert is_safe(text), text
    assert is_safe(repr(tf.get_default_graph().get_operations()))


def test_a_function_of_such_a_name_in_the_log_of_a_session(capsys):
    tf.use_machine("1x Tesla K20m")
    try:
        tf.import_graph_def(GRAPHS["function"], name="")
        with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
            session.run(tf.constant(1))
    except (tf.errors.OpError, ValueError) as error:
        assert is_safe(str(error))
    captured = capsys.readouterr()
    assert is_safe(captured.out) and is_safe(captured.err)


def test_logs():
    lines = [
        f"MatMul{EVIL}: (MatMul): {LABEL}",
        f"b: (Add{EVIL}): {LABEL}{EVIL}",
        f"c: (Add): {LABEL}",
        f"{EVIL}",
        f"I tensorflow/core/x.cc:1] Created TensorFlow device ({LABEL} with 1 MB memory) -> physical GPU"
        f" (device: 0, name: {EVIL}, pci bus id: 0000:00:00.0, compute capability: 3.5)",
    ]
    log = tf.parse_log("\n".join(lines))
    for text in (
        str(log),
        repr(log),
        repr(log.unparsed),
        repr(log.devices),
        repr(log.gpus),
    ):
        assert is_safe(text), text


def test_timelines():
    stats = StepStats()
    device = stats.dev_stats.add(device=LABEL + EVIL)
    device.node_stats.add(node_name="x" + EVIL, timeline_label=EVIL, all_start_micros=1, all_end_rel_micros=5)
    found = tf.timeline(stats)
    for text in (str(found), repr(found), found.text):
        assert is_safe(text), text


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.constant(1, name="x" + EVIL),
        lambda: tf.name_scope("x" + EVIL).__enter__(),
        lambda: tf.Machine.parse(EVIL),
        lambda: tf.set_release(EVIL),
        lambda: tf.place("/tmp/" + EVIL),
        lambda: tf.get_default_graph().get_operation_by_name("x" + EVIL),
        lambda: tf.Machine.parse("1x Tesla K20m").mapping(
            tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list=EVIL))
        ),
    ],
)
def test_errors(make):
    with pytest.raises((tf.errors.OpError, ValueError, KeyError)) as caught:
        make()
    assert is_safe(str(caught.value))


def test_the_command_line(tmp_path):
    (tmp_path / "graph.pb").write_bytes(GRAPHS["op"].SerializeToString())
    (tmp_path / "run.log").write_text(f"a: (Add{EVIL}): {LABEL}\nb: (Add): {LABEL}\n", newline="")
    for words in (
        ["place", "graph.pb"],
        ["explain", "graph.pb", EVIL],
        ["log", "run.log"],
        ["log", "run.log", "--show", "unparsed"],
        ["log", "run.log", "--show", "unparsed", "--format", "csv"],
        ["place", EVIL],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "gpuplace", *words],
            cwd=tmp_path,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        assert is_safe(done.stdout.decode()) and is_safe(done.stderr.decode()), words
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_cells_that_a_spreadsheet_would_run(begin):
    rows = [
        {"node": begin + "cmd|' /C calc'!A0", "device": "GPU:0", "number": -1.5, "none": None, "x": "a-b"}
    ]
    (_, cells) = csv.reader(io.StringIO(render(rows, "csv")))
    assert cells == ["'" + safe_cell(begin) + "cmd|' /C calc'!A0", "GPU:0", "-1.5", "", "a-b"]


def safe_cell(begin):
    return begin if begin.isprintable() else repr(begin)[1:-1]
