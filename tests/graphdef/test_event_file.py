"""TensorBoard's event files as graphs and measured steps; files that are neither are refused by name."""

import pytest

import gpuplace as tf
from gpuplace.graphdef.load import load_graph_def
from gpuplace.graphdef.measured.run_metadata import load_run_metadata
from gpuplace.graphdef.messages import Event, GraphDef
from gpuplace.views.logs.graph_or_log import log_in_file


@pytest.fixture
def written(tmp_path):
    """A folder of event files, by what was added last."""

    def write(*adders):
        with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
            total = tf.add(tf.constant(1.0), 2.0, name="total")
            writer = tf.summary.FileWriter(str(tmp_path / "logs"))
            for add in adders:
                add(writer, graph, total)
            writer.close()
        (path,) = (tmp_path / "logs").iterdir()
        return path

    return write


def graph_def(writer, graph, total):
    writer.add_graph(graph)


def meta_graph(writer, graph, total):
    tf.add_to_collection(tf.GraphKeys.TRAIN_OP, total.op)
    writer.add_meta_graph(tf.train.export_meta_graph(graph=graph))


def traced_step(writer, graph, total):
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(total, options=options, run_metadata=metadata)
    writer.add_run_metadata(metadata, "step 1")


@pytest.mark.parametrize("adders", [(graph_def,), (meta_graph,), (traced_step, graph_def)])
def test_the_graph_of_an_event_file_is_placed(written, adders):
    path = written(*adders)
    placement = tf.place(path, machine="2x V100")
    assert placement["total"].endswith("device:GPU:0")
    assert log_in_file(path) is None
    assert [node.name for node in load_graph_def(path).node] == list(placement)


def test_the_traced_step_of_an_event_file_is_read(written):
    found = load_run_metadata(written(graph_def, traced_step))
    assert "total" in {node.node_name for device in found.step_stats.dev_stats for node in device.node_stats}


def test_an_event_file_that_is_still_written_is_read(written):
    path = written(graph_def, traced_step)
    path.write_bytes(path.read_bytes()[:-3])
    assert [node.name for node in load_graph_def(path).node][-1] == "total"


def test_a_damaged_event_file_is_refused(written):
    path = written(graph_def)
    data = bytearray(path.read_bytes())
    data[-20] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at"):
        load_graph_def(path)


def test_what_an_event_file_lacks_is_said(written):
    path = written()
    with pytest.raises(tf.errors.InvalidArgumentError, match="is an event file without a graph") as caught:
        load_graph_def(path)
    assert "tf.summary.FileWriter" in caught.value.hint
    with pytest.raises(tf.errors.InvalidArgumentError, match="is an event file without a traced step"):
        load_run_metadata(path)


@pytest.mark.parametrize("name", ["saved_model.pb", "saved_model.pbtxt"])
def test_a_graph_that_is_named_like_a_saved_model_is_read(tmp_path, name):
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
    tf.train.write_graph(graph, str(tmp_path), name, as_text=name.endswith("txt"))
    for given in (tmp_path / name, tmp_path):
        assert [node.name for node in load_graph_def(given).node] == ["one"]


def test_other_messages_are_refused(tmp_path):
    event = tmp_path / "event.pb"
    event.write_bytes(Event(step=3, file_version="x").SerializeToString())
    nameless = tmp_path / "other.pb"
    nameless.write_bytes(GraphDef(node=[{"input": ["a"]}]).SerializeToString())
    for path in (event, nameless):
        with pytest.raises(tf.errors.DataLossError):
            load_graph_def(path)
    page = tmp_path / "vm.overview_page.pb"
    page.write_bytes(b"\n\x03abc")
    with pytest.raises(tf.errors.DataLossError, match="is a file of TensorFlow's profiler, not a graph"):
        load_graph_def(page)


def test_an_empty_graph_with_versions_is_a_graph(tmp_path):
    path = tmp_path / "empty.pb"
    path.write_bytes(tf.Graph().as_graph_def().SerializeToString())
    assert not load_graph_def(path).node
