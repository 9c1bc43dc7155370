"""Recurrent nets: all cells and wrappers, run step by step, in loops, in both directions and by a function."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(7)
rc = tf.nn.rnn_cell
x = tf.placeholder(tf.float32, [4, 5, 3], name="x")
n = tf.placeholder(tf.int32, [None], name="n")
xs = tf.unstack(x, 5, 1)
feed = {x: np.linspace(-1, 1, 60).reshape(4, 5, 3), n: [5, 2, 3, 1]}
fetch = []


def run(o, s):
    fetch.append(o)
    fetch.append(s)


with tf.variable_scope("a"):
    o, s = tf.nn.dynamic_rnn(rc.BasicLSTMCell(4), x, dtype=tf.float32)
    g = tf.gradients(tf.reduce_sum(o), tf.trainable_variables("a"))
    run(o, s)
    fetch.append(g)
with tf.variable_scope("b"):
    o, s = tf.nn.dynamic_rnn(rc.GRUCell(4), x, sequence_length=n, dtype=tf.float32, time_major=False, swap_memory=True, parallel_iterations=1)
    run(o, s)
    fetch.append(tf.gradients(tf.reduce_sum(o) + tf.reduce_sum(s), x))
with tf.variable_scope("c"):
    cell = rc.MultiRNNCell([rc.LSTMCell(4, use_peepholes=True, num_proj=3, cell_clip=0.5, proj_clip=0.3), rc.BasicRNNCell(2)])
    o, s = tf.nn.dynamic_rnn(cell, tf.transpose(x, [1, 0, 2]), dtype=tf.float32, time_major=True)
    run(o, s)
with tf.variable_scope("d"):
    o, s = tf.nn.static_rnn(rc.BasicLSTMCell(4, forget_bias=0.5), xs, dtype=tf.float32, sequence_length=n)
    run(o, s)
with tf.variable_scope("e"):
    o, s = tf.nn.static_rnn(rc.BasicLSTMCell(4, state_is_tuple=False), xs, dtype=tf.float32)
    run(o, s)
with tf.variable_scope("f"):
    o, s = tf.nn.bidirectional_dynamic_rnn(rc.GRUCell(3), rc.LSTMCell(3), x, sequence_length=n, dtype=tf.float32)
    run(o, s)
with tf.variable_scope("g"):
    o, s1, s2 = tf.nn.static_bidirectional_rnn(rc.BasicLSTMCell(3), rc.BasicLSTMCell(3), xs, dtype=tf.float32)
    run(o, (s1, s2))
with tf.variable_scope("h"):
    o, s1, s2 = tf.nn.static_bidirectional_rnn(rc.GRUCell(3), rc.GRUCell(3), xs, dtype=tf.float32, sequence_length=n)
    run(o, (s1, s2))
with tf.variable_scope("i"):
    cell = rc.ResidualWrapper(rc.DropoutWrapper(rc.DeviceWrapper(rc.GRUCell(3), "/cpu:0"), input_keep_prob=0.9, output_keep_prob=0.8, seed=3))
    o, s = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    run(o, s)
with tf.variable_scope("j"):
    cell = rc.DropoutWrapper(rc.LSTMCell(3), state_keep_prob=0.5, output_keep_prob=tf.constant(0.5), variational_recurrent=True, input_size=3, input_keep_prob=0.7, dtype=tf.float32, seed=4)
    o, s = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    run(o, s)
with tf.variable_scope("k"):
    cell = rc.LSTMCell(3)
    st = cell.zero_state(4, tf.float32)
    for i in range(3):
        if i:
            tf.get_variable_scope().reuse_variables()
        o, st = cell(xs[i], st)
    run(o, st)
with tf.variable_scope("l"):
    ta = tf.TensorArray(tf.float32, size=5).unstack(tf.transpose(x, [1, 0, 2]))
    cell = rc.GRUCell(3)
    def fn(time, out, state, ls):
        nxt = cell.zero_state(4, tf.float32) if out is None else state
        fin = time >= n
        alldone = tf.reduce_all(fin)
        inp = tf.cond(alldone, lambda: tf.zeros([4, 3]), lambda: ta.read(time))
        return fin, inp, nxt, out, None
    e, s, _ = tf.nn.raw_rnn(cell, fn)
    run(e.stack(), s)
with tf.variable_scope("m"):
    c = rc.MultiRNNCell([rc.BasicLSTMCell(3) for _ in range(2)])
    i0 = c.zero_state(4, tf.float32)
    o, s = tf.nn.dynamic_rnn(c, x, initial_state=i0)
    run(o, s)
    o, s = tf.nn.dynamic_rnn(c, x * 2., initial_state=s, scope="rnn2")
    run(o, s)
with tf.variable_scope("nn"):
    xx = tf.placeholder(tf.float32, [None, None, 3])
    o, s = tf.nn.dynamic_rnn(rc.GRUCell(3), xx, sequence_length=n, dtype=tf.float32)
    print(o.shape, s.shape)
for v in tf.global_variables():
    print(v.name, v.shape)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    def flat(v):
        if isinstance(v, (list, tuple)):
            return [q for w in v for q in flat(w)]
        return [v]
    for t in fetch:
        for v in flat(sess.run(t, feed)):
            print(v.shape, np.round(np.float64(v).ravel()[:7], 6).tolist())
