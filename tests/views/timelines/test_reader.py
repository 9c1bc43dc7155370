"""Timelines read from TensorFlow's steps and ours: lanes, copies, gaps and the critical path."""

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graphdef.messages import RunMetadata
from gpuplace.views.picture.marks import critical_path
from gpuplace.views.timelines.reader import step_timeline
from tests.views.timelines.steps import crowded_step, entry, step_of, tower_step

DATA = Path(__file__).resolve().parents[2] / "data"


def recorded(rules, name):
    runs = json.loads((DATA / f"run_metadata_{rules.replace('.', '_')}.json").read_text())["runs"]
    return RunMetadata.FromString(zlib.decompress(base64.b64decode(runs[name])))


def copies(timeline):
    return {(copy.tensor, copy.source[-5:], copy.target[-5:], copy.nbytes) for copy in timeline.copies}


@pytest.mark.parametrize("level", [1, 3])
@pytest.mark.parametrize("rules", ["1.15", "2.21"])
def test_steps_of_tensorflow(rules, level):
    """It leaves out sends and receives: the labels tell of them."""
    timeline = step_timeline(recorded(rules, f"level {level}"))
    assert {lane.device[-5:] for lane in timeline.lanes} == {"CPU:0", "CPU:1"}
    assert copies(timeline) == {
        ("product", "CPU:0", "CPU:1", 64),
        ("total", "CPU:1", "CPU:0", 64),
        ("parts:1", "CPU:1", "CPU:0", 32),
    }
    assert all(copy.end_us >= copy.start_us for copy in timeline.copies)
    assert bool(timeline.thread.any()) == (rules == "1.15" and level == 3)
    names = [timeline.names[event] for event in timeline.path]
    assert names[:3] == ["_arg_x_0_0", "product", "total"]


def test_without_partition_graphs_the_output_that_was_copied_is_not_known():
    found = copies(step_timeline(recorded("2.21", "level 3").step_stats))
    assert ("parts", "CPU:1", "CPU:0", None) in found and ("product", "CPU:0", "CPU:1", 64) in found


def test_lanes_hold_no_two_events_at_once():
    for timeline in (step_timeline(recorded("1.15", "level 3")), step_timeline(recorded("2.21", "level 2"))):
        for lane in range(len(timeline.lanes)):
            here = timeline.lane == lane
            assert (timeline.start_us[here][1:] >= timeline.end_us[here][:-1]).all()


@pytest.fixture
def towers():
    tf.use_machine("2x Tesla K40c")
    return tower_step()


def test_a_session_s_step(towers):
    assert [lane.label for lane in towers.lanes] == ["CPU:0", "GPU:0", "GPU:1"]
    size = 64 * 64 * 4
    assert copies(towers) == {
        ("shared", "CPU:0", "GPU:0", size),
        ("x", "CPU:0", "GPU:0", size),
        ("shared", "CPU:0", "GPU:1", size),
        ("x", "CPU:0", "GPU:1", size),
        ("tower_0/out", "GPU:0", "CPU:0", size),
        ("tower_1/out", "GPU:1", "CPU:0", size),
    }
    assert towers.text.startswith("8 ops on 3 devices in ") and towers.text.endswith("; 6 copies, 96.0 KiB")
    for copy in towers.copies:
        assert towers.ops[copy.sent] == "_Send" and towers.ops[copy.received] == "_Recv"
    assert (np.diff(towers.start_us) >= 0).all()
    assert (towers.src < towers.dst).all()


