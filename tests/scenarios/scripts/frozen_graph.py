"""A trained graph frozen: variables become constants, and what only training needs is left out."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/gpu:0"):
        w = tf.Variable(rng.rand(3, 4).astype(np.float32), name="w")
        table = tf.get_variable("table", initializer=rng.rand(4, 2).astype(np.float32), use_resource=True)
    mixed = tf.Variable(rng.rand(4, 2).astype(np.float32), name="mixed")
    b = tf.Variable([0.5, -0.5, 0.25, 0.0], name="b")
    hidden = tf.nn.relu(tf.matmul(x, w) + b, name="hidden")
    with tf.control_dependencies([tf.check_numerics(hidden, "hidden is not finite")]):
        checked = tf.identity(hidden, name="checked")
    rows = tf.nn.embedding_lookup(table, tf.argmax(checked, 1), name="rows")
    out = tf.add(rows, tf.matmul(checked, mixed), name="out")
    loss = tf.reduce_mean(tf.square(out))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    data = rng.rand(5, 3).astype(np.float32)
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(20):
            sess.run(train, {x: data})
        expected = sess.run(out, {x: data})
        graph_def = graph.as_graph_def()
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph_def, ["out"])
        partly = tf.graph_util.convert_variables_to_constants(
            sess, graph_def, ["hidden"], variable_names_blacklist=["w"]
        )
    print(tf.graph_util.tensor_shape_from_node_def_name(graph, "hidden"))
    print([n.name for n in graph_def.node if tf.graph_util.must_run_on_cpu(n)][:4])
    print([n.name for n in graph_def.node if tf.graph_util.must_run_on_cpu(n, pin_variables_on_cpu=True)][:4])

print(all(n.op not in ("VariableV2", "VarHandleOp", "ReadVariableOp", "ResourceGather") for n in frozen.node))
print(sorted((n.name, n.op, n.device) for n in frozen.node if n.name.split("/")[0] in ("w", "b", "table", "mixed")))
print([(n.name, n.op) for n in partly.node if n.op in ("Const", "VariableV2")])
part = tf.graph_util.extract_sub_graph(graph_def, ["hidden"])
print([n.name for n in part.node])
small = tf.graph_util.remove_training_nodes(frozen, protected_nodes=["out"])
print(sorted((n.name, list(n.input)) for n in small.node if n.op in ("Const", "MatMul", "Relu", "Identity") and "rows" not in n.name))

for title, nodes in (("frozen", frozen), ("small", small)):
    with tf.Graph().as_default():
        (y,) = tf.import_graph_def(nodes, return_elements=["out:0"], name="model")
        with tf.Session(config=config) as sess:
            print(title, np.allclose(sess.run(y, {"model/x:0": data}), expected, atol=1e-6), len(tf.global_variables()))
for names in (["nothing"], "hidden"):
    try:
        tf.graph_util.extract_sub_graph(graph_def, names)
    except (AssertionError, TypeError) as error:
        print(type(error).__name__, error)
