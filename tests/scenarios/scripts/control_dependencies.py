"""Ordering by control dependencies, groups and tuples."""
import tensorflow as tf

counter = tf.Variable(0, name="counter", trainable=False)
state = tf.Variable([1.0, 2.0], name="state")

increment = tf.assign_add(counter, 1, name="increment")
with tf.control_dependencies([increment]):
    doubled = tf.assign(state, state * 2.0, name="doubled")
with tf.control_dependencies([doubled]):
    with tf.control_dependencies(None):
        independent = tf.constant(5.0, name="independent")
    read = tf.identity(counter.read_value(), name="read")
with tf.control_dependencies([tf.assert_positive(independent)]):
    checked = tf.identity(independent, name="checked")
both = tf.group(increment, doubled, name="both")
values = tf.tuple([tf.reduce_sum(state), independent], control_inputs=[both], name="values")
nothing = tf.no_op(name="nothing")

init = tf.global_variables_initializer()
with tf.Session() as sess:
    sess.run(init)
    print("read:", sess.run(read))
    print("checked:", sess.run(checked))
    print("both:", sess.run(both), sess.run(nothing))
    sess.run(values)
    print("counter:", sess.run(counter), "state:", sess.run(state))
    for op in tf.get_default_graph().get_operations():
        if op.control_inputs:
            print(op.name, "<-", sorted(c.name for c in op.control_inputs))