def test_the_critical_path_is_the_one_of_pictures():
    """The longest chain by measured time, copies included, whether read from the graph or from the labels."""
    tf.use_machine("2x Tesla K40c")
    metadata = tf.RunMetadata()
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        a = tf.random_uniform([300, 300], name="a")
        b = tf.matmul(a, a, name="b")
        c = tf.matmul(b, b, name="c")
        with tf.device("/gpu:1"):
            d = tf.negative(a, name="d")
        e = tf.add(c, d, name="e")
        with tf.Session() as session:
            session.run(e, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
            placement = session.placement
    timeline = step_timeline(metadata, placement)
    names = [timeline.names[event] for event in timeline.path]
    assert {"a/RandomUniform", "b", "c", "e"} <= set(names) and "d" not in names
    path = critical_path(placement, "time", metadata)
    graph_names = [placement.graph.names[node] for node in path.nodes]
    ran = [name for name in names if name in placement.graph.index]
    assert ran == [name for name in graph_names if name in ran]
    assert {"a/RandomUniform", "b", "c", "e"} <= set(graph_names)
    last = names.index("e")  # behind it the result is copied to the client, which no graph shows
    assert path.total == pytest.approx(timeline.path_weights[list(timeline.path[: last + 1])].sum(), rel=1e-6)


def test_use_and_gaps():
    step = step_of(
        CPU_0=[
            entry("_SOURCE", "_SOURCE = NoOp()", 100, 1),
            entry("a", "a = Const()", 110, 10, [400]),
            entry("late", "late = Add(b/_3, a)", 170, 10, [4]),
        ],
        GPU_0=[entry("b", "b = MatMul(a/_1)", 130, 30, [4]), entry("again", "again = Neg(b)", 150, 20)],
    )
    timeline = step_timeline(step)
    assert [lane.label for lane in timeline.lanes] == ["CPU:0", "GPU:0", "GPU:0 (2)"]
    assert timeline.begin_us == 110 and timeline.total_us == 70
    cpu, gpu = timeline.uses
    assert (cpu.busy_us, cpu.copies_in, cpu.bytes_in, cpu.longest_gap_us) == (20, 1, 4, 50)
    assert (gpu.busy_us, gpu.share, gpu.bytes_in) == (40, 40 / 70, 400)
    longest = timeline.gaps[0]
    assert (longest.start_us, longest.end_us, longest.node) == (10, 60, "late")
    assert longest.waits_for == "4 B copy of b from GPU:0"
    # `again` was queued while `b` ran: only the 10 µs after `b` are its own, as many as those of `late`.
    assert [timeline.names[event] for event in timeline.path] == ["a", "b", "late"]
    assert timeline.path_text == "critical path: 3 ops, 50 µs, 71% of the step"


def test_streams_of_a_gpu_have_lanes_where_they_say_more():
    def kernels(*times):
        return [entry(name, "", start, lasted) for name, start, lasted in times]

    step = step_of(GPU_0=[entry("b", "b = MatMul()", 100, 5, [4]), entry("c", "c = Neg(b)", 106, 5)])
    step.dev_stats += step_of().dev_stats
    for name, nodes in (
        ("stream:all", kernels(("b:MatMul", 108, 40), ("c:Neg", 150, 10))),
        ("stream:7", kernels(("b:MatMul", 108, 40), ("c:Neg", 150, 10), ("edge_1_x:MEMCPYHtoD", 104, 3))),
        ("memcpy", [entry("edge_1_x:MEMCPYHtoD", "MEMCPYHtoD 64 bytes (Pageable to Device)", 104, 3)]),
    ):
        made = step_of(GPU_0=nodes).dev_stats[0]
        made.device = f"/device:GPU:0/{name}"
        step.dev_stats.append(made)
    timeline = step_timeline(step)
    assert [lane.label for lane in timeline.lanes] == ["GPU:0", "GPU:0 stream 7", "GPU:0 copies"]
    (gpu,) = timeline.uses
    assert gpu.busy_us == 50
    assert timeline.chain[1] == 50
    (copied,) = np.flatnonzero(timeline.is_transfer).tolist()
    assert timeline.nbytes[copied] == 64


def test_streams_of_a_simulated_gpu_say_nothing_new(towers):
    assert not any(lane.kind == "stream" for lane in towers.lanes)


def test_threads_keep_their_lanes():
    step = step_of(
        CPU_0=[
            entry("a", "a = Add()", 100, 10),
            entry("b", "b = Add()", 101, 10),
            entry("c", "c = Add(a)", 120, 10),
            entry("d", "d = Add(b)", 121, 10),
        ]
    )
    host = step_of(CPU_0=[]).dev_stats[0]
    host.device = "/host:CPU"
    label = f"id=1,device={step.dev_stats[0].device},async=false"
    host.node_stats = [
        entry(f"{name}:Add", label, start, 9, thread=thread)
        for name, start, thread in (("a", 100, 11), ("b", 101, 12), ("c", 120, 12), ("d", 121, 11))
    ]
    step.dev_stats.append(host)
    timeline = step_timeline(step)
    assert dict(zip(timeline.names, timeline.thread.tolist(), strict=True)) == {
        "a": 11,
        "b": 12,
        "c": 12,
        "d": 11,
    }
    assert dict(zip(timeline.names, timeline.lane.tolist(), strict=True)) == {"a": 0, "b": 1, "c": 1, "d": 0}


def test_a_node_of_a_loop_follows_its_last_run():
    step = step_of(
        CPU_0=[
            entry("m", "m = Merge(e, n)", 100, 5),
            entry("n", "n = NextIteration(m)", 106, 5),
            entry("m", "m = Merge(e, n)", 112, 5),
            entry("n", "n = NextIteration(m)", 118, 5),
            entry("m", "m = Merge(e, n)", 124, 5),
        ]
    )
    timeline = step_timeline(step)
    edges = sorted(zip(timeline.src.tolist(), timeline.dst.tolist(), strict=True))
    assert edges == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert timeline.chain == ((0, 1, 2, 3, 4), 25)


def test_what_is_queued_before_its_inputs_run_follows_them():
    """The ops that only wait on a GPU, such as `group_deps` of gradients, start before the kernels of their inputs."""
    step = step_of(
        GPU_0=[
            entry("a", "a = MatMul()", 100, 50),
            entry("deps", "deps = NoOp(^b)", 101, 1),
            entry("same", "same = Identity(b, ^deps)", 102, 1),
            entry("b", "b = MatMul(a)", 150, 50),
            entry("c", "c = MatMul(same)", 200, 50),
        ]
    )
    timeline = step_timeline(step)
    assert [timeline.names[event] for event in timeline.path] == ["a", "b", "deps", "same", "c"]
    assert timeline.chain[1] == timeline.total_us == 150


@pytest.mark.parametrize(
    ("sent_us", "received", "begin_us", "total_us"),
    [(0, (100, 100), 200, 110), (30, (190, 30), 220, 130)],
    ids=[
        "a receive that waits counts from the arrival",
        "a copy with the times of its send and receive counts",
    ],
)
def test_copies_of_the_critical_path(sent_us, received, begin_us, total_us):
    """In a predicted step, the send and the receive both take as long as the copy."""
    step = step_of(
        CPU_0=[
            entry("a", "a = MatMul()", 100, 90),
            entry(
                "a/_0", "a/_0 = _Send(edge_1_a @/job:localhost/replica:0/task:0/device:GPU:0)", 190, sent_us
            ),
        ],
        GPU_0=[
            entry(
                "a/_1", "a/_1 = _Recv(edge_1_a @/job:localhost/replica:0/task:0/device:CPU:0)", *received, [4]
            ),
            entry("b", "b = Neg(a/_1)", begin_us, 10),
        ],
    )
    timeline = step_timeline(step)
    assert timeline.chain[1] == timeline.total_us == total_us


def test_events_that_wait_for_each_other_are_on_no_path():
    step = step_of(
        CPU_0=[
            entry("a", "a = Neg(b)", 100, 5),
            entry("b", "b = Neg(a)", 106, 5),
            entry("c", "c = Const()", 112, 2),
        ]
    )
    timeline = step_timeline(step)
    assert [timeline.names[event] for event in timeline.path] == ["c"]


def test_nothing_measured():
    with pytest.raises(ValueError, match="trace_level"):
        tf.timeline(tf.RunMetadata())
    with pytest.raises(TypeError, match="RunMetadata or a StepStats, not int"):
        tf.timeline(3)


def test_many_events_take_time_in_proportion():
    count = 20_000
    nodes = [entry(f"op_{i}", f"op_{i} = Add(op_{i - 1})", 1000 + 3 * i, 2, [4]) for i in range(count)]
    timeline = step_timeline(step_of(CPU_0=nodes))
    assert len(timeline.path) == count and timeline.chain[1] == 2 * count


def test_hostile_steps():
    """Times and sizes at the ends of their types, and tens of thousands of events at once."""
    most = (1 << 63) - 1
    nodes = [
        entry("a", "a = Const()", -(1 << 63), -5, [most, most]),
        entry("b", "b = Neg(a/_1, ^b, , x:y)", most, most, [-1]),
        entry("", "", 0, 0),
        entry("c", " = (", 5, 1 << 40),
    ]
    timeline = step_timeline(step_of(CPU_0=nodes, GPU_0=[entry("b", "b = Neg(a/_1:z)", 7, 3)]))
    assert len(timeline) == 5 and (timeline.end_us >= timeline.start_us).all()
    assert timeline.text and str(timeline) and timeline.svg()
    crowd = crowded_step(20_000)
    assert len(crowd.lanes) == 64 and len(crowd) == 20_000


def test_a_tensor_that_another_task_sent():
    """TensorFlow's servers list no sends and receives, but a ``RecvTensor`` for what came."""
    ps, worker = (f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("ps", "worker"))
    step = RunMetadata().step_stats

    def add(device, name, label, start, lasted, nbytes=None):
        stats = step.dev_stats.add(device=device).node_stats.add(
            node_name=name, timeline_label=label, all_start_micros=start, all_end_rel_micros=lasted
        )
        if nbytes is not None:
            memory = stats.output.add().tensor_description.allocation_description
            memory.requested_bytes = nbytes

    add(worker, "RecvTensor", f"[64B] [4.6Mb/s] edge_6_w/read from {ps} to {worker}", 109, 100, 64)
    add(worker, "RecvTensor", f"[0B] [0.0Mb/s] edge_8_w/read from {ps} to {worker}", 110, 120, 0)
    add(ps, "w/read", "w/read = Identity(w)", 100, 5, 64)
    add(worker, "y", "y = Neg(w/read_S1)", 215, 20, 64)
    add(worker, "w/read_S7", "w/read_S7 = Identity(w/read_S6)", 236, 1, 0)
    timeline = step_timeline(step)
    assert [(lane.label, lane.kind) for lane in timeline.lanes] == [
        ("ps/0 CPU:0", "device"),
        ("worker/0 CPU:0", "device"),
        ("worker/0 CPU:0 copies", "copies"),
        ("worker/0 CPU:0 copies (2)", "copies"),
    ]
    assert [tuple(copy)[:6] for copy in timeline.copies] == [
        ("w/read", ps, worker, 9.0, 109.0, 64),
        ("^w/read", ps, worker, 10.0, 130.0, 0),
    ]
    assert [timeline.names[event] for event in timeline.path] == ["w/read", "w/read", "y"]
    assert timeline.ops[timeline.path[1]] == "RecvTensor"
