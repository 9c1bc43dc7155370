"""Flat arrays: interning, resolution of names, order of visits."""

import numpy as np
import pytest

from gpuplace import errors
from gpuplace.dtypes import as_dtype
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.components import components
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.placement_graph import split_tensor_name
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


def test_edges_in_graph_def_style():
    graph = placement_graph(
        [
            node("s", "Split", "k", "x", num_split=2, T="float32"),
            node("k", "Const", dtype="int32"),
            node("x", "Placeholder", dtype="float32"),
            node("n", "Neg", "s:1", "^k", "^k", T="float32"),
        ]
    )
    rows = zip(*(column.tolist() for column in (graph.src, graph.src_output, graph.dst, graph.dst_input)))
    assert list(rows) == [(1, 0, 0, 0), (2, 0, 0, 1), (0, 1, 3, 0), (1, -1, 3, -1)]
    assert graph.order.tolist() == [1, 2, 0, 3]
    assert list(graph.in_edges(3)) == [2, 3]
    assert graph.out_edges(1) == [0, 3]


def test_the_smallest_ready_node_is_visited_next():
    graph = placement_graph(
        [
            node("c", "Neg", "b", T="float32"),
            node("b", "Neg", "a", T="float32"),
            node("a", "Placeholder", dtype="float32"),
            node("z", "NoOp"),
        ]
    )
    assert [graph.names[i] for i in graph.order] == ["a", "b", "c", "z"]
    assert graph.rank.tolist() == [2, 1, 0, 3]


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


def test_a_cycle_is_named():
    graph = placement_graph([node("a", "Neg", "b", T="float32"), node("b", "Neg", "a", T="float32")])
    with pytest.raises(errors.InvalidArgumentError, match="2 nodes in a cycle") as caught:
        _ = graph.order
    assert caught.value.facts["nodes"] == "a, b"


def test_split_tensor_name():
    assert split_tensor_name("a:b:3") == ("a:b", 3)
    assert split_tensor_name("a:") == ("a:", 0)


def test_components_of_a_chain_and_of_random_pairs():
    chain = np.arange(999)
    assert set(components(1000, chain, chain + 1).tolist()) == {0}
    rng = np.random.default_rng(5)
    left, right = rng.integers(0, 300, 150), rng.integers(0, 300, 150)
    label = components(300, left, right).tolist()
    parent = list(range(300))

    def find(x):
        while parent[x] != x:
            x = parent[x]
        return x

    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        low, high = sorted((find(a), find(b)))
        parent[high] = low
    assert label == [find(x) for x in range(300)]
