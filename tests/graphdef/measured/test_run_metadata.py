"""Measured steps from files of every form, and what is none."""

import gzip

import pytest
from google.protobuf import text_format

import gpuplace as tf
from gpuplace.errors import DataLossError, InvalidArgumentError, NotFoundError
from gpuplace.graphdef.measured.run_metadata import load_run_metadata


@pytest.fixture
def step():
    found = tf.RunMetadata()
    device = found.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    device.node_stats.add(node_name="a", all_end_rel_micros=7)
    return found


def test_every_form(step, tmp_path):
    files = {
        "run.pb": step.SerializeToString(),
        "stats.pb": step.step_stats.SerializeToString(),
        "run.pb.gz": gzip.compress(step.SerializeToString()),
        "run.pbtxt": text_format.MessageToString(step).encode(),
        "stats.textproto": text_format.MessageToString(step.step_stats).encode(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        assert load_run_metadata(tmp_path / name) == step, name


@pytest.mark.parametrize(
    ("name", "data", "error", "message"),
    [
        ("graph.pb", b"\xff\xfe nothing", DataLossError, "as RunMetadata or StepStats"),
        ("step.pbtxt", b"nodes {", DataLossError, "as RunMetadata or StepStats"),
        ("empty.pb", b"", InvalidArgumentError, "contains no step_stats: nothing was measured"),
        ("absent.pb", None, NotFoundError, "No such file"),
    ],
)
def test_what_is_none(tmp_path, name, data, error, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(error, match=message):
        load_run_metadata(tmp_path / name)


def test_a_graph_is_no_step(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.constant(1.0)
    (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    with pytest.raises((DataLossError, InvalidArgumentError), match="graph.pb"):
        load_run_metadata(tmp_path / "graph.pb")
