"""What tf.train.replica_device_setter does, as a function of our own, and colocated slots."""
import tensorflow as tf


class ReplicaSetter(object):
    def __init__(self, ps_tasks, worker_device):
        self._ps_tasks = ps_tasks
        self._worker_device = worker_device
        self._next_task = 0

    def device_function(self, op):
        current = tf.DeviceSpec.from_string(op.device or "")
        if op.type in ("Variable", "VariableV2"):
            spec = tf.DeviceSpec(device_type="CPU", device_index=0)
            self._next_task = (self._next_task + 1) % self._ps_tasks
        else:
            spec = tf.DeviceSpec.from_string(self._worker_device)
        spec.merge_from(current)
        return spec.to_string()


setter = ReplicaSetter(2, "/device:GPU:0")
with tf.device(setter.device_function):
    a = tf.Variable([1.0, 2.0], name="a")
    b = tf.Variable([3.0, 4.0], name="b")
    dot = tf.reduce_sum(a * b, name="dot")
    with tf.colocate_with(a):
        beside_a = tf.ones_like(b, name="beside_a")
    with tf.colocate_with(b.op, ignore_existing=True):
        beside_b = tf.identity(dot, name="beside_b")
    opt = tf.train.MomentumOptimizer(learning_rate=0.1, momentum=0.5)
    train = opt.minimize(dot)

for name in opt.get_slot_names():
    for variable in (a, b):
        slot = opt.get_slot(variable, name)
        print(name, slot.op.name, slot.op.device, slot.op.colocation_groups())
print(beside_a.op.colocation_groups(), beside_a.device)
print(beside_b.op.colocation_groups(), beside_b.device)

config = tf.ConfigProto()
config.allow_soft_placement = True
with tf.Session("", config=config) as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(3):
        sess.run(train)
    print("a %s b %s dot %.4f" % (sess.run(a).round(4), sess.run(b).round(4), sess.run(dot)))
    print(sess.run([beside_a, beside_b]))
