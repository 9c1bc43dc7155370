"""What a parsed log offers: mapping, sessions, counts, differences, comparison with a graph, sources of text."""

import io
import time

import pytest

import gpuplace as tf
from gpuplace.jupyter.frames.log_frames import logged_frame
from gpuplace.views.logs.graph_or_log import log_in_file
from gpuplace.views.logs.logged_placement import full_name
from tests.jupyter.programs import layered, towers
from tests.views.logs.log_samples import SAMPLES

L = "/job:localhost/replica:0/task:0"
SOFT = tf.ConfigProto(allow_soft_placement=True)


@pytest.mark.parametrize("release", ["1.0", "1.4", "1.15", "2.21"])
def test_reads_what_gpuplace_writes(release):
    placement = tf.place(towers(), machine="4x Tesla K20m")
    log = tf.parse_log(placement.log(release))
    assert {name: full_name(device) for name, device in log.items()} == dict(placement)
    assert [row.pci_bus_id for row in log.devices] == [
        "0000:02:00.0",
        "0000:03:00.0",
        "0000:83:00.0",
        "0000:84:00.0",
    ]
    assert not log.unparsed and not log.diff(placement) and log.diff(placement).same == 7
    assert log.counts() == placement.counts()


def test_sources(tmp_path):
    class Captured:
        stdout = f"a: (Const): {L}/device:GPU:0\n"
        stderr = f"I tensorflow/placer.cc:54] b: (Const): {L}/device:GPU:0\nlast"

    text = Captured.stdout + "é\n"
    path = tmp_path / "a.log"
    path.write_text(text, encoding="utf-8")
    with open(path, encoding="utf-8") as stream:
        logs = [
            *(tf.parse_log(text), tf.parse_log(text.encode()), tf.parse_log(path), tf.parse_log(str(path))),
            *(tf.parse_log(stream), tf.parse_log(io.BytesIO(text.encode())), tf.parse_log(text.splitlines())),
        ]
    for log in logs:
        assert list(log) == ["a"] and [left.text for left in log.unparsed] == ["é"]
    captured = tf.parse_log(Captured())
    assert list(captured) == ["a", "b"] and captured.unparsed[0][:2] == (3, 0)
    with pytest.raises(FileNotFoundError):
        tf.parse_log(tmp_path / "none.log")
    with pytest.raises(FileNotFoundError):
        tf.parse_log("none.log")
    with pytest.raises(TypeError, match="not int"):
        tf.parse_log(3)


def test_a_captured_cell_of_ipython():
    capture = pytest.importorskip("IPython.utils.capture")
    with capture.capture_output() as cell:
        tf.use_machine("1x Tesla K40c")
        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
            session.run(tf.constant(1.0, name="one"))
    assert dict(tf.parse_log(cell)) == {"one": f"{L}/device:GPU:0"}


def test_sessions_and_repetitions():
    log = tf.parse_log(SAMPLES["two sessions"].text)
    first, second = log.sessions
    assert first["x"] == f"{L}/gpu:0" and second["x"] == log["x"] == f"{L}/cpu:0"
    assert first.devices == log.devices and second.devices == ()
    assert first.sessions == (first,) and first.numbers == (0,)
    assert log.rows[1][3:] == (1, 6)
    assert "2 sessions" in repr(log) and "2 pieces of text not understood" in repr(log)


def test_diff_of_logs_and_placements():
    placement = tf.place(towers(), machine="4x Tesla K20m")
    log = tf.parse_log(placement.log("1.0"))
    other = tf.place(towers(), machine="3x Tesla K20m", config=SOFT)
    diff = log.diff(other)
    assert [move.node for move in diff] == ["Const_3", "Const_2", "MatMul_1"]
    move = diff.moves[2]
    assert move == ("MatMul_1", "MatMul", f"{L}/device:GPU:3", f"{L}/device:GPU:0", "soft placement")
    assert "3 nodes on another; 3 logged GPU:3, compared with GPU:0" in str(diff)
    less = tf.parse_log(log_without(placement.log("1.15"), "AddN"))
    assert log.diff(less).only_logged == ("AddN",) and less.diff(log).only_other == ("AddN",)
    assert log.diff(less) and not log.diff(log)
    frame = diff.frame()
    assert (
        frame.index.tolist() == ["Const_3", "Const_2", "MatMul_1"]
        and frame.loc["MatMul_1", "rule"] == "soft placement"
    )


