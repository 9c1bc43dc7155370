"""Errors as scripts catch them: classes, codes, ops, and what still works afterwards."""
import tensorflow as tf

v = tf.Variable([1.0, 2.0], name="uninitialised")
x = tf.placeholder(tf.float32, [2], name="x")
n = tf.placeholder(tf.float32, name="n")
checked = tf.check_numerics(1.0 / n, "not a number", name="checked")
sized = tf.reshape(n, [3], name="sized")
index = tf.placeholder(tf.int32, name="index")
picked = tf.gather(tf.constant([1.0, 2.0], name="table"), index, name="picked")
added = tf.add(n, tf.constant([1.0, 2.0, 3.0]), name="added")
asserted = tf.Assert(tf.reduce_all(n > 0), ["n must be positive", n], name="asserted")

sess = tf.Session()
cases = [
    ("read", v, {}),
    ("missing feed", x, {}),
    ("check", checked, {n: 0.0}),
    ("reshape", sized, {n: [1.0, 2.0]}),
    ("gather", picked, {index: [0, 5]}),
    ("broadcast", added, {n: [1.0, 2.0]}),
    ("assert", asserted, {n: -1.0}),
]
for name, fetch, feed in cases:
    try:
        sess.run(fetch, feed)
        print(name, "did not fail")
    except tf.errors.OpError as error:
        known = isinstance(error, (tf.errors.FailedPreconditionError, tf.errors.InvalidArgumentError))
        print(name, type(error).__name__, error.error_code, known, error.op.name if error.op else None)
        print("   ", error.message.split("\n")[0][:60])



def reuse_what_is_not_there():
    with tf.variable_scope("s", reuse=True):
        return tf.get_variable("none", [1])


def on_device(name):
    with tf.device(name):
        return tf.constant(1.0)


for name, function in [
    ("matmul", lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))),
    ("add", lambda: tf.constant([1.0, 2.0]) + tf.constant([1.0, 2.0, 3.0])),
    ("types", lambda: tf.constant(1.0) + tf.constant(1)),
    ("convert", lambda: tf.constant(1.5, dtype=tf.int32)),
    ("truth", lambda: bool(tf.constant(True))),
    ("iterate", lambda: list(tf.placeholder(tf.float32))),
    ("get_variable", lambda: [tf.get_variable("w", [1]), tf.get_variable("w", [1])]),
    ("reuse", reuse_what_is_not_there),
    ("shape", lambda: tf.get_variable("unknown_shape")),
    ("name", lambda: tf.constant(1.0, name="not a name")),
    ("tensor name", lambda: tf.get_default_graph().get_tensor_by_name("x")),
    ("operation name", lambda: tf.get_default_graph().get_operation_by_name("nothing")),
    ("device", lambda: on_device("/gpu:x")),
    ("fetch", lambda: sess.run("nothing:0")),
    ("no session", lambda: tf.constant(1.0).eval()),
]:
    try:
        function()
        print(name, "did not fail")
    except (ValueError, TypeError, KeyError, LookupError) as error:
        print(name, type(error).__name__, str(error).strip("'\"").split("\n")[0][:48])

sess.run(v.initializer)
print(sess.run(v), sess.run(checked, {n: 4.0}), sess.run(picked, {index: 1}))
try:
    raise tf.errors.NotFoundError(None, None, "gone")
except tf.errors.NotFoundError as error:
    print(error.message, error.error_code == tf.errors.NOT_FOUND, error.node_def)
sess.close()
