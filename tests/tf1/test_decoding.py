"""``tf.contrib.seq2seq``: values of decoders, which are those of TensorFlow 1.15.5 for the same programs and seeds."""

import numpy as np
import pytest

import gpuplace as tf

seq2seq = tf.contrib.seq2seq
WORDS, UNITS, BATCH, TIME = 9, 4, 3, 5


def uniform(seed, width=0.7):
    return tf.random_uniform_initializer(-width, width, seed=seed)


def cell():
    return tf.nn.rnn_cell.LSTMCell(UNITS, initializer=uniform(3))


@pytest.fixture
def data():
    """Embeddings, a memory, its lengths, true symbols, and the layer of outputs."""
    r = np.random.RandomState(0)
    table = tf.get_variable("table", initializer=tf.constant(r.randn(WORDS, 3).astype(np.float32)))
    memory = tf.constant(r.randn(BATCH, TIME, 5).astype(np.float32))
    truth = tf.constant(r.randint(0, WORDS, (BATCH, TIME)))
    layer = tf.layers.Dense(WORDS, kernel_initializer=uniform(5, 0.9))
    with tf.variable_scope("model", initializer=uniform(11)):
        yield table, memory, tf.constant([5, 3, 2]), truth, layer


def values(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


MECHANISMS = {
    "additive": lambda *given: seq2seq.BahdanauAttention(UNITS, *given, normalize=True),
    "multiplicative": lambda *given: seq2seq.LuongAttention(UNITS, *given, scale=True),
    "forwards": lambda *given: seq2seq.BahdanauMonotonicAttention(UNITS, *given),
    "forwards, step by step": lambda *given: seq2seq.LuongMonotonicAttention(UNITS, *given, mode="recursive"),
}


def decoded(name, data):
    table, memory, lengths, truth, layer = data
    wrapper = seq2seq.AttentionWrapper(cell(), MECHANISMS[name](memory, lengths), 3, alignment_history=True)
    helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, truth), lengths)
    decoder = seq2seq.BasicDecoder(wrapper, helper, wrapper.zero_state(BATCH, tf.float32), layer)
    outputs, state, found = seq2seq.dynamic_decode(decoder)
    weights = tf.sequence_mask(lengths, TIME, dtype=tf.float32)
    loss = seq2seq.sequence_loss(outputs.rnn_output, truth, weights)
    slope = tf.reduce_sum(tf.abs(tf.convert_to_tensor(tf.gradients(loss, table)[0])))
    return (
        loss,
        slope,
        tf.reduce_sum(state.attention),
        state.alignment_history.stack(),
        outputs.sample_id,
        found,
    )


def greedy(data, helper):
    table, *_, layer = data
    decoder = seq2seq.BasicDecoder(cell(), helper, cell().zero_state(BATCH, tf.float32), layer)
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=6)
    return outputs.sample_id, lengths


def searched(data, length_penalty, coverage_penalty):
    table, memory, lengths, _, layer = data
    memory, lengths = seq2seq.tile_batch((memory, lengths), 3)
    wrapper = seq2seq.AttentionWrapper(cell(), seq2seq.LuongAttention(UNITS, memory, lengths), 3)
    decoder = seq2seq.BeamSearchDecoder(
        wrapper, table, tf.fill([BATCH], 1), 2, wrapper.zero_state(BATCH * 3, tf.float32), 3, layer,
        length_penalty_weight=length_penalty, coverage_penalty_weight=coverage_penalty,
    )  # fmt: skip
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=8)
    return outputs.predicted_ids[:, :, 0], outputs.beam_search_decoder_output.scores[:, -1], state.lengths


TRAINED = {
    "additive": (2.177244, 0.067124, -1.043675, [4, 0, 0, 4, 4]),
    "multiplicative": (2.248937, 0.180568, -0.613263, [0, 5, 4, 4, 4]),
    "forwards": (2.152587, 0.068824, -0.105731, [4, 4, 0, 0, 0]),
    "forwards, step by step": (2.182127, 0.099974, 0.05158, [4, 4, 4, 4, 4]),
}


@pytest.mark.parametrize("name", TRAINED)
def test_attention_is_that_of_tensorflow(name, data):
    loss, slope, attention, history, ids, lengths = values(decoded(name, data))
    np.testing.assert_allclose([loss, slope, attention], TRAINED[name][:3], atol=2e-6)
    assert ids[0].tolist() == TRAINED[name][3] and lengths.tolist() == [5, 3, 2]
    assert (
        history.shape == (TIME, BATCH, TIME) and not history[:, 1, 3:].any() and not history[:, 2, 2:].any()
    )


