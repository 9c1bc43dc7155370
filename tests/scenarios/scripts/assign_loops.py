"""State changed in Python loops: Fibonacci, a Newton iteration, the heat equation, Conway's game."""
import numpy as np
import tensorflow as tf

previous = tf.Variable(0, name="previous")
current = tf.Variable(1, name="current")
following = previous + current
with tf.control_dependencies([following]):
    shift = tf.assign(previous, current)
    with tf.control_dependencies([shift]):
        advance = tf.assign(current, following)

guess = tf.Variable(1.0, dtype=tf.float64)
newton = guess.assign(guess - (guess * guess - 2.0) / (2.0 * guess))

N = 8
start = np.zeros([N, N], dtype=np.float32)
start[2:4, 3:6] = 100.0
u = tf.Variable(start, name="u")
kernel = tf.constant([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]])
kernel = tf.reshape(kernel, [3, 3, 1, 1])
laplace = tf.nn.conv2d(tf.expand_dims(tf.expand_dims(u, 0), -1), kernel, [1, 1, 1, 1], "SAME")[0, :, :, 0]
step = tf.group(u.assign_add(0.1 * laplace), name="step")

glider = np.zeros((6, 6), dtype=np.int32)
glider[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
board = tf.Variable(glider, name="board")
neighbours = tf.add_n([tf.manip.roll(board, [dy, dx], [0, 1]) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx])
lives = tf.logical_or(tf.equal(neighbours, 3), tf.logical_and(tf.equal(neighbours, 2), tf.equal(board, 1)))
generation = tf.assign(board, tf.cast(lives, tf.int32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print([int(sess.run(advance)) for _ in range(10)])
    print(["%.10f" % sess.run(newton) for _ in range(5)])
    for _ in range(20):
        step.run()
    print(u.eval().round(3)[2], "%.3f" % tf.reduce_sum(u).eval())
    for _ in range(4):
        sess.run(generation)
    print(board.eval())
    board.load(np.zeros((6, 6), np.int32), sess)
    print(sess.run(tf.count_nonzero(board)))
