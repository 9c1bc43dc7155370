"""Event files that TensorBoard reads."""

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gpuplace.graph.convert import make_constant
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.export import as_graph_def
from gpuplace.graphdef.file_writer import FileWriter
from gpuplace.graphdef.messages import RunMetadata, Summary


@pytest.fixture
def graph():
    with Graph().as_default() as graph:
        make_constant([1.0, 2.0], name="a")
    return graph


def test_tensorboard_reads_graph_metadata_and_summaries(graph, tmp_path):
    metadata = RunMetadata()
    metadata.step_stats.dev_stats.add(device="/device:GPU:0")
    with FileWriter(tmp_path, graph) as writer:
        assert writer.get_logdir() == str(tmp_path)
        writer.add_run_metadata(metadata, "step 7", 7)
        summary = Summary()
        summary.value.add(tag="loss", simple_value=0.5)
        writer.add_summary(summary.SerializeToString(), 3)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.Graph() == as_graph_def(graph, add_shapes=True)
    assert events.Tags()["run_metadata"] == ["step 7"]
    assert events.RunMetadata("step 7").step_stats.dev_stats[0].device == "/device:GPU:0"
    assert [(e.step, e.value) for e in events.Scalars("loss")] == [(3, 0.5)]


def test_misuse(graph, tmp_path):
    writer = FileWriter(tmp_path)
    writer.add_run_metadata(RunMetadata(), "t")
    with pytest.raises(ValueError, match="tag was already used"):
        writer.add_run_metadata(RunMetadata(), "t")
    with pytest.raises(TypeError, match="must be an instance of `Graph` or `GraphDef`, not str"):
        writer.add_graph("graph.pb")
    writer.close()
    with pytest.raises(RuntimeError, match="is closed"):
        writer.add_graph(graph)
    writer.reopen()
    writer.add_graph(as_graph_def(graph))
    writer.close()
