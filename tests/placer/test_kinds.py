"""Kinds: components that hold the same signatures and requests, whatever their size and order."""

import numpy as np

from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.components import components
from gpuplace.placer.kinds import kinds_of
from tests.support.node_specs import node, placement_graph


def kinds(specs, pairs):
    graph = placement_graph(specs, default_catalogue("2.21"))
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    component = components(len(graph), left, right)
    return graph, kinds_of(graph, component, np.unique(np.concatenate((left, right))))


def variable(name, device=""):
    return node(name, "VariableV2", dtype="float32", device=device)


def test_components_with_the_same_content_are_of_one_kind():
    specs = [
        variable("v", "/gpu:0"),
        node("read", "Identity", "v", T="float32"),
        node("w_read", "Identity", "w", T="float32"),
        variable("w", "/gpu:0"),
        node("w_again", "Identity", "w", T="float32"),
        variable("u", "/gpu:1"),
        node("u_read", "Identity", "u", T="float32"),
    ]
    graph, found = kinds(specs, [(0, 1), (3, 2), (3, 4), (5, 6)])
    assert found.of_node[0] == found.of_node[1] == found.of_node[2] == found.of_node[3] == found.of_node[4]
    assert found.of_node[5] == found.of_node[6] != found.of_node[0]
    entries = found.kind == found.of_node[5]
    contents = {
        (graph.signatures[s].op_type, graph.devices[d])
        for s, d in zip(found.signature[entries], found.device[entries], strict=True)
    }
    assert contents == {("VariableV2", "/gpu:1"), ("Identity", "")}


def test_a_node_by_itself_is_of_another_kind_than_a_pair_of_its_like():
    specs = [variable("a"), variable("b"), variable("c")]
    _, found = kinds(specs, [(0, 1)])
    assert found.of_node[0] == found.of_node[1] != found.of_node[2]
    assert found.is_bound[found.of_node].tolist() == [True, True, False]


def test_no_nodes_no_kinds():
    _, found = kinds([], [])
    assert len(found) == len(found.of_node) == len(found.kind) == 0
