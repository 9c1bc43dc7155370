"""Reasons for the nodes of programs written with the public API: lines of the program, ties, remedies, frames."""

import inspect

import pytest

import gpuplace as tf

SOFT = tf.ConfigProto(allow_soft_placement=True)
LOCAL = "/job:localhost/replica:0/task:0/device:"
HERE = "test_explained_programs.py"


def line_of(text):
    """Number of the line of this file that holds a text."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def global_step():
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/gpu:0"):
            step = tf.Variable(0, name="global_step", trainable=False)
            tf.assign_add(step, 1, name="inc")
        tf.matmul(tf.placeholder(tf.float32, [None, 4], name="x"), tf.ones([4, 3]), name="y")
    return graph


def towers():
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/cpu:0"):
            weights = tf.Variable(tf.zeros([100, 10]), name="w")
        outs = []
        for i in range(2):
            with tf.device(f"/gpu:{i}"), tf.name_scope(f"tower_{i}"):
                outs.append(tf.matmul(tf.placeholder(tf.float32, [None, 100], name="a"), weights, name="out"))
        total = tf.add_n(outs, name="total")
        tf.argmax(tf.cast(total, tf.int32), 1, name="best")
        tf.shape(total, name="size")
    return graph


def training():
    graph = tf.Graph()
    with graph.as_default():
        with tf.variable_scope("net", use_resource=True):
            weights = tf.get_variable("w", [8, 2])
        loss = tf.reduce_mean(tf.matmul(tf.placeholder(tf.float32, [None, 8]), weights))
        step = tf.train.get_or_create_global_step()
        tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    return graph


def counts():
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/gpu:1"):
            table = tf.Variable(tf.zeros([10], tf.int32), name="counts")
            up = tf.scatter_add(table, [1, 2], [1, 1], name="up")
            z = tf.square(tf.cast(up, tf.float32), name="z")
        f = tf.py_func(lambda v: v * 2, [z], tf.float32, name="py")
        with tf.device("/job:worker/task:1/gpu:0"):
            tf.negative(f, name="r")
        tf.shape(f, name="s")
    return graph


def imported():
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(towers().as_graph_def(), name="imp")
    return graph


PROGRAMS = (global_step, towers, training, counts, imported)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_every_node_names_its_line_and_every_remedy_works(program, release):
    graph = program()
    placement = tf.place(graph, "2x Tesla K40c", release=release, on_error="keep")
    names = placement.graph.names
    for name in names:
        why = placement.explain(name)
        assert why.source and HERE in why.source
        assert HERE in str(why).split("steps")[0]
        for remedy in why.remedies:
            for requests in map(dict, remedy.requests):
                changed = graph.as_graph_def()
                for node in changed.node:
                    node.device = requests.get(node.name, node.device)
                after = tf.place(changed, "2x Tesla K40c", release=release, on_error="keep")
                assert after[name].startswith(f"{LOCAL}{remedy.device_type}:"), (name, remedy)


def test_an_int32_variable_on_a_gpu():
    placement = tf.place(global_step(), "2x Tesla K40c", on_error="keep")
    text = str(placement.explain("global_step"))
    assert f"{HERE}:{line_of('step = tf.Variable(0')}" in text
    assert "asked for '/device:GPU:0', which has no kernel for it" in text
    assert "use dtype double, float, half or int64: no GPU kernel for " in text
    assert "; global_step/Assign, inc of its group have none either" in text
    block = "global_step, global_step/Assign, global_step/read and inc"
    assert f"for CPU     ask for '/device:CPU:0' instead of '/device:GPU:0' for {block}\n" in f"{text}\n"
    other = placement.explain("y")
    assert other.device == f"{LOCAL}GPU:0"
    assert other.refused.startswith(
        "TensorFlow rejects the graph: Cannot assign a device for operation global_step"
    )
    assert f"request     none; created at {other.source}" in str(other)
    soft = tf.place(global_step(), "2x Tesla K40c", config=SOFT)
    assert "instead of '/device:GPU:0': any device, although global_step asked for it" in str(
        soft.explain("inc")
    )


def test_towers_without_gpus():
    before = tf.place(towers(), "2x Tesla K40c", config=SOFT)
    assert "its input is on GPU:0: total" in str(before.explain("size"))
    assert "use T=double, float or half: no GPU kernel" in str(before.explain("best"))
    blame = before.blame()
    assert [(row.rule.value, row.nodes) for row in blame] == [("request", 6), ("kernel", 1), ("generator", 1)]
    change = before.diff(tf.place(towers(), "cpu", config=SOFT))
    assert {"only device", "soft placement"} == {move.cause.value for move in change}
    notes = {move.node: move.note for move in change}
    assert notes["tower_1/out"].startswith("asks for '/device:GPU:1', which the machine does not have")
    assert [notes[name].partition("; ")[2] for name in ("size", "total")] == [
        "before: follows total", "before: GPU comes before CPU"
    ]  # fmt: skip


def test_a_slot_is_tied_to_its_variable():
    why = tf.place(training(), "2x Tesla K40c").explain("Adam/update_net/w/ResourceApplyAdam")
    first = "net/w/Initializer/random_uniform/RandomUniform"
    assert (why.rule.value, why.decided_by) == ("type priority", why.node)
    assert why.ties == (f"{why.node} and {first} are colocated with net/w",)
    assert f"ask for '/device:CPU:0' here, or for {first}, which is visited first" in str(why)


def test_a_cluster():
    names = [
        f"/job:{job}/replica:0/task:{task}/device:{kind}:0"
        for job in ("ps", "worker")
        for task in (0, 1)
        for kind in ("CPU", "GPU")
    ]
    placement = tf.place(counts(), tf.Machine.from_devices(names), config=SOFT)
    text = str(placement.explain("r"))
    worker = "/job:worker/replica:0/task:1/device"
    assert f"request  4 CPU, 4 GPU -> {worker}:GPU:0" in text
    assert f"for CPU     ask for '{worker}:CPU:0' instead of '/job:worker/task:1/device:GPU:0'" in text
    assert max(map(len, text.splitlines())) < 160


def test_frames():
    hard = tf.place(counts(), "2x Tesla K40c", on_error="keep")
    soft = tf.place(counts(), "2x Tesla K40c", config=SOFT, on_error="keep")
    why = soft.explain("up")
    frame = why.frame()
    assert list(frame.columns) == ["rule", "before", "after", "cause", "note"]
    assert list(frame["rule"]) == [step.rule.value for step in why.steps]
    assert frame["rule"].dtype == "category" and frame["note"].dtype == "string"
    assert tuple(frame.loc[2, ["before", "after"]]) == ("", "CPU:0")
    moved = hard.diff(soft).frame()
    assert moved.index.name == "node"
    assert list(moved.columns) == [
        "before", "after", "cause", "decided_by", "cause_before", "decided_by_before", "note",
    ]  # fmt: skip
    assert moved["before"].isna().all() and set(moved["after"]) == {f"{LOCAL}CPU:0"}
    assert moved.loc["up", "cause"] == "soft placement: resource"
    assert len(hard.diff(hard).frame()) == 0 and list(hard.diff(hard).frame().columns) == list(moved.columns)


def test_the_page_says_as_much():
    placement = tf.place(counts(), "2x Tesla K40c", on_error="keep")
    page = placement.explain("up")._repr_mimebundle_()["text/html"]
    assert "has no device" in page and "in a group of 4" in page
    page = placement.explain("z")._repr_mimebundle_()["text/html"]
    assert '<p role="alert">TensorFlow rejects the graph: Cannot assign a device' in page
