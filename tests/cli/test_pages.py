"""`gpuplace report` and `gpuplace explore`."""

import gzip
import importlib.util
import json
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import gpuplace as tf
from gpuplace.cli import pages
from gpuplace.cli.main import main
from gpuplace.cli.parser import build_parser
from tests.graphdef.function_libraries import folder, saved_model

TWO = ("--machine", "2x Tesla K20m")


def test_report(gpuplace, graph, tmp_path):
    result = gpuplace("report", graph, "-o", "page.html", *TWO, "--against", "cpu", "--soft")
    assert (result.returncode, result.stdout, result.stderr) == (0, "page.html\n", "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (
        "<h1>graph.pbtxt</h1>" in page
        and "<dt>soft placement</dt><dd>on</dd>" in page
        and "<dd>1 CPU</dd>" in page
    )
    assert '"total":3' in page


def test_report_of_visible_devices(gpuplace, graph, tmp_path):
    """The table of GPUs and the placement are of the same order."""
    machine = ("--machine", "1x Tesla K20m, 1x Tesla K40c", "--visible-devices", "1,0")
    result = gpuplace("report", graph, *machine)
    assert (result.returncode, result.stderr) == (0, "")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<dt>visible GPUs</dt><dd>1,0</dd>" in re.sub(r">\s+<", "><", page)
    (tmp_path / "run.log").write_text(LOG)
    result = gpuplace("report", "run.log", "--visible-devices", "")
    assert result.returncode == 2 and "Remove --visible-devices" in result.stderr


def test_report_of_what_cannot_be_placed(gpuplace, graph, tmp_path):
    result = gpuplace("report", graph, "--machine", "cpu", "--title", "Not <here>")
    assert result.returncode == 1 and result.stdout == "report.html\n"
    assert "was explicitly assigned to /device:GPU:1" in result.stderr and "Traceback" not in result.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>Not &lt;here&gt;</h1>" in page and '"kind":"InvalidArgumentError"' in page
    assert "Fixes" in page and "config = tf.ConfigProto(allow_soft_placement=True)" in page
    assert "--soft" in page and 'data-function="Turn on soft placement"' in page


def test_report_for_another_release(gpuplace, graph, tmp_path):
    result = gpuplace("report", graph, *TWO, "--against-release", "2.21")
    assert result.returncode == 0
    assert "TensorFlow 2.21" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("report", "nowhere.pb"), "cannot read nowhere.pb"),
        (("report", "graph.pbtxt", "-o", "no/where.html", *TWO), "cannot write no/where.html"),
        (("report", "graph.pbtxt", "--machine", "9x Nothing"), "Unknown GPU model"),
        (("explore", "nowhere.pb"), "cannot read nowhere.pb"),
        (("explore", "graph.pbtxt", "--with", "page", "--no-browser", "--machine", "x"), "Unknown GPU model"),
    ],
)
def test_wrong_words(gpuplace, graph, words, message):
    result = gpuplace(*words)
    assert result.returncode == 2 and message in result.stderr and "Traceback" not in result.stderr


def test_explore_as_a_page(gpuplace, graph, tmp_path):
    words = ("explore", graph, *TWO, "--with", "page", "--no-browser")
    path = gpuplace(*words).stdout.strip()
    assert path.endswith("report.html") and "graph.pbtxt</h1>" in open(path, encoding="utf-8").read()
    shutil.rmtree(path.rpartition("/")[0])
    assert gpuplace(*words, "-o", "kept.html").stdout == "kept.html\n"
    assert (tmp_path / "kept.html").exists()


LOG = """\
2017-12-05 10:00:00.000000: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1030] Found device 0 with properties:
name: Tesla K40c major: 3 minor: 5 memoryClockRate(GHz): 0.745
Device mapping:
/job:localhost/replica:0/task:0/device:GPU:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0
tower/a: (Const): /job:localhost/replica:0/task:0/device:CPU:0
tower/MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0
[[ 22.  28.]
<script>step 3</script>
"""
"""What a program printed, with lines of its own."""


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("run.log", LOG.encode()),
        ("run", LOG.encode()),
        ("run.txt", LOG.encode("utf-16")),
        ("run.log.gz", gzip.compress(LOG.encode())),
        ("run.out", LOG.replace("\n", "\r\n").encode() + bytes(300)),
    ],
    ids=["log", "no ending", "UTF-16", "gzip", "CRLF and NULs"],
)
def test_report_of_a_log(tmp_path, monkeypatch, capsys, name, data):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(data)
    assert main(["report", name]) == 0 and capsys.readouterr() == ("report.html\n", "")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<h1>{name}</h1>" in page and "<dd>TensorFlow log</dd>" in page
    assert "<dd>2 pieces of text, below</dd>" in page and "[[ 22.  28.]" in page
    assert (
        "<script>step" not in page and "\\u003cscript\\u003estep 3" in page and "&lt;script&gt;step 3" in page
    )


