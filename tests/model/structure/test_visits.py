"""Circles of the flow, its order, and visits of scopes that it enters repeatedly."""

import numpy as np

from gpuplace.model.structure.copies import towers
from gpuplace.model.structure.flow import flow_order
from gpuplace.model.structure.visits import circles, visits


def test_circles_are_the_positions_that_lead_back_to_themselves():
    assert circles(3, {(0, 1), (1, 2)}) == []
    assert circles(4, {(0, 1), (1, 2), (2, 1), (2, 3)}) == [[1, 2]]
    assert circles(6, {(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2), (4, 5)}) == [[2, 3, 4], [0, 1]]
    assert circles(2, {(0, 0)}) == []  # alone, it is no group


def test_the_flow_order_keeps_the_graphs_order_where_it_can():
    def order(count, *edges):
        ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
        return flow_order(count, ends[:, 0], ends[:, 1]).tolist()

    assert order(3, (0, 1), (1, 2)) == [0, 1, 2]
    assert order(4, (3, 0), (0, 2)) == [1, 3, 0, 2]
    assert order(3, (1, 0), (2, 1)) == [2, 1, 0]
    assert order(4, (0, 1), (1, 2), (2, 1), (2, 3)) == [0, 1, 2, 3]  # a cycle begins with its first node
    assert sorted(order(5, (4, 3), (3, 4), (4, 0))) == [0, 1, 2, 3, 4]


def alternating(times, nodes_per_visit=2):
    """A flow that enters two scopes in turn; returns the scope of each node, and the edges."""
    home, edges = {}, []
    for node in range(2 * times * nodes_per_visit):
        home[node] = node // nodes_per_visit % 2
        if node:
            edges.append((node - 1, node))
    return home, edges


def test_each_return_to_a_scope_is_a_visit():
    home, edges = alternating(3)
    found = visits(home, sorted(home), edges)
    assert found == {
        (0, 0): [0, 1],
        (1, 1): [2, 3],
        (0, 2): [4, 5],
        (1, 3): [6, 7],
        (0, 4): [8, 9],
        (1, 5): [10, 11],
    }


def test_two_visits_or_single_ops_are_no_visits():
    home, edges = alternating(2)
    assert visits(home, sorted(home), edges) == {}
    home, edges = alternating(4, nodes_per_visit=1)
    assert visits(home, sorted(home), edges) == {}


def test_what_begins_in_a_scope_belongs_to_the_visit_that_uses_it():
    home, edges = alternating(3)
    home[12] = 0  # a constant of the third visit of scope 0
    found = visits(home, [12, *range(12)], [*edges, (12, 8)])
    assert found[0, 4] == [12, 8, 9]


W, V, U = (frozenset({variable}) for variable in range(3))
NONE = frozenset()
TWO = {(0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 6)}


def test_towers_share_their_variables_side_by_side():
    assert towers([W, W, V, V, U, U, NONE], [1] * 7, TWO) == [[0, 2, 4], [1, 3, 5]]


def test_parts_without_towers():
    assert towers([W, V, U], [1] * 3, {(0, 1), (1, 2)}) == []
    assert towers([W, W, V, V, NONE], [1] * 5, {(0, 2), (1, 3), (2, 4), (3, 4)}) == []  # two variables only
    assert towers([W, W, V, V, U, U, NONE], [9, 1, 9, 1, 9, 1, 1], TWO) == []  # of other sizes
    own = [frozenset({number}) for number in range(6)]
    assert towers([*own, NONE], [1] * 7, TWO) == []  # nothing is shared


def test_a_tower_includes_ops_without_variables_that_only_it_leads_to():
    links = {(0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7), (6, 8), (7, 8)}
    assert towers([W, W, V, V, U, U, NONE, NONE, NONE], [1] * 9, links) == [[0, 2, 4, 6], [1, 3, 5, 7]]
