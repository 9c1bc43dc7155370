"""ConfigProto and GPUOptions in every spelling that programs use."""
import tensorflow as tf

config = tf.ConfigProto()
config.gpu_options.allow_growth = True
config.gpu_options.per_process_gpu_memory_fraction = 0.4
config.allow_soft_placement = True
config.intra_op_parallelism_threads = 2
print(config.gpu_options.allow_growth, round(config.gpu_options.per_process_gpu_memory_fraction, 3))

gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.4, allow_growth=True)
same = tf.ConfigProto(gpu_options=gpu_options, allow_soft_placement=True, intra_op_parallelism_threads=2)
print(same == config, same.HasField("gpu_options"), config.HasField("graph_options"))

counts = tf.ConfigProto(device_count={"GPU": 0, "CPU": 2}, inter_op_parallelism_threads=1, log_device_placement=False)
print(sorted(counts.device_count.items()))
counts.device_count["CPU"] = 1
optimizer = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
graph_options = tf.GraphOptions(optimizer_options=optimizer)
with_graph = tf.ConfigProto(graph_options=graph_options, operation_timeout_in_ms=60000)
with_graph.MergeFrom(same)
copied = tf.ConfigProto()
copied.CopyFrom(with_graph)
copied.gpu_options.visible_device_list = "0"
copied.gpu_options.allocator_type = "BFC"
print(copied.graph_options.optimizer_options.opt_level, copied.operation_timeout_in_ms)
print(tf.ConfigProto.FromString(copied.SerializeToString()) == copied)
try:
    tf.ConfigProto(allow_hard_placement=True)
except (ValueError, TypeError) as error:
    print("no such field:", type(error).__name__)

x = tf.constant([1.0, 2.0]) + 1.0
for number, one in enumerate([config, same, counts, with_graph, None]):
    with tf.Session(config=one) as sess:
        print(number, sess.run(x))
