"""`gpuplace place`, `explain`, `diff` and `devices`: graphs from files, on machines that need not exist."""

import csv
import io
import json

import pytest

import gpuplace as tf
from tests.graphdef.function_libraries import folder, saved_model

GPU = "/job:localhost/replica:0/task:0/device:GPU"
CPU = "/job:localhost/replica:0/task:0/device:CPU"
TWO = ("--machine", "2x Tesla K20m")


def test_place_as_a_table(gpuplace, graph):
    result = gpuplace("place", graph, *TWO)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["node", "type"]
    rows = {line.split()[0]: line.split() for line in lines[1:]}
    assert list(rows) == ["a", "b", "product"]
    assert rows["a"][1:4] == ["Const", "/device:GPU:1", f"{GPU}:1"]
    assert rows["product"][1:4] == ["MatMul", "-", f"{GPU}:0"]


def test_place_as_json_and_csv_say_the_same(gpuplace, graph):
    rows = json.loads(gpuplace("place", graph, *TWO, "--format", "json").stdout)
    assert {row["node"]: row["assigned"] for row in rows} == {
        "a": f"{GPU}:1",
        "b": f"{GPU}:0",
        "product": f"{GPU}:0",
    }
    text = gpuplace("place", graph, *TWO, "--format", "csv").stdout
    table = list(csv.DictReader(io.StringIO(text)))
    assert [{key: value or "" for key, value in row.items()} for row in rows] == table


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ("1.0", "product: /job:localhost/replica:0/task:0/gpu:0"),
        ("1.4", f"product: {GPU}:0"),
        ("1.15", f"product: (MatMul): {GPU}:0"),
        ("2.21", f"product: (MatMul): {GPU}:0"),
    ],
)
def test_place_as_a_log(gpuplace, graph, release, line):
    result = gpuplace("place", graph, *TWO, "--format", "log", "--release", release)
    assert line in result.stdout.splitlines()


def test_a_graph_that_cannot_be_placed(gpuplace, graph):
    result = gpuplace("place", graph, "--machine", "cpu")
    assert result.returncode == 1
    assert result.stdout == ""
    assert "was explicitly assigned to /device:GPU:1 but available devices are [ " in result.stderr
    assert "Traceback" not in result.stderr


def test_soft_placement(gpuplace, graph):
    result = gpuplace("place", graph, "--machine", "cpu", "--soft", "--format", "json")
    assert {row["assigned"] for row in json.loads(result.stdout)} == {f"{CPU}:0"}


def test_a_config_file(gpuplace, graph, tmp_path):
    (tmp_path / "config.pbtxt").write_text(
        'allow_soft_placement: true gpu_options { visible_device_list: "1" }'
    )
    result = gpuplace("place", graph, *TWO, "--config", "config.pbtxt", "--format", "json")
    assert {row["assigned"] for row in json.loads(result.stdout)} == {f"{GPU}:0"}


def test_visible_devices(gpuplace, graph):
    """Of a K20m and a K40c the second is GPU:0; hidden GPUs are no devices."""
    machine = ("--machine", "1x Tesla K20m, 1x Tesla K40c")
    rows = json.loads(
        gpuplace("place", graph, *machine, "--visible-devices", "1,0", "--format", "json").stdout
    )
    assert {row["assigned"] for row in rows} == {f"{GPU}:0", f"{GPU}:1"}
    for command in (("place",), ("blame",), ("diff", "--soft", "--against", "cpu")):
        found = gpuplace(command[0], graph, *TWO, *command[1:], "--visible-devices", "1")
        is_wrong = command[0] != "blame" and "--soft" not in command
        assert ("was explicitly assigned to /device:GPU:1" in found.stderr) or not is_wrong, command
        assert (found.returncode == 1) is (command[0] != "diff"), command
    moved = json.loads(
        gpuplace("diff", graph, *TWO, "--soft", "--visible-devices", "", "--format", "json").stdout
    )
    assert moved == []
    shown = gpuplace("explain", graph, "b", *TWO, "--visible-devices", "", "--soft").stdout
    assert f"{CPU}:0" in shown and f"{GPU}:0" not in shown


