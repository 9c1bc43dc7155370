"""Which devices are there: the session's list, device_lib, is_gpu_available."""
import tensorflow as tf
from tensorflow.python.client import device_lib


def get_available_gpus():
    local_device_protos = device_lib.list_local_devices()
    return [x.name for x in local_device_protos if x.device_type == "GPU"]


gpus = get_available_gpus()
print("GPUs:", gpus)
print("available:", tf.test.is_gpu_available(), repr(tf.test.gpu_device_name()))
cpus = [d for d in device_lib.list_local_devices() if d.device_type == "CPU"]
print([(d.name, d.memory_limit > 0) for d in cpus])
with tf.Session() as sess:
    listed = [d for d in sess.list_devices() if d.device_type in ("CPU", "GPU")]
    print([(d.name, d.device_type) for d in listed])
with tf.device("/gpu:0" if gpus else "/cpu:0"):
    where = tf.constant(2.0) * 3.0
with tf.Session() as sess:
    print(where.device if not gpus else "on a GPU", sess.run(where))
