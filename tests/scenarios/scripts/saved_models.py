"""SavedModels: simple_save, a builder with several graphs, files and a main op; loaded by their signatures."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
words = os.path.join(folder, "words.txt")
with open(words, "w") as file:
    file.write("one two")
simple, built = os.path.join(folder, "simple"), os.path.join(folder, "built")

with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.device("/gpu:0"):
        w = tf.get_variable("w", initializer=np.float32([[1.0, 2.0], [3.0, 4.0]]))
    scale = tf.Variable(2.0, name="scale", use_resource=True)
    y = tf.multiply(tf.matmul(x, w), scale, name="y")
    asset = tf.constant(words, name="asset")
    found = tf.Variable("", name="found", trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    prepare = tf.group(tf.assign(found, asset), name="prepare")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(scale.assign(10.0))
        tf.saved_model.simple_save(sess, simple, inputs={"x": x}, outputs={"y": y})
        signature = tf.saved_model.signature_def_utils.build_signature_def(
            inputs={"given": tf.saved_model.utils.build_tensor_info(x)},
            outputs={"wanted": tf.saved_model.utils.build_tensor_info(y)},
            method_name=tf.saved_model.signature_constants.PREDICT_METHOD_NAME,
        )
        print(tf.saved_model.signature_def_utils.is_valid_signature(signature))
        builder = tf.saved_model.builder.SavedModelBuilder(built)
        try:
            builder.add_meta_graph(["early"])
        except AssertionError as error:
            print("AssertionError:", str(error)[:40])
        builder.add_meta_graph_and_variables(
            sess,
            [tf.saved_model.tag_constants.TRAINING],
            signature_def_map={"own": signature},
            assets_collection=[asset],
            main_op=prepare,
        )
        builder.add_meta_graph(
            [tf.saved_model.tag_constants.SERVING, tf.saved_model.tag_constants.GPU],
            signature_def_map={"own": signature},
            clear_devices=True,
            strip_default_attrs=True,
        )
        builder.save()
        try:
            tf.saved_model.builder.SavedModelBuilder(built)
        except AssertionError as error:
            print("AssertionError:", "already exists" in str(error))
for model in (simple, built):
    files = [os.path.join(place, name)[len(folder) :] for place, _, names in os.walk(model) for name in names]
    print(sorted(name for name in files if ".data-" not in name))
print([tf.saved_model.loader.maybe_saved_model_directory(path) for path in (simple, built, folder)])

data = [[1.0, 1.0], [2.0, 0.0]]
for model, tags in ((simple, ["serve"]), (built, ["train"]), (built, ["gpu", "serve"])):
    for scope in (None, "loaded"):
        with tf.Graph().as_default() as graph:
            with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
                meta = tf.saved_model.loader.load(sess, tags, model, import_scope=scope)
                ((key, signature),) = meta.signature_def.items()
                prefix = scope + "/" if scope else ""
                (given,), (wanted,) = signature.inputs.values(), signature.outputs.values()
                result = sess.run(prefix + wanted.name, {prefix + given.name: data})
                print(tags, key, given.name, result.tolist(), graph.get_operation_by_name(prefix + "w").device)
                print([v.name for v in tf.global_variables()])
                if tags == ["train"]:
                    print([os.path.basename(path) for path in sess.run(tf.local_variables())])

with tf.Graph().as_default():
    with tf.device("/cpu:0"), tf.Session() as sess:
        tf.saved_model.loader.load(sess, ["serve"], simple)
        print(sorted({op.device for op in sess.graph.get_operations()})[-1])
for tags, model in ((["none"], simple), (["serve"], folder)):
    try:
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.saved_model.loader.load(sess, tags, model)
    except (RuntimeError, IOError) as error:
        print(type(error).__name__, str(error).replace(folder, "")[:60])
shutil.rmtree(folder)