def test_explore_of_a_log(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.log").write_text(LOG)
    assert main(["explore", "run.log", "--with", "page", "--no-browser", "-o", "page.html"]) == 0
    assert "2 nodes" in (tmp_path / "page.html").read_text(encoding="utf-8")
    arguments = build_parser().parse_args(["explore", "run.log"])
    cell = "".join(pages._notebook(arguments, is_log=True)["cells"][0]["source"])
    names: dict = {}
    exec(cell.replace("tf.explore(", "shown = tf.explore("), names)
    assert names["shown"].placement["tower/MatMul"].endswith("GPU:0")
    assert tf.explore(tmp_path / "run.log").frame.shape[0] == 2
    assert tf.explore("run.log").placement.picture().svg.startswith("<svg")


@pytest.mark.parametrize(
    ("name", "data", "words", "code", "message"),
    [
        ("run.log", b"hello\nthere\n", (), 1, "run.log is neither a graph nor a TensorFlow log"),
        ("run.log", b"", (), 1, "run.log is neither a graph nor a TensorFlow log"),
        ("run.log", b"hello\n", (), 1, "log_device_placement=True"),
        ("run.log", bytes(range(256)) * 9, (), 1, "DataLossError: Can't parse run.log"),
        ("run.log", lambda: gzip.compress(LOG.encode() * 9)[:90], (), 1, "Can't decompress run.log"),
        ("run.log", lambda: gzip.compress(bytes(300_000_000), 9), (), 1, "run.log is too large for a log"),
        ("run.log", LOG.encode(), ("--soft", "--machine", "cpu"), 2, "Remove --machine, --soft"),
        ("run.log", LOG.encode(), ("--release", "2.21"), 2, "gpuplace log run.log --against GRAPH"),
        ("run.pb", LOG.encode(), (), 1, "use gpuplace.parse_log for logs"),
    ],
    ids=["text", "nothing", "how to log", "binary", "cut", "bomb", "machine", "release", "graph's name"],
)
def test_neither_graph_nor_log(tmp_path, monkeypatch, capsys, name, data, words, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(data() if callable(data) else data)
    for command in (("report", name), ("explore", name, "--with", "page", "--no-browser")):
        assert main([*command, *words]) == code
        told = capsys.readouterr()
        assert message in told.err and told.out == ""


def test_report_of_graphs_of_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.pb").write_bytes(tf.GraphDef(versions={"producer": 134}).SerializeToString())
    assert main(["report", "empty.pb", "--machine", "cpu"]) == 0
    assert "0 nodes" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def here(graph, tmp_path, monkeypatch):
    """The graph's folder is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without(*missing):
    found = importlib.util.find_spec
    return lambda name, *rest: None if name in missing else found(name, *rest)


def test_explore_without_jupyter(here, graph, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", without("voila", "jupyterlab"))
    assert main(["explore", graph]) == 2
    assert 'pip install "gpuplace[lab]"' in (told := capsys.readouterr().err) and "--with page" in told
    assert main(["explore", graph, "--with", "lab"]) == 2
    assert "jupyterlab is not installed" in capsys.readouterr().err


@pytest.mark.parametrize(("missing", "server"), [((), "jupyterlab"), (("jupyterlab",), "voila")])
def test_explore_starts_what_there_is(here, graph, monkeypatch, missing, server):
    (here / "soft.txt").write_text("allow_soft_placement: true")
    started = []
    spec = importlib.util.find_spec("json")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in missing else spec)

    class Server:
        def __init__(self, command):
            notebook = json.loads(open(command[-1], encoding="utf-8").read())
            started.append((command, "".join(notebook["cells"][0]["source"])))

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def wait(self):
            return 0

    monkeypatch.setattr(subprocess, "Popen", Server)
    assert main(["explore", graph, *TWO, "--config", "soft.txt", "--port", "8899", "--no-browser"]) == 0
    command, source = started[0]
    assert command[:3] == [sys.executable, "-m", server] and {"--port=8899", "--no-browser"} <= set(command)
    assert f"tf.explore({str(here / graph)!r}, machine='2x Tesla K20m', config=config)" in source
    shown = {}
    exec(source.replace("tf.explore(", "shown = dict(path="), shown)
    assert shown["config"].allow_soft_placement


@pytest.mark.notebook
def test_jupyterlab_serves_the_notebook(here, graph):
    pytest.importorskip("jupyterlab")
    from tests.browser.jupyterlab import free_port

    port = free_port()
    words = ["explore", graph, *TWO, "--with", "lab", "--no-browser", "--port", str(port), "-o", "kept.ipynb"]
    server = subprocess.Popen(
        [sys.executable, "-m", "gpuplace", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs are deaf to it
    )
    try:
        line = next(line for line in server.stderr if "token=" in line)
        address = line[line.index("http") :].split()[0]
        address = address.replace("/lab?", "/api/contents/kept.ipynb?")
        assert _answers(address)
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
        server.stderr.close()
    assert json.loads((here / "kept.ipynb").read_text())["nbformat"] == 4


def _answers(address: str) -> bool:
    """Whether the server, which tells its address a little too early, answers within 20 seconds."""
    for _ in range(100):
        try:
            return urllib.request.urlopen(address, timeout=20).status == 200
        except urllib.error.URLError as error:
            assert isinstance(error.reason, ConnectionRefusedError)
            time.sleep(0.2)
    return False


def test_help_names_every_command():
    text = build_parser().format_help()
    assert "report" in text and "explore" in text


def _write_step(path, *names):
    import gpuplace as tf

    step = tf.RunMetadata()
    device = step.step_stats.dev_stats.add(device="/device:GPU:0")
    for micros, name in enumerate(names, 1):
        device.node_stats.add(node_name=name, all_end_rel_micros=micros)
    path.write_bytes(step.SerializeToString())


def test_report_with_a_measured_step(gpuplace, graph, tmp_path):
    _write_step(tmp_path / "step.pb", "a", "b", "product")
    result = gpuplace("report", graph, *TWO, "--run-metadata", "step.pb")
    assert (result.returncode, result.stderr) == (0, "")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<dt>measured step</dt><dd>step.pb</dd>" in page
    assert '"title":"time in the measured step"' in page and '"what":"path by time"' in page


def test_report_with_a_file_that_is_no_step_of_the_graph(gpuplace, graph, tmp_path):
    _write_step(tmp_path / "other.pb", "x", "y")
    (tmp_path / "noise.pb").write_bytes(b"\xff\xff\xff noise")
    for name, code, message in (
        ("other.pb", 2, "other.pb was not measured with graph.pbtxt"),
        ("noise.pb", 1, "as RunMetadata or StepStats"),
        ("absent.pb", 1, "No such file"),
    ):
        result = gpuplace("report", graph, *TWO, "--run-metadata", name)
        assert (result.returncode, "Traceback" in result.stderr) == (code, False), result.stderr
        assert message in result.stderr
        assert not (tmp_path / "report.html").exists()


def test_a_report_of_a_model_is_of_what_it_is_asked_by(gpuplace, graph, tmp_path):
    folder(tmp_path / "net", saved_model("serving_default", "a"))

    def page(*words):
        result = gpuplace("report", "net", *TWO, *words)
        assert (result.returncode, result.stderr) == (0, "")
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        return re.search("<dt>graph</dt><dd>(.*?)</dd>", text)[1]

    assert page() == "signature serving_default of saved_model.pb, tags serve; 1 other"
    assert page("--signature", "a") == "signature a of saved_model.pb, tags serve; 1 other"
    assert page("--signature", "") == "whole graph of saved_model.pb, tags serve; 2 signatures"
    assert page("--function", "add").startswith("function add of saved_model.pb, tags serve")
    assert (
        page("--against", "cpu", "--soft")
        == "signature serving_default of saved_model.pb, tags serve; 1 other"
    )
    assert gpuplace("report", "net", *TWO, "--signature", "b").returncode == 1
    result = gpuplace("report", "graph.pbtxt", *TWO, "--signature", "b")
    assert result.returncode == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("model.h5",), 1, "is an HDF5 file"),
        (("graph.pbtxt", "--signature", "s"), 2, "signature selects a part of a SavedModel"),
        (("graph.pbtxt", "--function", "f"), 1, "Function f is not defined."),
    ],
)
def test_what_cannot_be_explored_starts_no_server(here, monkeypatch, capsys, words, code, message):
    monkeypatch.setattr(subprocess, "Popen", None)
    (here / "model.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    assert main(["explore", *words, *TWO]) == code
    assert message in capsys.readouterr().err


def test_the_notebook_of_a_part(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "net", saved_model("serving_default", "a"))

    def explored(*words):
        arguments = build_parser().parse_args(["explore", "net", *TWO, *words])
        source = "".join(pages._notebook(arguments)["cells"][0]["source"])
        shown = {}
        exec(source.replace("tf.explore(", "shown = tf.explore("), shown)
        return shown["shown"]

    assert explored().signature == "serving_default"
    assert explored("--signature", "").signature == ""
    assert explored("--visible-devices", "1").cuda_visible_devices == "1"
    assert explored("--visible-devices", "").cuda_visible_devices == ""
    explorer = explored("--function", "add", "--tags", "serve", "--clear-devices", "--signature", "a")
    assert (explorer.function, explorer.tags, explorer.signature, explorer.clear_devices) == (
        "add",
        "serve",
        "a",
        True,
    )
