"""Names of TensorFlow that gpuplace does not have: what the error says, in Python and under ``gpuplace run``."""

import importlib
import subprocess
import sys
import traceback
from types import ModuleType

import pytest

import gpuplace as tf
from gpuplace import callers
from gpuplace.api.missing import ADVICE, SPACES
from gpuplace.tf1.stand_in import names as tensorflow_names

EXPLORE = "explore it: gpuplace.explore('saved_model_dir')"


@pytest.fixture
def tensorflow():
    """gpuplace in TensorFlow's place; what imports leave in the package goes again."""
    names = set(vars(tf))
    tensorflow_names.install()
    yield
    tensorflow_names.uninstall()
    left = {
        name
        for name in set(vars(tf)) - names
        if isinstance(vars(tf)[name], ModuleType)
        and not f"{vars(tf)[name].__name__}.".startswith("gpuplace.")
    }
    assert left == set()


def value_of(path):
    found = tf
    for part in path.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("keras", EXPLORE),
        ("keras.layers.Dense", EXPLORE),
        ("estimator.DNNClassifier", "write the graph with TensorFlow"),
        ("compat.v2", "TensorFlow 1's names"),
        ("compat.v2.function", "TensorFlow 1's names"),
        ("config.list_physical_device", "did you mean tf.config.list_physical_devices?"),
        ("data.Datasets", "did you mean tf.data.Dataset?"),
        ("data.experimental.snapshot", "if TensorFlow has it"),
        ("distribute.MirroredStrateg", "did you mean tf.distribute.MirroredStrategy"),
        ("distribute.experimental", "place the copies with tf.device"),
        ("distribute.experimental.ParameterServerStrategy", "place the copies with tf.device"),
        ("contrib.cudnn_rnn", "explore('graph.pb')"),
        ("contrib.cudnn_rnn.CudnnLSTM", "gpuplace has the most-used parts of contrib.layers"),
        ("contrib.layers.bucketized_column", "build the rest with tf.layers"),
        ("scalar_summary", "tf.summary.scalar"),
        ("merge_all_summaries", "tf.summary.merge_all"),
        ("train.SummaryWriter", "tf.summary.FileWriter"),
        ("summary.scaler", "did you mean tf.summary.scalar?"),
        ("io.decode_proto", "if TensorFlow has it, write the graph"),
        ("matmull", "did you mean tf.matmul?"),
        ("nn.relu7", "did you mean tf.nn.relu?"),
        ("train.AdamOptimiser", "did you mean tf.train.AdamOptimizer"),
        ("layers.densee", "did you mean tf.layers.dense?"),
        ("errors.NotFoundErr", "did you mean tf.errors.NotFoundError"),
    ],
)
def test_the_error_says_what_to_do(name, text):
    with pytest.raises(AttributeError) as caught:
        value_of(name)
    assert text in str(caught.value) and " has no attribute " in str(caught.value)
    shown = traceback.extract_tb(caught.value.__traceback__)
    assert not any(callers.is_own(frame.filename) for frame in shown)
    assert "Did you mean" not in "".join(traceback.format_exception(caught.value))


def test_no_advice_for_what_is_there_or_is_none_of_tensorflows():
    for name in set(ADVICE) - {*SPACES, "contrib.learn"}:
        with pytest.raises(AttributeError):
            value_of(name)
    with pytest.raises(AttributeError, match="^module 'gpuplace' has no attribute '__wrapped__'$"):
        _ = tf.__wrapped__
    assert not hasattr(tf, "keras") and getattr(tf, "lite", None) is None
    assert tf.summary.FileWriter.__name__ == "FileWriter" and tf.compat.v1 is tf


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("from tensorflow import keras", EXPLORE),
        ("import tensorflow.keras", EXPLORE),
        ("from tensorflow.keras import layers", EXPLORE),
        ("from tensorflow.keras import backend", EXPLORE),
        ("import tensorflow.compat.v1.keras as keras", EXPLORE),
        ("from tensorflow.compat.v1.distribute import experimental", "place the copies with tf.device"),
        ("import tensorflow.compat.v2 as tf", "TensorFlow 1's names"),
        ("from tensorflow.examples.tutorials import word2vec", "np.load"),
        ("from tensorflow.nn import relu7", "No module named 'tensorflow.nn.relu7'"),
        ("from tensorflow.nn import relu7", "did you mean tf.nn.relu?"),
        ("from tensorflow.train import AdamOptimiser", "did you mean tf.train.AdamOptimizer"),
        (
            "from tensorflow.contrib.framework import ema",
            "No module named 'tensorflow.contrib.framework.ema'",
        ),
        ("from tensorflow.contrib.framework import ema", "explore('graph.pb')"),
        ("from tensorflow.contrib.learn import Experiment", "gpuplace has contrib.learn.datasets"),
        (
            "from tensorflow.contrib import factorization",
            "No module named 'tensorflow.contrib.factorization'",
        ),
        ("import tensorflow.contrib.slim.python.slim.nets.lenet", "explore('graph.pb')"),
        ("from tensorflow import matmull", "did you mean tf.matmul?"),
        ("from tensorflow.contrib import cudnn_rnn", "explore('graph.pb')"),
    ],
)
@pytest.mark.usefixtures("tensorflow")
def test_imports_of_a_script_say_it_too(line, text):
    with pytest.raises(ImportError) as caught:
        exec(line, {})
    assert text in str(caught.value) and "gpuplace stands in for TensorFlow here" in str(caught.value)
    shown = traceback.extract_tb(caught.value.__traceback__)
    assert not any(callers.is_own(frame.filename) for frame in shown)


