"""Collections of a graph."""

import pytest

import gpuplace as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_values_are_kept_in_order_and_once_for_each_collection(graph):
    graph.add_to_collection("a", 1)
    graph.add_to_collections(["a", "b", "b"], 2)
    graph.add_to_collections("ab", 3)
    assert (graph.get_collection("a"), graph.get_collection("b"), graph.get_collection("ab")) == (
        [1, 2],
        [2],
        [3],
    )
    assert set(graph.get_all_collection_keys()) >= {"a", "b", "ab"}


def test_a_reference_changes_the_collection_and_a_copy_does_not(graph):
    graph.get_collection("a").append(1)
    assert graph.get_collection("a") == [] and "a" not in graph.get_all_collection_keys()
    graph.get_collection_ref("a").append(2)
    assert graph.get_collection("a") == [2]


def test_a_scope_is_a_pattern_at_the_start_of_names(graph):
    x, y = tf.constant(1, name="one/x"), tf.constant(2, name="two/one/y")
    for value in (x, y, "no name"):
        graph.add_to_collection("a", value)
    assert graph.get_collection("a", "one") == [x]
    assert graph.get_collection("a", ".*one") == [x, y]
    assert graph.get_collection("a", "") == [x, y]
    assert graph.get_collection("a") == [x, y, "no name"]


def test_names_that_are_no_texts_are_not_listed(graph):
    graph.add_to_collection(("a", 1), 2)
    assert graph.get_collection(("a", 1)) == [2] and ("a", 1) not in graph.get_all_collection_keys()


def test_a_finalized_graph_keeps_its_collections(graph):
    graph.add_to_collection("a", 1)
    graph.finalize()
    for change in (lambda: graph.add_to_collection("a", 2), lambda: graph.clear_collection("a")):
        with pytest.raises(RuntimeError, match="finalized"):
            change()
    assert graph.get_collection("a") == [1]


def test_a_cleared_collection_is_gone(graph):
    graph.add_to_collection("a", 1)
    graph.clear_collection("a")
    graph.clear_collection("never there")
    assert graph.get_collection("a") == [] and "a" not in graph.get_all_collection_keys()
