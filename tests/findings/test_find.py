"""Findings of the programs in `programs.py`: the known mistake comes first, and sound programs have none."""

from functools import cache

import pytest

import gpuplace as tf
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.findings import find
from gpuplace.findings.find import findings, placement_findings
from gpuplace.findings.finding import DOES_NOT_FIT, GRADIENTS, HOST_DATA, IDLE, KINDS, SMALL, Findings
from gpuplace.findings.trials import MOST, Trials
from tests.findings.layers import class_loss, dense, small_vgg
from tests.findings.programs import MISTAKES, PROGRAMS, SOUND, Program


@cache
def estimated(program: Program) -> StepEstimate:
    return program.estimate()


@cache
def found(program: Program) -> Findings:
    return findings(estimated(program))


def table() -> str:
    """A line a program: its mistake, and the findings with the part of the step that each saves."""
    lines = []
    for program in PROGRAMS:
        rows = found(program)
        shown = [
            f"{one.kind} {'?' if one.gain is None else f'{one.gain / rows.step_time:.0%}'}" for one in rows
        ]
        lines.append(f"{program.name:40} {program.mistake or 'sound':22} {'; '.join(shown) or '-'}")
    return "\n".join(lines)


def test_the_known_mistake_comes_first():
    print(table())
    first = [
        program.name for program in MISTAKES if found(program) and found(program)[0].kind == program.mistake
    ]
    assert len(MISTAKES) == 20
    assert len(first) >= 19, table()


def test_sound_programs_have_no_finding():
    false = {program.name: list(found(program)) for program in SOUND if found(program)}
    assert len(SOUND) == 10
    assert sum(map(len, false.values())) <= 1, false


def test_every_kind_has_two_programs():
    kinds = [program.mistake for program in MISTAKES]
    assert {kind: kinds.count(kind) >= 2 for kind in KINDS} == dict.fromkeys(KINDS, True)


@pytest.mark.parametrize("program", MISTAKES, ids=lambda program: program.name)
def test_a_finding_is_whole(program):
    rows, step = found(program), estimated(program)
    gains = [one.gain for one in rows if one.gain is not None]
    assert gains == sorted(gains, reverse=True)
    assert len(rows) <= find.MOST
    for one in rows:
        assert one.kind in KINDS
        assert one.headline[0].isupper()
        assert not one.headline.endswith(".")
        assert one.cause.endswith(".")
        assert one.fix.endswith(".")
        assert set(one.devices) <= set(step.machinery.labels)
        assert set(one.nodes) <= set(step.placement.graph.names)
        assert {label for _, label in one.moved} <= set(step.machinery.labels)
        if one.gain is not None:
            assert find.LEAST_PART * step.step_time <= one.gain < step.step_time
        assert (one.short > 0) == (one.kind == DOES_NOT_FIT)


def program_of(name: str) -> Program:
    return next(program for program in PROGRAMS if program.name == name)


def test_the_gain_is_what_the_program_saves_when_it_is_changed_so():
    wrong = found(program_of("bert_over_two_gpus"))[0]
    right = estimated(program_of("bert_with_its_gradients"))
    assert wrong.gain == pytest.approx(
        estimated(program_of("bert_over_two_gpus")).step_time - right.step_time, rel=0.05
    )


def test_a_loss_outside_of_all_blocks_goes_with_the_last_layer():
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [8192, 1024], "rows")
        for layer in range(8):
            with tf.device(f"/gpu:{layer // 4}"):
                rows = dense(rows, 1024, f"dense_{layer}")
        loss = tf.reduce_mean(tf.square(rows), name="loss")
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        one = findings(tf.estimate(graph, train, machine="2x V100"))[0]
    assert one.kind == GRADIENTS
    assert one.fix.endswith("on the device of its op, and compute Square in the block of the last layer.")
    assert ("gradients/Square_grad/Mul_1", "GPU:1") in one.moved


