"""Sampled losses for many classes: candidates drawn by seeds, noise-contrastive estimation, and optimizers of their own."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(3)
classes = 20
true = tf.constant([[1, 4], [2, 0], [7, 7]], tf.int64)
samples = [
    tf.nn.uniform_candidate_sampler(true, 2, 5, True, 9),
    tf.nn.log_uniform_candidate_sampler(true, 2, 6, True, classes, seed=4),
    tf.nn.uniform_candidate_sampler(true, 2, 5, False, 16, seed=1),
    tf.nn.log_uniform_candidate_sampler(true, 2, 6, False, classes),
    tf.nn.all_candidate_sampler(true, 2, 9, True),
]
hits = tf.nn.compute_accidental_hits(true, [1, 7, 3, 0], 2)
table = np.linspace(-1, 1, 80).reshape(classes, 4).astype(np.float32)
weights, biases = tf.Variable(table, name="weights"), tf.Variable(tf.zeros([classes]), name="biases")
inputs = tf.constant(np.linspace(-2, 1, 12).reshape(3, 4).astype(np.float32))
nce = tf.reduce_mean(tf.nn.nce_loss(weights, biases, true[:, :1], inputs, 6, classes))
several = tf.nn.nce_loss([weights, weights], biases, true, inputs, 6, classes, num_true=2, remove_accidental_hits=True)
softmax = tf.nn.sampled_softmax_loss(weights, biases, true[:, :1], inputs, 6, classes, seed=5)
step = tf.train.get_or_create_global_step()
rate = tf.train.piecewise_constant(step, [20, 40], [0.5, 0.2, 0.1])
train = tf.train.FtrlOptimizer(rate, l1_regularization_strength=0.001).minimize(nce, global_step=step)
w = tf.Variable([0.5, -1.0], name="w")
fit = tf.reduce_sum(tf.square(w * [1.0, 2.0] - [3.0, 1.0]))
others = [
    tf.train.AdadeltaOptimizer(1.0, epsilon=1e-4).minimize(fit),
    tf.train.ProximalGradientDescentOptimizer(0.05, 0.01, 0.02).minimize(fit),
]
print(sorted(variable.name for variable in tf.global_variables()))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(2):
        for sample in samples:
            print([np.asarray(part).tolist() for part in sess.run(sample)])
    print([np.asarray(part).tolist() for part in sess.run(hits)])
    for number in range(50):
        sess.run(train)
        if number % 9 == 0:
            print("step %d rate %.2f" % (number, sess.run(rate)), ["loss %.9g" % v for v in sess.run(softmax)])
    print("loss", ["%.9g" % v for v in [*sess.run(several), sess.run(nce)]])
    for other in others * 20:
        sess.run(other)
    print([round(float(v), 5) for v in sess.run(w)])