def test_explain(gpuplace, graph):
    result = gpuplace("explain", graph, "a", *TWO)
    assert result.returncode == 0, result.stderr
    assert "/device:GPU:1" in result.stdout


def test_explain_a_node_of_a_graph_that_cannot_be_placed(gpuplace, graph):
    result = gpuplace("explain", graph, "a", "--machine", "cpu")
    assert result.returncode == 1
    assert "/device:GPU:1" in result.stdout
    assert "was explicitly assigned to /device:GPU:1" in result.stderr


def test_explain_an_unknown_node_names_the_nearest(gpuplace, graph):
    result = gpuplace("explain", graph, "produkt", *TWO)
    assert result.returncode == 1
    assert "no node 'produkt'; similar names: product" in result.stderr
    assert "Traceback" not in result.stderr


def test_diff_of_two_machines(gpuplace, graph):
    result = gpuplace(
        "diff", graph, "--machine", "2x Tesla K20m", "--against", "cpu", "--soft", "--format", "json"
    )
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)
    assert {row["node"]: row["against"] for row in rows} == dict.fromkeys(["a", "b", "product"], f"{CPU}:0")
    assert {row["node"]: row["cause"] for row in rows} == {
        "a": "soft placement", "b": "only device", "product": "only device"
    }  # fmt: skip


def test_diff_of_the_same_machine_is_empty(gpuplace, graph):
    result = gpuplace("diff", graph, *TWO)
    assert (result.returncode, result.stdout) == (0, "no node moves\n")
    assert gpuplace("diff", graph, *TWO, "--format", "json").stdout == "[]\n"


def test_diff_of_two_releases(gpuplace, tmp_path):
    """An Identity between a CPU constant's cast and a free product follows its input in 2.21 only."""
    (tmp_path / "graph.pbtxt").write_text("""
        node { name: "x" op: "Placeholder" device: "/cpu:0" attr { key: "dtype" value { type: DT_FLOAT } } }
        node { name: "y" op: "Neg" input: "x" device: "/cpu:0" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "i" op: "Identity" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "z" op: "Neg" input: "i" device: "/cpu:0" attr { key: "T" value { type: DT_FLOAT } } }
    """)
    result = gpuplace(
        "diff", "graph.pbtxt", *TWO, "--release", "1.15", "--against-release", "2.21", "--format", "json"
    )
    assert json.loads(result.stdout) == [
        {
            "node": "i",
            "type": "Identity",
            "here": f"{GPU}:0",
            "against": f"{CPU}:0",
            "cause": "identity",
            "decided_by": "y",
            "note": "follows y; before: GPU comes before CPU",
        }
    ]


def test_devices(gpuplace):
    result = gpuplace("devices", "--machine", "4x Tesla K20m", CUDA_VISIBLE_DEVICES="2,0")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["gpu", "name"]
    assert [line.split()[0] for line in lines[1:]] == ["0", "1", "2", "3"]
    assert "/device:GPU:1" in lines[1] and "/device:GPU:0" in lines[3]
    assert "not in CUDA_VISIBLE_DEVICES='2,0'" in lines[2] and "/device:GPU" not in lines[2]


def test_devices_that_a_release_ignores(gpuplace):
    machine = "Quadro K4000 + Tesla K40c"
    old = gpuplace(
        "devices", "--machine", machine, "--release", "1.4", TF_MIN_GPU_MULTIPROCESSOR_COUNT="4"
    ).stdout
    assert "/device:GPU:1" in old.splitlines()[1] and "/device:GPU:0" in old.splitlines()[2]
    new = gpuplace("devices", "--machine", machine, TF_MIN_GPU_MULTIPROCESSOR_COUNT="4").stdout
    assert "ignored: compute capability 3.0" in new.splitlines()[1] and "/device:GPU:0" in new.splitlines()[2]


def test_devices_without_a_gpu(gpuplace):
    result = gpuplace("devices", "--machine", "cpu")
    assert (result.returncode, result.stdout) == (0, "no GPU\n")
    assert gpuplace("devices", "--machine", "cpu", "--format", "json").stdout == "[]\n"


