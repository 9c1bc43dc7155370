"""Files that are something else than what a command reads: it says what they are and what to do."""

import io
import json
import zipfile

import pytest

import gpuplace as tf
from gpuplace.cli import main


def archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr("saved_model.pb", b"")
    return stream.getvalue()


NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()
OTHERS = {
    "train.py": (
        b"import tensorflow as tf\n",
        "train.py is a Python program",
        "run it with gpuplace run train.py",
    ),
    "empty.py": (b"", "empty.py is a Python program", "run it with gpuplace run empty.py"),
    "train": (b"#!/usr/bin/env python3\n", "train is a Python program", "run it with gpuplace run train"),
    "Lesson.IPYNB": (NOTEBOOK, "is a Jupyter notebook", "open it in JupyterLab"),
    "lesson.json.txt": (NOTEBOOK, "is a Jupyter notebook", "open it in JupyterLab"),
    "report.html": (b"<!DOCTYPE html><html></html>", "is an HTML page", "open it in a browser"),
    "download.log": (
        b"\n<html><body>404</body></html>",
        "is an HTML page",
        "the graph or log that it was created from",
    ),
    "model.zip": (archive(), "is an archive", "unpack it"),
    "model.bin": (archive(), "is a zip archive", "unpack it"),
    "model.keras": (archive(), "is a Keras model", "model.export(folder)"),
    "weights.h5": (b"\x89HDF\r\n\x1a\n\0\0", "is an HDF5 file", "model.export(folder)"),
    "weights": (b"\x89HDF\r\n\x1a\n\0\0", "is an HDF5 file", "model.export(folder)"),
    "m.tflite": (b"\x1c\0\0\0TFL3", "is a TensorFlow Lite model", "the model that it was converted from"),
    "model.ckpt-10.index": (b"\0\1", "is a part of a checkpoint", "the .meta file beside it"),
    "plot.png": (b"\x89PNG\r\n\x1a\n", "is a picture", "pass the graph or log"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command", ["place", "blame", "explain", "diff", "log", "report", "explore", "timeline"]
)
@pytest.mark.parametrize("name", OTHERS)
def test_another_kind_of_file_is_named(here, capsys, name, command):
    data, what, advice = OTHERS[name]
    (here / name).write_bytes(data)
    words = {"explain": ["a"], "explore": ["--with", "page", "--no-browser"]}.get(command, [])
    assert main([command, name, *words]) == 1
    told = capsys.readouterr().err
    assert what in told and advice in told and "Traceback" not in told


@pytest.mark.parametrize("content", [b"", b" \n\n"])
@pytest.mark.parametrize("name", ["graph.pb", "graph.pbtxt", "graph.meta", "run.log", "run.txt"])
@pytest.mark.parametrize("command", ["place", "blame", "report", "log", "explore"])
def test_an_empty_file_is_refused(here, capsys, name, content, command):
    (here / name).write_bytes(content)
    words = ["--with", "page", "--no-browser"] if command == "explore" else []
    assert main([command, name, *words]) == 1
    told = capsys.readouterr()
    assert name in told.err and ("is empty" if not content else "contains only white space") in told.err
    assert told.out == ""


def test_standard_input_without_a_log(here, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main(["log", "-"]) == 1
    assert "standard input is neither a graph nor a TensorFlow log: it is empty" in capsys.readouterr().err


def test_a_log_in_which_nothing_is_told(here, capsys):
    (here / "run.log").write_text("loss 0.3\nloss 0.2\n")
    assert main(["log", "run.log"]) == 1
    told = capsys.readouterr().err
    assert "run.log is neither a graph nor a TensorFlow log" in told and "log_device_placement=True" in told
    assert main(["log", "run.log", "--show", "unparsed", "--format", "csv"]) == 0
    assert "loss 0.3" in capsys.readouterr().out


def test_a_graph_given_as_a_log(here, capsys):
    (here / "graph.pbtxt").write_text('node { name: "a" op: "NoOp" }')
    assert main(["log", "graph.pbtxt"]) == 1
    assert "graph.pbtxt is a graph in text format, not a log" in capsys.readouterr().err


def test_a_folder_says_what_is_in_it(here, capsys):
    (here / "exports" / "1588").mkdir(parents=True)
    (here / "exports" / "1588" / "saved_model.pb").write_bytes(b"")
    (here / "exports" / "frozen.pb").write_bytes(b"")
    (here / "bare").mkdir()
    for command in ("place", "report", "explore"):
        words = ["--with", "page", "--no-browser"] if command == "explore" else []
        assert main([command, "exports", *words]) == 1
        told = capsys.readouterr().err
        assert "SavedModel file does not exist at: exports/{saved_model.pb|saved_model.pbtxt}" in told
        assert "exports is a folder; pass exports/1588, exports/frozen.pb" in told
    assert main(["place", "bare"]) == 1
    assert "or the folder that contains saved_model.pb" in capsys.readouterr().err
    assert main(["log", "bare"]) == 2
    assert "bare is a folder; pass the file with the program's output" in capsys.readouterr().err


@pytest.mark.parametrize("ask", [tf.place, tf.explore])
def test_from_python_too(here, ask):
    (here / "train.py").write_text("import tensorflow\n")
    with pytest.raises(tf.errors.OpError, match="train.py is a Python program"):
        ask("train.py", "cpu")


@pytest.mark.parametrize("name", [name for name, (_, what, _) in OTHERS.items() if "Python" not in what])
def test_what_is_no_program_is_not_run(here, capsys, name):
    data, what, advice = OTHERS[name]
    (here / name).write_bytes(data)
    assert main(["run", name]) == 2
    told = capsys.readouterr().err
    assert (
        what in told and ", not a Python program; " in told and advice in told and "SyntaxError" not in told
    )


def test_graphs_and_folders_are_not_run(here, capsys):
    (here / "graph.pb").write_bytes(b"")
    assert main(["run", "graph.pb"]) == 2
    assert (
        "graph.pb is a graph, not a Python program; use gpuplace place graph.pb or gpuplace explore graph.pb"
        in capsys.readouterr().err
    )
    assert main(["run", "."]) == 2
    assert ". is a folder; pass the path of a Python program" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0 and capsys.readouterr().out == f"gpuplace {tf.__version__}\n"
