"""Recurrent nets and attention."""

from __future__ import annotations

from tests.oracle.corpus.blocks import attention, dense, lstm_step
from tests.oracle.corpus.programs import program, tf, variants


@program
def lstm_unrolled():
    """An unrolled LSTM, truncated gradients, clipping."""
    x = tf.placeholder(tf.float32, [4, 5, 8])
    c = h = tf.zeros([4, 16])
    for step in tf.unstack(x, axis=1):
        c, h = lstm_step(step, c, h, 16)
    loss = tf.reduce_mean(tf.square(h))
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    tf.train.GradientDescentOptimizer(1.0).apply_gradients(zip(gradients, variables))


@variants(variables=["ref", "resource"])
def lstm_in_a_loop(variables):
    """A while loop with tensor arrays, and its gradient with stacks."""
    with tf.variable_scope("net", use_resource=variables == "resource"):
        x = tf.placeholder(tf.float32, [5, 4, 8])
        inputs = tf.TensorArray(tf.float32, 5).unstack(x)
        outputs = tf.TensorArray(tf.float32, 5)

        def step(i, c, h, outputs):
            c, h = lstm_step(tf.ensure_shape(inputs.read(i), [4, 8]), c, h, 16)
            return i + 1, c, h, outputs.write(i, h)

        zeros = tf.zeros([4, 16])
        outputs = tf.while_loop(lambda i, *_: i < 5, step, [0, zeros, zeros, outputs])[3].stack()
        tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(outputs))


@program
def language_model():
    """Embedding on the CPU, recurrence on the GPU, sampled softmax."""
    tokens = tf.placeholder(tf.int32, [4, 6])
    with tf.device("/cpu:0"):
        embedding = tf.get_variable("embedding", [1000, 16])
        x = tf.nn.embedding_lookup(embedding, tokens)
    with tf.device("/gpu:0"):
        c = h = tf.zeros([4, 16])
        for step in tf.unstack(x, axis=1):
            c, h = lstm_step(step, c, h, 16)
        weights = tf.get_variable("softmax", [1000, 16])
        biases = tf.get_variable("biases", [1000])
        labels = tf.placeholder(tf.int64, [4, 1])
        loss = tf.nn.sampled_softmax_loss(weights, biases, labels, h, 20, 1000)
        tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss))


@program
def layers_on_devices():
    """Recurrent layers spread over GPUs, as in translation models."""
    x = tf.placeholder(tf.float32, [4, 3, 8])
    steps = tf.unstack(x, axis=1)
    for layer in range(3):
        with tf.device("/gpu:%d" % layer), tf.variable_scope("layer%d" % layer):
            c = h = tf.zeros([4, 8])
            outputs = []
            for step in steps:
                c, h = lstm_step(step, c, h, 8)
                outputs.append(h)
        steps = outputs
    tf.train.GradientDescentOptimizer(0.1).minimize(
        tf.reduce_sum(tf.stack(steps)), colocate_gradients_with_ops=True
    )


@program
def sequence_to_sequence():
    """Encoder, attending decoder, sequence lengths, masks, greedy search."""
    source = tf.placeholder(tf.int32, [4, None], "source")
    lengths = tf.placeholder(tf.int32, [4], "lengths")
    embedding = tf.get_variable("embedding", [50, 16])
    memory = tf.gather(embedding, source)
    memory = tf.where(
        tf.tile(tf.expand_dims(tf.sequence_mask(lengths, tf.shape(source)[1]), 2), [1, 1, 16]),
        memory,
        tf.zeros_like(memory),
    )
    memory = tf.reverse_sequence(memory, lengths, seq_axis=1, batch_axis=0)

    def step(i, token, h, logits):
        x = tf.gather(embedding, token)
        context = tf.squeeze(attention(tf.expand_dims(h, 1), memory, memory), 1)
        with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE):
            h = dense(tf.concat([x, context, h], 1), 16, "cell", tf.tanh)
            output = dense(h, 50, "output", tf.identity)
        return i + 1, tf.argmax(output, 1, output_type=tf.int32), h, logits.write(i, output)

    first = [0, tf.zeros([4], tf.int32), tf.zeros([4, 16]), tf.TensorArray(tf.float32, 7)]
    tf.while_loop(lambda i, *_: i < 7, step, first)


@program
def transformer_block():
    """Many heads, layer normalisation, positions, label smoothing, warm-up."""
    tokens = tf.placeholder(tf.int64, [2, 10], "tokens")
    x = tf.nn.embedding_lookup(tf.get_variable("embedding", [100, 32]), tokens) * 32**0.5
    positions = tf.cast(tf.range(10), tf.float32)[:, None] * tf.exp(tf.linspace(0.0, -5.0, 16))[None]
    x += tf.concat([tf.sin(positions), tf.cos(positions)], 1)
    heads = []
    for name in ("queries", "keys", "values"):
        weights = tf.get_variable(name, [32, 32])
        heads.append(tf.transpose(tf.reshape(tf.tensordot(x, weights, 1), [2, 10, 4, 8]), [0, 2, 1, 3]))
    x += tf.reshape(tf.transpose(attention(*heads), [0, 2, 1, 3]), [2, 10, 32])
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    x = (x - mean) * tf.rsqrt(variance + 1e-6)
    logits = dense(tf.reshape(x, [-1, 32]), 100, "logits", tf.identity)
    labels = tf.one_hot(tf.reshape(tokens, [-1]), 100, 0.9, 0.001)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
    step = tf.train.get_or_create_global_step()
    rate = tf.minimum(tf.rsqrt(tf.cast(step, tf.float32) + 1.0), tf.cast(step, tf.float32) * 0.01)
    tf.train.AdamOptimizer(rate, beta2=0.98).minimize(loss, step)


@program
def beam_search():
    """top_k, gather_nd, scatter_nd, integer arithmetic."""
    scores = tf.placeholder(tf.float32, [3, 4, 50])
    best, flat = tf.nn.top_k(tf.reshape(scores, [3, 200]), 4)
    beams, words = flat // 50, flat % 50
    batch = tf.tile(tf.range(3)[:, None], [1, 4])
    chosen = tf.gather_nd(scores, tf.stack([batch, beams, words], 2))
    tf.scatter_nd(tf.reshape(batch, [-1, 1]), tf.reshape(best + chosen, [-1]), [3])
    tf.cumsum(words, axis=1)


@program
def ctc():
    """Sparse labels, a CTC loss and a decoder, both of the CPU."""
    logits = dense(tf.placeholder(tf.float32, [20, 8]), 5, "logits", tf.identity)
    logits = tf.reshape(logits, [10, 2, 5])
    lengths = tf.constant([10, 9])
    loss = tf.nn.ctc_loss(tf.sparse_placeholder(tf.int32), logits, lengths)
    tf.nn.ctc_beam_search_decoder(logits, lengths)
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(loss))