def test_devices_with_a_list_that_is_wrong(gpuplace, tmp_path):
    (tmp_path / "config.pbtxt").write_text('gpu_options { visible_device_list: "2" }')
    result = gpuplace("devices", "--machine", "1x Tesla K20m", "--config", "config.pbtxt")
    assert result.returncode == 1
    assert "'visible_device_list' listed an invalid GPU id '2' but visible device count is 1" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["plac"], "invalid choice: 'plac'"),
        (["place"], "the following arguments are required: GRAPH"),
        (["place", "x.pb", "--format", "yaml"], "invalid choice: 'yaml'"),
        (["place", "x.pb", "--mach", "cpu"], "unrecognized arguments"),
        (["place", "x.pb", "--machine", "7x Nothing"], "Nothing"),
        (["place", "x.pb", "--machine", "cpu"], "x.pb"),
        (["devices", "--config", "nowhere.pbtxt"], "nowhere.pbtxt"),
        (["place", "x.pb"], "GPUPLACE_RELEASE='0.5' is unknown"),
    ],
)
def test_a_wrong_command_line(gpuplace, words, message):
    environment = {"GPUPLACE_RELEASE": "0.5"} if words == ["place", "x.pb"] else {}
    result = gpuplace(*words, **environment)
    assert result.returncode == 2
    assert message in result.stderr and "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_config_that_is_none(gpuplace, tmp_path):
    (tmp_path / "config.pbtxt").write_text("allow_soft: maybe")
    result = gpuplace("devices", "--config", "config.pbtxt")
    assert result.returncode == 2
    assert "config.pbtxt is not a ConfigProto: 1:1" in result.stderr and "allow_soft" in result.stderr


@pytest.mark.parametrize(
    ("name", "data"),
    [("graph.pb", b"\xff\xff\xff\xff"), ("graph.pbtxt", b"node { nam"), ("c.pb", b"\x0a\xff\x01")],
)
def test_a_file_that_is_no_graph(gpuplace, tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    result = gpuplace("place", name, "--machine", "cpu")
    assert result.returncode == 1
    assert name in result.stderr and "Traceback" not in result.stderr


def test_help_names_every_command(gpuplace):
    from gpuplace.cli.parser import COMMANDS

    text = gpuplace("--help").stdout
    for command in COMMANDS:
        assert command in text
        assert gpuplace(command, "--help").returncode == 0


def test_blame_as_text(gpuplace, graph):
    result = gpuplace("blame", graph, "--machine", "cpu", "--soft")
    assert result.returncode == 0, result.stderr
    assert "3 of 3 nodes not on a GPU" in result.stdout
    assert "only device: the machine has no other device" in result.stdout
    nothing = "Nothing stands out: none of the changes tried saves 1% of the step.\n"
    assert gpuplace("blame", graph, *TWO).stdout == f"{nothing}\nevery node is on a GPU\n"


def test_blame_as_json(gpuplace, graph):
    result = gpuplace("blame", graph, *TWO, "--device-type", "CPU", "--format", "json")
    rows = json.loads(result.stdout)["causes"]
    assert sum(row["nodes"] for row in rows) == 3
    assert {row["rule"] for row in rows} == {"type priority", "request", "generator"}


@pytest.fixture
def apart(tmp_path):
    """Eight layers on two GPUs, all gradients on the first."""
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [None, 512], "rows")
        for number in range(8):
            with tf.device(f"/gpu:{number // 4}"):
                rows = tf.nn.relu(tf.matmul(rows, tf.get_variable(f"weights_{number}", [512, 512])))
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.square(rows)), name="train")
    path = tmp_path / "apart.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


@pytest.mark.parametrize("batch", ["0", "16,-3", "1e9", "a"])
def test_a_batch_is_a_whole_number(gpuplace, apart, batch):
    result = gpuplace("estimate", apart, "--machine", "1x V100", "--batch", batch)
    assert result.returncode == 2
    assert "--batch takes positive integers, such as 32 or 16,32,64" in result.stderr


