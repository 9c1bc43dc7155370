"""What an advice promises is so: its Python on the program's own lines, and the memory that the step takes."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.advisor.steps.placed_choice import place_choice
from tests.advisor.step_graphs import branches, graph_of, large, stack, towers
from tests.benchmarks.advised_nets import gnmt
from tests.support.advised_programs import build_as_advised, comparable_nodes, is_part

SOFT = tf.ConfigProto(allow_soft_placement=True)


def sums():
    """Two losses' towers over shared variables: sums of what several devices have, and of what one has."""
    rows = tf.placeholder(tf.float32, [64, 512], name="rows")
    shared = [tf.get_variable(f"shared_{number}", [512, 512]) for number in range(3)]
    losses = []
    for number in range(5):
        with tf.variable_scope(f"part_{number}"):
            found = rows
            for weights in (*shared, tf.get_variable("own", [512, 512])):
                found = (
                    tf.nn.relu(tf.nn.bias_add(tf.matmul(found, weights), tf.get_variable("bias", [512])))
                    + found
                )
                tf.get_variable_scope().reuse_variables()
            losses.append(tf.reduce_mean(found))
    tf.train.AdamOptimizer(0.1).minimize(tf.add_n(losses), name="train")


def loops():
    """Recurrent layers in loops, with resource variables."""
    found = tf.placeholder(tf.float32, [32, 6, 128], name="rows")
    for layer in range(2):
        with tf.variable_scope(f"layer_{layer}", use_resource=True):
            cell = tf.nn.rnn_cell.LSTMCell(128)
            found, _ = tf.nn.dynamic_rnn(cell, found, dtype=tf.float32)
    tf.train.RMSPropOptimizer(0.1).minimize(tf.reduce_mean(found), name="train")


def unrolled():
    """Recurrent layers written out, with attention: sums of sums of gradients, and gates that follow them."""
    with tf.control_dependencies([gnmt(layers=4, units=8, length=2, batch=4, words=50)(tf, 2)]):
        tf.no_op(name="train")


def scattered(build, machine, seed):
    """An advice whose choice is random, so that ops of all kinds are parted."""
    advice = tf.advise(graph_of(build), "train", machine=machine, config=SOFT, steps=1)
    case, rng = advice._case, np.random.default_rng(seed)
    count = len(case.scorer.units.names)
    choice = rng.integers(-1, len(case.original.device_set), count)
    if seed % 2:  # what is made one after the other is together now and then
        choice = np.repeat(choice, rng.integers(1, 5, count))[:count]
    return type(advice)(case, place_choice(case, choice), "step_time", 0.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("build", [towers(), branches(blocks=1), stack(2, 2, 64), sums, loops, unrolled])
def test_python_gives_the_placement_however_the_nodes_are_parted(build, seed):
    advice = scattered(build, "2x V100", seed)
    with tf.Graph().as_default() as graph:
        build_as_advised(tf, advice.as_python(), build)
    promised = comparable_nodes(advice.graph_def(), advice.placement)
    found = comparable_nodes(graph.as_graph_def(), tf.place(graph, "2x V100", SOFT))
    assert promised == {
        name: device for name, device in found.items() if name in promised or not is_part(name)
    }
    assert dict(tf.place(advice.graph_def(), "2x V100", SOFT)) == dict(advice.placement)


@pytest.mark.parametrize(
    ("build", "machine"),
    [(towers(width=256, devices=False), "2x K80"), (sums, "1x V100, 1x K80"), (large(3, 512), "4x K80")],
    ids=["towers", "sums", "large"],
)
def test_the_step_takes_the_memory_predicted(build, machine):
    config = tf.ConfigProto(allow_soft_placement=True, inter_op_parallelism_threads=1)
    tf.use_machine(machine)
    advice = tf.advise(graph_of(build), "train", machine=machine, config=config, steps=20, objective="memory")
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(advice.graph_def(), name="")
        begins = [
            op for op in graph.get_operations() if op.inputs and op.name == f"{op.inputs[0].op.name}/Assign"
        ]
        rows = graph.get_tensor_by_name("rows:0")
        with tf.Session(config=config) as session:
            session.run(begins)
            session.run("train", {rows: np.ones(rows.shape.as_list(), np.float32)})
            shown = {name: one.stats().peak_bytes_in_use for name, one in session.allocators.items()}
    assert {name: advice.estimate.peak_memory[name] for name in shown} == shown
