"""The same fact has the same number in every view: nodes, copies, bytes, variables and times of one step.

The graphs are TensorFlow's own, recorded for the placer; the programs run here, so that a measured step counts too.
"""

import re

import pytest

import gpuplace as tf
from gpuplace.findings.find import placement_findings
from gpuplace.views.page.data import page_data
from gpuplace.views.page.page import page_html
from gpuplace.views.picture.drawing import draw
from gpuplace.views.tables.memory import memory_rows
from tests.findings.programs import images_from_a_queue
from tests.placer.corpus_files import RECORDED, folder

MACHINE = "2x V100"
GRAPHS = sorted(RECORDED["answers"]["2.21 2.21"])[::4]
HARMLESS = re.compile(r'Harmless: [^<"\n]*')


def numbers(placement, step):
    """View -> number of copies, bytes of copies by the estimate's batch, and where they go to."""
    copies = placement.frame("copies")
    known = copies["bytes"].fillna(0) * copies["runs"]
    per_example = copies["bytes_per_example"].fillna(0) * copies["runs"]
    is_known = copies["bytes"].notna() | copies["bytes_per_example"].notna()
    estimated = step.frame("copies")
    timeline = step.timeline()
    drawing = draw(placement, [])
    counts = {
        "frame": int(copies["runs"].sum()),
        "devices": int(placement.frame("devices")["copies_in"].sum()),
        "picture": drawing.copies,
        "page": sum(row[4] for row in page_data(placement)["copyRows"]),
        "page's devices": sum(look["copies"] for look in page_data(placement)["devices"]),
        "estimate": int(estimated["runs"].sum()),
        "estimate's devices": int(step.frame("devices")["copies_in"].sum()),
        "timeline": len(timeline.copies),
        "timeline's devices": int(timeline.frame("devices")["copies_in"].sum()),
    }
    nbytes = {"estimate": estimated["bytes"].sum(), "timeline": sum(copy.nbytes for copy in timeline.copies)}
    if is_known.all():
        nbytes["frame"] = (known + per_example).sum()
    return counts, nbytes


def agreed(placement, step):
    counts, nbytes = numbers(placement, step)
    assert len(set(counts.values())) == 1, counts
    assert len(set(nbytes.values())) == 1, nbytes
    assert step.timeline().total_us == pytest.approx(step.step_time * 1e6, abs=0.01)
    nodes = {look["name"]: look["nodes"] for look in page_data(placement)["devices"] if look["name"]}
    in_frame = placement.frame("devices")["nodes"].to_dict()
    in_picture = {device: count for device, count in draw(placement, []).legend if device}
    assert nodes == in_frame == in_picture
    variables = {row.device: row.variables for row in memory_rows(placement)}
    assert variables == dict(
        zip(*(step.frame("memory")[name] for name in ("device", "variables")), strict=True)
    )
    assert step.peak_memory == dict(
        zip(*(step.frame("memory")[name] for name in ("device", "peak")), strict=True)
    )
    return counts["frame"]


@pytest.mark.parametrize("name", GRAPHS)
def test_views_of_a_graph_agree(name):
    path = folder("corpus", "2.21") / name
    try:
        placement = tf.place(path if path.is_dir() else f"{path}.pb", MACHINE, soft_placement=True)
    except tf.errors.InvalidArgumentError:  # it asks for tasks of a cluster
        assert name in ("parameter_servers_ref", "parameter_servers_resource", "synchronous_replicas")
        return
    agreed(placement, tf.estimate(placement))


def split_layers():
    """Layers on two GPUs, trained with Adam."""
    rows = tf.placeholder(tf.float32, [None, 64], name="rows")
    with tf.device("/gpu:0"):
        hidden = tf.layers.dense(rows, 128, tf.nn.relu, name="first")
    with tf.device("/gpu:1"):
        loss = tf.reduce_mean(tf.layers.dense(hidden, 10, name="second") ** 2, name="loss")
    train = tf.train.AdamOptimizer().minimize(loss)
    return [loss, train], {rows: (32, 64)}


def towers():
    """Two towers with averaged gradients, variables on the CPU."""
    gradients, optimizer = [], tf.train.MomentumOptimizer(0.1, 0.9)
    feeds = {}
    for number in range(2):
        with tf.device(f"/gpu:{number}"), tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            rows = tf.placeholder(tf.float32, [16, 64], name=f"rows_{number}")
            feeds[rows] = (16, 64)
            with tf.device("/cpu:0"):
                weights = tf.get_variable("weights", [64, 32])
            loss = tf.reduce_sum(tf.matmul(rows, weights) ** 2)
            gradients.append(optimizer.compute_gradients(loss, [weights])[0])
    with tf.device("/cpu:0"):
        mean = tf.add_n([gradient for gradient, _ in gradients]) / 2.0
        return [optimizer.apply_gradients([(mean, gradients[0][1])])], feeds


def branches():
    """A conditional whose taken branch is on another GPU."""
    rows = tf.placeholder(tf.float32, [16, 64], name="rows")
    with tf.device("/gpu:0"):
        twice = rows * 2.0

    def on_the_other():
        with tf.device("/gpu:1"):
            return tf.matmul(twice, twice, transpose_b=True)

    def at_once():
        with tf.device("/gpu:0"):
            return tf.zeros([16, 16])

    return [tf.cond(tf.constant(True), on_the_other, at_once)], {rows: (16, 64)}


def signals():
    """Operations that only wait for each other across devices."""
    rows = tf.placeholder(tf.float32, [16, 64], name="rows")
    with tf.device("/gpu:0"):
        first = tf.matmul(rows, rows, transpose_b=True)
    with tf.device("/gpu:1"), tf.control_dependencies([first]):
        second = tf.matmul(rows, rows, transpose_a=True)
    return [second], {rows: (16, 64)}