def test_blame_begins_with_findings(gpuplace, apart):
    result = gpuplace("blame", apart, "--machine", "2x V100", "--batch", "8192")
    assert result.returncode == 0, result.stderr
    first, second, *_ = result.stdout.splitlines()
    assert first == "Findings:"
    assert second.startswith("1. Gradients of layers on GPU:1 run on GPU:0 (saves ")
    assert "every node is on a GPU" in result.stdout
    assumed = gpuplace("blame", apart, "--machine", "2x V100").stdout
    assert "The graph does not fix the batch size: 32 examples are assumed." in assumed


def test_blame_names_harmless_nodes_once(gpuplace, tmp_path):
    with tf.Graph().as_default() as graph:
        tf.summary.scalar("loss", tf.reduce_sum(tf.matmul(tf.ones([512, 512]), tf.ones([512, 512]))))
    path = tmp_path / "loss.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    line = "Harmless: 2 nodes that never run on a GPU: 1 string constant, 1 summary"
    assert gpuplace("blame", path, "--machine", "1x V100").stdout.splitlines() == [
        "Nothing stands out: none of the changes tried saves 1% of the step.",
        "",
        "2 of 11 nodes not on a GPU",
        f"  {line}",
    ]
    assert line in gpuplace("estimate", path, "--machine", "1x V100").stdout.splitlines()


@pytest.mark.parametrize("command", ["blame", "estimate", "advise"])
def test_findings_as_json(gpuplace, apart, command):
    words = ["--steps", "5"] if command == "advise" else []
    result = gpuplace(command, apart, "--machine", "2x V100", "--batch", "8192", "--format", "json", *words)
    assert result.returncode == 0, result.stderr
    first = json.loads(result.stdout)["findings"][0]
    assert first["kind"] == "gradients elsewhere"
    assert first["devices"] == ["GPU:1", "GPU:0"]
    assert first["code"] == "train_op = optimizer.minimize(loss, colocate_gradients_with_ops=True)"
    assert first["gain"] > 0
    assert set(first["moved"].values()) == {"GPU:1"}
    assert "gradients/MatMul_7_grad/MatMul" in first["nodes"]
    assert "gradients/MatMul_1_grad/MatMul" not in first["nodes"]


@pytest.mark.parametrize("words", [("estimate",), ("advise", "--steps", "5")])
def test_findings_come_first_in_text(gpuplace, apart, words):
    command, *others = words
    result = gpuplace(command, apart, "--machine", "2x V100", "--batch", "8192", *others)
    assert result.stdout.startswith("Findings:\n1. Gradients of layers on GPU:1 run on GPU:0")


def test_findings_as_a_table(gpuplace, apart):
    words = ["--machine", "2x V100", "--batch", "8192", "--table", "findings", "--format", "json"]
    rows = json.loads(gpuplace("estimate", apart, *words).stdout)
    assert rows[0]["kind"] == "gradients elsewhere"
    assert rows[0]["nodes"] > 2
    assert rows[0]["devices"] == "GPU:1, GPU:0"


def test_a_report_begins_with_findings(gpuplace, apart, tmp_path):
    path = tmp_path / "page.html"
    result = gpuplace("report", apart, "--machine", "2x V100", "--batch", "8192", "-o", path)
    assert result.returncode == 0, result.stderr
    page = path.read_text(encoding="utf-8")
    assert page.index('<section id="findings"') < page.index('<section id="graph"')
    assert "Gradients of layers on GPU:1 run on GPU:0" in page


def test_blame_of_a_graph_without_a_step_says_why(gpuplace, tmp_path):
    path = tmp_path / "empty.pbtxt"
    path.write_text("versions { producer: 134 }")
    result = gpuplace("blame", path, *TWO)
    assert result.stdout.startswith(
        "No step can be estimated, so there are no findings: The graph has no nodes"
    )


def test_blame_of_a_graph_that_cannot_be_placed_says_both(gpuplace, graph):
    result = gpuplace("blame", graph, "--machine", "1x Tesla K20m")
    assert result.returncode == 1
    assert "'/device:GPU:1' is not available" in result.stdout
    assert "was explicitly assigned to /device:GPU:1" in result.stderr


