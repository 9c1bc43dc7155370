"""`gpuplace timeline`, and `gpuplace run --trace`: steps of scripts as text, pictures, pages and Chrome traces."""

import gzip
import json

import pytest

import gpuplace as tf
from gpuplace.cli.main import main
from gpuplace.graphdef.measured.run_metadata import load_run_metadata
from gpuplace.graphdef.messages import GraphDef, RunMetadata, text_format
from gpuplace.python.client.timeline import Timeline

TWO = ("--machine", "2x Tesla K20m")
FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


@pytest.fixture
def step(tmp_path, monkeypatch):
    """``step.pb`` and ``graph.pb`` of a product on a GPU of what is on a CPU, in the current folder."""
    monkeypatch.chdir(tmp_path)
    tf.use_machine("2x Tesla K20m")
    metadata = tf.RunMetadata()
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        with tf.device("/cpu:0"):
            shared = tf.constant([[1.0] * 64] * 64, name="shared")
        with tf.device("/gpu:1"):
            product = tf.matmul(shared, shared, name="product")
        session.run(product, options=FULL, run_metadata=metadata)
    (tmp_path / "step.pb").write_bytes(metadata.SerializeToString())
    (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return metadata


def test_as_text(step, capsys):
    assert main(["timeline", "step.pb"]) == 0
    told = capsys.readouterr().out
    assert told.rstrip("\n") == str(tf.timeline(step)) and "hint:" not in told
    lines = told.splitlines()
    assert lines[0].startswith("2 ops on 2 devices in ") or "ops on 2 devices in " in lines[0]
    assert any(line.startswith("GPU:1  ") and "#" in line for line in lines)
    assert "critical path: " in told and "gap: product: GPU:1 was idle for" in told


def test_with_its_graph_it_says_what_to_move(step, capsys):
    assert main(["timeline", "step.pb", "--graph", "graph.pb", *TWO]) == 0
    assert "shared could request /device:GPU:1: Const has a kernel there" in capsys.readouterr().out


def test_other_forms(step, tmp_path, capsys):
    assert main(["timeline", "step.pb", "--svg", "s.svg", "--html", "s.html", "--json", "s.json"]) == 0
    assert capsys.readouterr().out.split() == ["s.svg", "s.html", "s.json"]
    assert (tmp_path / "s.svg").read_text() == tf.timeline(step).svg()
    page = (tmp_path / "s.html").read_text()
    assert "<h1>step.pb</h1>" in page and "default-src 'none'" in page and '"names":' in page
    trace = json.loads((tmp_path / "s.json").read_text())
    assert trace == json.loads(Timeline(step.step_stats).generate_chrome_trace_format())
    assert main(["timeline", "step.pb", "--svg", "-", "--theme", "dark"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == tf.timeline(step).svg(theme="dark")
    assert main(["timeline", "step.pb", "--json", "-", "--memory"]) == 0
    kinds = {event["ph"] for event in json.loads(capsys.readouterr().out)["traceEvents"]}
    assert kinds >= set("MXNODCst")


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_of_a_chrome_trace(step, tmp_path, capsys, name):
    text = Timeline(step.step_stats).generate_chrome_trace_format(show_memory=True).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert main(["timeline", name]) == 0
    told = capsys.readouterr().out
    assert "1 copy, 16.0 KiB" in told.splitlines()[0] or "copies, " in told.splitlines()[0]
    assert "product: GPU:1 was idle for" in told


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nowhere.pb",), 1, "nowhere.pb; No such file"),
        (("graph.pb",), 1, "Can't parse graph.pb as RunMetadata or StepStats"),
        (("empty.pb",), 1, "empty.pb contains no step_stats: nothing was measured"),
        (("noise.json",), 1, "Can't parse noise.json as the Chrome trace of a step"),
        (("list.json",), 1, "list.json contains no step_stats"),
        (("ends.pb",), 2, "ends.pb: The step_stats are empty"),
        (("step.pb", "--soft", "--machine", "cpu"), 2, "--machine, --soft: options for placing a graph"),
        (("step.pb", "--graph", "no.pb"), 2, "cannot read no.pb"),
        (
            ("step.pb", "--graph", "other.pbtxt", "--machine", "cpu"),
            2,
            "step.pb was not measured with other.pbtxt",
        ),
        (("step.pb", "--svg", "no/where.svg"), 2, "cannot write no/where.svg: No such file"),
    ],
)
def test_wrong_words(step, tmp_path, capsys, words, code, message):
    (tmp_path / "empty.pb").write_bytes(b"")
    (tmp_path / "noise.json").write_text('{"traceEvents": 3}')
    (tmp_path / "list.json").write_text("[]")
    ends = RunMetadata()
    ends.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="_SOURCE")
    (tmp_path / "ends.pb").write_bytes(ends.SerializeToString())
    other = GraphDef()
    other.node.add(name="x", op="NoOp")
    (tmp_path / "other.pbtxt").write_text(text_format.MessageToString(other))
    assert main(["timeline", *words]) == code
    told = capsys.readouterr()
    assert message in told.err and told.out == "" and told.err.startswith("gpuplace timeline: ")


