"""`gpuplace report` and `gpuplace explore`."""

import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from gpuplace.cli.main import main
from gpuplace.cli.parser import build_parser

TWO = ("--machine", "2x Tesla K20m")


def test_report(gpuplace, graph, tmp_path):
    result = gpuplace("report", graph, "-o", "page.html", *TWO, "--against", "cpu", "--soft")
    assert (result.returncode, result.stdout, result.stderr) == (0, "page.html\n", "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>graph.pbtxt</h1>" in page and "<dd>softly</dd>" in page and "<dd>1 CPU</dd>" in page
    assert '"total":3' in page


def test_report_of_what_cannot_be_placed(gpuplace, graph, tmp_path):
    result = gpuplace("report", graph, "--machine", "cpu", "--title", "Not <here>")
    assert result.returncode == 1 and result.stdout == "report.html\n"
    assert "was explicitly assigned to /device:GPU:1" in result.stderr and "Traceback" not in result.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>Not &lt;here&gt;</h1>" in page and '"kind":"InvalidArgumentError"' in page


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
        ("other.pb", 2, "other.pb is not of graph.pbtxt"),
        ("noise.pb", 1, "as RunMetadata or StepStats"),
        ("absent.pb", 1, "No such file"),
    ):
        result = gpuplace("report", graph, *TWO, "--run-metadata", name)
        assert (result.returncode, "Traceback" in result.stderr) == (code, False), result.stderr
        assert message in result.stderr
        assert not (tmp_path / "report.html").exists()
