"""Nodes that are read as columns are the nodes that are read one by one."""

import random

import numpy as np
import pytest

import gpuplace
from gpuplace.graphdef import load, node_columns
from gpuplace.graphdef.messages import GraphDef
from gpuplace.graphdef.node_columns import read_columns
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from tests.placer.corpus_files import CASES, FUNCTION_CASES, folder
from tests.support.node_specs import graph_def
from tests.support.random_graphs import RandomGraph, usable_ops
from tests.support.training_graph import training_graph

FIELDS = "names signatures devices groups".split()
ARRAYS = "signature device group_node class_node class_group src src_output dst dst_input".split()


@pytest.fixture(autouse=True, params=[(1 << 16, 64), (7, 1)], ids=["as it is", "small blocks"])
def sizes(request, monkeypatch):
    """Blocks that small graphs fill, and rounds down to the last node, too."""
    monkeypatch.setattr(node_columns, "_BLOCK", request.param[0])
    monkeypatch.setattr(node_columns, "_FEW", request.param[1])


def by_columns(data, release="2.21"):
    """What the columns of a serialised graph say; None where it has to be read node by node."""
    nodes = GraphDef.FromString(data).node
    builder = PlacementGraphBuilder(default_catalogue(release))
    columns = read_columns(data, builder, lambda index: load._LazyAttrs(nodes[index].attr))
    if columns is None:
        return None
    builder.add_columns(columns)
    return builder.build()


def one_by_one(data, release="2.21"):
    """The same graph, read node by node."""
    builder = PlacementGraphBuilder(default_catalogue(release))
    for node in GraphDef.FromString(data).node:
        builder.add_node(node.name, node.op, load._LazyAttrs(node.attr), list(node.input), (), node.device)
    return builder.build()


def assert_same(data, release="2.21"):
    """Both ways give the same graph, and the columns are read at all."""
    found, expected = by_columns(data, release), one_by_one(data, release)
    assert found is not None
    for field in FIELDS:
        assert getattr(found, field) == getattr(expected, field), field
    for field in ARRAYS:
        assert getattr(found, field).dtype == np.int32
        assert getattr(found, field).tolist() == getattr(expected, field).tolist(), field


def message(*nodes):
    """A graph of nodes that are `(name, op, inputs)`."""
    made = GraphDef()
    for name, op, *inputs in nodes:
        made.node.add(name=name, op=op, input=inputs)
    return made


def test_a_training_graph():
    assert_same(graph_def(training_graph(300)))


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed):
    rng = random.Random(seed)
    assert_same(graph_def(RandomGraph(rng, usable_ops("2.21")).grow(60)))


@pytest.mark.parametrize(
    ("writer", "rules", "name"),
    [case for case in CASES[::4] if not (folder("corpus", case[0]) / case[2]).is_dir()],
)
def test_the_corpus(writer, rules, name):
    assert_same((folder("corpus", writer) / f"{name}.pb").read_bytes(), rules)


@pytest.mark.parametrize(
    ("writer", "rules", "name"),
    [case for case in FUNCTION_CASES[::4] if not (folder("functions", case[0]) / case[2]).is_dir()],
)
def test_graphs_with_functions(writer, rules, name):
    assert_same((folder("functions", writer) / f"{name}.pb").read_bytes(), rules)


def test_long_names_and_many_inputs():
    made = message(*((f"{'scope/' * 40}n{number}", "Const") for number in range(300)))
    names = [node.name for node in made.node]
    made.node.add(name="init", op="NoOp", input=[f"^{name}" for name in names])
    made.node.add(name="sum", op="AddN", input=names)
    made.node[-1].attr["N"].i = len(names)
    for node in made.node[:300]:
        node.attr["value"].tensor.tensor_content = bytes(20_000)
    assert_same(made.SerializeToString())


def test_a_control_input_counts_once_and_outputs_have_numbers():
    made = message(
        ("a", "Const"),
        ("s", "Split", "a", "a"),
        ("b", "Add", "s:1", "s", "^a", "^s", "^a"),
        ("c", "NoOp", "^b", "^b"),
    )
    made.node.add(name="d", op="Pack", input=["s:11", "s:0", "s:2147483648"])
    assert_same(made.SerializeToString())
    assert by_columns(made.SerializeToString()).src_output.tolist()[-3:] == [11, 0, 2147483647]


def test_inputs_may_come_later():
    assert_same(
        message(
            ("b", "Relu", "a"), ("a", "Const"), ("c", "Merge", "b", "d"), ("d", "Relu", "c")
        ).SerializeToString()
    )


def test_every_form_of_a_colocation():
    made = message(*((name, "Const") for name in "abcdefghij"))
    attrs = [node.attr["_class"] for node in made.node]
    attrs[0].list.s.append(b"loc:@b")
    attrs[1].list.s.extend([b"loc:@a", b"loc:@nobody"])
    attrs[2].list.s.extend([b"elsewhere", b"loc:@a"])
    attrs[3].s = b"loc:@a"
    attrs[4].list.SetInParent()
    attrs[5].list.s.append(b"loc:@")
    attrs[6].list.s.append(b"loc:@" + b"long/" * 100)
    attrs[7].list.i.append(7)
    attrs[8].list.s.append(b"loc@:ab")
    assert_same(made.SerializeToString())
    assert by_columns(made.SerializeToString()).groups == ("b", "a", "nobody", "", "long/" * 100)


