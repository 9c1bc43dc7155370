"""Modules of TensorFlow's insides that programs import, under ``gpuplace run``."""

import pytest

from gpuplace.cli.main import main

THERE = {
    "moving averages": "from tensorflow.python.training.moving_averages import assign_moving_average as name",
    "queues of the GPUs": "from tensorflow.python.ops.data_flow_ops import StagingArea as name",
    "tables": "from tensorflow.python.ops.lookup_ops import index_table_from_file as name",
    "slim": "from tensorflow.contrib.slim.python.slim.learning import train as name",
    "hyperparameters": "from tensorflow.contrib.training.python.training.hparam import HParams as name",
    "old nets": "from tensorflow.contrib.legacy_seq2seq.python.ops.seq2seq import rnn_decoder as name",
    "old metrics": "from tensorflow.contrib.metrics.python.ops.metric_ops import streaming_mean as name",
    "nets": "from tensorflow.contrib.slim.nets import vgg; name = vgg.vgg_16",
    "a net": "from tensorflow.contrib.slim.python.slim.nets.inception_v3 import inception_v3_base as name",
    "examples": "from tensorflow.contrib.slim.python.slim.data.tfexample_decoder import Image as name",
    "attention": "from tensorflow.contrib.seq2seq.python.ops.attention_wrapper import AttentionWrapper as name",
    "words": "from tensorflow.contrib.learn.preprocessing import VocabularyProcessor as name",
    "sounds": "from tensorflow.contrib.framework.python.ops import audio_ops; name = audio_ops.decode_wav",
    "old batches": "from tensorflow.contrib.data.python.ops.batching import map_and_batch as name",
    "batches": "from tensorflow.python.data.experimental.ops.batching import map_and_batch as name",
    "datasets": "from tensorflow.python.data.ops.dataset_ops import Dataset as name",
}
NOT_USED = [
    "from tensorflow.python import debug as module",
    "from tensorflow.python.data.ops import multi_device_iterator_ops as module",
    "from tensorflow.python.data.experimental.ops import threadpool as module",
    "from tensorflow.python.distribute import all_reduce as module",
    "from tensorflow.python.ops import collective_ops as module",
    "from tensorflow.contrib.data.python.ops import prefetching_ops as module",
]
NOT_CALLED = {
    "from tensorflow.python.ops.ragged import ragged_tensor as module": "tf.SparseTensor",
    "from tensorflow.python.saved_model import load as module": "saved_model_dir",
    "from tensorflow.contrib.all_reduce.python import all_reduce as module": "tf.layers",
    "from tensorflow.contrib.image.python.ops import distort_image_ops as module": "tf.layers",
    "from tensorflow.python.framework import cpp_shape_inference_pb2 as module": "write the graph",
    "from tensorflow.python.ops import summary_ops_v2 as module": "behaves like TensorFlow 1",
    "from tensorflow.python import keras; module = keras.layers.core": "saved_model_dir",
}


def run(folder, *lines):
    program = folder / "program.py"
    program.write_text("\n".join(lines) + "\n")
    return main(["run", str(program)])


INSIDE = """
framework.meta_graph: export_scoped_meta_graph copy_scoped_meta_graph import_scoped_meta_graph
framework.tensor_spec: BoundedTensorSpec TensorSpec
lib.io.file_io: read_file_to_string FileIO
ops.candidate_sampling_ops: uniform_candidate_sampler
ops.confusion_matrix: remove_squeezable_dimensions
ops.data_flow_ops: Barrier ConditionalAccumulator FIFOQueue
ops.init_ops: convolutional_orthogonal_2d _compute_fans
ops.lookup_ops: DenseHashTable index_table_from_tensor StaticHashTableV1
ops.nn_impl: moments_v2
ops.session_ops: TensorHandle get_session_handle
ops.variable_scope: variable
training.basic_session_run_hooks: CheckpointSaverHook SecondOrStepTimer
training.checkpoint_management: meta_graph_filename latest_checkpoint
training.monitored_session: _HookedSession _RecoverableSession MonitoredSession
training.saver: BaseSaverBuilder Saver _get_saver_or_default import_meta_graph
util.nest: is_sequence flatten_up_to map_structure_with_paths flatten
"""
"""Modules of TensorFlow's insides, and names that programs use of them."""


def test_names_of_modules_that_are_no_public_ones(tmp_path):
    lines = []
    for row in INSIDE.split("\n")[1:-1]:
        module, names = row.split(": ")
        lines += [f"import tensorflow.python.{module} as module"]
        lines += [f"assert callable(module.{name}), 'module.{name}'" for name in names.split()]
    lines += [
        "from tensorflow.python.ops import image_ops",
        "import tensorflow as tf",
        "image = tf.zeros([2, 2, 3])",
        "method = image_ops.ResizeMethod.NEAREST_NEIGHBOR",
        "assert method == 'nearest' and tf.image.ResizeMethod is image_ops.ResizeMethodV1",
        "assert image_ops.resize_images(image, [4, 5], method).shape.as_list() == [4, 5, 3]",
    ]
    assert run(tmp_path, *lines) == 0


@pytest.mark.parametrize("line", THERE.values(), ids=THERE)
def test_names_that_are_there(line, tmp_path):
    assert run(tmp_path, line, "assert callable(name)") == 0


