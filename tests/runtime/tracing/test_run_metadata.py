"""``RunMetadata`` of a program on two CPU devices, field by field beside TensorFlow's."""

import base64
import json
import re
import zlib
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.graphdef.messages import RunMetadata
from tests.runtime.tracing import measured_program

TRANSFERS = {"_Send", "_Recv"}
RECORDED = {
    rules: json.loads((Path(__file__).parents[2] / "data" / f"run_metadata_{name}.json").read_text())["runs"]
    for rules, name in (("1.15", "1_15"), ("2.21", "2_21"))
}


def recorded(rules, name):
    return RunMetadata.FromString(zlib.decompress(base64.b64decode(RECORDED[rules][name])))


def ours(rules, *arguments, **options):
    tf.set_release(rules)
    tf.use_machine("2 CPU")
    return measured_program.run(tf, *arguments, **options)


def plain(text):
    """Without the numbers of sends and receives, which differ: TensorFlow also counts what it inlines."""
    return re.sub(r"/_\d+", "/_N", text)


def nodes(metadata):
    """Device and node -> what its statistics hold that is no time and no address."""
    found = {}
    for device in metadata.step_stats.dev_stats:
        for stats in device.node_stats if device.device.startswith("/job:") else ():
            op = re.match(r".* = (\w+)\(", stats.timeline_label)[1]
            if op in TRANSFERS or re.search(r"/_\d+$", stats.node_name):
                continue
            outputs = [
                (
                    output.slot,
                    output.tensor_description.dtype,
                    [dim.size for dim in output.tensor_description.shape.dim],
                    *(
                        ()
                        if op == "AsString"  # the size of a string in memory is the release's own
                        else (
                            output.tensor_description.allocation_description.requested_bytes,
                            output.tensor_description.allocation_description.allocator_name,
                        )
                    ),
                )
                for output in stats.output
            ]
            persistent = stats.memory_stats.persistent_memory_size
            found[device.device[-5:], stats.node_name] = (plain(stats.timeline_label), outputs, persistent)
    return found


@pytest.mark.parametrize("rules", RECORDED)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_nodes_and_outputs(rules, level):
    theirs = nodes(recorded(rules, f"level {level}"))
    mine = nodes(ours(rules, level))
    assert set(theirs) == set(mine)
    for key, value in theirs.items():
        assert mine[key] == value, key


@pytest.mark.parametrize("rules", RECORDED)
def test_which_lists_there_are(rules):
    for level in range(4):
        lists = [
            {device.device for device in metadata.step_stats.dev_stats}
            for metadata in (recorded(rules, f"level {level}"), ours(rules, level))
        ]
        assert lists[0] == lists[1], level


def test_the_host_s_threads():
    """1.15 traces every op with a kernel worth it, and names its threads."""
    found = []
    for metadata in (recorded("1.15", "level 3"), ours("1.15", 3)):
        (host,) = (device for device in metadata.step_stats.dev_stats if device.device == "/host:CPU")
        assert set(host.thread_names.values()) == {"tf_Compute"}
        assert {stats.thread_id for stats in host.node_stats} <= set(host.thread_names)
        names = {plain(stats.node_name) for stats in host.node_stats}
        assert all(stats.timeline_label.partition(",")[0][:3] == "id=" for stats in host.node_stats)
        found.append({name for name in names if not name.startswith("product/_N:")})
    # TensorFlow leaves out what happens to take no time.
    assert found[1] >= found[0] >= {"product:MatMul", "total:Mul", "text:AsString", "update:AssignAdd"}


@pytest.mark.parametrize("rules", RECORDED)
def test_memory_that_was_taken(rules):
    for metadata in (recorded(rules, "level 3"), ours(rules, 3)):
        stats = {
            stats.node_name: stats
            for device in metadata.step_stats.dev_stats
            for stats in device.node_stats
            if device.device.startswith("/job:")
        }
        for name in ("c", "v", "update", "_arg_x_0_0", "after"):
            assert not stats[name].memory, name
        (memory,) = stats["product"].memory
        assert (memory.allocator_name, memory.total_bytes, memory.peak_bytes) == ("cpu", 64, 64)
        assert memory.allocation_records[0].alloc_bytes == 64
        (output,) = stats["product"].output
        allocation = output.tensor_description.allocation_description
        assert (allocation.allocated_bytes, allocation.allocation_id, allocation.has_single_reference) == (
            64,
            1,
            True,
        )
        (kept,) = stats["c"].output
        assert kept.tensor_description.allocation_description.allocated_bytes == 0
        assert stats["total"].all_start_micros >= stats["total"].scheduled_micros or rules == "1.15"