def log_without(text: str, node: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith(f"{node}:"))


def test_compare_with_a_graph():
    """The machine is the log's own unless another is named."""
    graph = layered(2)
    log = tf.parse_log(tf.place(graph, machine="3x V100").log("1.4"))
    assert not log.compare(graph)
    assert log.machine().device_set().names[:2] == [f"{L}/device:CPU:0", f"{L}/device:GPU:0"]
    difference = log.compare(graph, machine="1x V100", config=SOFT)
    assert {move.logged for move in difference} == {f"{L}/device:GPU:1"}
    with pytest.raises(tf.errors.InvalidArgumentError, match="explicitly assigned"):
        log.compare(graph, machine="1x V100")
    with pytest.raises(IndexError):
        log.compare(graph, session=1)


def test_the_machine_of_a_log_has_the_lower_numbers_too():
    log = tf.parse_log(f"a: (Const): {L}/device:GPU:2\nb: (Const): /job:ps/replica:0/task:1/device:CPU:0\n")
    names = log.machine().device_set().names
    assert sorted(names) == sorted(
        [
            f"{L}/device:CPU:0",
            *(f"{L}/device:GPU:{i}" for i in range(3)),
            "/job:ps/replica:0/task:1/device:CPU:0",
        ]
    )
    huge = tf.parse_log(f"a: (Const): {L}/device:GPU:99999999999\n")
    assert len(huge.machine().device_set().names) < 10_000


def test_explain_says_that_a_log_has_no_reasons():
    log = tf.parse_log(f"a: (Const): {L}/device:GPU:2\n")
    assert "line 1" in str(log.explain("a")) and "not reasons" in str(log.explain("a"))
    with pytest.raises(KeyError, match="no node 'b'"):
        log.explain("b")


def test_picture_frame_and_page():
    log = tf.parse_log(tf.place(layered(2), machine="2x V100").log("1.15") + "left over")
    picture = log.picture()
    assert "GPU:1" in picture.svg and picture.drawing.edges == 0
    shown = log._repr_mimebundle_()
    assert "not understood" in shown["text/html"] and "left over" in shown["text/html"]
    assert "a log does not list copies" in shown["text/plain"]


