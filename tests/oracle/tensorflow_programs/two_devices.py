"""Two logical CPU devices; the second half of the work is on the second."""

import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


@tf.function
def halves(x):
    with tf.device("/CPU:0"):
        first = tf.matmul(x, x)
    with tf.device("/CPU:1"):
        second = tf.nn.softmax(first + 1.0)
    return first, second


with tf.device("/CPU:1"):
    eager = tf.ones([3, 3]) * 2.0
print([result.shape.as_list() for result in halves(eager)])