def test_gradients_and_layers_on_the_same_devices():
    steps = []
    with tf.Graph().as_default() as graph:
        for gpu in range(2):
            with tf.device(f"/gpu:{gpu}"), tf.variable_scope(f"model_{gpu}"):
                rows = tf.placeholder(tf.float32, [8192, 1024], "rows")
                for layer in range(4):
                    rows = dense(rows, 1024, f"dense_{layer}")
                loss = tf.reduce_mean(tf.square(rows), name="loss")
            with tf.device(f"/gpu:{1 - gpu}"):
                steps.append(tf.train.GradientDescentOptimizer(0.1).minimize(loss))
        one = findings(tf.estimate(graph, steps, machine="2x V100"))[0]
    assert one.headline == "Gradients on GPU:0 and GPU:1 run on a different device from their layer"
    assert "run on GPU:0 and GPU:1, each on a different device from its layer. Each step copies" in one.cause


def test_moved_nodes_are_where_the_change_puts_them():
    one = found(program_of("bert_over_two_gpus"))[0]
    right = estimated(program_of("bert_with_its_gradients"))
    labels = right.placement.device_labels
    graph, devices = right.placement.graph, right.placement.devices
    there = {graph.names[node]: labels[device] for node, device in enumerate(devices.tolist())}
    matmuls = {name: label for name, label in one.moved if name.endswith(("MatMul", "MatMul_1"))}
    assert len(matmuls) > 20
    assert {name: there[name] for name in matmuls} == matmuls


def test_data_through_the_cpu_names_types_with_kernels():
    one = found(program_of("buckets_of_integers"))[0]
    assert one.kind == HOST_DATA
    assert "FloorMod" in one.headline
    assert "int32 works in host memory" in one.cause
    assert one.fix == (
        "Compute in tf.float32 or tf.int64 instead of tf.int32: GPUs have kernels for that in their own memory, except "
        "for FloorMod, which needs another op."
    )


def test_data_through_the_cpu_names_ops_without_any_kernel():
    rows = found(program_of("words_in_the_middle"))
    assert "StringToHashBucketFast has no GPU kernel" in rows[0].cause
    assert "Handle strings in the input pipeline" in rows[0].fix


def test_a_batch_that_fits_is_named():
    one = found(program_of("batch_too_large"))[0]
    batch = int(one.code.removeprefix("batch_size = "))
    step = estimated(program_of("batch_too_large"))
    largest = step.largest_batch(1024)
    assert one.short > 1 << 30
    assert 0.85 * largest <= batch <= largest


def test_an_idle_gpu_has_a_gain_where_the_batch_can_be_split():
    one = found(program_of("one_gpu_of_two"))[0]
    half = estimated(program_of("one_gpu_of_two"))
    assert 0.2 < one.gain / half.step_time < 0.5
    assert "32 in each of 2 towers" in one.cause


def test_no_more_than_eight_changes_are_tried(monkeypatch):
    tried = []
    monkeypatch.setattr(Trials, "_may_try", lambda self: tried.append(self) or True)
    for program in PROGRAMS:
        tried.clear()
        findings(estimated(program))
        assert len(tried) <= MOST, program.name


def test_a_large_step_is_skipped_with_a_reason(monkeypatch):
    monkeypatch.setattr(find, "MOST_NODES", 10)
    rows = findings(estimated(program_of("vgg_on_one_gpu")))
    assert list(rows) == []
    count = len(estimated(program_of("vgg_on_one_gpu")).part.graph)
    assert rows.skipped == f"Findings cover steps of up to 10 nodes; this step has {count}."
    placement = estimated(program_of("vgg_on_one_gpu")).placement
    assert placement_findings(placement).skipped.startswith("Findings cover graphs of up to 10 nodes")


def test_a_machine_without_a_gpu_has_no_findings():
    step = estimated(program_of("vgg_on_one_gpu")).what_if(machine="cpu")
    assert findings(step).skipped == "The machine has no GPU."


def test_a_graph_that_cannot_be_placed_has_no_findings():
    with tf.Graph().as_default() as graph, tf.device("/gpu:7"):
        tf.constant(1.0)
    assert (
        placement_findings(tf.place(graph, "1x V100", on_error="keep")).skipped
        == "The graph cannot be placed."
    )


