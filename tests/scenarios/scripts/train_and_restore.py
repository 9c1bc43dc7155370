"""Trains a small net, keeps the last checkpoints, and goes on from one of them in another session."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
rng = np.random.RandomState(3)
data = rng.rand(64, 4).astype(np.float32)
target = (data.dot([[1.0], [-2.0], [3.0], [0.5]]) + 0.25).astype(np.float32)

x = tf.placeholder(tf.float32, [None, 4], name="x")
y = tf.placeholder(tf.float32, [None, 1], name="y")
with tf.device("/cpu:0"):
    w1 = tf.get_variable("w1", initializer=rng.rand(4, 8).astype(np.float32) - 0.5)
with tf.device("/gpu:0"):
    w2 = tf.get_variable("w2", initializer=rng.rand(8, 1).astype(np.float32) - 0.5, use_resource=True)
bias = tf.Variable(tf.zeros([1]), name="bias")
loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, w1)), w2) + bias - y))
step = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step)
saver = tf.train.Saver(max_to_keep=2)
weights_only = tf.train.Saver({"first": w1, "second": w2}, name="weights")
config = tf.ConfigProto(allow_soft_placement=True)
feed = {x: data, y: target}

with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(50):
        sess.run(train, feed)
        if i % 20 == 9:
            print(os.path.basename(saver.save(sess, os.path.join(folder, "net"), global_step=step)))
    final = sess.run([loss, w1, w2], feed)
    weights_only.save(sess, os.path.join(folder, "weights"), latest_filename="weights_checkpoint")
    print("loss %.9g" % final[0])
print(sorted(os.listdir(folder)))

latest = tf.train.latest_checkpoint(folder)
print(os.path.basename(latest), tf.train.checkpoint_exists(latest), tf.train.checkpoint_exists(latest + "0"))
state = tf.train.get_checkpoint_state(folder)
print([os.path.basename(path) for path in state.all_model_checkpoint_paths])
print(tf.train.list_variables(latest)[:6])
reader = tf.train.NewCheckpointReader(latest)
print(reader.has_tensor("w1"), reader.has_tensor("first"), reader.get_tensor("global_step"))

with tf.Session(config=config) as sess:
    saver.restore(sess, latest)
    print("from step", sess.run(step), sess.run(tf.report_uninitialized_variables()).tolist())
    while sess.run(step) < 50:
        sess.run(train, feed)
    again = sess.run([loss, w1, w2], feed)
    print("same", [np.allclose(one, other, atol=1e-6) for one, other in zip(final, again)])

with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    weights_only.restore(sess, os.path.join(folder, "weights"))
    print("weights", np.array_equal(sess.run(w1), final[1]), sess.run(bias).tolist())
    for path in (None, os.path.join(folder, "nothing")):
        try:
            saver.restore(sess, path)
        except ValueError as error:
            print("ValueError:", str(error).split(":")[0].split(folder)[0])
    try:
        saver.restore(sess, os.path.join(folder, "weights"))
    except tf.errors.NotFoundError as error:
        print("NotFoundError:", "not found in checkpoint" in str(error))
shutil.rmtree(folder)
