"""A producer in a thread of the program, a queue between it and the training, and what closing does."""

import threading

import numpy as np
import tensorflow as tf

tf.set_random_seed(1)
random = np.random.RandomState(3)
x_in = tf.placeholder(tf.float32, [2])
y_in = tf.placeholder(tf.float32, [])
queue = tf.FIFOQueue(8, [tf.float32, tf.float32], shapes=[[2], []])
put = queue.enqueue([x_in, y_in])
close = queue.close()

x, y = queue.dequeue_up_to(5)
weights = tf.get_variable("weights", [2, 1], initializer=tf.zeros_initializer())
error = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, weights), 1) - y))
train = tf.train.GradientDescentOptimizer(0.05).minimize(error)


def produce(session):
    for _ in range(48):
        row = random.uniform(-1, 1, 2)
        session.run(put, {x_in: row, y_in: 2 * row[0] - row[1]})
    session.run(close)


with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    thread = threading.Thread(target=produce, args=(session,))
    thread.start()
    steps = 0
    try:
        while True:
            loss, _ = session.run([error, train])
            steps += 1
            if steps % 3 == 1:
                print("step %d: loss %.9g" % (steps, loss))
    except tf.errors.OutOfRangeError:
        print("closed after %d steps, %d left" % (steps, session.run(queue.size())))
        print("closed:", bool(session.run(queue.is_closed())))
    thread.join()
    print("weights:", session.run(weights).ravel())
    try:
        session.run(put, {x_in: [0, 0], y_in: 0})
    except tf.errors.CancelledError as closed:
        print(type(closed).__name__)