def open_batch(units: int) -> tf.Graph:
    with tf.Graph().as_default() as graph:
        rows, labels = tf.placeholder(tf.float32, [None, units]), tf.placeholder(tf.int32, [None])
        hidden = rows
        for layer in range(8):
            hidden = dense(hidden, units, f"dense_{layer}")
        loss = class_loss(dense(hidden, 10, "logits", None), labels)
        tf.train.AdamOptimizer().minimize(loss)
    return graph


def test_small_kernels_need_a_batch_that_somebody_stated():
    graph = open_batch(64)
    assert [one.kind for one in tf.estimate(graph, batch=8, machine="1x V100").findings] == [SMALL]
    rows = tf.estimate(graph, machine="1x V100").findings
    assert list(rows) == []
    assert rows.notes[0].startswith("The batch size is unknown: 1 example is assumed")


def test_a_placement_is_judged_by_a_usual_batch():
    rows = placement_findings(tf.place(open_batch(64), "1x V100"))
    assert rows.notes == ("The graph does not fix the batch size: 32 examples are assumed.",)
    assert [one.kind for one in rows] == [SMALL]
    assert placement_findings(tf.place(open_batch(64), "1x V100"), batch=8).notes == ()


def test_small_kernels_need_known_lengths():
    with tf.Graph().as_default() as graph:
        ids, mask = (tf.placeholder(tf.int32, [None, None], name=name) for name in ("ids", "mask"))
        rows = tf.nn.embedding_lookup(tf.get_variable("table", [100, 64]), ids * mask)
        for number in range(40):
            rows = tf.tanh(rows, name=f"layer_{number}")
        tf.identity(rows, name="result")
    rows = tf.estimate(graph, batch=8, machine="1x V100").findings
    assert SMALL not in [row.kind for row in rows]
    (note,) = rows.notes
    assert note.startswith("ids (8, ?) and 1 more input have unknown sizes besides the batch")
    rows = tf.estimate(graph, feeds={"ids": (8, 5), "mask": (8, 5)}, machine="1x V100").findings
    assert [row.kind for row in rows] == [SMALL] and rows.notes == ()
    batch, length = placement_findings(tf.place(graph, "1x V100")).notes
    assert batch.endswith("32 examples are assumed.") and length.startswith("ids (32, ?)")


def test_what_never_runs_on_a_gpu_is_harmless():
    rows = found(program_of("images_from_a_queue"))
    assert rows.harmless == (
        ("string constants", 11),
        ("string ops", 3),
        ("summaries", 3),
        ("input queues", 2),
        ("readers", 2),
        ("savers", 2),
    )
    assert (
        found(program_of("everything_on_the_cpu")).harmless == ()
    )  # initialisers and variables could be on a GPU


def test_towers_of_an_inference_build_no_losses():
    images = tf.placeholder(tf.float32, [None, 224, 224, 3])
    with images.graph.as_default():
        rows = images
        for number in range(4):
            rows = tf.layers.conv2d(rows, 64, 3, name=f"conv_{number}")
        one = findings(tf.estimate(images.graph, rows, {images: (32, 224, 224, 3)}, "2x V100"))[0]
    assert one.kind == IDLE
    assert one.code == (
        "for number, part in enumerate(tf.split(batch, 2)):\n"
        "    with tf.device('/gpu:%d' % number):\n"
        "        results.append(model(part))  # the same variables in each tower"
    )
    assert "average" not in one.fix


def test_causes_that_differ_by_gpu_are_one_finding():
    kinds = [one.kind for one in found(program_of("averages_of_four_towers_on_the_cpu"))]
    assert len(kinds) == len(set(kinds))


def test_gradients_apart_on_four_gpus_are_one_finding():
    with tf.Graph().as_default() as graph:
        rows, labels = tf.placeholder(tf.float32, [8192, 1024]), tf.placeholder(tf.int32, [8192])
        hidden = rows
        for layer in range(8):
            with tf.device(f"/gpu:{layer // 2}"):
                hidden = dense(hidden, 1024, f"dense_{layer}")
        with tf.device("/gpu:3"):
            loss = class_loss(dense(hidden, 10, "logits", None), labels)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        rows = findings(tf.estimate(graph, train, machine="4x V100"))
    assert [one.kind for one in rows].count(GRADIENTS) == 1
    assert rows[0].headline == "Gradients of layers on GPU:1, GPU:2 and GPU:3 run on GPU:0"


