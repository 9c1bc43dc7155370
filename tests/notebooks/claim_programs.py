"""Small graphs and programs behind sentences of the lessons, for what no other recorded answer holds.

`tests/oracle/record/lesson_claims.py` asks TensorFlow's placers of 1.15.5 and 2.21 about the graphs, and runs the
programs with both; `tests/notebooks/test_claims.py` compares.
"""

from tests.support.corner_graphs import const, handle
from tests.support.node_specs import node

HANDLES_CLASH = (
    handle("v", device="/cpu:0"),
    handle("w", device="/gpu:0"),
    const("x"),
    node("u", "ResourceApplyAdagrad", "v", "w", "x", "x", T="float32"),
)
COLOCATIONS_CLASH = (node("a", "NoOp", device="/cpu:0"), node("b", "NoOp", device="/gpu:0", groups="a"))
MISSING = node("m", "NoOp", device="/gpu:9")
GRAPHS = {
    "malformed before edges": [*HANDLES_CLASH, node("n", "NoOp", device="/gpu")],
    "edges before colocations": [*COLOCATIONS_CLASH, *HANDLES_CLASH],
    "colocations before devices": [MISSING, *COLOCATIONS_CLASH],
    "random numbers do not follow": [
        const("s", "int32"),
        node("u", "RandomUniform", "s", T="int32", dtype="float32"),
        node("n", "Neg", "u", T="float32", device="/gpu:1"),
    ],
}
"""Placed on one CPU and two GPUs, without soft placement."""

PROGRAMS = {
    "a graph that grows": """
x = tf.constant([1.0, 2.0], name="x")
with tf.device("/cpu:1"):
    y = tf.negative(x, name="y")
    v = tf.Variable([1.0, 2.0], name="v")
session = tf.Session(config=tf.ConfigProto(log_device_placement=True, device_count={"CPU": 2}))
session.run(v.initializer)
with tf.device("/cpu:0"):
    z = tf.square(x, name="z")
session.run(z)
""",
    "devices of a computer": """
for count in [{}, {"CPU": 3}]:
    with tf.Session(config=tf.ConfigProto(device_count=count)) as session:
        print([device.name for device in session.list_devices() if device.device_type == "CPU"])
""",
    "updates and gradients": """
with tf.device("/cpu:0"):
    v = tf.Variable([1.0, 2.0], name="v")
with tf.device("/gpu:1"):
    update = tf.assign_add(v, [1.0, 1.0], name="update")
    y = tf.square(v, name="y")
print("update:", update.op.device, "value:", update.op.inputs[1].op.device)
for near in [False, True]:
    (gradient,) = tf.gradients(y, y.op.inputs[0], colocate_gradients_with_ops=near)
    print("gradient:", near, repr(gradient.op.device))
with tf.device("/gpu:0"):
    (gradient,) = tf.gradients(y, y.op.inputs[0])
print("inside a block:", gradient.op.device)
""",
    "a session decides nothing": """
with tf.device("/gpu:0"):
    c = tf.constant(1.0, name="c")
print(c.device, c.op.node_def.device)
""",
    "a name twice": """
with tf.variable_scope("model"):
    first = tf.get_variable("w", [2])
try:
    with tf.variable_scope("model"):
        tf.get_variable("w", [2])
except ValueError as error:
    print("twice:", str(error).split(".")[0])
with tf.variable_scope("model", reuse=True):
    print("same:", tf.get_variable("w", [2]) is first)
with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
    print("same:", tf.get_variable("w", [2]) is first, tf.get_variable("new", [2]).name)
try:
    with tf.variable_scope("model", reuse=True):
        tf.get_variable("missing", [2])
except ValueError as error:
    print("missing:", str(error).split(",")[0])
""",
    "two kinds of scope": """
with tf.name_scope("of_names"):
    print(tf.get_variable("w", [2]).name, tf.constant(1.0, name="c").name)
with tf.variable_scope("of_variables"):
    print(tf.get_variable("w", [2]).name, tf.constant(1.0, name="c").name)
with tf.variable_scope("of_variables", reuse=True):
    print(tf.get_variable("w", [2]).name, tf.constant(1.0, name="c").name)
""",
    "variables of towers": """
optimizer = tf.train.GradientDescentOptimizer(0.1)
for number in range(2):
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
        own = tf.Variable([[0.0], [0.0]], name="w")
        pairs = optimizer.compute_gradients(tf.reduce_mean(tf.matmul([[1.0, 2.0]], own)))
print([(variable.name, gradient is None) for gradient, variable in pairs])
""",
    "the average of halves": """
def gradient_of(rows):
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(rows, w) - 1.0))
    return tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss)[0][0]
rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
    whole = gradient_of(rows)
    halves = (gradient_of(rows[:2]) + gradient_of(rows[2:])) / 2.0
print(whole.op.type, whole.op.name)
print([operation.type for operation in whole.op.control_inputs])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print([[round(float(value), 3) for [value] in found] for found in session.run([whole, halves])])
""",
    "restored and initialized": """
import os
import tempfile
folder = tempfile.mkdtemp()
v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
saver = tf.train.Saver()
saves = tf.get_default_graph().get_tensor_by_name(saver.saver_def.save_tensor_name).op
print(saves.name, [operation.type for operation in saves.control_inputs], saves.inputs[0].op.name)
with tf.Session() as session:
    session.run(v.initializer)
    session.run(v.assign(5.0))
    path = saver.save(session, os.path.join(folder, "model"))
    print(saver.save(session, os.path.join(folder, "model"), global_step=100).split("/")[-1])
    with open(os.path.join(folder, "checkpoint")) as file:
        print("newest:", "model-100" in file.readline())
    print(sorted(name.split(".")[-1].split("-")[0] for name in os.listdir(folder)))
    print(tf.train.list_variables(path))
with tf.Session() as session:
    saver.restore(session, path)
    print("restored:", session.run(v))
    session.run(tf.global_variables_initializer())
    print("initialized:", session.run(v))
tf.reset_default_graph()
other = tf.get_variable("other", [])
with tf.Session() as session:
    try:
        tf.train.Saver().restore(session, path)
    except tf.errors.NotFoundError as error:
        print(error.message.split(".")[0])
    tf.train.Saver({"v": other}).restore(session, path)
    print("renamed:", session.run(other))
""",
    "devices of a meta graph": """
import os
import tempfile
path = os.path.join(tempfile.mkdtemp(), "model.meta")
with tf.device("/gpu:3"):
    v = tf.get_variable("v", [2])
tf.train.Saver()
tf.train.export_meta_graph(path)
for clear in [False, True]:
    tf.reset_default_graph()
    tf.train.import_meta_graph(path, clear_devices=clear)
    print(clear, repr(tf.get_default_graph().get_operation_by_name("v").device))
""",
}
"""Run on a machine without a GPU, with `tf` as TensorFlow 1: in 2.21, `compat.v1` without the behaviour of 2."""


def shown(text: str) -> list[str]:
    """The lines that a program printed, without those that a release writes by itself."""
    own = ("INFO:", "WARNING:", "Device mapping", "/job:", "20", "I0", "W0", "Instructions", "non-resource")
    return [line for line in text.splitlines() if line.strip() and not line.startswith(own)]
