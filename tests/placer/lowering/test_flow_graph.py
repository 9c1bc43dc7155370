"""The graph that the rewriting changes keeps inputs and consumers in step."""

from gpuplace.placer.lowering.flow_graph import FlowGraph


def test_numbers_are_shared_by_all_names():
    graph = FlowGraph()
    assert [graph.new_name("a"), graph.new_name("b"), graph.new_name("a")] == ["a/_0", "b/_1", "a/_2"]


def test_consumers_move_to_the_replacement():
    graph = FlowGraph()
    old, new, done = graph.add("old", "Split"), graph.add("new", "Identity"), graph.add("done", "NoOp")
    reader = graph.add("reader", "Add", inputs=[(old, 1), (new, 0)], controls=[old])
    graph.replace(old, [(new, 3), (new, 7)], done)
    graph.remove(old)
    assert reader.inputs == [(new, 7), (new, 0)]
    assert list(reader.controls) == [done]
    assert list(old.consumers) == []
    assert list(done.consumers) == [reader]
    assert [node.name for node in graph.nodes()] == ["new", "done", "reader"]


def test_a_fed_input_leaves_its_old_source():
    graph = FlowGraph()
    first, second = graph.add("first", "Const"), graph.add("second", "Const")
    merge = graph.add("merge", "Merge", inputs=[(first, 0), (first, 0)])
    graph.set_input(merge, 1, (second, 0))
    assert list(first.consumers) == [merge]
    graph.set_input(merge, 0, (second, 0))
    assert list(first.consumers) == []


def test_nodes_added_while_walking_come_up_and_removed_ones_do_not():
    graph = FlowGraph()
    a, b = graph.add("a", "NoOp"), graph.add("b", "NoOp")
    seen = []
    for node in graph.nodes_as_they_grow():
        seen.append(node.name)
        if node is a:
            graph.remove(b)
            graph.add("c", "NoOp")
    assert seen == ["a", "c"]
