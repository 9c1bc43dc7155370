"""Flat arrays: resolution of names, order of visits."""

import numpy as np
import pytest

from gpuplace import errors
from gpuplace.placer.components import components
from gpuplace.placer.placement_graph import split_tensor_name
from tests.support.node_specs import node, placement_graph


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
