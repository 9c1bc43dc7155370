"""Cells whose step is one op, against those of several, and their gradients against slopes."""

import numpy as np
import pytest

import gpuplace as tf

rnn = tf.contrib.rnn


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_block_cell_computes_what_the_cell_of_several_ops_does(kind):
    values = np.random.default_rng(4).normal(size=[2, 5, 3]).astype(np.float32)
    if kind == "lstm":
        block, plain = rnn.LSTMBlockCell(4, forget_bias=0.5), tf.nn.rnn_cell.BasicLSTMCell(4, forget_bias=0.5)
    else:
        block, plain = rnn.GRUBlockCellV2(4), tf.nn.rnn_cell.GRUCell(4)
    inputs = tf.constant(values)
    ours, _ = tf.nn.dynamic_rnn(block, inputs, dtype=tf.float32, scope="block")
    theirs, _ = tf.nn.dynamic_rnn(plain, inputs, dtype=tf.float32, scope="plain")
    pairs = list(zip(plain.trainable_variables, block.trainable_variables, strict=True))
    gradients = [
        tf.gradients(tf.square(made), [inputs, *cell.trainable_variables])
        for made, cell in ((ours, block), (theirs, plain))
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([tf.assign(one, other) for one, other in pairs])
        for one, other in zip(*session.run([[ours, *gradients[0]], [theirs, *gradients[1]]]), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def test_gradients_through_peepholes_are_slopes():
    cell = rnn.LSTMBlockCell(2, use_peephole=True)
    inputs, state = (
        tf.constant([[0.3, -0.8]]),
        rnn.LSTMStateTuple(tf.constant([[0.5, -1.0]]), tf.ones([1, 2])),
    )
    output, (memory, _) = cell(inputs, state)
    total = tf.reduce_sum(output * [[1.0, -2.0]] + memory)
    gradients = tf.gradients(total, cell.trainable_variables)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable, found in zip(cell.trainable_variables, session.run(gradients), strict=True):
            value = session.run(variable)
            for place in np.ndindex(value.shape):
                ends = []
                for sign in (1, -1):
                    other = value.copy()
                    other[place] += sign * 1e-2
                    variable.load(other, session)
                    ends.append(session.run(total))
                variable.load(value, session)
                assert found[place] == pytest.approx((ends[0] - ends[1]) / 2e-2, rel=2e-3, abs=2e-4)


def test_arguments_that_do_not_fit():
    with pytest.raises(ValueError, match="Exactly one of num_units or cell_size"):
        rnn.GRUBlockCell(4, cell_size=4)
    with pytest.raises(ValueError, match="Expecting state to be a tuple with length 2"):
        rnn.LSTMBlockCell(4)(tf.ones([2, 3]), (tf.ones([2, 4]),))


@pytest.mark.parametrize("peephole", [False, True])
def test_a_sequence_as_one_op_is_the_cell_step_by_step(peephole):
    values = np.random.default_rng(5).normal(size=[4, 3, 2]).astype(np.float32)
    inputs, lengths = tf.constant(values), tf.constant([4, 0, 2])
    fused, cell = (
        kind(3, forget_bias=0.5, cell_clip=0.4, use_peephole=peephole)
        for kind in (rnn.LSTMBlockFusedCell, rnn.LSTMBlockCell)
    )
    ours, state = fused(inputs, dtype=tf.float32, sequence_length=lengths)
    theirs, last = tf.nn.dynamic_rnn(cell, inputs, lengths, dtype=tf.float32, time_major=True)
    found = []
    for made, one, kind in ((ours, state, fused), (theirs, last, cell)):
        total = tf.reduce_sum(tf.square(made)) + tf.reduce_sum(one.c * [1.0, -2.0, 0.5])
        found.append([made, *one, *tf.gradients(total, [inputs, *kind.trainable_variables])])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        pairs = zip(cell.trainable_variables, fused.trainable_variables, strict=True)
        session.run([tf.assign(one, other) for one, other in pairs])
        for one, other in zip(*session.run(found), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def test_a_sequence_is_given_and_returned_as_a_list_too():
    cell = rnn.LSTMBlockFusedCell(3)
    outputs, state = cell([tf.ones([2, 4])] * 3, (tf.zeros([2, 3]), tf.zeros([2, 3])))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        rows, (_, last) = session.run([outputs, state])
    assert len(rows) == 3 and rows[2].tolist() == last.tolist()
    with pytest.raises(ValueError, match="Either initial_state or dtype needs to be specified"):
        cell(tf.ones([3, 2, 4]))
