"""What results say of themselves: one line as ``repr``, all of it as ``str``, and a view in notebooks."""

import pytest

import gpuplace as tf
from gpuplace.jupyter.reprs import mimebundle

MACHINE = "4x Tesla K20m"


@pytest.fixture
def graph():
    made = tf.Graph()
    with made.as_default():
        with tf.device("/gpu:1"):
            a = tf.constant([1.0, 2.0], name="a")
        i = tf.constant([1, 2], name="i")
        tf.matmul([[1]], [[2]], name="j")
        tf.add(a, a, name="b")
        tf.identity(i, name="k")
    return made


@pytest.fixture
def placement(graph):
    return tf.place(graph, MACHINE)


@pytest.fixture
def other(graph):
    return tf.place(graph, "cpu", soft_placement=True)


@pytest.fixture
def results(placement, other):
    log = tf.parse_log(placement.log())
    machine = tf.Machine.parse(MACHINE)
    return {
        "graph": placement.graph,
        "explanation": placement.explain("j"),
        "blame": placement.blame(),
        "cause": placement.blame().rows[0],
        "diff": placement.diff(other),
        "verdicts": placement.verdicts,
        "trace": placement.trace("b"),
        "log": log,
        "log diff": log.diff(other),
        "note": log.explain("a"),
        "gpu": machine.gpus[0],
        "visibility": machine.visibility({"CUDA_VISIBLE_DEVICES": "2,0"}),
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("graph", "<PlacementGraph of 7 nodes and 5 edges: 4 Const, 1 MatMul, 1 Add, 1 Identity>"),
        (
            "explanation",
            "<Explanation of j (MatMul) on CPU:0: kernel: no GPU kernel for MatMul with T=int32>",
        ),
        ("blame", "<Blame for 3 of 7 nodes not on a GPU: "),
        ("cause", "<BlameRow of "),
        ("diff", "<PlacementDiff: "),
        ("verdicts", "<Verdicts on 7 nodes: "),
        ("trace", "<Trace: what b depends on: 1 node on GPU:1"),
        ("log", "<LoggedPlacement of 7 nodes: "),
        ("log diff", "<LogDiff: "),
        ("note", "<LoggedNote of a on /job:localhost/replica:0/task:0/device:GPU:1>"),
        ("gpu", "<PhysicalGPU 0: Tesla K20m at "),
        ("visibility", "<Visibility: CUDA_VISIBLE_DEVICES '2,0', GPUs [2, 0] visible, [1, 3] hidden>"),
    ],
)
def test_one_line_with_the_facts(results, name, text):
    shown = repr(results[name])
    assert shown.startswith(text) and "\n" not in shown and len(shown) < 200, shown


def test_a_graph_of_many_types_names_the_most_frequent():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant([1.0])
        for op in (tf.sin, tf.cos, tf.exp, tf.tanh, tf.sqrt, tf.abs, tf.sin):
            op(x)
    shown = repr(tf.place(graph, "cpu").graph)
    assert (
        shown
        == "<PlacementGraph of 8 nodes and 7 edges: 2 Sin, 1 Const, 1 Cos, 1 Exp, 1 Tanh, 1 Sqrt, 1 more op type>"
    )
    assert repr(tf.place(tf.Graph(), "cpu").graph) == "<PlacementGraph of 0 nodes and 0 edges: empty>"


def test_parts_say_themselves_too(placement, other):
    move = next(iter(placement.diff(other)))
    assert str(move).startswith(f"{move.node}: {move.before} -> {move.after}  (")
    explanation = placement.explain("j")
    assert (
        str(explanation.steps[0])
        == "kernel: CPU:0 GPU:0 GPU:1 GPU:2 GPU:3 -> CPU:0, " + explanation.steps[0].note
    )
    assert str(explanation.remedies[0]).endswith(": no GPU kernel for MatMul with T=int32")
    blame = placement.blame()
    for row in blame:
        lines = str(row).splitlines()
        assert len(lines) == 4 and lines[0].endswith(f"{row.rule.value}: {row.cause}")
        assert lines[3].strip() == f"try  {row.remedy}"
        assert row.harmless or lines[3].strip() in str(blame)


