"""The order in which everything comes after its sources."""

from gpuplace.graph.ready_order import ready_order


def order_of(items, edges):
    """The order of items for edges, as pairs."""
    return ready_order(items, lambda item: [start for start, end in edges if end == item])


def test_the_first_that_is_ready_is_next():
    assert order_of([0, 1, 2, 3, 4], [(3, 0), (3, 1), (1, 2)]) == [3, 0, 1, 2, 4]
    assert order_of([3, 2, 1, 0], [(3, 0)]) == [3, 2, 1, 0]
    assert order_of([], []) == []


def test_an_edge_may_be_there_twice():
    assert order_of([0, 1], [(1, 0), (1, 0)]) == [1, 0]


def test_circles_and_what_is_behind_them_are_left_out():
    assert order_of([0, 1, 2, 3], [(0, 1), (1, 0), (1, 2)]) == [3]
