"""Event files that TensorBoard reads."""

import logging
import subprocess
import sys
import threading
import time

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gpuplace.errors import DataLossError, FailedPreconditionError, NotFoundError, OpError
from gpuplace.graph.convert import make_constant
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.event_file import summary_iterator
from gpuplace.graphdef.export import as_graph_def
from gpuplace.graphdef.file_writer import FileWriter, FileWriterCache
from gpuplace.graphdef.messages import (
    Event,
    MetaGraphDef,
    RunMetadata,
    SessionLog,
    Summary,
)
from gpuplace.graphdef.summary_messages import plugin_metadata
from gpuplace.runtime.session.session import Session


@pytest.fixture
def graph():
    with Graph().as_default() as graph:
        make_constant([1.0, 2.0], name="a")
    return graph


def scalar(tag, number):
    summary = Summary()
    summary.value.add(tag=tag, simple_value=number)
    return summary


def events_of(folder):
    """The events of all files in a folder, without the first one of each file."""
    found = [list(summary_iterator(path)) for path in sorted(folder.iterdir())]
    assert all(events[0].file_version == "brain.Event:2" for events in found)
    return [event for events in found for event in events[1:]]


def test_tensorboard_reads_graph_metadata_and_summaries(graph, tmp_path):
    metadata = RunMetadata()
    metadata.step_stats.dev_stats.add(device="/device:GPU:0")
    with FileWriter(tmp_path, graph) as writer:
        assert writer.get_logdir() == str(tmp_path)
        writer.add_run_metadata(metadata, "step 7", 7)
        writer.add_summary(scalar("loss", 0.5).SerializeToString(), 3)
        writer.add_summary(scalar("loss", 0.25), 4)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.Graph() == as_graph_def(graph, add_shapes=True)
    assert events.Tags()["run_metadata"] == ["step 7"]
    assert events.Tags()["meta_graph"]
    assert events.RunMetadata("step 7").step_stats.dev_stats[0].device == "/device:GPU:0"
    assert [(e.step, e.value) for e in events.Scalars("loss")] == [(3, 0.5), (4, 0.25)]


def test_all_kinds_of_events(graph, tmp_path):
    with FileWriter(tmp_path, filename_suffix=".mine") as writer:
        writer.add_event(Event(step=3, wall_time=1.5))
        writer.add_session_log(SessionLog(status=SessionLog.START), 4)
        writer.add_meta_graph(MetaGraphDef(graph_def=as_graph_def(graph)), 5)
        writer.add_graph(None, 6, graph_def=as_graph_def(graph))
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.") and path.name.endswith(".mine")
    events = events_of(tmp_path)
    assert [event.step for event in events] == [3, 4, 5, 6]
    assert events[0].wall_time == 1.5
    assert events[1].session_log.status == SessionLog.START
    assert MetaGraphDef.FromString(events[2].meta_graph_def).graph_def == as_graph_def(graph)
    assert [event.WhichOneof("what") for event in events[2:]] == ["meta_graph_def", "graph_def"]


def test_metadata_is_kept_once_a_tag_and_the_message_left_as_it_is(tmp_path):
    summary = scalar("t", 1.0)
    summary.value[0].metadata.CopyFrom(plugin_metadata("text"))
    with FileWriter(tmp_path) as writer:
        writer.add_summary(summary, 1)
        writer.add_summary(summary, 2)
    assert [event.summary.value[0].HasField("metadata") for event in events_of(tmp_path)] == [True, False]
    assert summary.value[0].HasField("metadata")


def test_misuse(graph, tmp_path, caplog):
    writer = FileWriter(tmp_path)
    writer.add_run_metadata(RunMetadata(), "t")
    with pytest.raises(ValueError, match="tag was already used"):
        writer.add_run_metadata(RunMetadata(), "t")
    with pytest.raises(
        TypeError, match="must be an instance of `Graph` or the deprecated `GraphDef`, not str"
    ):
        writer.add_graph("graph.pb")
    with pytest.raises(ValueError, match="but not both"):
        writer.add_graph(graph, graph_def=as_graph_def(graph))
    with pytest.raises(TypeError, match="must be type MetaGraphDef, saw type"):
        writer.add_meta_graph(graph)
    with pytest.raises(TypeError, match="the result of session.run"):
        writer.add_summary("text")
    with pytest.raises(TypeError, match="Event"):
        writer.add_event(Summary())
    with caplog.at_level(logging.WARNING, "tensorflow"):
        writer.add_graph(as_graph_def(graph))
        writer.add_graph(None, graph_def=graph)
    assert [record.message.split(" ")[0] for record in caplog.records] == ["Passing", "When"]
    writer.close()


