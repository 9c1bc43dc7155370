"""Placing, running, estimating and explaining work without the TensorFlow 1 library, `gpuplace/tf1`.

The package is laid out a second time, by links, without that folder. Programs and tests run there in other processes.
"""

import subprocess
import sys

import pytest

from tests.isolation import ROOT
from tests.support.node_specs import graph_def
from tests.support.training_graph import training_graph

PROGRAM = """
import gpuplace as tf

tf.use_machine("4x Tesla K20m")
x = tf.placeholder(tf.float32, [8, 28, 28, 1], name="x")
labels = tf.placeholder(tf.int32, [8], name="labels")
losses = []
optimizer = tf.train.AdamOptimizer(0.01)
for tower in range(2):
    with tf.device(f"/gpu:{tower}"), tf.variable_scope("net", reuse=tower > 0):
        y = tf.layers.max_pooling2d(tf.layers.conv2d(x, 8, 3, activation=tf.nn.relu), 2, 2)
        y = tf.layers.dense(tf.layers.dropout(tf.layers.flatten(y), training=True), 10)
        losses.append(tf.losses.sparse_softmax_cross_entropy(labels, y))
with tf.device("/cpu:0"):
    loss = tf.add_n(losses) / 2
train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
cell = tf.nn.rnn_cell.BasicLSTMCell(4)
outputs, _ = tf.nn.dynamic_rnn(cell, tf.reshape(x, [8, 28, 28]), dtype=tf.float32)
saver = tf.train.Saver()
feed = {x: [[[[0.5]] * 28] * 28] * 8, labels: list(range(8))}
soft = tf.ConfigProto(allow_soft_placement=True)
with tf.Session(config=soft) as session:
    session.run(tf.global_variables_initializer())
    before = session.run(loss, feed)
    for _ in range(3):
        session.run([train, outputs], feed)
    path = saver.save(session, FOLDER + "/model")
    assert session.run(loss, feed) < before
    saver.restore(session, tf.train.latest_checkpoint(FOLDER))
    assert len(session.placement.explain(loss.op.name).steps) > 0
    print(session.timeline(train, feed))
graph = tf.get_default_graph()
assert tf.place(graph, soft_placement=True)[loss.op.name] == "/job:localhost/replica:0/task:0/device:CPU:0"
tf.place(graph, soft_placement=True).picture().svg
print(tf.estimate(graph, [train], config=soft))
print(tf.advise(graph, [train], config=soft))
print(tf.explore(graph, soft_placement=True).placement)
saver.export_meta_graph(FOLDER + "/graph.meta")
with tf.Graph().as_default():
    tf.train.import_meta_graph(FOLDER + "/graph.meta")
"""


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """A folder with the package, all but `tf1`, and its tests."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "gpuplace").mkdir()
    for entry in (ROOT / "gpuplace").iterdir():
        if entry.name not in ("tf1", "__pycache__"):
            (folder / "gpuplace" / entry.name).symlink_to(entry)
    for name in ("tests", "notebooks", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def run(folder, *arguments):
    """What a Python in the folder prints; its errors, where it fails."""
    result = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return result.stdout


def test_a_program_is_placed_run_estimated_and_explained(without, tmp_path):
    printed = run(without, "-c", f"FOLDER = {str(tmp_path)!r}\n{PROGRAM}\nprint(tf.__file__)")
    assert printed.splitlines()[-1] == str(without / "gpuplace" / "__init__.py")


@pytest.mark.parametrize("command", ["place", "blame", "report"])
def test_commands(without, tmp_path, command):
    path = tmp_path / "graph.pb"
    path.write_bytes(graph_def(training_graph(20)))
    run(without, "-m", "gpuplace", command, str(path), "--machine", "2x Tesla K40c")


@pytest.mark.parametrize(
    "tests",
    [
        "tests/scenarios/test_using_gpus_guide.py",
        "tests/placer/test_toy_placements.py tests/placer/test_validate.py tests/placer/test_recorded_placements.py",
        "tests/why/test_explain.py tests/why/test_blame.py tests/why/test_remedy.py",
        "tests/runtime/session/test_session.py tests/runtime/session/test_feeds.py",
    ],
)
def test_tests_of_the_rest(without, tests):
    run(without, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests.split())


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tf.data", "gpuplace.data"),
        ("tf.FIFOQueue", "gpuplace.FIFOQueue"),
        ("tf.nn.ctc_loss", "gpuplace.api.nets.nn.ctc_loss"),
    ],
)
def test_names_of_the_library_say_that_it_is_missing(without, name, told):
    code = f"import gpuplace as tf\ntry:\n    {name}\nexcept ModuleNotFoundError as error:\n    print(error)"
    assert run(without, "-c", code) == f"{told} is part of gpuplace.tf1, which is not installed\n"


def test_ops_of_the_library_are_placed_and_not_run(without):
    code = (
        "import gpuplace as tf\n"
        "x = tf.raw_ops.ResizeBilinear(images=tf.zeros([1, 2, 2, 3]), size=[4, 4])\n"
        "print(tf.place(tf.get_default_graph(), machine='1x Tesla K40c')[x.op.name])\n"
        "try:\n"
        "    tf.Session().run(x)\n"
        "except tf.errors.UnimplementedError:\n"
        "    print('not run')"
    )
    assert run(without, "-c", code) == "/job:localhost/replica:0/task:0/device:GPU:0\nnot run\n"