def graphs(metadata):
    """Device -> its nodes: name, op, inputs and the attributes that both have."""
    found = {}
    for graph in metadata.partition_graphs:
        for node in graph.node:
            name = plain(node.name)
            key = name if "_N" not in name else (name, node.op)
            attrs = {
                name: value for name, value in node.attr.items() if name not in ("_XlaHasReferenceVars",)
            }
            if "tensor_name" in attrs:
                attrs["tensor_name"] = re.sub(rb"edge_\d+", b"edge_N", attrs["tensor_name"].s)
            attrs.pop("_has_manual_control_dependencies", None)
            for gradient in ("grad_a", "grad_b"):
                attrs.pop(gradient, None)
            debug = list(node.experimental_debug_info.original_node_names)
            found.setdefault(node.device[-5:], {}).setdefault(key, []).append(
                (
                    node.op,
                    sorted(map(plain, node.input)),
                    sorted((k, str(v)) for k, v in attrs.items()),
                    debug,
                )
            )
    return found


@pytest.mark.parametrize("rules", RECORDED)
def test_partition_graphs(rules):
    theirs, mine = graphs(recorded(rules, "level 0")), graphs(ours(rules, 0))
    assert set(theirs) == set(mine)
    for device in theirs:
        assert set(theirs[device]) == set(mine[device])
        for key in theirs[device]:
            wanted = sorted(theirs[device][key])
            got = sorted(mine[device][key])
            if key[0] == "product/_N" and key[1] == "Const":
                wanted = [
                    (*row[:3], []) for row in wanted
                ]  # the empty tensor of a control edge is of no node
                got = [(*row[:3], []) for row in got]
            assert got == wanted, key


def costs(metadata):
    """Node -> what its costs hold that was not measured."""
    names, rows = {}, {}
    for node in metadata.cost_graph.node:
        if node.name == "_SOURCE":  # a partition begins; in 1.15 so do the numbers
            names = {}
        names[node.id] = node.name
        rows.setdefault(node.name, []).append((node, names))
    found = {}
    for name, entries in rows.items():
        for node, known in entries:
            outputs = [
                (
                    0 if node.name in ("text", "parts") else output.size,
                    0 if node.name in ("total", "parts") else output.alias_input_port,
                    output.dtype,
                    str(output.shape),
                )
                for output in node.output_info
            ]
            inputs = [(plain(known[row.preceding_node]), row.preceding_port) for row in node.input_info]
            controls = sorted(plain(known[number]) for number in node.control_input)
            found.setdefault(plain(name), []).append(
                (
                    node.device[-5:],
                    inputs,
                    outputs if not re.search(r"/_\d+$", name) or "ctrl" in name else len(outputs),
                    controls,
                    node.is_final,
                    node.persistent_memory_size,
                )
            )
    return {name: sorted(entries, key=str) for name, entries in found.items()}


@pytest.mark.parametrize("rules", RECORDED)
def test_cost_graph(rules):
    theirs, mine = recorded(rules, "costs"), ours(rules, 0, build_cost_model=1)
    assert theirs.step_stats.dev_stats and mine.step_stats.dev_stats
    first = {node.name: node.id for node in mine.cost_graph.node if node.name in ("_SOURCE", "_SINK")}
    assert first == {node.name: node.id for node in theirs.cost_graph.node if node.name in first}
    wanted, got = costs(theirs), costs(mine)
    assert set(wanted) == set(got)
    for name in wanted:
        if "ctrl" not in name and name != "product/_N":
            assert got[name] == wanted[name], name
    assert all(node.compute_cost > 0 for node in mine.cost_graph.node if node.name in ("product", "total"))


@pytest.mark.parametrize("rules", RECORDED)
def test_the_cost_model_is_built_every_so_often(rules):
    for run in (2, 3):
        theirs = recorded(rules, f"costs every 3rd, run {run}")
        mine = ours(rules, 0, build_cost_model=3, runs=run)
        assert bool(theirs.cost_graph.node) == bool(mine.cost_graph.node) == (run == 3)
        assert bool(theirs.step_stats.dev_stats) == bool(mine.step_stats.dev_stats)


def test_longest_times_stay():
    tf.use_machine("cpu")
    config = tf.ConfigProto()
    config.graph_options.build_cost_model = 1
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        product = tf.matmul([[1.0]], [[2.0]], name="product")
        call = session.make_callable(product)
        before = 0
        for _ in range(5):
            metadata = tf.RunMetadata()
            session.run(product, run_metadata=metadata)
            (cost,) = (node.compute_cost for node in metadata.cost_graph.node if node.name == "product")
            assert cost >= before > -1
            before = cost
            assert call() == 2.0
        assert session.run(product) == 2.0
        (model,) = session._costs._models.values()
        assert model.runs == 11
