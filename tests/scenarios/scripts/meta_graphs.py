"""Meta graphs: collections, conditionals and loops go out and come back, under a scope and into another graph."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.meta")
with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(2.0, name="v")
    r = tf.get_variable("r", initializer=3.0, use_resource=True, trainable=False)
    local = tf.Variable(1, name="local", trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    powers = tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, p * v), [tf.constant(0), x], name="powers")
    chosen = tf.cond(x > 1.0, lambda: powers[1] + r, lambda: powers[1] - r, name="chosen")
    y = tf.identity(chosen, name="y")
    tf.add_to_collection("inputs", x)
    tf.add_to_collection("outputs", y)
    for value in ("a text", "another"):
        tf.add_to_collection("words", value)
    tf.add_to_collection("numbers", 3)
    tf.add_to_collection("fractions", 0.5)
    tf.add_to_collection("ops", y.op)
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    meta = tf.train.export_meta_graph(path, saver_def=saver.as_saver_def())
    print(sorted(meta.collection_def), meta.saver_def.restore_op_name, len(meta.graph_def.node))
    plain = tf.train.export_meta_graph(clear_devices=True, collection_list=["words"], strip_default_attrs=True)
    print(sorted(plain.collection_def), plain.meta_info_def.stripped_default_attrs)
    tf.train.Saver([v], name="other")
    alone = tf.train.export_meta_graph(saver_def=saver.as_saver_def(), clear_extraneous_savers=True)
    print([n.name for n in alone.graph_def.node if n.name.startswith("other")])
    print(sorted(n.name for n in alone.graph_def.node if n.name.startswith("save/")))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run([v.assign(1.5), r.assign(10.0)])
        checkpoint = saver.save(sess, os.path.join(folder, "model"), write_meta_graph=False)
        print([float(sess.run(y, {x: value})) for value in (0.5, 2.0)])
    for variable in (v, r):
        twin = tf.Variable.from_proto(variable.to_proto())
        print(twin.name, twin.trainable, twin.initializer.name, variable.to_proto("elsewhere"))

for scope in (None, "imported"):
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(path, import_scope=scope)
        (x,), (y,) = tf.get_collection("inputs"), tf.get_collection("outputs")
        print(x.name, y.name, tf.get_collection("numbers"), tf.get_collection("fractions"), tf.get_collection("ops")[0].name)
        print([v.name for v in tf.global_variables()], [v.name for v in tf.trainable_variables()])
        print([v.name for v in tf.local_variables()], len(tf.get_collection(tf.GraphKeys.WHILE_CONTEXT)))
        (slope,) = tf.gradients(y, [x])
        with tf.Session() as sess:
            saver.restore(sess, checkpoint)
            print([[float(one) for one in sess.run([y, slope], {x: value})] for value in (0.5, 2.0)])

with tf.Graph().as_default():
    with tf.name_scope("left") as scope:
        a = tf.placeholder(tf.float32, [2], name="a")
        with tf.device("/gpu:1"):
            k = tf.Variable([1.0, 2.0], name="k")
        b = tf.multiply(a, k, name="b")
    tf.add_to_collection("all", b)
    tf.add_to_collection("all", tf.constant(1.0, name="outside"))
    part = tf.train.export_meta_graph(export_scope="left")
    print([n.name for n in part.graph_def.node], list(part.collection_def["all"].node_list.value))
with tf.Graph().as_default():
    tf.train.import_meta_graph(part, import_scope="right")
    print([op.name for op in tf.get_default_graph().get_operations() if not op.name.startswith("save")])
    print(tf.get_collection("all"), tf.global_variables()[0].device)
try:
    tf.train.import_meta_graph(os.path.join(folder, "missing.meta"))
except IOError as error:
    print("IOError", "missing.meta" in str(error))
shutil.rmtree(folder)