HOSTILE = {
    "one long word": "a" * 200_000,
    "colons": "a: " * 60_000,
    "types": "a: (b) " * 40_000,
    "jobs": "/job:a/replica:0/task:0/" * 10_000,
    "many statements on one line": f"x: {L}/cpu:0 " * 5_000 + f"x: (T): {L}/cpu:0 " * 5_000,
    "begun on every line": "MatMul: (MatMul):\n" * 10_000,
    "interrupted on every line": f"x: (C): {L[:9]}I tensorflow/core/placer.cc:1] y\n" * 5_000,
    "a container's words on every line": f"worker_1 | I tensorflow/placer.cc:1] x: (C): {L}/gpu:0\n" * 5_000,
    "half a name on every line": "nameI tensorflow/placer.cc:1] y\n" * 10_000,
    "headers": "Device mapping:\n" * 10_000,
    "prefixes on one line": "I a.cc:1] " * 20_000,
    "escapes": "\x1b[0m" * 20_000,
    "one character a line": "\n".join(f"x: (C): {L}/gpu:0" * 1_000),
    "blank lines": "\n" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_text_and_no_faster(name):
    """Ten times the text takes ten times the time, give or take; a quadratic step would take a hundred times."""

    def seconds(text: str) -> float:
        """The least of three, of this thread alone: what else the process does counts as little as it can."""
        taken = []
        for _ in range(3):
            start = time.thread_time()
            tf.parse_log(text)
            taken.append(time.thread_time() - start)
        return min(taken)

    text = HOSTILE[name]
    short, long = seconds(text[: len(text) // 10]), seconds(text)
    assert long < 40 * short + 0.5


TIME = "2018-08-27 10:18:57.067426: "
OVERRIDDEN = (
    "Ignoring device specification /device:GPU:0 for node 'queue_Dequeue' because the input edge from 'queue' is a "
    "reference connection and already has a device field set to /device:CPU:0"
)
COLOCATION = f"""{TIME}W tensorflow/core/common_runtime/colocation_graph.cc:983] Failed to place the graph without \
changing the devices of some resources. Some of the operations (that had to be colocated with resource generating \
operations) are not supported on the resources' devices. Current candidate devices are [
  /job:localhost/replica:0/task:0/device:CPU:0].
See below for details of this colocation group:
Colocation Debug Info:
Colocation group had the following types and supported devices:{" "}
Root Member(assigned_device_name_index_=-1 requested_device_name_='/device:GPU:1' assigned_device_name_='' \
resource_device_name_='/device:GPU:1' supported_device_types_=[CPU] possible_devices_=[]
Identity: CPU XLA_CPU XLA_GPU{" "}
ApplyAdam: CPU{" "}

Colocation members, user-requested devices, and framework assigned devices, if any:
  fc/b/Initializer/zeros (Const){" "}
  fc/b (VariableV2) /device:GPU:1
  fc/b/Assign (Assign) /device:GPU:1 framework assigned device=/job:localhost/replica:0/task:0/device:CPU:0

"""


@pytest.mark.parametrize(
    "prefix",
    [
        "I tensorflow/core/common_runtime/simple_placer.cc:669] ",
        f"{TIME}I tensorflow/core/common_runtime/placer.cc:747] ",
        f"{TIME}I C:\\tf_jenkins\\home\\workspace\\tensorflow\\core\\common_runtime\\simple_placer.cc:697] ",
        "I0000 00:00:1722516902.067426    1234 colocation_graph.cc:747] ",
        "> ",
        "",
    ],
)
def test_a_request_overridden_by_a_reference_edge(prefix):
    log = tf.parse_log(prefix + OVERRIDDEN + "\n")
    assert [tuple(one) for one in log.overridden] == [
        ("queue_Dequeue", "/device:GPU:0", "/device:CPU:0", "reference", 1, 1)
    ]
    assert "overridden" in {note.kind for note in log.notes} and log.unparsed == ()
    assert "1 overridden request" in repr(log)


def test_nodes_that_cannot_be_where_their_resource_is():
    where = "/job:localhost/replica:0/task:0/device:CPU:0"
    node = f"{TIME}I tensorflow/core/common_runtime/placer.cc:54] x: (Const): {where}\n"
    log = tf.parse_log(node + COLOCATION + node.replace("x:", "y:") + COLOCATION.replace("fc/", "second/"))
    assert list(log) == ["x", "y"] and log.unparsed == ()
    assert [tuple(one) for one in log.overridden] == [
        ("fc/b", "/device:GPU:1", where, "colocation", 3, 2),
        ("second/b", "/device:GPU:1", where, "colocation", 3, 17),
    ]
    assert logged_frame(log, "overridden").loc["fc/b", "nodes"] == 3
    first = next(note for note in log.notes if note.kind == "colocation")
    assert first.text == f"3 nodes colocated with fc/b cannot run on /device:GPU:1 and run on {where}"


def test_a_file_of_overridden_requests_alone_is_a_log(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text(f"{TIME}I tensorflow/core/common_runtime/placer.cc:747] {OVERRIDDEN}\n")
    assert log_in_file(path).overridden[0].node == "queue_Dequeue"


NODE = "MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0"
PREFIXED = f"{TIME}I tensorflow/core/common_runtime/placer.cc:54] {NODE}"


@pytest.mark.parametrize(
    "text",
    [
        f"> {NODE}\n> {NODE}\n",
        f"> {PREFIXED}\n",
        f"/*\n * {NODE}\n */\n",
        f'"""\n{NODE}\n"""\n',
        f"```text\n{NODE}\n```\n",
        f"# {NODE}\n#\n",
        f"INFO:tensorflow:{PREFIXED}\n",
        f"2019-07-19 10:34:52,873 root INFO {PREFIXED}\n",
        f"(worker pid=12) {PREFIXED}\n",
        f"I0000 00:00:1795997392.016828    3131 placer.cc:153] {PREFIXED}\n",
    ],
)
def test_what_people_paste_around_a_log_is_undone(text):
    log = tf.parse_log(text)
    assert dict(log) == {"MatMul": "/job:localhost/replica:0/task:0/device:GPU:0"}
    assert log.unparsed == ()


def test_escapes_of_markdown_are_undone():
    log = tf.parse_log(r"while/\_Arg: (\_Arg): /job:localhost/replica:0/task:0/device:GPU:0" + f"\n{NODE}\n")
    assert list(log) == ["while/_Arg", "MatMul"] and log.types["while/_Arg"] == "_Arg"
