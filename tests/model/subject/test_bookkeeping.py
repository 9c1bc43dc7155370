"""What of a graph is bookkeeping: real training graphs, and that a network is never taken for it."""

from collections import Counter

import pytest

import gpuplace as tf
from gpuplace.model.subject.bookkeeping import SHELVES, bookkeeping
from gpuplace.views.tables.placement_view import PlacementView, view_of
from tests.placer.corpus_files import folder

SOFT = tf.ConfigProto(allow_soft_placement=True)


def shelves(view):
    """Node -> the shelf it belongs on; the network's own nodes are not in it."""
    kinds = bookkeeping(view).tolist()
    return {name: SHELVES[kind] for name, kind in zip(view.names, kinds, strict=True) if kind >= 0}


def corpus(name, release="1.15"):
    path = folder("corpus", release) / f"{name}.pb"
    return view_of(tf.place(path, "4x Tesla K20m", SOFT, release=release, on_error="keep"))


@pytest.mark.parametrize("release", ["1.15", "2.21"])
@pytest.mark.parametrize(
    "name", ["towers_4", "trained_ref_adam", "trained_resource_adam", "savers_1", "resnet_true"]
)
def test_initializers_and_savers_are_found_by_what_they_work_for(name, release):
    view = corpus(name, release)
    found = shelves(view)
    for node, op_type in zip(view.names, map(view.op_type_of, range(len(view))), strict=True):
        if "global_step" in node:
            continue
        if "/Initializer/" in node or op_type in ("VarIsInitializedOp", "IsVariableInitialized"):
            assert found[node] == "initializers", node
        if op_type in ("SaveV2", "RestoreV2"):
            assert found[node] == "saver", node
        if op_type in ("MatMul", "Conv2D", "VariableV2", "VarHandleOp", "Placeholder", "ApplyAdam", "Relu"):
            assert node not in found, node
    assert "init" not in view.index or found["init"] == "initializers"


def test_what_feeds_queues_and_what_is_summarised():
    queues = Counter(shelves(corpus("queue_runners")).values())
    assert queues["input queues"] == 22
    view = corpus("summaries")
    found = shelves(view)
    assert {view.op_type_of(view.index[name]) for name, shelf in found.items() if shelf == "summaries"} >= {
        "ScalarSummary",
        "HistogramSummary",
        "MergeSummary",
    }


def test_a_loss_that_is_only_summarised_stays():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4], name="x")
        tf.reduce_sum(tf.square(x), name="loss")
    view = view_of(tf.place(graph, "cpu"))
    rows = [(name, view.op_type_of(node), "", "") for node, name in enumerate(view.names)]
    edges = [
        (view.names[src], output, view.names[dst], number)
        for src, output, dst, number in zip(view.src, view.src_output, view.dst, view.dst_input, strict=True)
    ]
    summarised = PlacementView.of_columns(
        [*rows, ("tag", "Const", "", ""), ("summary", "ScalarSummary", "", "")],
        [*edges, ("tag", 0, "summary", 0), ("loss", 0, "summary", 1)],
    )
    assert shelves(summarised) == {"tag": "summaries", "summary": "summaries"}


def test_an_update_is_no_initialiser():
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0, name="v")
        tf.assign(v, v * 0.5, name="decay")
        tf.assign(v, 0.0, name="reset")
        tf.global_variables_initializer()
    found = shelves(view_of(tf.place(graph, "cpu")))
    assert "decay" not in found and "v" not in found
    assert {found[name] for name in ("v/Assign", "v/initial_value", "reset", "init")} == {"initializers"}


def test_a_log_is_judged_by_names_and_types():
    names = [
        ("w", "VariableV2"),
        ("w/Initializer/zeros", "Const"),
        ("w/Assign", "Assign"),
        ("save/Const", "Const"),
    ]
    rows = [(name, kind, "", "") for name, kind in [*names, ("MatMul", "MatMul")]]
    view = PlacementView.of_columns(rows)
    view = type(view)(**{**view.__dict__, "knows_edges": False})
    assert shelves(view) == {
        "w/Initializer/zeros": "initializers",
        "w/Assign": "initializers",
        "save/Const": "saver",
    }
