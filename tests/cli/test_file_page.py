"""The page of any file: which command writes it."""

import pytest

import gpuplace as tf
from gpuplace.cli.file_page import command_of, main
from gpuplace.errors import OpError


@pytest.fixture
def files(tmp_path):
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.constant([[1.0]], name="x")
        (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            step = tf.RunMetadata()
            session.run(
                x + 1.0, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=step
            )
            (tmp_path / "step.pb").write_bytes(step.SerializeToString())
            (tmp_path / "run.log").write_text(session.placement.log())
    (tmp_path / "-odd.pb").write_bytes((tmp_path / "graph.pb").read_bytes())
    return tmp_path


def test_commands(files):
    page = files / "page.html"
    graph = command_of(files / "graph.pb", page, "cpu", True)
    assert graph[0] == "report" and "--machine=cpu" in graph and "--soft" in graph
    log = command_of(files / "run.log", page, "cpu", True)
    assert log[0] == "report" and "--machine=cpu" not in log
    assert command_of(files / "step.pb", page)[0] == "timeline"
    assert command_of(files / "saved_model.pb", page)[-1] == str(files)


@pytest.mark.parametrize("name", ["graph.pb", "step.pb", "run.log", "-odd.pb"])
def test_pages(files, name):
    page = files / "page.html"
    assert main(["--soft", "--", str(files / name), str(page), "cpu"]) == 0
    assert f"<h1>{name}</h1>" in page.read_text()


def test_what_is_no_file_of_tensorflow(files, capsys):
    (files / "notes.log").write_text("nothing of TensorFlow")
    with pytest.raises(OpError):
        command_of(files / "notes.log", files / "page.html")
    assert main([str(files / "notes.log"), str(files / "page.html")]) == 1
    assert "notes.log" in capsys.readouterr().err


def test_piped_place_has_a_summary_line(files, capsys):
    from gpuplace.cli import main as command_line

    assert command_line(["place", str(files / "graph.pb"), "--machine", "1x T4"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[0] == "1 node: 1 on GPU:0; nothing is copied between devices"
    assert "1 node:" not in out and out.splitlines()[1].startswith("x ")
