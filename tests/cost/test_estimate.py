"""`gpuplace.estimate`: time, copies, tables, texts, what-if, comparison, the command line, and bad input."""

import json

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.cli.main import main
from gpuplace.cost.grid import cost_grid
from gpuplace.cost.step_tables import TABLES

CPU, GPU_0, GPU_1 = (f"/job:localhost/replica:0/task:0/device:{name}" for name in ("CPU:0", "GPU:0", "GPU:1"))


def training_graph():
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [None, 784], name="rows")
        labels = tf.placeholder(tf.int32, [None], name="labels")
        top = tf.layers.dense(rows, 512, tf.nn.relu, name="hidden")
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=tf.layers.dense(top, 10)
        )
        loss = tf.reduce_mean(losses, name="loss")
        tf.train.AdamOptimizer().minimize(loss, name="train")
    return graph


FEEDS = {"rows": (64, 784), "labels": (64,)}


@pytest.fixture(scope="module")
def step():
    return tf.estimate(training_graph(), feeds=FEEDS, machine="2x V100")


def test_the_step_is_what_trains_where_nothing_is_fetched(step):
    assert step.subject.text("1.15").startswith("Training step 'train', 81 of 142 nodes")
    assert {row.name for row in step.rows() if row.op == "ApplyAdam"} >= {
        "train/update_hidden/kernel/ApplyAdam"
    }
    assert not [row for row in step.rows() if row.name.startswith("init")]


def test_a_graph_def_without_collections_trains_too():
    graph = training_graph()
    with graph.as_default():
        tf.global_variables_initializer()
        tf.train.Saver()
    step = tf.estimate(graph.as_graph_def(), feeds=FEEDS, machine="2x V100")
    assert step.subject.what == "Training step 'train'"
    assert step.subject.outside["saver"] >= 10 and step.subject.outside["initializers"] > 4
    assert step.step_time > 0 and step.peak_memory[GPU_0] > 4 * 784 * 512


def test_tables_have_their_columns_and_agree(step):
    frames = {table: step.frame(table) for table in TABLES}
    nodes = frames["nodes"]
    assert list(nodes.columns[:8]) == ["name", "op", "device", "start", "time", "flops", "bytes", "model"]
    product = nodes[nodes["name"] == "hidden/MatMul"].iloc[0]
    assert (
        product["flops"] == 2 * 64 * 784 * 512
        and product["device"] == GPU_0
        and product["model"] == "product"
    )
    assert frames["devices"].set_index("device")["busy"][GPU_0] == pytest.approx(step.busy[GPU_0])
    assert frames["devices"]["busy"].max() <= step.step_time
    assert (nodes["end"] <= step.step_time + 1e-12).all() and (nodes["start"] >= 0).all()
    assert frames["copies"]["bytes"].max() == 64 * 784 * 4
    assert frames["ops"]["share"].sum() == pytest.approx(1.0)
    assert dict(zip(frames["memory"]["device"], frames["memory"]["peak"], strict=True)) == step.peak_memory
    with pytest.raises(ValueError, match="An estimate has no table 'edges'"):
        step.frame("edges")


def test_the_answer_is_the_same_every_time(step):
    again = tf.estimate(training_graph(), feeds=FEEDS, machine="2x V100")
    assert again.step_time == step.step_time and again.copies == step.copies


def test_what_if_is_what_a_new_estimate_says(step):
    other = step.what_if(machine="4x Tesla K80")
    assert other.step_time == tf.estimate(training_graph(), feeds=FEEDS, machine="4x Tesla K80").step_time
    assert other.step_time > step.step_time
    assert step.what_if(machine="cpu").busy.keys() == {CPU}


def test_the_timeline_is_that_of_measured_steps(step):
    timeline = step.timeline()
    assert timeline.total_us == pytest.approx(step.step_time * 1e6, rel=1e-3)
    assert "hidden/MatMul" in timeline.names and {copy.tensor for copy in timeline.copies} == {
        "rows",
        "labels",
    }
    assert "critical path" in str(timeline)
    bundle = step._repr_mimebundle_()
    assert "The step takes" in bundle["text/plain"] and "<table" in bundle["text/html"]


