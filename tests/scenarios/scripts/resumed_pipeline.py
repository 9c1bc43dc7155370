"""Words from queues through a table into a training that stops and goes on; then the same graph from its file."""

import os
import tempfile

import numpy as np
import tensorflow as tf

WORDS = ["red", "green", "blue", "pink", "green", "red"]
TARGETS = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


def table():
    colours = tf.constant(["red", "green", "blue"])
    numbers = tf.constant([0, 1, 2], tf.int64)
    return tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(colours, numbers), 1)


def net(ids):
    with tf.device("/gpu:0"):
        start = np.random.RandomState(7).uniform(-1.0, 1.0, [4, 3]).astype(np.float32)
        embedding = tf.get_variable("embedding", initializer=start)
        out = tf.get_variable("out", initializer=start.T[:, :2].copy())
        return tf.matmul(tf.tanh(tf.nn.embedding_lookup(embedding, ids)), out)


def train(folder, last_step):
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            word, target = tf.train.slice_input_producer([WORDS, TARGETS], shuffle=False)
            words, targets = tf.train.batch([word, target], 3)
            ids = table().lookup(words)
        loss = tf.reduce_mean(tf.squared_difference(net(ids), targets))
        tf.add_to_collection("loss", loss)
        step = tf.train.get_or_create_global_step()
        go = tf.train.AdamOptimizer(0.05).minimize(loss, step)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            hooks=[tf.train.StopAtStepHook(last_step=last_step)],
            save_checkpoint_steps=10,
            log_step_count_steps=None,
            config=tf.ConfigProto(allow_soft_placement=True),
        ) as session:
            while not session.should_stop():
                number, value = session.run([step, loss, go])[:2]
                if number % 10 == 0:
                    print("read at step %d: loss %.9g" % (number, value))


def evaluate(folder):
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(tf.train.latest_checkpoint(folder) + ".meta")
        (loss,) = tf.get_collection("loss")
        print([runner.name for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)])
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run([tf.tables_initializer(), tf.local_variables_initializer()])
            saver.restore(session, tf.train.latest_checkpoint(folder))
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            print(sorted(thread.name for thread in threads))
            print("step %d" % session.run(tf.train.get_global_step()), *["%.9g" % session.run(loss) for _ in range(2)])
            coordinator.request_stop()
            coordinator.join(threads)


def export(folder):
    model = os.path.join(folder, "model")
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        words = tf.placeholder(tf.string, [None])
        scores = net(table().lookup(words))
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(folder))
        tf.saved_model.simple_save(
            session, model, {"words": words}, {"scores": scores}, legacy_init_op=tf.tables_initializer()
        )
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        loaded = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], model)
        signature = loaded.signature_def["serving_default"]
        feed = {signature.inputs["words"].name: ["blue", "black"]}
        print(["%.9g" % value for value in session.run(signature.outputs["scores"].name, feed).ravel()])


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        train(folder, 25)
        train(folder, 50)
        evaluate(folder)
        export(folder)
