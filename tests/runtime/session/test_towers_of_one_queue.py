"""Towers that take their batches from one queue: who gets which is not settled, all else is."""

import numpy as np

import gpuplace as tf

TOWERS, STEPS, ROWS, BATCH = 4, 25, 128, 8


def test_each_tower_computes_with_what_it_took():
    """Every row carries its own index, so that losses, gradients and the update of Adam can be computed again."""
    tf.use_machine("4x Tesla K20m")
    rows = np.random.RandomState(0).randn(ROWS, 8).astype(np.float32)
    index = tf.train.input_producer(tf.range(ROWS), seed=1).dequeue()
    batch = tf.train.shuffle_batch([tf.gather(rows, index), index], BATCH, 64, 16, seed=1)
    queue = tf.FIFOQueue(6, [tf.float32, tf.int32], shapes=[[BATCH, 8], [BATCH]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(batch)]))
    optimizer, taken, gradients = tf.train.AdamOptimizer(0.01), [], []
    for tower in range(TOWERS):
        with tf.device(f"/gpu:{tower}"), tf.variable_scope("net", reuse=tower > 0):
            x, indices = queue.dequeue()
            hidden = tf.nn.relu(
                tf.matmul(x, tf.get_variable("a", [8, 16], initializer=tf.constant_initializer(0.1)))
            )
            out = tf.matmul(hidden, tf.get_variable("b", [16, 1], initializer=tf.constant_initializer(0.2)))
            loss = tf.reduce_mean(tf.square(out - 1.0))
        taken.append((x, indices, loss))
        gradients.append(optimizer.compute_gradients(loss))
    pairs = [(tf.add_n([grads[i][0] for grads in gradients]) / TOWERS, gradients[0][i][1]) for i in range(2)]
    train = optimizer.apply_gradients(pairs)
    variables = tf.trainable_variables()
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        a, b = session.run(variables)
        averages = [np.zeros((2, *value.shape)) for value in (a, b)]
        for step in range(1, STEPS + 1):
            got, _ = session.run([taken, train])
            slopes = [np.zeros(value.shape) for value in (a, b)]
            for x, indices, loss in got:
                np.testing.assert_array_equal(x, rows[indices])
                before = x @ a
                error = np.maximum(before, 0) @ b - 1
                np.testing.assert_allclose(loss, (error**2).mean(), rtol=1e-4)
                back = 2 * error / BATCH / TOWERS
                slopes[0] += x.T @ (back @ b.T * (before > 0))
                slopes[1] += np.maximum(before, 0).T @ back
            now = session.run(variables)
            rate = 0.01 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            for value, new, slope, (m, v) in zip((a, b), now, slopes, averages, strict=True):
                m += 0.1 * (slope - m)
                v += 0.001 * (slope**2 - v)
                np.testing.assert_allclose(new, value - rate * m / (np.sqrt(v) + 1e-8), atol=2e-4)
            a, b = now
        coordinator.request_stop()
        session.run(queue.close(cancel_pending_enqueues=True))
        coordinator.join(threads, stop_grace_period_secs=10)