def test_a_measured_step_stands_beside():
    graph = training_graph()
    tf.use_machine("cpu")
    with graph.as_default(), tf.Session() as session:
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        feeds = {"rows:0": np.zeros((64, 784)), "labels:0": np.zeros(64)}
        session.run("train", feeds, options, metadata)
        step = tf.estimate(graph, "train", feeds, machine="cpu")
    compared = step.compare(metadata)
    assert {row.op for row in compared.ops} >= {"MatMul", "ApplyAdam"} and compared.measured > 0
    frame = compared.frame("nodes").set_index("node")
    assert frame.loc["hidden/MatMul", "predicted"] > 0 < frame.loc["hidden/MatMul", "measured"]
    assert "predicted" in str(compared) and list(compared.frame().columns)[-1] == "off"
    again = step.compare(step.run_metadata())
    assert all(row.off < 0.01 for row in again.ops)  # a kernel that waits for cores is measured with its wait
    with pytest.raises(ValueError, match="contain none of this step's nodes"):
        step.compare(tf.RunMetadata())
    with pytest.raises(TypeError, match="RunMetadata or a StepStats"):
        step.compare("metadata")


def towers(count, variables):
    with tf.Graph().as_default() as graph:
        gradients = []
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        for tower in range(count):
            with tf.device(f"/gpu:{tower}"), tf.variable_scope("", reuse=tower > 0):
                rows = tf.random_uniform([256, 2048])
                with tf.device(variables):
                    weights = tf.get_variable("weights", [2048, 2048])
                gradients.append(optimizer.compute_gradients(tf.reduce_sum(tf.matmul(rows, weights) ** 2)))
        with tf.device("/cpu:0"):
            pairs = [(tf.add_n([grad for grad, _ in of]), of[0][1]) for of in zip(*gradients, strict=True)]
            train = optimizer.apply_gradients(pairs, name="train")
    return graph, train


def test_towers_send_each_tensor_once_and_share_links():
    graph, train = towers(2, "/cpu:0")
    step = tf.estimate(graph, train, machine="2x Tesla K80")
    to_gpus = [copy for copy in step.copies if copy.source == CPU and copy.way == "PCIe"]
    assert sorted(copy.target for copy in to_gpus) == [GPU_0, GPU_1]
    assert {copy.bytes for copy in to_gpus} == {2048 * 2048 * 4}
    first, second = sorted(to_gpus, key=lambda copy: copy.start)
    assert second.start >= first.start + first.bytes / 12.2e9  # one switch for both halves
    apart = tf.estimate(graph, train, machine="2x Tesla K80, links switch=1")
    assert apart.step_time < step.step_time
    assert "copies over PCIe from CPU to GPU" in step.explain(memory=False)
    assert "GiB" not in step.explain(memory=False).split("\n")[-1]


def test_loops_run_as_often_as_they_are_told():
    with tf.Graph().as_default() as graph:
        matrix = tf.placeholder(tf.float32, [256, 256], name="matrix")
        found = tf.while_loop(
            lambda i, a: i < 10, lambda i, a: (i + 1, tf.matmul(a, a)), [tf.constant(0), matrix], name="loop"
        )
        tf.identity(found[1], name="out")
    ten = tf.estimate(graph, "out", machine="1x K40c")
    runs = {row.op: row.runs for row in ten.rows()}
    assert runs["MatMul"] == 10 and runs["LoopCond"] == 11 and runs["Exit"] == 1
    more = tf.estimate(graph, "out", machine="1x K40c", trip_counts={"loop/while_context": 40})
    product = {
        name: row.time
        for name, step in (("10", ten), ("40", more))
        for row in step.rows("ops")
        if row.op == "MatMul"
    }
    assert product["40"] == pytest.approx(4 * product["10"])


