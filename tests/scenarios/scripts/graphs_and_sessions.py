"""Several graphs, several sessions, names that are made unique, variables kept apart."""
import tensorflow as tf

g1 = tf.Graph()
with g1.as_default():
    v = tf.Variable(1.0, name="v")
    add = v.assign_add(1.0)
    init1 = tf.global_variables_initializer()

g2 = tf.Graph()
with g2.as_default():
    with tf.name_scope("outer") as scope:
        a = tf.constant([1, 2, 3])
        b = tf.constant([4, 5, 6])
        with tf.name_scope("inner"):
            c = a * b
        d = tf.add(a, b, name=scope)
    with tf.name_scope("outer"):
        e = tf.reduce_max(c)
    assert tf.get_default_graph() is g2

print([op.name for op in g1.get_operations()])
print([op.name for op in g2.get_operations()])
sess_a, sess_b = tf.Session(graph=g1), tf.Session(graph=g1)
for sess in (sess_a, sess_b):
    sess.run(init1)
print(sess_a.run(add), sess_a.run(add), sess_b.run(add), sess_a.run(v), sess_b.run("v:0"))
with tf.Session(graph=g2) as sess:
    print(sess.run([c, d, e]))
    print(sess.run({"sum": "outer:0", "most": e, "nested": [(a,), {"b": b}]}))
    print(sess.graph is g2, tf.get_default_session() is sess, tf.get_default_graph() is g2)
    print(d.eval(), e.eval(session=sess))
try:
    sess_a.run(c)
except ValueError as error:
    print(type(error).__name__, "is not an element of this graph" in str(error))
sess_a.close()
try:
    sess_a.run(add)
except RuntimeError as error:
    print(error)
print(g1.get_tensor_by_name("v/read:0").shape, g1.as_graph_element("v").type, g1.finalized)
g1.finalize()
try:
    with g1.as_default():
        tf.constant(1.0)
except RuntimeError as error:
    print(error)
