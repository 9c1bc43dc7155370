"""Work in proportion to what is given: inputs that others wrote end in a moment, in a result or an error.

Before, each of these took minutes to years; there is no clock in them.
"""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graphdef.messages import StepStats
from gpuplace.views.page.page import page_html, timeline_page_html
from gpuplace.views.tables import text as texts
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.scopes import scope_tree
from gpuplace.views.tables.text import searcher
from gpuplace.views.timelines.svg import timeline_svg

DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.mark.parametrize("piece", ["x|", "a:", "x:|", "<a>:", ": (", "I ", "0: ", "->", '"|'])
@pytest.mark.parametrize("end", [":", f": (MatMul): {DEVICE}", ""])
def test_a_line_of_a_log(piece, end):
    log = tf.parse_log(piece * 100_000 + end)
    assert len(log) <= 1


def test_searches(monkeypatch):
    monkeypatch.setattr(texts, "MOST_SEARCHING_S", 0.2)
    for pattern in ("(a+)+$", "(a|a)*$", r"(\w*)*b$", r"([a-z]+)*[A-Z]"):
        try:
            assert not searcher(pattern)("a" * 39 + "!")
        except ValueError as error:
            assert "takes more than" in str(error)
    search = searcher("(?:a|aa)+$")
    with pytest.raises(ValueError, match="the search for .* takes more than 0.2 seconds"):
        search("a" * 60 + "!")
    assert (
        searcher("tower_(0|1)/.*_2")("tower_1/MatMul_2")
        and searcher("a[")("xa[1]")
        and searcher("Mat")("aMatMul")
    )
    assert searcher("")("x") and not searcher("b$")("ba")


def timeline_of(devices):
    stats = StepStats()
    for number in range(devices):
        device = stats.dev_stats.add(device=f"{DEVICE[:-1]}{number}")
        device.node_stats.add(node_name=f"x{number}", all_start_micros=1 + number, all_end_rel_micros=5)
    return tf.timeline(stats)


def test_timelines_of_thousands_of_devices():
    step = timeline_of(5000)
    assert [use.nodes for use in step.uses] == [1] * 5000 and step.busy(step.devices[7]).shape == (1, 2)
    assert len(str(step)) > 5000


@pytest.mark.parametrize("time", [2**63 - 1, 2**62, -(2**63)])
def test_times_at_the_end_of_the_scale(time):
    stats = StepStats()
    device = stats.dev_stats.add(device=DEVICE)
    device.node_stats.add(node_name="a", all_start_micros=time, all_end_rel_micros=time)
    device.node_stats.add(node_name="b", all_start_micros=0, all_end_rel_micros=2**63 - 1)
    step = tf.timeline(stats)
    for text in (str(step), timeline_svg(step), timeline_page_html(step)):
        assert text


def test_scopes_thousands_deep():
    graph = tf.GraphDef()
    graph.node.add(name="/".join("s" * 3000), op="NoOp")
    graph.node.add(name="/".join(["s"] * 2000 + ["b"] * 1000), op="NoOp")
    placement = tf.place(graph)
    tree = scope_tree(view_of(placement))
    assert (
        tree.depth.max() == 2999
        and tree.size(1) == 2
        and [len(found) for found in tree.children].count(2) == 1
    )
    assert tree.structure(1, np.zeros(2, np.int64)) is not None
    assert "subgraph" in placement.picture().dot or "digraph" in placement.picture().dot
    assert page_html(placement)
    assert len(placement.frame("scopes", depth=5)) > 3


DIGITS = "9" * 5000


@pytest.mark.parametrize(
    "line",
    [
        f"a: (MatMul): {DEVICE[:-1]}{DIGITS}",
        f"a: (MatMul): /job:worker/replica:{DIGITS}/task:0/device:GPU:0",
        f"{DEVICE[:-1]}{DIGITS} -> device: {DIGITS}, name: Tesla K40c, pci bus id: 0000:05:00.0",
        f"Created TensorFlow device ({DEVICE} with {DIGITS} MB memory) -> physical GPU (device: 0, name: x, pci bus id:"
        " 0000:00:00.0, compute capability: 3.5)",
        f"Found device {DIGITS} with properties:\nname: Tesla K20m",
    ],
)
def test_numbers_of_thousands_of_digits_in_logs(line):
    log = tf.parse_log(f"{line}\nb: (Add): {DEVICE}")
    assert list(log) == ["b"] and str(log) and len(log.frame()) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.DeviceSpec.from_string(f"/gpu:{DIGITS}"),
        lambda: tf.DeviceSpec.from_string(f"/job:a/task:{DIGITS}"),
        lambda: tf.DeviceSpec(replica=DIGITS),
    ],
)
def test_numbers_of_thousands_of_digits_in_devices(make):
    with pytest.raises(ValueError, match="A device index of 5000 digits is too large"):
        make()


def splat():
    graph = tf.GraphDef()
    node = graph.node.add(name="splat", op="Const")
    node.attr["dtype"].type = 1
    node.attr["value"].tensor.dtype = 1
    node.attr["value"].tensor.float_val.append(1.0)
    node.attr["value"].tensor.tensor_shape.dim.add(size=10**13)
    return graph


@pytest.mark.parametrize(
    "use", [lambda x: x, lambda x: x + 1, tf.reduce_sum, lambda x: tf.reshape(x, [-1, 10])[0]]
)
def test_one_value_for_more_elements_than_any_memory_holds(use):
    assert tf.place(splat())
    (tensor,) = tf.import_graph_def(splat(), return_elements=["splat:0"], name="")
    result = use(tensor)
    with tf.Session() as session:
        if use is tf.shape:
            assert session.run(result).tolist()
        else:
            with pytest.raises(
                tf.errors.ResourceExhaustedError, match="OOM when allocating tensor with shape"
            ):
                session.run(result)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating"):
        tf.constant(1.0, shape=[10**13])


def circles():
    lists: list = []
    lists.append(lists)
    dicts: dict = {}
    dicts["a"] = dicts
    return lists, dicts


@pytest.mark.parametrize(
    "use",
    [
        tf.constant,
        tf.convert_to_tensor,
        tf.make_tensor_proto,
        tf.stack,
        tf.zeros,
        tf.group,
        lambda value: tf.constant((1, value)),
        lambda value: tf.constant(1) + value,
        lambda value: tf.concat(value, 0),
        lambda value: tf.Session().run(value),
        lambda value: tf.Session().run(circles()[1]),
        lambda value: tf.while_loop(lambda x: True, lambda x: x, value),
        lambda value: tf.cond(tf.constant(True), lambda: value, lambda: value),
    ],
)
def test_lists_that_hold_themselves(use):
    tf.constant(1)
    with pytest.raises(ValueError, match="contain itself"):
        use(circles()[0])


def test_reasons_of_many_nodes_without_a_device():
    with tf.Graph().as_default() as graph, tf.device("/gpu:1"):
        for _ in range(20_000):
            tf.no_op()
    there, missing = (tf.place(graph, machine=f"{gpus}x Tesla K40c", on_error="keep") for gpus in (2, 1))
    moves = there.diff(missing).frame()
    assert len(moves) == 20_000 and moves["note"].nunique() == 20_000