def test_nested_loops_and_long_ones():
    with tf.Graph().as_default() as graph:
        start = tf.zeros([64, 64])

        def outer(i, a):
            inner = tf.while_loop(
                lambda j, b: j < 5, lambda j, b: (j + 1, tf.matmul(b, b)), [tf.constant(0), a]
            )
            return i + 1, inner[1]

        tf.identity(tf.while_loop(lambda i, a: i < 3, outer, [tf.constant(0), start])[1], name="out")
        long = tf.while_loop(lambda i, a: i < 10**6, lambda i, a: (i + 1, a + 1.0), [tf.constant(0), start])
        tf.identity(long[1], name="long")
    step = tf.estimate(graph, "out", machine="1x K40c")
    assert {row.op: row.runs for row in step.rows()}["MatMul"] == 15
    endless = tf.estimate(graph, "long", machine="1x K40c")
    assert {row.op: row.runs for row in endless.rows()}["AddV2"] == pytest.approx(10**6)
    assert any("iterations represent all 1e+06" in said for said in endless.assumptions)
    assert endless.step_time > 1.0


def test_bad_input_gets_an_answer_that_says_what_it_assumed_or_a_clear_error():
    graph = training_graph()
    with pytest.raises(tf.errors.InvalidArgumentError, match="was not found in the Graph"):
        tf.estimate(graph, "nothing", machine="1x K40c")
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.estimate(graph, "train", {"images": (1,)}, machine="1x K40c")
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one target"):
        tf.estimate(graph, [], machine="1x K40c")
    with pytest.raises(TypeError, match="invalid type"):
        tf.estimate(graph, 7, machine="1x K40c")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown GPU model"):
        tf.estimate(graph, machine="4x Foo")
    unknown = tf.estimate(graph, machine="1x K40c")
    assert any("rows" in said and "1" in said for said in unknown.assumptions) and unknown.step_time > 0
    empty = tf.estimate(graph, feeds={"rows": (0, 784), "labels": (0,)}, machine="1x K40c")
    assert 0 < empty.step_time < 0.1 and empty.peak_memory[GPU_0] > 0
    with tf.Graph().as_default() as nothing:
        pass
    with pytest.raises(tf.errors.InvalidArgumentError, match="no nodes, so there is no step to run"):
        tf.estimate(nothing, machine="cpu")


def test_devices_of_unknown_hardware_are_said_to_be_assumed():
    names = [
        f"/job:{job}/replica:0/task:0/device:{kind}:0" for job in ("ps", "worker") for kind in ("CPU", "GPU")
    ]
    machine = tf.Machine.from_devices(names)
    step = tf.estimate(training_graph(), feeds=FEEDS, machine=machine)
    assert step.step_time > 0 and any("is unknown" in said for said in step.assumptions)
    assert step.peak_memory.keys() == set(names)
    assert [step.peak_memory[name] is None for name in names] == [False, True, False, True]
    assert step.memory.fits is None and "The hardware and its memory size are unknown" in step.memory.unknown


def test_what_is_fed_in_the_middle_cuts_off_what_made_it():
    with tf.Graph().as_default() as graph:
        files = tf.train.string_input_producer(["a"]).dequeue()
        images = tf.decode_raw(tf.read_file(files), tf.float32, name="images")
        tf.reduce_sum(images * 2.0, name="sum")
    step = tf.estimate(graph, "sum", {"images": (64000,)}, machine="1x K40c")
    assert {row.op for row in step.rows()} == {"Placeholder", "Mul", "Sum", "Const"}
    assert [copy.bytes for copy in step.copies if copy.tensor == "images"] == [64 * 1000 * 4]


def test_the_command_line(tmp_path, capsys):
    path = str(tmp_path / "graph.pb")
    with open(path, "wb") as stream:
        stream.write(training_graph().as_graph_def().SerializeToString())
    words = ["estimate", path, "--fetch", "train", "--feed", "rows=64,784", "--feed", "labels=64"]
    assert main([*words, "--machine", "2x V100"]) == 0
    assert "The step takes" in capsys.readouterr().out
    assert main([*words, "--machine", "2x V100", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["step_time"] > 0 and told["peak_memory"][GPU_0] > 0 and told["per_second"] > 1000
    many = [*words, "--batch", "16,32", "--machine", "1x K40c", "--gpu-machine", "1x V100", "--format", "csv"]
    assert main(many) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0].startswith("machine,batch,step_ms")
        and len(lines) == 5
        and lines[-1].startswith("1x V100,32")
    )
    assert main([*words, "--machine", "1x K40c", "--table", "ops", "--limit", "3"]) == 0
    assert "ApplyAdam" in capsys.readouterr().out
    for wrong in (["--feed", "rows"], ["--batch", "many"], ["--trips", "while"]):
        assert main([*words, *wrong, "--machine", "1x K40c"]) == 2
        assert wrong[0] in capsys.readouterr().err