def test_devices_are_cleared(gpuplace, graph):
    rows = json.loads(gpuplace("place", graph, *TWO, "--clear-devices", "--format", "json").stdout)
    assert {row["node"]: row["assigned"] for row in rows} == dict.fromkeys(("a", "b", "product"), f"{GPU}:0")


def test_tags_and_a_signature_of_a_saved_model(gpuplace, tmp_path):
    (tmp_path / "saved_model.pbtxt").write_text(
        """
        saved_model_schema_version: 1
        meta_graphs { meta_info_def { tags: "serve" } graph_def { node { name: "plain" op: "NoOp" } } }
        meta_graphs {
          meta_info_def { tags: "serve" tags: "gpu" }
          graph_def {
            node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
            node { name: "other" op: "NoOp" }
          }
          signature_def { key: "s" value { outputs { key: "x" value { name: "x:0" } } } }
        }
        """
    )

    def nodes(*words):
        result = gpuplace("place", tmp_path, *TWO, "--format", "json", *words)
        return [row["node"] for row in json.loads(result.stdout)]

    assert nodes() == ["plain"]
    assert nodes("--tags", "serve,gpu") == ["x"]
    assert nodes("--tags", "serve,gpu", "--whole-graph") == ["x", "other"]
    assert nodes("--tags", "serve,gpu", "--signature", "s") == ["x"]
    result = gpuplace("place", tmp_path, *TWO, "--signature", "s")
    assert result.returncode == 1
    assert 'Could not find signature "s"' in result.stderr


def test_tags_of_a_plain_graph_are_a_wrong_command_line(gpuplace, graph):
    result = gpuplace("place", graph, *TWO, "--tags", "serve")
    assert result.returncode == 2
    assert "tags select a MetaGraphDef of a SavedModel" in result.stderr


def test_what_of_a_model_is_placed(gpuplace, tmp_path):
    folder(tmp_path / "net", saved_model("serving_default", "a"))

    def placed(*words):
        result = gpuplace("place", "net", *TWO, *words)
        assert result.returncode == 0
        subject, summary = result.stderr.splitlines(keepends=True)
        assert " nodes: " in summary
        return subject, {line.split()[0] for line in result.stdout.splitlines()[1:]}

    subject, nodes = placed()
    assert subject.startswith("Signature serving_default of net, ")
    assert "saver" not in nodes and "call/twice" in nodes
    subject, whole = placed("--whole-graph")
    assert "saver" in whole and subject.endswith("placed as TensorFlow 1.15\n")
    assert placed("--signature", "") == (subject, whole)
    subject, nodes = placed("--signature", "a")
    assert subject.startswith("Signature a of net, ") and "saver" not in nodes
    subject, nodes = placed("--function", "add")
    assert subject.startswith("Function add of net, ") and "sum_RetVal" in nodes
    result = gpuplace("place", "net", *TWO, "--whole-graph", "--signature", "a")
    assert result.returncode == 2 and "omit signature and function" in result.stderr
    assert gpuplace("place", "net", *TWO, "--format", "json").stderr == ""
    result = gpuplace("explain", "net", "one", *TWO, "--function", "add_on_gpu_1", "--clear-devices")
    assert result.returncode == 0 and "asked for" not in result.stdout
    result = gpuplace("blame", "net", *TWO, "--function", "ad")
    assert result.returncode == 1 and "Function ad is not defined." in result.stderr


def test_a_log_is_compared_with_a_part_of_a_model(gpuplace, tmp_path):
    folder(tmp_path / "net", saved_model("serving_default"))
    log = gpuplace("place", "net", *TWO, "--signature", "serving_default", "--format", "log").stdout
    (tmp_path / "run.log").write_text(log)
    words = ("log", "run.log", "--against", "net", *TWO)
    same = gpuplace(*words, "--signature", "serving_default")
    assert (same.returncode, same.stderr) == (0, "")
    assert (
        gpuplace(*words, "--format", "json").stdout
        != gpuplace(*words, "--format", "json", "--signature", "serving_default").stdout
    )
    assert gpuplace(*words, "--tags", "tpu").returncode == 1