def test_signatures_follow_the_deciding_attributes():
    made = message(
        *((f"n{number}", op) for number, op in enumerate(["Const", "AddN", "Unpack", "Mine", "Mine"] * 6))
    )
    for number, node in enumerate(made.node):
        node.attr["value"].tensor.dtype = 1
        node.attr["value"].tensor.float_val.append(number)
        node.attr["T"].type = node.attr["dtype"].type = 1 + number % 3
        node.attr["N"].i = node.attr["num"].i = 2 + number % 2 * 300
        node.attr["_kernel"].s = b"a long label that tells kernels apart" * (number % 4)
        node.attr["_output_shapes"].list.shape.add()
    made.node[0].attr["dtype"].Clear()
    made.node[5].attr["dtype"].list.type.extend([1, 2, 3])
    assert_same(made.SerializeToString())


def test_fields_that_decide_nothing_are_stepped_over():
    made = message(("a", "Const"), ("b", "Relu", "a"))
    made.library.function.add().signature.name = "f"
    made.versions.producer = 1 << 20
    made.node[0].experimental_debug_info.original_node_names.append("before")
    assert_same(b"\x18\x85\x01" + made.SerializeToString() + b"\x18\x15")


A = b"\x0a\x01a\x12\x05Const"
T = b"\x2a\x07\x0a\x01T\x12\x02\x30\x01"


def node(*fields):
    """A node of one byte of length."""
    content = b"".join(fields)
    return bytes((0x0A, len(content))) + content


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(node(A, b"\x0a\x01b"), id="two names"),
        pytest.param(node(A, b"\x22\x00\x22\x06/cpu:0"), id="two devices"),
        pytest.param(node(b"\x0a\x01a"), id="no op"),
        pytest.param(node(A) * 2, id="one name twice"),
        pytest.param(node(b"\x0a\x01a\x12\x04Relu", T, T), id="an attribute twice"),
        pytest.param(node(A, b"\x2a\x03\x0a\x01T"), id="an attribute without a value"),
        pytest.param(node(A, b"\x2a\x07\x12\x02\x30\x01\x0a\x01T"), id="a value before its key"),
        pytest.param(node(A, b"\x1a\x01b"), id="an unknown input"),
        pytest.param(node(A, b"\x1a\x02^b"), id="an unknown control input"),
        pytest.param(node(A, b"\x1a\x02^a\x1a\x01a"), id="control inputs first"),
        pytest.param(node(A, b"\x1a\x00"), id="an empty input"),
        pytest.param(node(A, b"\x40\x01"), id="a field that is a number"),
        pytest.param(node(A, b"\x82\x01\x01x"), id="a field of a high number"),
        pytest.param(node(A) + b"\x35abcd", id="a graph's field of four bytes"),
        pytest.param(b"\x22\x02\x08\x15", id="no nodes"),
    ],
)
def test_all_else_is_read_node_by_node(data):
    GraphDef.FromString(data)
    assert by_columns(data) is None


def test_a_group_that_is_no_text_is_read_node_by_node():
    made = message(("a", "Const"))
    made.node[0].attr["_class"].list.s.append(b"loc:@\xff")
    assert by_columns(made.SerializeToString()) is None


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        (("b", "Relu", "nobody"), "Unknown input node 'nobody'"),
        (("b", "Add", "^layer", "layer"), "Control dependencies must come after regular dependencies"),
        (("x", "NoOp"), "Node 'x' is not unique"),
        (("a b", "NoOp"), "Node name contains invalid characters"),
    ],
)
def test_faults_of_large_graphs_have_their_words(extra, text, monkeypatch):
    monkeypatch.setattr(load, "_MANY", 1)
    made = message(("x", "NoOp"), ("layer", "NoOp"), extra)
    with pytest.raises(gpuplace.errors.InvalidArgumentError, match=text):
        gpuplace.place(made.SerializeToString(), machine="cpu")


@pytest.mark.parametrize("form", ["bytes", "file", "message", "model"])
def test_large_graphs_are_read_as_columns(form, monkeypatch, tmp_path):
    data = graph_def(training_graph(load._MANY))
    expected = one_by_one(data, "1.15")
    monkeypatch.setattr(PlacementGraphBuilder, "add_node", None)
    path = tmp_path / "graph.pb"
    path.write_bytes(data)
    sources = {
        "bytes": data,
        "file": path,
        "message": GraphDef.FromString(data),
        "model": load.open_model(path),
    }
    for _ in range(2):  # a model keeps no bytes after the first time
        found = load.load_placement_graph(sources[form], release="1.15")
        assert found.names == expected.names
        assert found.src.tolist() == expected.src.tolist()