def test_both_halves_of_a_board_are_slower_than_one():
    with tf.Graph().as_default() as graph:
        for gpu in range(3):
            with tf.device(f"/gpu:{gpu}"):
                left = tf.random_normal([4096, 4096])
                tf.matmul(left, left, name=f"product_{gpu}")

    def times(*gpus):
        step = tf.estimate(graph, [f"product_{gpu}" for gpu in gpus], machine="4x K80")
        rows = dict(zip(step.frame("nodes")["name"], step.frame("nodes")["time"]))
        return [rows[f"product_{gpu}"] for gpu in gpus]

    (alone,) = times(0)
    assert times(0, 2) == pytest.approx([alone, alone])  # on two boards
    assert times(0, 1) == pytest.approx([alone * 823.5 / 758] * 2, rel=0.02)
    assert times(0, 1, 2)[2] == pytest.approx(alone)


def test_the_command_line_and_the_explorer_compare_machines_in_one_way(tmp_path, capsys):
    with tf.Graph().as_default() as graph:
        with tf.device("/gpu:1"):
            rows = tf.placeholder(tf.float32, [None, 512], name="rows")
            tf.reduce_sum(tf.matmul(rows, rows, transpose_b=True), name="sum")
    path = str(tmp_path / "graph.pb")
    with open(path, "wb") as stream:
        stream.write(graph.as_graph_def().SerializeToString())
    words = ["estimate", path, "--fetch", "sum", "--feed", "rows=?,512", "--batch", "32,64"]
    machines = ["--machine", "1x K40c", "--gpu-machine", "2x V100", "--gpu-machine", "2x K40c"]
    assert main([*words, *machines, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    step = tf.estimate(graph, "sum", {"rows": (None, 512)}, machine="2x V100")
    grid = cost_grid(step, ["1x K40c", "2x V100", "2x K40c"], [32, 64])
    assert [(row["machine"], row["batch"]) for row in told] == [(row.machine, row.batch) for row in grid]
    for row, shown in zip(grid, told, strict=True):
        if row.machine == "1x K40c":
            assert "Cannot assign a device" in shown["error"] and shown["step_ms"] is shown["fits"] is None
        else:
            assert shown["step_ms"] == round(row.step_time * 1e3, 4) and shown["per_second"] == round(
                row.rate, 2
            )
            assert shown["peak_mib"] == round(row.peak / 2**20, 2) and shown["copies_mb"] > 0 < shown["busy"]
    assert main([*words, "--machine", "1x K40c", "--gpu-machine", "1x V100"]) == 1
    assert "Cannot assign a device" in capsys.readouterr().err
    assert main([*words, *machines, "--table", "ops"]) == 2
    hidden = [*words, "--machine", "4x K40c", "--visible-devices", "3,2", "--format", "json"]
    assert main(hidden) == 0 and not json.loads(capsys.readouterr().out)[0]["error"]


def test_wrong_questions_are_answered_with_errors(tmp_path):
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [None, 8], name="rows")
        tf.square(rows, name="squares")
        tf.while_loop(lambda i: i < tf.cast(rows[0, 0], tf.int32), lambda i: i + 1, [0], name="loop")

    def step(fetches="squares", rows=(2, 8), **options):
        return tf.estimate(graph, fetches, {"rows": rows}, machine="1x K80", **options)

    with pytest.raises(tf.errors.InvalidArgumentError, match="'squares:7' refers to a Tensor which does not"):
        step("squares:7")
    with pytest.raises(TypeError, match="trip_counts must map loop frame names"):
        step("loop/Exit", trip_counts=["loop"])
    for count in (1e300, -1, float("nan")):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="trip_counts: the number of trips must be between 0"
        ):
            step("loop/Exit", trip_counts={"loop": count})
    assert step("loop/Exit", trip_counts={"loop": 1e15}).step_time > 1e6
    with pytest.raises(TypeError, match="cost_model must be a CostModel"):
        step(cost_model="mine.json")
    with pytest.raises(TypeError, match="must contain RunMetadata or StepStats"):
        tf.CostModel.fit(["mine.pb"], graph, feeds={"rows": (2, 8)})
    assert step(rows=(10**16, 8)).memory.fits is False
    unknown = step(rows=(10**18, 8)).memory
    assert unknown.fits is None and "larger than the address space of a process" in unknown.unknown
    known = tmp_path / "model.json"
    tf.CostModel().save(known)
    text = known.read_text()
    for damaged in (text.replace('"launch_seconds": ', '"launch_seconds": 1' + "0" * 400), "[" * 100_000):
        known.write_text(damaged)
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not a cost model"):
            tf.CostModel.load(known)


