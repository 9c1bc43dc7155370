"""Graphs that are built node by node: interning, colocation, names that are refused."""

import pytest

from gpuplace import errors
from gpuplace.dtypes import as_dtype
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from tests.support.node_specs import node, placement_graph

FLOAT = as_dtype("float32")


def test_signatures_and_devices_are_interned():
    builder = PlacementGraphBuilder(default_catalogue())
    for i in range(100):
        builder.add_node(f"r{i}", "RandomUniform", {"T": FLOAT, "seed": i}, device="/gpu:0" if i % 2 else "")
    graph = builder.build()
    assert len(graph.signatures) == 1
    assert graph.devices == ("", "/gpu:0")
    assert graph.device.tolist()[:4] == [0, 1, 0, 1]


def test_without_a_catalogue_integers_count_too():
    builder = PlacementGraphBuilder()
    builder.add_node("a", "AddN", {"N": 2, "T": FLOAT})
    builder.add_node("b", "AddN", {"N": 3, "T": FLOAT})
    assert len(builder.build().signatures) == 2


def test_colocation_entries():
    builder = PlacementGraphBuilder()
    builder.add_node("a", "NoOp", {})
    builder.add_node("b", "NoOp", {"_class": (b"loc:@a", b"loc:@zz", b"other")})
    graph = builder.build()
    assert graph.colocation(1) == ("a", "zz")
    assert graph.colocation(0) == ()
    assert graph.group_node.tolist() == [0, -1]
    assert graph.attrs(1)["_class"] == (b"loc:@a", b"loc:@zz")


@pytest.mark.parametrize(
    ("specs", "sentence"),
    [
        ([node("a", "NoOp"), node("a", "NoOp")], "Node 'a' is not unique"),
        ([node("a", "NoOp", "^b")], r"Node 'a': Unknown input node '\^b'"),
        ([node("a", "Neg", "b:2", T="float32")], "Node 'a': Unknown input node 'b:2'"),
        ([node("a b", "NoOp")], "Node 'a b': Node name contains invalid characters"),
        ([node("a\nb", "NoOp")], "Node name contains invalid characters"),
        ([node("", "NoOp")], "Node '': Node name contains invalid characters"),
        (
            [node("a", "Neg", "^b", "b", T="float32")],
            "Control dependencies must come after regular dependencies",
        ),
    ],
)
def test_bad_names(specs, sentence):
    with pytest.raises(errors.InvalidArgumentError, match=sentence):
        placement_graph(specs)