FED = {
    "greedy": ([[0, 7, 0, 7, 0, 7], [0, 7, 0, 7, 0, 7], [0, 7, 0, 7, 0, 7]], [6, 6, 6]),
    "sampled": ([[8, 0, 6, 7, 6, 7], [0, 2, 8, 3, 2, 8], [4, 8, 8, 7, 0, 2]], [6, 2, 6]),
    "scheduled": ([[-1, 0, -1, -1, -1], [-1, 2, 8, -1, 2], [-1, 8, 8, -1, -1]], [5, 3, 2]),
}


@pytest.mark.parametrize("name", FED)
def test_what_is_fed_is_that_of_tensorflow(name, data):
    table, _, lengths, truth, _ = data
    start = tf.fill([BATCH], 1)
    if name == "greedy":
        helper = seq2seq.GreedyEmbeddingHelper(table, start, 2)
    elif name == "sampled":
        helper = seq2seq.SampleEmbeddingHelper(table, start, 2, softmax_temperature=0.5, seed=7)
    else:
        inputs = tf.nn.embedding_lookup(table, truth)
        helper = seq2seq.ScheduledEmbeddingTrainingHelper(
            inputs, lengths, table, 0.5, seed=7, scheduling_seed=8
        )
    ids, found = values(greedy(data, helper))
    assert (ids.tolist(), found.tolist()) == FED[name]


SEARCHED = {
    (0.0, 0.0): (
        [[2] * 8, [2] * 8, [2] * 8],
        [[-2.08754, -9.55501, -15.05037], [-1.60143, -3.35699, -13.58048], [-2.04022, -14.83739, -15.01637]],
        [[1, 5, 8], [1, 2, 8], [1, 8, 8]],
    ),
    (0.7, 0.3): (
        [[4] * 8, [2] * 8, [0, 8, 8, 8, 0, 8, 8, 8]],
        [[-8.75977, -8.83384, -8.83554], [-2.59139, -7.89017, -7.90425], [-8.63581, -8.66967, -8.74243]],
        [[8, 8, 8], [1, 8, 8], [8, 8, 8]],
    ),
}


@pytest.mark.parametrize("penalties", SEARCHED)
def test_a_beam_search_finds_what_tensorflow_finds(penalties, data):
    best, scores, lengths = values(searched(data, *penalties))
    ids, expected, lengths_expected = SEARCHED[penalties]
    assert best.tolist() == ids and lengths.tolist() == lengths_expected
    np.testing.assert_allclose(scores, expected, atol=2e-5)


def test_sequences_are_gathered_from_their_ends():
    steps = [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[-1, -1, -1]]]
    parents = [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]]
    with tf.Session() as session:
        assert session.run(seq2seq.gather_tree(steps, parents, [3], 10)).tolist() == [
            [[2, 2, 2]],
            [[6, 5, 6]],
            [[7, 8, 9]],
            [[10, 10, 10]],
        ]
        first = [[[9, -1, 7]], *parents[1:]]  # parents of the first step are nobody's
        assert session.run(seq2seq.gather_tree(steps, first, [3], 10))[0].tolist() == [[2, 2, 2]]
        ended = seq2seq.gather_tree(steps, parents, [3], 6)
        assert session.run(ended)[:, 0, 0].tolist() == [2, 6, 6, 6]
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"invalid parent id 5 at \(batch, time, beam\)"
        ):
            session.run(seq2seq.gather_tree([[[1]], [[2]]], [[[0]], [[5]]], [2], 9))


def test_what_does_not_fit_is_said(data):
    _, memory, lengths, _, layer = data
    wrapper = seq2seq.AttentionWrapper(cell(), seq2seq.LuongAttention(UNITS, memory, lengths))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Non-matching batch sizes .*tile_batch"):
        wrapper.zero_state(BATCH * 3, tf.float32)
    with pytest.raises(TypeError, match="helper must be a Helper"):
        seq2seq.BasicDecoder(cell(), None, None)
    with pytest.raises(TypeError, match="Expected decoder to be type Decoder"):
        seq2seq.dynamic_decode(layer)
    state = wrapper.zero_state(BATCH, tf.float32)
    with pytest.raises(ValueError, match=r"expected \[3, 5\], got \(3, 4\)"):
        state.clone(attention=tf.zeros([BATCH, UNITS]))
    with pytest.raises(ValueError, match="one integer per attention_mechanism, saw: 2 vs 1"):
        seq2seq.AttentionWrapper(cell(), seq2seq.LuongAttention(UNITS, memory), [3, 4])