@pytest.mark.parametrize(("index", "taken"), [(0, 0), (1, 1), (2, 2), (7, 2), (-1, 2), (None, 0)])
def test_of_the_branches_of_a_case_one_runs(index, taken):
    """As in TensorFlow the last one where there is none of that number; the first where the number is not known."""
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [64, 64], name="rows")
        number = tf.placeholder(tf.int32, [], name="number") if index is None else tf.constant(index)
        branches = [lambda: tf.nn.relu(rows), lambda: tf.tanh(rows), lambda: tf.exp(rows)]
        step = tf.estimate(graph, tf.switch_case(number, branches), machine="1x V100")
    ran = {row.op for row in step.rows("nodes")}
    assert ran & {"Relu", "Tanh", "Exp"} == {("Relu", "Tanh", "Exp")[taken]}
    assert any("_SwitchN nodes are unknown" in one for one in step.assumptions) == (index is None)


def test_what_waits_for_a_conditional_runs_whichever_branch_is_taken():
    """A lowered `If` is waited for by a `Merge` with control edges from both branches, of which one is dead."""
    tf.enable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        weights = tf.get_variable("weights", [4, 4], use_resource=True)
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(x, weights), lambda: x, name="choose")
        with tf.control_dependencies([graph.get_operation_by_name("choose")]):
            z = tf.identity(y, name="z")
    step = tf.estimate(graph, z, {"x": (8, 4)}, machine="1 CPU")
    assert step.step_time > 0
    assert {"z", "MatMul"} <= {row.name.rpartition("/")[2] for row in step.rows("nodes")}


def test_what_has_several_tensors_is_fetched_and_fed_by_its_tensors():
    with tf.Graph().as_default() as graph:
        sparse = tf.sparse_placeholder(tf.float32, [100, 784], name="sparse")
        weights = tf.get_variable("weights", [784, 10])
        dense = tf.sparse_tensor_dense_matmul(sparse, weights)
        (rows,) = tf.gradients(tf.gather(weights, [1, 2]), weights)
    value = tf.SparseTensorValue(np.zeros([50, 2], np.int64), np.ones(50, np.float32), [100, 784])
    by_value = tf.estimate(graph, {"dense": dense, "sparse": sparse}, {sparse: value}, "1 CPU")
    by_shapes = tf.estimate(graph, [dense, sparse], {sparse: ((50, 2), (50,), (2,))}, "1 CPU")
    for step in (by_value, by_shapes):
        fetched = [step.part.graph.names[node] for node, _ in step.part.fetches]
        assert fetched == [dense.op.name, *(part.op.name for part in (sparse.indices, sparse.values))] + (
            [sparse.dense_shape.op.name]
        )
        assert step.shapes[sparse.values.name].as_list() == [50]
    step = tf.estimate(graph, rows, machine="1 CPU")
    fetched = [step.part.graph.names[node] for node, _ in step.part.fetches]
    assert fetched == [part.op.name for part in (rows.values, rows.indices, rows.dense_shape)]
    with pytest.raises(ValueError, match="needs 3 values"):
        tf.estimate(graph, dense, {sparse: (3, 4, 5, 6)}, "1 CPU")
