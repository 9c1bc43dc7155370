"""The order in which everything comes behind what it waits for."""

from gpuplace.graph.ready_order import ready_order


def order_of(edges, count, key=None):
    """The order for edges, as pairs, between numbers; and what is left."""
    consumers = [[end for start, end in edges if start == item] for item in range(count)]
    waiting = {item: sum(end == item for _, end in edges) for item in range(count)}
    found = ready_order(waiting, consumers.__getitem__, key)
    return found, [item for item, count in waiting.items() if count > 0]


def test_the_smallest_that_is_ready_goes_first():
    assert order_of([(3, 0), (3, 1), (1, 2)], 5) == ([3, 0, 1, 2, 4], [])
    assert order_of([], 3) == ([0, 1, 2], [])


def test_by_a_key():
    assert order_of([(3, 0)], 4, key=lambda item: -item) == ([3, 2, 1, 0], [])


def test_an_edge_may_be_there_twice():
    assert order_of([(1, 0), (1, 0)], 2) == ([1, 0], [])


def test_circles_and_what_is_behind_them_are_left():
    assert order_of([(0, 1), (1, 0), (1, 2)], 4) == ([3], [0, 1, 2])
