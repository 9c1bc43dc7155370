"""RunMetadata with a full trace: which ops ran, on what devices."""
import tensorflow as tf

with tf.device("/cpu:0"):
    a = tf.random_uniform([4, 4], seed=1, name="a")
    b = tf.ones([4, 4], name="b")
    c = tf.matmul(a, b, name="product")
    d = tf.reduce_sum(c, name="total")

run_options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
run_metadata = tf.RunMetadata()
with tf.Session() as sess:
    value = sess.run(d, options=run_options, run_metadata=run_metadata)
    print("%.4f" % value)
    step_stats = run_metadata.step_stats
    cpu = [stats for stats in step_stats.dev_stats if stats.device.endswith("CPU:0")]
    names = set()
    for dev_stats in cpu:
        for node_stats in dev_stats.node_stats:
            names.add(node_stats.node_name.split(":")[0])
            assert node_stats.all_start_micros > 0 and node_stats.all_end_rel_micros >= 0
    print(len(cpu) > 0, {"product", "total"} <= names)
    print(isinstance(run_metadata.SerializeToString(), bytes), type(run_metadata).__name__)
    again = tf.RunMetadata.FromString(run_metadata.SerializeToString())
    print(again == run_metadata)
    empty = tf.RunMetadata()
    sess.run(d, options=tf.RunOptions(trace_level=tf.RunOptions.NO_TRACE), run_metadata=empty)
    print(len(empty.step_stats.dev_stats))
