"""Profiles of TensorFlow 2: rows of the host and of GPUs, in both forms, and what is none."""

import gzip
import json

import pytest

import gpuplace as tf
from gpuplace.errors import DataLossError, InvalidArgumentError, NotFoundError
from gpuplace.graphdef.measured.profile import XSpace
from gpuplace.graphdef.measured.run_metadata import load_run_metadata

LOCAL = "/job:localhost/replica:0/task:0/device:"
KERNEL = "void tensorflow::functor::ShuffleInTensor3Simple<float, 2, 1, 0, false>(int, float const*)"
COPY = {
    "annotation": "x/_1:_Send#from=x,to=dense/MatMul#::#edge_name=edge_4_x#",
    "memcpy_details": "kind_src:pinned kind_dst:device size:3072 dest:0 async:1",
    "edge_name": "edge_4_x",
    "from": "x",
    "to": "dense/MatMul",
}
HOST = {
    "tf_Compute/1": [
        ("ExecutorState::Process", 0, 90, {}),
        ("x:IteratorGetNext", 1, 4, {}),
        ("dense/MatMul:MatMul", 6, 3, {}),
        ("x/_1:_Send", 5, 1, {}),
        ("Iterator::Model::ParallelMapV2::Zip", 2, 1, {}),
    ],
    "tf_Compute/2": [("Shape:Shape", 2, 3, {})],
}
GPU = {
    "Stream #13(MemcpyH2D,Compute)": [
        ("MemcpyH2D", 7, 10, COPY),
        (KERNEL, 20, 5, {"annotation": "dense/MatMul:MatMul"}),
        ("maxwell_sgemm_128x128_nn", 26, 30, {"annotation": "dense/MatMul:MatMul"}),
        ("MemcpyD2D", 57, 1, {"annotation": "dense/Relu:Relu", "memcpy_details": "size:8 dest:0 async:1"}),
        (KERNEL, 60, 5, {"tf_op": "dense/Relu:Relu"}),
        ("MemcpyD2H", 70, 2, {"edge_name": "copy", "memcpy_details": "num_bytes:4 dest:0"}),
    ],
    "Stream #18(Compute)": [("cudnn_gcgemm", 24, 40, {"annotation": "dense/MatMul:MatMul"})],
    "TensorFlow Ops": [("dense/MatMul:MatMul", 20, 44, {})],
    "Steps": [("0", 0, 90, {})],
}

HOST_PROCESS = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/host:CPU"}}


def space():
    """The rows as planes; times are microseconds."""
    found = XSpace()
    for name, rows, begin in (("/host:CPU", HOST, 1000), ("/device:GPU:0", GPU, 3000)):
        plane = found.planes.add(name=name)
        texts = {}

        def number_of(text, plane=plane, texts=texts):
            if text not in texts:
                texts[text] = len(texts) + 1
                plane.stat_metadata[texts[text]].name = text
            return texts[text]

        for row, events in rows.items():
            line = plane.lines.add(name=row, timestamp_ns=begin)
            for text, start, lasted, stats in events:
                number = len(plane.event_metadata) + 1
                plane.event_metadata[number].name = text
                event = line.events.add(metadata_id=number, duration_ps=lasted * 10**6)
                event.offset_ps = start * 10**6 + (4_000 - begin) * 1000
                for position, (key, value) in enumerate(stats.items()):
                    stat = event.stats.add(metadata_id=number_of(key))
                    if position % 2:
                        stat.ref_value = number_of(value)
                    else:
                        stat.str_value = value
    return found


