"""A program as somebody types it who uses ``mypy --strict``: the README's calls and the tools; read, not run."""

# mypy: warn-return-any

from pathlib import Path
from typing import assert_type

import numpy as np

import gpuplace
import gpuplace as tf
from gpuplace.typing import Array, DTypeLike, TensorLike, VisibleDevices

tf.set_release("1.15")
tf.use_machine("1x Tesla K40c")

with tf.device("/cpu:0"):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
c = tf.matmul(a, b)
assert_type(c, tf.Tensor)

sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
print(sess.run(c))


def on_the_second_gpu(op: tf.Operation) -> str:
    return "/gpu:1" if op.type == "MatMul" else "/cpu:0"


def scaled(value: TensorLike, dtype: DTypeLike = tf.float32) -> tf.Tensor:
    return 2.0 * tf.cast(value, dtype) + tf.add_n([tf.zeros([2]), tf.ones([2])])


# Graphs
graph = tf.Graph()
with graph.as_default(), tf.device(on_the_second_gpu), tf.name_scope("tower"):
    x = tf.placeholder(tf.float32, shape=[None, 3], name="x")
    weights = tf.get_variable("weights", shape=[3, 2], initializer=tf.zeros_initializer())
    bias = tf.Variable(np.zeros(2, np.float32), name="bias")
    with tf.control_dependencies([bias.op]), tf.colocate_with(bias):
        logits = tf.nn.softmax(tf.matmul(x, weights) + bias)
    loss = tf.reduce_mean(tf.square(logits), axis=[0, 1])
    slopes = tf.gradients(loss, [weights, bias])
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    scaled([1, 2.0])
    scaled(np.arange(2), "float64")

definition = graph.as_graph_def(add_shapes=True)
print(definition.node[0].name, graph.graph_def_versions.producer, graph.get_operations()[0].node_def.op)
tf.train.write_graph(graph, ".", "graph.pbtxt")
tf.import_graph_def(definition, name="again", input_map={"x": x}, return_elements=["tower/x:0"])

# Sessions
config = tf.ConfigProto(
    allow_soft_placement=True,
    device_count={"GPU": 1},
    gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list="0"),
)
config.gpu_options.per_process_gpu_memory_fraction = 0.4
batch: Array = np.ones((4, 3), np.float32)
with tf.Session(graph=graph, config=config) as session:
    session.run(tf.global_variables_initializer())
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    value, _ = session.run([loss, step], {x: batch}, options=options, run_metadata=metadata)
    session.run(
        {"loss": loss, "both": (logits, "tower/x:0")}, feed_dict={x: batch, "tower/bias:0": [0.0, 0.0]}
    )
    assert_type(session.placement["tower/MatMul"], str)
    session.frame("memory"), session.frame("chunks")
    session_timeline = session.timeline(loss, {x: batch})
    print(session_timeline.text, loss.eval({x: batch}), session.make_callable(loss, [x])(batch))

# Placements
visible: VisibleDevices = [1, 0]
tf.place(graph, "2x Tesla K40c", soft_placement=True, visible_devices=visible)
tf.place(graph, visible_devices="1,0", soft_placement=None)
placement = gpuplace.place(
    "model.pb", machine="4x Tesla K20m", config=config, release="2.21", on_error="keep"
)
gpuplace.place(graph), gpuplace.place(definition), gpuplace.place(session)
gpuplace.place(Path("saved_model"), tags="serve")
other = gpuplace.place(placement, machine=tf.Machine.simulated(gpus=2, gpu="Tesla K40c"))
assert_type(placement["global_step"], str)
explanation = placement.explain("global_step")
print(explanation, explanation.steps[0].rule, explanation.group)
placement.explain(loss), placement.explain(loss.op), explanation.frame()
placement.frame(), placement.frame("edges"), placement.frame("scopes", depth=2)
placement.frame()["device"].value_counts()
picture = placement.picture(colour="cause", find="MatMul", critical_path=True, theme="dark")
placement.picture(trace="inputs", of="MatMul_1"), placement.picture(against=other, open=["tower"])
assert_type(picture.save("placement.svg"), Path)
assert_type(picture.svg, str)
assert_type(placement.trace("MatMul_1").names, tuple[str, ...])
placement.trace(loss, "consumers").frame("copies")
difference = placement.diff(other)
for move in difference:
    print(move.node, move.before, move.after, move.cause)
difference.frame(), difference.picture(theme="dark")
blame = placement.blame("GPU")
print([row.remedy for row in blame], blame.frame())
assert_type(placement.log("1.4"), str)
for error in placement.errors:
    print(error.message, error.facts, error.hint)
print([edge.nbytes for edge in placement.edges() if edge.is_copy], placement.counts()["GPU:0"])
explorer = gpuplace.explore(placement)
gpuplace.explore(), gpuplace.explore("run.log", machine="cpu", config=config)
machine = tf.Machine.parse("2 CPU, 1x V100 + 2x K40c")
machine.frame(config), tf.Machine.local().frame(), machine.mapping(config)

# Logs
log = gpuplace.parse_log("run.log")
print(gpuplace.compare(graph, log).unexplained)
with gpuplace.capture_log(quiet=True) as captured:
    pass
shown: str = captured.stdout + repr(captured.placement)
assert_type(log["tower_1/MatMul"], str)
print(log.sessions, log.devices, log.events, [left.line for left in log.unparsed])
log.frame("devices"), log.picture(colour="type"), gpuplace.explore(log)
print(log.compare(graph).frame(), log.diff(placement).moves)

# Steps
timeline = tf.timeline(metadata, session)
tf.timeline("timeline.json"), tf.timeline(Path("step.pb"), graph)
timeline.frame(), timeline.frame("copies")
assert_type(timeline.svg(theme="dark"), str)
print(timeline.hints, tf.kernels("MatMul", "2.21"))

# What goes wrong
try:
    tf.place(graph)
except tf.errors.InvalidArgumentError as refused:
    print(refused.op, refused.error_code)
tf.reset_default_graph()
tf.reset_runtime()
print(
    tf.DeviceSpec.from_string("/job:ps/gpu:0").to_string(), tf.compat.v1.Graph(), tf.test.is_gpu_available()
)
