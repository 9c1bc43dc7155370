"""get_variable and variable_scope: reuse, AUTO_REUSE, default initialisers, partial names, collections, custom getters."""
import tensorflow as tf


def linear(x, units):
    w = tf.get_variable("w", [x.shape[1].value, units], initializer=tf.ones_initializer())
    b = tf.get_variable("b", units, initializer=tf.zeros_initializer)
    return tf.matmul(x, w) + b


x = tf.ones([1, 2])
with tf.variable_scope("net") as scope:
    first = linear(x, 3)
    scope.reuse_variables()
    second = linear(2 * x, 3)
with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
    third = linear(3 * x, 3)
    extra = tf.get_variable("extra", initializer=tf.constant([1.0, 2.0]))
with tf.variable_scope(scope, reuse=True) as again:
    print(again.name, again.reuse, tf.get_variable_scope().name, again.original_name_scope)
    fourth = linear(4 * x, 3)

template = tf.make_template("template", linear, units=2)
fifth, sixth = template(x), template(x)


def double_getter(getter, name, *args, **kwargs):
    return getter(name, *args, **kwargs) * 2.0


with tf.variable_scope("doubled", custom_getter=double_getter):
    twice = tf.get_variable("t", [2], initializer=tf.constant_initializer(4.0))
with tf.variable_scope("defaults", initializer=tf.constant_initializer(0.4), dtype=tf.float64):
    half = tf.get_variable("half", [1])
    with tf.variable_scope("inner", regularizer=lambda v: tf.reduce_sum(v * v)):
        other = tf.get_variable("other", [2], collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
local = tf.get_variable("local", [], initializer=tf.zeros_initializer(), collections=[tf.GraphKeys.LOCAL_VARIABLES])

print([v.name for v in tf.global_variables()])
print([v.name for v in tf.trainable_variables(scope="net")])
print([v.name for v in tf.local_variables()], [v.name for v in tf.get_collection("mine")])
print(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES), half.dtype)
init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
with tf.Session() as sess:
    print(sorted(name.decode() for name in sess.run(tf.report_uninitialized_variables()))[:3])
    sess.run(init)
    print(sess.run([first, second, third, fourth, fifth, sixth, twice, half, other, extra, local]))
    print(sess.run(tf.report_uninitialized_variables()), sess.run(tf.is_variable_initialized(half)))
