"""Variables on the CPU and the rest on a GPU by a device function; one written like a parameter server's setter."""
import tensorflow as tf

PS_OPS = ["Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "VarHandleOp"]


def assign_to_device(device, ps_device="/cpu:0"):
    def _assign(op):
        node_def = op if isinstance(op, tf.NodeDef) else op.node_def
        return ps_device if node_def.op in PS_OPS else device

    return _assign


class RoundRobin(object):
    """Deals variables to the GPUs in turn."""

    def __init__(self, count):
        self.count = count
        self.next = 0

    def __call__(self, op):
        if op.type not in PS_OPS:
            return "/gpu:0"
        device = "/gpu:%d" % self.next
        self.next = (self.next + 1) % self.count
        return device


with tf.device(assign_to_device("/gpu:0")):
    w = tf.get_variable("w", [2, 2], initializer=tf.ones_initializer())
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="x")
    y = tf.matmul(x, w, name="y")
    with tf.device(None):
        free = tf.negative(y, name="free")
    with tf.device("/cpu:0"):
        on_cpu = tf.square(y, name="on_cpu")

with tf.device(RoundRobin(2)):
    layers = [tf.get_variable("layer_%d" % i, [2], initializer=tf.constant_initializer(i)) for i in range(4)]
    total = tf.add_n(layers, name="total")

with tf.device("/job:localhost"):
    with tf.device("/device:GPU:1"):
        with tf.device("/replica:0/task:0"):
            merged = tf.identity(total, name="merged")

spec = tf.DeviceSpec(job="localhost", device_type="CPU", device_index=0)
with tf.device(spec):
    last = tf.reduce_sum(merged, name="last")

for op in tf.get_default_graph().get_operations():
    if op.type != "Const":
        print("%-28s %-12s %s" % (op.name, op.type, op.device))
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run([free, on_cpu, last]))