def test_several_sessions_of_a_cluster_leave_no_gpu_idle():
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps"):
            weights = tf.get_variable("weights", [2048, 2048])
        with tf.device("/job:worker/task:0/gpu:0"):
            product = tf.matmul(tf.random_normal([4096, 2048]), weights)
        machine = "worker: 1x V100; worker: 1x V100; ps: cpu; network 100GbE"
        rows = findings(tf.estimate(graph, product, machine=machine))
    assert IDLE not in [one.kind for one in rows]


def test_findings_are_records():
    rows = found(program_of("one_gpu_of_two"))
    assert repr(rows) == "<1 finding, first idle GPU: GPU:1 is idle>"
    assert repr(rows[0]) == "<Finding: idle GPU: GPU:1 is idle>"


def test_gradients_apart_leave_no_gpu_idle_beside_it():
    """Both towers' gradients on one GPU are one finding: each tower has a GPU of its own."""
    with tf.Graph().as_default() as graph:
        losses = []
        for number in range(2):
            with tf.device(f"/gpu:{number}"), tf.variable_scope("net", reuse=number > 0):
                images = tf.placeholder(tf.float32, [32, 64, 64, 3], f"images_{number}")
                labels = tf.placeholder(tf.int32, [32], f"labels_{number}")
                losses.append(class_loss(small_vgg(images), labels))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.add_n(losses))
        rows = findings(tf.estimate(graph, train, machine="2x V100"))
    assert [one.kind for one in rows][:1] == [GRADIENTS]
    assert IDLE not in [one.kind for one in rows]
    more = findings(tf.estimate(graph, train, machine="4x V100"))
    assert [one.headline for one in more if one.kind == IDLE] == ["GPU:2 and GPU:3 are idle"]
    (idle,) = (one for one in more if one.kind == IDLE)
    assert (
        idle.fix
        == "Build 4 towers, each on its own GPU with a part of the batch, and average their gradients."
    )
    assert idle.code.startswith("for number in range(4):\n    with tf.device('/gpu:%d' % number)")


def dense_layers_on(gpus, towers=1):
    """A graph of dense layers, in equal parts on the GPUs of each tower."""
    with tf.Graph().as_default() as graph:
        losses = []
        for tower in range(towers):
            rows, labels = tf.placeholder(tf.float32, [8192, 1024]), tf.placeholder(tf.int32, [8192])
            with tf.variable_scope("", reuse=tower > 0), tf.name_scope(f"tower_{tower}"):
                for layer in range(6):
                    with tf.device(f"/gpu:{gpus * tower + layer * gpus // 6}"):
                        rows = dense(rows, 1024, f"dense_{layer}")
                with tf.device(f"/gpu:{gpus * (tower + 1) - 1}"):
                    losses.append(class_loss(dense(rows, 10, "logits", None), labels))
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        train = optimizer.minimize(tf.add_n(losses), colocate_gradients_with_ops=True)
    return graph, train


@pytest.mark.parametrize(
    ("gpus", "towers", "machine", "fix"),
    [
        (2, 1, "4x V100", "Build 2 towers, each on 2 GPUs"),
        (2, 2, "6x V100", "Build 3 towers, each on 2 GPUs"),
        (3, 1, "4x V100", "Build 4 towers, each on its own GPU"),
    ],
)
def test_towers_use_as_many_gpus_as_the_model(gpus, towers, machine, fix):
    graph, train = dense_layers_on(gpus, towers)
    (idle,) = (one for one in findings(tf.estimate(graph, train, machine=machine)) if one.kind == IDLE)
    assert idle.fix.startswith(fix)
    assert ("2 * number + part" in idle.code) == (gpus == 2)
    compile(idle.code, "fix", "exec")