@pytest.mark.parametrize(
    "name", ["graph", "explanation", "blame", "diff", "trace", "log", "log diff", "note"]
)
def test_notebooks_have_a_view(results, name):
    found = results[name]
    bundle = found._repr_mimebundle_()
    assert bundle == mimebundle(found)
    assert (
        "<" in bundle["text/html"]
        and "http" not in bundle["text/html"]
        and "Rule." not in bundle["text/html"]
    )
    assert bundle["text/plain"] and "Rule." not in bundle["text/plain"]


def test_views_hold_the_facts(results):
    assert "requested device" in mimebundle(results["graph"])["text/html"]
    trace = mimebundle(results["trace"])
    assert trace["text/plain"].splitlines()[1].split() == ["node", "op", "type", "device"]
    assert (
        "GPU:1" in trace["text/html"]
        and "a log records devices, not reasons" in mimebundle(results["note"])["text/html"]
    )
    assert "compared with" in mimebundle(results["log diff"])["text/html"]


# Logs


def log_of(number):
    lines = (
        f"scope_{number % 40}/op_{number}: (Add): /job:localhost/replica:0/task:0/device:GPU:{number % 2}"
        for number in range(number)
    )
    return tf.parse_log("\n".join(lines))


def test_a_long_log_is_a_table_with_the_picture_folded():
    shown = mimebundle(log_of(310))["text/html"]
    assert (
        shown.index("310 nodes")
        < shown.index("<details><summary>Nodes</summary>")
        < shown.index("<details><summary>Picture</summary>")
    )
    ops, table = shown.split("<table")[1:3]
    assert ops.count("<tr") == 3 and "Add" in ops
    assert table.count("<tr") == 21 and "scope_0/op_0" in table and "290 more rows" in shown
    picture = shown[shown.index("<details><summary>Picture") :]
    assert "overflow-x:auto" in picture and "max-width:none" in picture and "max-width:100%" not in picture


def test_a_short_log_shows_its_picture():
    assert "<details open><summary>Picture</summary>" in mimebundle(log_of(3))["text/html"]
    assert "Picture" not in mimebundle(tf.parse_log("nothing\n"))["text/html"]


# Missing values


def test_missing_values_stay_and_are_shown_as_nothing(placement):
    frame = placement.frame()
    assert frame["requested"].isna().sum() == len(frame) - 1
    part = frame[["requested", "met", "device"]]
    for shown in (
        repr(part),
        part._repr_html_(),
        repr(part.head(2)),
        repr(frame),
        repr(placement.frame("edges")),
    ):
        assert "NaN" not in shown and "NA>" not in shown and "NA&gt;" not in shown
    assert "/device:GPU:1" in repr(part) and "GPU:1" in part._repr_html_()
    assert part.loc["a", "requested"] == "/device:GPU:1" and part["requested"].dtype == "category"


@pytest.mark.parametrize("rows", [59, 61, 130, 500])
def test_tables_of_any_length_show_their_ends(rows):
    graph = tf.Graph()
    with graph.as_default():
        for number in range(rows):
            with tf.device("/cpu:0" if number in (0, rows - 1) else None):
                tf.no_op(name=f"n{number}")
    part = tf.place(graph, MACHINE).frame()[["requested"]]
    shown = repr(part).splitlines()
    ends = [line.split() for line in shown if line.startswith(("n0 ", f"n{rows - 1} "))]
    assert [end[1:] for end in ends] == [["/device:CPU:0"]] * 2 and "NaN" not in "".join(shown)
    assert part.isna().to_numpy().sum() == rows - 2


def test_frames_of_logs_machines_and_steps_too(placement):
    log = tf.parse_log("a: /job:localhost/replica:0/task:0/gpu:0")
    hidden = tf.Machine.parse("2x Tesla K40c").frame(environ={"CUDA_VISIBLE_DEVICES": "0"})
    for frame in (log.frame(), hidden, placement.frame("memory"), placement.explain("j").frame()):
        assert frame.isna().to_numpy().any()
        assert "NaN" not in repr(frame) and "NA>" not in repr(frame)