@pytest.mark.parametrize(
    ("line", "same"),
    [
        (
            "from tensorflow.contrib.layers.python.layers import batch_norm as name",
            "contrib.layers.batch_norm",
        ),
        (
            "from tensorflow.contrib.layers.python.layers import initializers\nname = initializers.xavier_initializer",
            "contrib.layers.xavier_initializer",
        ),
        (
            "from tensorflow.contrib.layers.python.layers.layers import conv2d as name",
            "contrib.layers.conv2d",
        ),
        (
            "import tensorflow.contrib.framework.python.ops.arg_scope as m\nname = m.arg_scope",
            "contrib.framework.arg_scope",
        ),
        (
            "from tensorflow.contrib.rnn.python.ops import rnn_cell\nname = rnn_cell.LSTMCell",
            "nn.rnn_cell.LSTMCell",
        ),
        (
            "from tensorflow.contrib.rnn.python.ops.lstm_ops import LSTMBlockFusedCell as name",
            "contrib.rnn.LSTMBlockFusedCell",
        ),
        (
            "from tensorflow.python.ops import stateless_random_ops as m\nname = m.stateless_random_normal",
            "random.stateless_normal",
        ),
        ("from tensorflow.python.layers import core\nname = core.Dense", "layers.Dense"),
        ("from tensorflow.python.layers.base import Layer as name", "layers.Layer"),
        ("from tensorflow.python.layers.utils import smart_cond as name", ""),
        (
            "from tensorflow.python.ops.rnn_cell_impl import LSTMStateTuple as name",
            "nn.rnn_cell.LSTMStateTuple",
        ),
        ("from tensorflow.python.ops.lookup_ops import HashTable as name", "contrib.lookup.HashTable"),
        ("from tensorflow.python.ops.lookup_ops import StaticHashTableV1 as name", "lookup.StaticHashTable"),
        (
            "from tensorflow.python.ops.data_flow_ops import StagingArea as name",
            "contrib.staging.StagingArea",
        ),
        ("from tensorflow.python.data.ops.dataset_ops import Dataset as name", "data.Dataset"),
        ("from tensorflow.core.example.example_pb2 import Example as name", "train.Example"),
        ("from tensorflow.python.summary.writer.writer import FileWriter as name", "summary.FileWriter"),
        ("from tensorflow.python.framework.device_spec import DeviceSpecV2 as name", "DeviceSpec"),
        ("from tensorflow.python.training.checkpoint_utils import wait_for_new_checkpoint as name", ""),
        ("from tensorflow.python.training.moving_averages import assign_moving_average as name", ""),
        ("from tensorflow.python.framework.tensor_util import constant_value as name", "get_static_value"),
    ],
)
def test_modules_inside_contrib_and_layers_have_the_names_of_their_namespace(tensorflow, line, same):
    scope = {}
    exec(line, scope)
    assert callable(scope["name"]) and (not same or scope["name"] is value_of(same))
    tensorflow_names.uninstall()
    assert not hasattr(tf.contrib.layers, "python") and not hasattr(tf.contrib.framework, "python")
    tensorflow_names.install()


def test_a_script_shows_its_line_and_the_sentence(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import tensorflow as tf\nfrom tensorflow import keras\n")
    done = subprocess.run([sys.executable, "-m", "gpuplace", "run", path], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(lines) == 4 and EXPLORE in lines[-1]
    assert lines[1].strip() == f'File "{path}", line 2, in <module>'


@pytest.mark.usefixtures("tensorflow")
def test_modules_of_the_package_are_still_found():
    assert importlib.import_module("gpuplace.jupyter").__name__ == "gpuplace.jupyter"
    exec("from tensorflow import nn, ConfigProto, errors", {})
