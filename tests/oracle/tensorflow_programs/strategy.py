"""Variables and a step in the scope of a strategy with two replicas."""

import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
with strategy.scope():
    weights = tf.Variable(tf.ones([4, 1]))


@tf.function
def step():
    def replica():
        return tf.reduce_mean(tf.ones([2, 4]) @ weights)

    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica), axis=None)


print(float(step()))