def trace():
    """The rows as a Chrome trace, as the profiler writes it."""
    events = []
    for pid, (name, rows) in enumerate((("/host:CPU", HOST), ("/device:GPU:0 (pid 2)", GPU))):
        events.append({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}})
        for tid, (row, inside) in enumerate(rows.items()):
            events.append({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": row}})
            for text, start, lasted, stats in inside:
                args = dict(stats) if ":" not in text else {"long_name": text, **stats}
                shown = text.rpartition(":")[2]
                event = {"ph": "X", "pid": pid, "tid": tid, "ts": 4 + start, "dur": lasted, "name": shown}
                events.append(event | {"args": args})
    return {"displayTimeUnit": "ns", "traceEvents": [*events, {}]}


@pytest.fixture(params=["host.xplane.pb", "host.trace.json.gz", "host.trace.json"])
def path(request, tmp_path):
    path = tmp_path / request.param
    if request.param.endswith(".pb"):
        path.write_bytes(space().SerializeToString())
    else:
        text = json.dumps(trace()).encode()
        path.write_bytes(gzip.compress(text) if request.param.endswith(".gz") else text)
    return path


def rows_of(step):
    """Device -> its events: label or kernel, begin in microseconds, and how many it lasted."""
    return {
        device.device.removeprefix(LOCAL): [
            (node.timeline_label, node.all_start_micros - 4, node.all_end_rel_micros)
            for node in device.node_stats
        ]
        for device in step.step_stats.dev_stats
    }


def test_ops_kernels_and_copies(path):
    rows = rows_of(load_run_metadata(path))
    assert sorted(rows.pop("CPU:0")) == [
        ("Shape = Shape()", 2, 3),
        (f"copy/_0 = _Recv(copy @{LOCAL}GPU:0)", 70, 2),
        ("x = IteratorGetNext()", 1, 4),
        (f"x/_0 = _Send(edge_4_x @{LOCAL}GPU:0)", 7, 0),
    ]
    assert sorted(rows.pop("GPU:0")) == [
        (f"copy/_0 = _Send(copy @{LOCAL}CPU:0)", 70, 0),
        ("dense/MatMul = MatMul(x/_0)", 20, 44),  # the kernels of both streams
        ("dense/Relu = Relu(^dense/MatMul)", 60, 5),
        (f"x/_0 = _Recv(edge_4_x @{LOCAL}CPU:0)", 7, 10),
    ]
    assert [event[1:] for event in rows.pop("GPU:0/stream:13")] == [(20, 5), (26, 30), (57, 1), (60, 5)]
    assert rows == {"GPU:0/stream:18": [("cudnn_gcgemm", 24, 40)]}


def test_as_a_timeline(path):
    timeline = tf.timeline(path)
    assert timeline.text == "4 ops on 2 devices in 71 µs; 2 copies, 3.0 KiB"
    found = [(copy.tensor, copy.source[-5:], copy.target[-5:], copy.nbytes) for copy in timeline.copies]
    assert found == [("x", "CPU:0", "GPU:0", 3072), ("copy", "GPU:0", "CPU:0", 4)]
    names = [timeline.names[event] for event in timeline.path]
    assert names == ["x", "x/_0", "x/_0", "dense/MatMul", "dense/Relu"]
    assert [lane.label for lane in timeline.lanes if lane.kind == "stream"] == [
        "GPU:0 stream 13",
        "GPU:0 stream 18",
    ]


def test_a_node_that_runs_twice_has_the_kernels_of_each_time(tmp_path):
    again = space()
    line = again.planes[1].lines[0]
    line.events.add().CopyFrom(line.events[2])
    line.events[-1].offset_ps += 500 * 10**6
    (tmp_path / "a.xplane.pb").write_bytes(again.SerializeToString())
    timeline = tf.timeline(tmp_path / "a.xplane.pb")
    chosen = [
        timeline.weight_us[event]
        for event, name in enumerate(timeline.names)
        if name == "dense/MatMul" and timeline.lanes[timeline.lane[event]].kind == "device"
    ]
    assert chosen == [75, 30]


def test_a_log_folder_is_its_newest_profile(tmp_path):
    with pytest.raises(NotFoundError, match="contains no profile"):
        load_run_metadata(tmp_path)
    for run in ("2024_01_02_03_04_05", "2023_12_31_00_00_00"):
        (tmp_path / "train" / "plugins" / "profile" / run).mkdir(parents=True)
    runs = sorted((tmp_path / "train" / "plugins" / "profile").iterdir())
    (runs[0] / "host.xplane.pb").write_bytes(b"damaged")
    (runs[1] / "host.xplane.pb").write_bytes(space().SerializeToString())
    assert len(tf.timeline(tmp_path).copies) == 2
    (runs[1] / "other.xplane.pb").write_bytes(b"")
    with pytest.raises(InvalidArgumentError, match="2 hosts.*\n*.*host.xplane.pb, other.xplane.pb"):
        load_run_metadata(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "error", "message"),
    [
        ("a.xplane.pb", b"\xff\xfe nothing", DataLossError, "as a profile"),
        ("a.xplane.pb", b"", InvalidArgumentError, "contains no TensorFlow op"),
        ("a.trace.json", json.dumps([HOST_PROCESS, {"ph": "X", "pid": 1}]), DataLossError, "event 1 of"),
        ("a.trace.json.gz", gzip.compress(b"{"), DataLossError, "as the Chrome trace"),
        (
            "a.trace.json",
            json.dumps([HOST_PROCESS | {"pid": [1]}]),
            InvalidArgumentError,
            "nothing was measured",
        ),
    ],
)
def test_what_is_none(tmp_path, name, data, error, message):
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(error, match=message):
        load_run_metadata(tmp_path / name)


def test_it_is_no_graph(path):
    with pytest.raises(DataLossError, match=r"a TensorFlow profile.*\n.*gpuplace timeline"):
        tf.place(path)
