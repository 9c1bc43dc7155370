"""global_step in all ways, decays of the learning rate, clipped gradients, weights by hand."""
import tensorflow as tf

global_step = tf.train.get_or_create_global_step()
print(global_step.name, global_step.dtype, tf.train.get_global_step() is global_step)
rates = [
    tf.train.exponential_decay(0.1, global_step, 2, 0.5, staircase=True),
    tf.train.exponential_decay(0.1, global_step, 2, 0.5),
    tf.train.polynomial_decay(0.1, global_step, 10, 0.01, power=2.0),
    tf.train.inverse_time_decay(0.1, global_step, 2, 0.5),
    tf.train.natural_exp_decay(0.1, global_step, 2, 0.5),
    tf.train.cosine_decay(0.1, global_step, 10),
]
w = tf.get_variable("w", initializer=[3.0, -4.0])
loss = tf.reduce_sum(tf.square(w)) + 2.0 * tf.reduce_sum(tf.abs(w))
opt = tf.train.RMSPropOptimizer(rates[0], decay=0.9, momentum=0.5)
grads_and_vars = opt.compute_gradients(loss, [w])
gradients, variables = zip(*grads_and_vars)
clipped, norm = tf.clip_by_global_norm(gradients, 5.0)
train_op = opt.apply_gradients(zip(clipped, variables), global_step=global_step)
capped = [(tf.clip_by_value(g, -1.0, 1.0), v) for g, v in grads_and_vars]
plain = tf.train.GradientDescentOptimizer(0.01).apply_gradients(capped)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(5):
        _, n, step = sess.run([train_op, norm, global_step])
        print(step, "%.4f" % n, ["%.5f" % r for r in sess.run(rates)])
    sess.run(plain)
    print(sess.run(w).round(5), tf.train.global_step(sess, global_step))
    print([v.name for v in tf.global_variables()], [v.name for v in opt.variables()])
