"""Writes a graph as text and as bytes, reads it back, imports it under names and with its inputs replaced."""
import os
import shutil
import tempfile

import tensorflow as tf
from google.protobuf import text_format

folder = tempfile.mkdtemp()
with tf.Graph().as_default() as graph:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2, 2], name="x")
        w = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="w")
        y = tf.nn.relu(tf.matmul(x, w) - 4.0, name="y")
    tf.train.write_graph(graph.as_graph_def(), folder, "graph.pbtxt")
    path = tf.train.write_graph(graph, folder, "graph.pb", as_text=False)
    print(os.path.basename(path), sorted(os.listdir(folder)))

graph_def = tf.GraphDef()
with open(path, "rb") as f:
    graph_def.ParseFromString(f.read())
from_text = tf.GraphDef()
with open(os.path.join(folder, "graph.pbtxt")) as f:
    text_format.Merge(f.read(), from_text)
print(from_text == graph_def, [(n.name, n.op, n.device) for n in graph_def.node])
shutil.rmtree(folder)

with tf.Graph().as_default() as imported:
    print(tf.import_graph_def(graph_def))
    with tf.device("/cpu:0"):
        mine = tf.ones([2, 2], name="mine")
    out, op = tf.import_graph_def(graph_def, {"x:0": mine}, ["y:0", "MatMul"], name="again")
    print(out.name, op.name, [t.name for t in op.inputs])
    for node in graph_def.node:
        node.device = ""
    (plain,) = tf.import_graph_def(graph_def, return_elements=["y:0"], name="")
    print([o.name for o in imported.get_operations()])
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        print(sess.run(out))
        print(sess.run("y:0", {"x:0": [[1, 0], [0, 1]]}), sess.run(plain, {"import/x:0": [[0, 0], [0, 0]], "x:0": [[2, 2], [2, 2]]}))
    try:
        tf.import_graph_def(graph_def, return_elements=["z:0"], name="b")
    except ValueError as error:
        print("ValueError:", str(error).split(": [")[0])