@pytest.mark.parametrize("line", NOT_USED)
def test_modules_that_a_program_does_not_use(line, tmp_path):
    """Importing one is no error; what it lacks is, with words about what to do."""
    use = (
        "try:",
        "    module.SomethingOfTensorFlow",
        "except AttributeError as error:",
        "    assert 'SomethingOfTensorFlow' in str(error) and 'explore' in str(error), error",
        "else:",
        "    raise AssertionError",
    )
    assert run(tmp_path, line, *use) == 0


@pytest.mark.parametrize("line", NOT_CALLED)
def test_modules_of_which_nothing_is_called(line, tmp_path):
    """Importing one is no error, nor is naming something in it."""
    use = (
        "function = module.SomethingOfTensorFlow",
        "try:",
        "    function()",
        "except Exception as error:",
        "    told = str(error)",
        f"    assert 'SomethingOfTensorFlow is not available' in told and {NOT_CALLED[line]!r} in told, told",
        "else:",
        "    raise AssertionError",
    )
    assert run(tmp_path, line, *use) == 0


def test_classes_derived_from_models(tmp_path):
    """A program may define its own models where it does not make one."""
    lines = [
        "import tensorflow as tf",
        "from tensorflow.python.keras.engine import network",
        "class Net(network.Network):",
        "    def __init__(self):",
        "        super().__init__(name='net')",
        "try:",
        "    Net()",
        "except tf.errors.UnimplementedError as error:",
        "    assert 'Network' in str(error) and 'saved_model_dir' in str(error), error",
        "else:",
        "    raise AssertionError",
    ]
    assert run(tmp_path, *lines) == 0


def test_execution_callbacks(tmp_path):
    lines = [
        "import tensorflow as tf",
        "from tensorflow.python.eager import execution_callbacks",
        "try:",
        "    execution_callbacks.errstate(inf_or_nan=execution_callbacks.ExecutionCallback.RAISE)",
        "except tf.errors.UnimplementedError as error:",
        "    assert 'tf.add_check_numerics_ops()' in str(error)",
        "else:",
        "    raise AssertionError",
    ]
    assert run(tmp_path, *lines) == 0


def test_dates_of_compatibility(tmp_path):
    """Source of the answers: TensorFlow 1.15.5."""
    lines = [
        "import os",
        "from tensorflow.python.compat import compat",
        "from tensorflow.python import tf2",
        "assert compat.forward_compatible(2019, 8, 20) and not compat.forward_compatible(2019, 8, 21)",
        "os.environ['TF_FORWARD_COMPATIBILITY_DELTA_DAYS'] = '1'",
        "compat._update_forward_compatibility_date_number()",
        "assert compat.forward_compatible(2019, 8, 21) and not compat.forward_compatible(2019, 8, 22)",
        "with compat.forward_compatibility_horizon(2018, 1, 1):",
        "    assert compat.forward_compatible(2017, 12, 31) and not compat.forward_compatible(2018, 1, 1)",
        "assert compat.forward_compatible(2019, 8, 21)",
        "del os.environ['TF_FORWARD_COMPATIBILITY_DELTA_DAYS']",
        "compat._update_forward_compatibility_date_number()",
        "assert not tf2.enabled()",
    ]
    assert run(tmp_path, *lines) == 0


def test_the_devices_of_the_machine(tmp_path):
    lines = [
        "from tensorflow.python.framework import config",
        "assert config.list_logical_devices('CPU')[0].name == '/job:localhost/replica:0/task:0/device:CPU:0'",
        "assert config.list_physical_devices('CPU')[0] == ('/physical_device:CPU:0', 'CPU')",
        "assert config.list_logical_devices('TPU') == []",
    ]
    assert run(tmp_path, *lines) == 0


def test_modules_of_functions_of_ops_in_other_modules(tmp_path):
    lines = [
        "from tensorflow.python.ops import nn_ops",
        "assert callable(nn_ops.gen_nn_ops.fractional_avg_pool_grad)",
    ]
    assert run(tmp_path, *lines) == 0


def test_kinds_of_operations_of_loops_and_conditionals(tmp_path):
    lines = [
        "import tensorflow as tf",
        "from tensorflow.python.ops import control_flow_util as util",
        "assert util.ENABLE_CONTROL_FLOW_V2 is False",
        "tf.while_loop(lambda i: i < tf.constant(3), lambda i: i + tf.identity(1), [0])",
        "tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))",
        "kinds = ['LoopSwitch', 'CondSwitch', 'LoopMerge', 'CondMerge', 'LoopEnter', 'LoopExit']",
        "for op in tf.get_default_graph().get_operations():",
        "    found = [kind for kind in kinds if getattr(util, f'Is{kind}')(op)]",
        "    scope = 'Loop' if op.name.startswith('while') else 'Cond'",
        "    wanted = [kind for kind in kinds if kind == scope + op.type]",
        "    assert found == wanted, (op.name, found)",
        "    assert util.IsSwitch(op) == (op.type == 'Switch') and util.IsMerge(op) == (op.type == 'Merge')",
    ]
    assert run(tmp_path, *lines) == 0


@pytest.mark.parametrize(
    "decorator", ["tf.function", "def_function.function", "function.defun(autograph=False)"]
)
def test_functions_of_the_graph(decorator, tmp_path):
    """A call of what a program decorates is a node of the graph."""
    lines = [
        "import tensorflow as tf",
        "from tensorflow.python.eager import def_function, function",
        f"@{decorator}",
        "def double(x):",
        "    return 2 * x",
        "assert double.__name__ == 'double'",
        "y = double(tf.constant(1.5))",
        "assert y.op.type == 'PartitionedCall', y.op.type",
        "assert tf.Session().run(y) == 3.0",
    ]
    assert run(tmp_path, *lines) == 0
