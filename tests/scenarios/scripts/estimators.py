"""A model as an estimator: trained from arrays, evaluated from a dataset, served as a SavedModel, and warm-started."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

FOLDER = tempfile.mkdtemp()
ROWS = np.arange(120, dtype=np.float32).reshape(40, 3) * np.float32(37.0) % np.float32(11.0) / np.float32(11.0)
LABELS = (ROWS.sum(1) > 1.5).astype(np.int32)


def model_fn(features, labels, mode, params):
    hidden = tf.layers.dense(features["x"], params["units"], tf.nn.relu, name="hidden")
    logits = tf.layers.dense(hidden, 2, name="logits")
    predictions = {"classes": tf.argmax(logits, 1), "scores": tf.nn.softmax(logits)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    metrics = {"accuracy": tf.metrics.accuracy(labels, predictions["classes"])}
    step = tf.train.get_global_step()
    train_op = tf.train.AdamOptimizer(params["rate"]).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op, metrics)


def examples():
    return tf.data.Dataset.from_tensor_slices(({"x": ROWS}, LABELS)).batch(16)


class Losses(tf.train.SessionRunHook):
    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.get_collection(tf.GraphKeys.LOSSES)[0])

    def after_run(self, run_context, run_values):
        print("loss", run_values.results)


config = tf.estimator.RunConfig(tf_random_seed=3, save_checkpoints_steps=20, save_summary_steps=10)
params = {"units": 5, "rate": 0.05}
classifier = tf.estimator.Estimator(model_fn, os.path.join(FOLDER, "a"), config, params)
batches = tf.estimator.inputs.numpy_input_fn({"x": ROWS}, LABELS, 8, num_epochs=None, shuffle=False)
classifier.train(batches, hooks=[Losses()], steps=30)
print(sorted(classifier.get_variable_names()), classifier.get_variable_value("global_step"))
result = classifier.evaluate(examples)
print(sorted(result), "accuracy %.4f loss %.7f step %d" % (result["accuracy"], result["loss"], result["global_step"]))

once = tf.estimator.inputs.numpy_input_fn({"x": ROWS[:5]}, num_epochs=1, shuffle=False)
for one in classifier.predict(once, predict_keys=["classes"]):
    print("class", one["classes"])

with tf.Graph().as_default():
    fed = tf.placeholder(tf.float32, [None, 3], name="x")
receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": fed})
spec = tf.estimator.EvalSpec(examples, exporters=tf.estimator.FinalExporter("best", receiver))
metrics, exports = tf.estimator.train_and_evaluate(classifier, tf.estimator.TrainSpec(batches, max_steps=50), spec)
print("loss %.7f" % metrics["loss"], metrics["global_step"], len(exports))

with tf.Session(graph=tf.Graph()) as session:
    model = tf.saved_model.loader.load(session, ["serve"], exports[0].decode())
    signature = model.signature_def["serving_default"]
    print(sorted(signature.inputs), sorted(signature.outputs), signature.method_name)
    print(session.run(signature.outputs["classes"].name, {signature.inputs["x"].name: ROWS[:3]}))

warm = tf.estimator.Estimator(model_fn, os.path.join(FOLDER, "b"), config, params, warm_start_from=classifier.model_dir)
warm.train(batches, hooks=[Losses()], steps=2)
shutil.rmtree(FOLDER)