TRAINING = """
    import sys
    import tensorflow as tf
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable(tf.ones([2, 1]), name="w")
    loss = tf.reduce_mean(tf.matmul(x, w), name="loss")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train, {x: [[1.0, 2.0]]})
        print(loss.eval({x: [[1.0, 2.0]]}))
        metadata = tf.RunMetadata()
        session.run(w, run_metadata=metadata)
        print(len(metadata.step_stats.dev_stats), len(metadata.partition_graphs))
    sys.exit(7)
"""


def test_the_last_step_of_a_script(gpuplace, script, tmp_path):
    plain = gpuplace("run", script(TRAINING), "--machine", "1x Tesla K40c")
    result = gpuplace("run", script(TRAINING), "--machine", "1x Tesla K40c", "--trace", "step.pb")
    assert result.returncode == plain.returncode == 7 and result.stdout == plain.stdout
    assert result.stderr.startswith("gpuplace run: step.pb: step 6 of 6: ")
    step = load_run_metadata(tmp_path / "step.pb")
    names = {node.node_name for device in step.step_stats.dev_stats for node in device.node_stats}
    assert "w" in names and "loss" not in names and step.partition_graphs


@pytest.mark.parametrize("name", ["step.pbtxt", "step.json", "step.pb.gz"])
def test_a_step_of_a_script(gpuplace, script, tmp_path, name):
    words = ("--trace-step", "2", "--trace", name, script(TRAINING))
    result = gpuplace("run", "--machine=1x Tesla K40c", *words)
    assert f"{name}: step 2 of 6: " in result.stderr and "on 2 devices" in result.stderr
    timeline = tf.timeline(tmp_path / name)
    assert "GradientDescent/update_w/ApplyGradientDescent" in timeline.names


@pytest.mark.parametrize(
    ("words", "code", "message", "source"),
    [
        (("--trace-step", "1"), 2, "--trace-step requires --trace FILE", "1"),
        (("--trace", "no/step.pb"), 2, "cannot write no/step.pb", "1"),
        (("--trace", "s.pb", "--trace-step", "0"), 2, "--trace-step 0: runs are counted from 1", "1"),
        (("--trace", "s.pb"), 1, "--trace: the script ran no step", "1"),
        (("--trace", "s.pb"), 1, "--trace: the script ran no step", "raise SystemExit"),
        (("--trace", "s.pb"), 4, "--trace: the script ran no step", "raise SystemExit(4)"),
        (("--trace", "s.pb", "--trace-step", "9"), 7, "ran 6 steps, no step 9", TRAINING),
    ],
)
def test_no_step_of_a_script(gpuplace, script, tmp_path, words, code, message, source):
    result = gpuplace("run", "--machine", "cpu", *words, script(source))
    assert (result.returncode, "Traceback" in result.stderr) == (code, False)
    assert message in result.stderr and not (tmp_path / "s.pb").exists()


def test_a_script_that_cannot_be_read(gpuplace, tmp_path):
    result = gpuplace("run", "nowhere.py", "--trace", "s.pb")
    assert result.returncode == 2 and result.stderr.startswith("gpuplace run: cannot read nowhere.py")
    assert result.stderr.count("\n") == 1 and not (tmp_path / "s.pb").exists()


def test_a_script_that_fails_leaves_what_it_ran(gpuplace, script, tmp_path):
    source = """
        import tensorflow as tf
        with tf.Session() as session:
            session.run(tf.constant(1.0, name="one"))
            session.run(tf.check_numerics(tf.constant(float("nan")), "no number"))
    """
    result = gpuplace("run", script(source), "--machine", "cpu", "--trace", "s.pb")
    assert result.returncode == 1 and "Traceback" in result.stderr
    assert "s.pb: step 1 of 2: " in result.stderr
    assert "one" in tf.timeline(tmp_path / "s.pb").names