def loop():
    """A loop whose body crosses to another GPU in every iteration."""
    start = tf.placeholder(tf.float32, [8, 8], name="start")

    def body(count, value):
        with tf.device("/gpu:1"):
            moved = tf.matmul(value, value)
        with tf.device("/gpu:0"):
            return count + 1, tf.tanh(moved)

    with tf.device("/gpu:0"):
        return [tf.while_loop(lambda count, value: count < 5, body, (0, start))[1]], {start: (8, 8)}


PROGRAMS = [split_layers, towers, branches, signals, loop]


@pytest.mark.parametrize("program", PROGRAMS)
def test_views_agree_with_the_measured_step(program):
    import numpy as np

    tf.use_machine(MACHINE)
    with tf.Graph().as_default() as graph:
        fetches, feeds = program()
        config = tf.ConfigProto(allow_soft_placement=True)
        session = tf.Session(config=config)
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        values = {tensor: np.ones(shape, np.float32) for tensor, shape in feeds.items()}
        session.run(fetches, values, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
        step = tf.estimate(graph, fetches, feeds, MACHINE, config)
    measured = tf.timeline(metadata).copies
    assert sorted(
        (copy.tensor, copy.source, copy.target, copy.nbytes) for copy in measured if copy.nbytes
    ) == (sorted((copy.tensor, copy.source, copy.target, copy.nbytes) for copy in step.timeline().copies))
    agreed(tf.place(graph, MACHINE, config), tf.estimate(graph, machine=MACHINE, config=config))


def test_a_headline_counts_the_step_and_says_how_many_nodes_lie_outside():
    with tf.Graph().as_default() as graph:
        split_layers()
        tf.train.Saver()
        tf.global_variables_initializer()
    placement = tf.place(graph, MACHINE, soft_placement=True)
    outside = len(placement) - placement.subject.count
    assert outside > 20 and f"{outside} nodes are outside the step: " in page_html(placement)
    assert not any(row.src.startswith("save/") for row in placement.edges() if row.is_copy)


def test_the_explorer_and_the_advisor_speak_of_the_same_step():
    with tf.Graph().as_default() as graph:
        split_layers()
        tf.train.Saver()
    placement = tf.place(graph, MACHINE, soft_placement=True)
    explorer = tf.explore(placement)
    step = tf.estimate(placement)
    shown = explorer.estimate
    assert shown.step_time == step.step_time and shown.copies == step.copies
    assert f"{len(placement.frame('copies'))} copies between devices" in explorer._views.graph.notes[0][1]
    explorer.tab = "Copies"
    assert explorer._views.pages["Copies"].table.rows.size == len(placement.frame("copies"))
    advice = tf.advise(placement, seconds=0.2, steps=1)
    assert advice.baseline.step_time == step.step_time


def agreed_harmless(placement):
    """What the nodes are that never run on a GPU, and their number, in every view."""
    blame, step = placement.blame(), tf.estimate(placement)
    frame = blame.frame().dropna(subset=["harmless"])
    cause = " never run on a GPU"
    rows = [row for row in page_data(placement)["blame"] if row[3].endswith(cause)]
    explorer = tf.explore(placement)
    explorer.tab = "Cost"
    texts = {
        "blame": str(blame),
        "blame in a notebook": blame._repr_mimebundle_()["text/html"],
        "findings of a placement": str(placement_findings(placement)),
        "report": page_html(placement, findings=placement_findings(placement)),
        "estimate": step.explain(),
        "advice": tf.advise(placement, seconds=0.2, steps=1).explain(),
        "explorer": "\n".join(block.get("text", "") for block in explorer._views.pages["Cost"].panel.blocks),
    }
    counts = {
        "frame": tuple(zip(frame["harmless"], frame["nodes"], strict=True)),
        "rows": tuple((row.harmless, row.nodes) for row in blame.harmless),
        "page's table": tuple((row[3].removesuffix(cause), row[0]) for row in rows),
        "findings": step.findings.harmless,
    }
    lines = {view: set(HARMLESS.findall(text)) for view, text in texts.items()}
    assert set(map(len, lines.values())) == {1}, lines
    assert len(set.union(*lines.values())) == 1, lines
    assert len(set(counts.values())) == 1, counts
    return counts["frame"]


def trained_from_a_queue():
    """Images from files and a queue, with summaries and a saver."""
    images_from_a_queue()


def towers_with_summaries():
    """Two towers whose summaries ask for GPUs, a table of words and a data set."""
    words = tf.data.Dataset.from_tensor_slices(["a", "b"]).repeat().batch(16)
    keys = tf.data.make_one_shot_iterator(words).get_next()
    initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    ids = tf.lookup.StaticHashTable(initializer, -1).lookup(keys)
    for number in range(2):
        with tf.device(f"/gpu:{number}"), tf.name_scope(f"tower_{number}"):
            loss = tf.reduce_sum(tf.one_hot(ids, 1024) @ tf.ones([1024, 1024]))
            tf.summary.scalar("loss", loss)


@pytest.mark.parametrize("program", [trained_from_a_queue, towers_with_summaries])
def test_views_count_the_same_harmless_nodes(program):
    with tf.Graph().as_default() as graph:
        program()
    found = agreed_harmless(tf.place(graph, MACHINE, soft_placement=True))
    assert {"summaries", "string constants"} < set(dict(found))


@pytest.mark.parametrize("name", ["file_readers", "lookup_tables", "saved_model", "towers_4"])
def test_views_of_a_recorded_graph_count_the_same_harmless_nodes(name):
    path = folder("corpus", "2.21") / name
    placement = tf.place(path if path.is_dir() else f"{path}.pb", MACHINE, soft_placement=True)
    assert agreed_harmless(placement)