def test_closed_writers_do_nothing_until_reopened(graph, tmp_path):
    writer = FileWriter(tmp_path)
    writer.reopen()
    writer.close()
    writer.close()
    for call in (writer.flush, lambda: writer.add_summary(scalar("lost", 1.0))):
        with pytest.warns(UserWarning, match="Attempting to use a closed FileWriter") as caught:
            call()
        assert caught[0].filename == __file__
    writer.reopen()
    writer.add_summary(scalar("kept", 1.0), 7)
    writer.flush()
    assert len(list(tmp_path.iterdir())) == 2
    assert [event.summary.value[0].tag for event in events_of(tmp_path)] == ["kept"]
    writer.close()


def test_writers_of_a_session_share_a_file(graph, tmp_path):
    with Session(graph=graph) as session:
        one, two = FileWriter(tmp_path, session=session), FileWriter(tmp_path, session=session)
        other = FileWriter(tmp_path / "other", session=session)
        one.add_summary(scalar("a", 1.0), 1)
        two.add_summary(scalar("b", 1.0), 2)
        two.flush()
        one.close()
        other.close()
    assert [event.step for event in events_of(tmp_path / "other")] == []
    (path,) = tmp_path.glob("events*")
    assert [event.step for event in summary_iterator(path)] == [0, 1, 2]


def test_many_threads_write_whole_events(tmp_path):
    with FileWriter(tmp_path, max_queue=2, flush_secs=0) as writer:

        def write(number):
            for step in range(50):
                writer.add_summary(scalar(f"t{number}", step), step)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    for number in range(4):
        assert [e.step for e in accumulator.Scalars(f"t{number}")] == list(range(50))


def test_a_program_that_does_not_close_loses_nothing(tmp_path):
    program = (
        "import gpuplace as tf\n"
        f"writer = tf.summary.FileWriter({str(tmp_path)!r})\n"
        "for step in range(30):\n"
        "    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag='a', simple_value=step)]), step)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert [event.step for event in events_of(tmp_path)] == list(range(30))


def test_what_goes_wrong_in_the_thread_is_said_where_events_are_added(tmp_path):
    writer = FileWriter(tmp_path)
    writer._file._thread._records.close()
    writer.add_summary(scalar("lost", 1.0))
    with pytest.raises(FailedPreconditionError, match="previously closed"):
        writer.flush()
    with pytest.raises(FailedPreconditionError):
        writer.add_summary(scalar("lost", 1.0))
    with pytest.raises(FailedPreconditionError):
        writer.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(OpError, match="file"):
        FileWriter(tmp_path / "file" / "folder")


def test_events_are_written_in_time_without_flush(tmp_path):
    writer = FileWriter(tmp_path, flush_secs=0)
    (path,) = tmp_path.iterdir()
    writer.add_summary(scalar("a", 1.0), 1)
    end = time.monotonic() + 60
    while len(list(summary_iterator(path))) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert [event.step for event in summary_iterator(path)] == [0, 1]
    writer.close()


def test_cache_has_one_writer_a_folder(graph, tmp_path):
    with graph.as_default():
        writer = FileWriterCache.get(tmp_path)
    assert FileWriterCache.get(str(tmp_path)) is writer
    assert FileWriterCache.get(bytes(tmp_path)) is writer
    FileWriterCache.clear()
    assert EventAccumulator(str(tmp_path)).Reload().Graph() == as_graph_def(graph, add_shapes=True)
    with graph.as_default():
        assert FileWriterCache.get(tmp_path) is not writer
    FileWriterCache.clear()


def test_damaged_files(tmp_path):
    with FileWriter(tmp_path) as writer:
        writer.add_summary(scalar("a", 1.0), 1)
        writer.add_summary(scalar("a", 2.0), 2)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    found = []
    with pytest.raises(DataLossError, match=r"truncated record at \d+"):
        for event in summary_iterator(path):
            found.append(event.step)
    assert found == [0, 1]
    path.write_bytes(whole[:-6] + b"?" + whole[-5:])
    with pytest.raises(DataLossError, match="corrupted record"):
        list(summary_iterator(path))
    with pytest.raises(NotFoundError, match="No such file or directory"):
        next(summary_iterator(tmp_path / "missing"))
    path.write_bytes(b"")
    assert list(summary_iterator(path)) == []
