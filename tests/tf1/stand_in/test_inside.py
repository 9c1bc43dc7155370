"""Modules of TensorFlow's insides that load without having what they are for, and those that help tests."""

import pytest

import gpuplace as tf
from gpuplace.errors import UnimplementedError
from gpuplace.tf1.stand_in import names
from gpuplace.tf1.stand_in.autograph.core import ag_ctx
from gpuplace.tf1.stand_in.framework import common_shapes, ops
from gpuplace.tf1.stand_in.framework.smart_cond import smart_case, smart_cond, smart_constant_value
from gpuplace.tf1.stand_in.names import resolve
from gpuplace.tf1.stand_in.training import tensorboard_logging


def test_classes_of_absent_modules_can_be_inherited_from():
    training = resolve("tensorflow.python.keras.engine.training")

    class Net(training.Model):
        def call(self, x):
            return x

    with pytest.raises(
        UnimplementedError, match=r"tensorflow.python.keras.engine.training.Model is not available"
    ):
        Net()
    with pytest.raises(UnimplementedError, match=r"layers.core.Dense.thing is not available"):
        resolve("tensorflow.python.keras").layers.core.Dense.thing(3)


def test_ops_of_tensorflows_tests():
    assert resolve("tensorflow.python.framework.test_ops").int_output().op.type == "IntOutput"


def test_whether_control_flow_is_translated():
    assert ag_ctx.control_status_ctx().status is ag_ctx.Status.UNSPECIFIED
    with ag_ctx.ControlStatusCtx(ag_ctx.Status.DISABLED) as block:
        assert ag_ctx.control_status_ctx() is block


def test_names_of_graphs():
    assert not ops.has_default_graph()
    with tf.Graph().as_default(), ops.name_scope_v2("a"):
        assert ops.has_default_graph() and ops.get_name_scope() == "a"
        assert ops.is_dense_tensor_like(tf.constant(1)) and not ops.is_dense_tensor_like(1)
    assert ops._NodeDef("Add", "sum", tf.DeviceSpec(job="a")).device == "/job:a"
    assert ops.uid() < ops.uid()
    with pytest.raises(TypeError, match="does not define a `name` property"):
        ops.register_dense_tensor_like_type(int)


def test_shapes_that_are_combined():
    assert common_shapes.broadcast_shape([3, 1], [1, None]).as_list() == [3, None]
    assert common_shapes.is_broadcast_compatible([2, 1], [4])
    assert not common_shapes.is_broadcast_compatible([2], [3])
    with pytest.raises(ValueError, match=r"Incompatible shapes for broadcasting: \(2,\) and \(3,\)"):
        common_shapes.broadcast_shape([2], [3])
    assert common_shapes.call_cpp_shape_fn(tf.zeros([2, 3]).op)["shapes"][0].as_list() == [2, 3]


def unwanted():
    raise AssertionError


def test_conditions_decided_while_the_graph_is_built():
    x = tf.placeholder(tf.int32, [])
    y = tf.constant(2)
    assert smart_constant_value(y * 2 > 3) is True and smart_constant_value(x > 3) is None
    assert smart_constant_value(tf.random_uniform([]) > 2) is None
    assert smart_cond(y > 5, unwanted, lambda: "no") == "no"
    chosen = smart_case([(x > 1, lambda: tf.constant(1)), (y < 1, unwanted), (True, lambda: tf.constant(3))])
    with tf.Session() as session:
        assert [session.run(chosen, {x: value}) for value in (0, 2)] == [3, 1]
    with pytest.raises(TypeError, match="`pred` must be a Tensor, or a Python bool, or 1 or 0"):
        smart_constant_value("yes")


def test_messages_in_event_files(tmp_path):
    tensorboard_logging._clear_summary_writer()
    with pytest.raises(RuntimeError, match="set_summary_writer"):
        tensorboard_logging.error("lost")
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        tensorboard_logging.set_summary_writer(writer)
        tensorboard_logging.info("too low")
        tensorboard_logging.error("for%s", "mat")
    tensorboard_logging._clear_summary_writer()
    (path,) = tmp_path.iterdir()
    assert [one.log_message.message for one in tf.train.summary_iterator(str(path))][1:] == ["format"]
    with pytest.raises(ValueError, match="Invalid log level"):
        tensorboard_logging.set_verbosity("loud")


def test_the_variable_of_the_inner_module_is_a_resource():
    inner = resolve("tensorflow.python.ops.variables")
    made, plain = inner.Variable(1.0, name="inner"), tf.Variable(1.0)
    assert (made.op.type, made.op.name, plain.op.type) == ("VarHandleOp", "inner", "VariableV2")
    assert made in tf.global_variables()
    assert made in tf.trainable_variables()
    assert isinstance(made, inner.Variable)
    assert isinstance(plain, inner.Variable)
    assert not isinstance(1.0, inner.Variable)
    assert issubclass(tf.Variable, inner.Variable)
    assert not issubclass(int, inner.Variable)
    assert inner.VariableV1(1.0).op.type == "VariableV2"


@pytest.fixture
def tensorflow():
    names.install()
    yield
    names.uninstall()


def test_absent_modules_have_specs(tensorflow):
    ragged = resolve("tensorflow.python.ops.ragged").ragged_tensor
    with pytest.raises(UnimplementedError, match=r"ragged_tensor.RaggedTensor is not available"):
        ragged.RaggedTensor()


def test_modules_have_those_that_they_import_among_their_names(tensorflow):
    rnn = resolve("tensorflow.python.ops.rnn")
    assert rnn.rnn_cell_impl.BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell
    assert resolve("tensorflow.python.ops.math_ops").dtypes.float32 is tf.float32
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = rnn.nothing_like_it


def test_conversions_are_registered_in_a_module_of_their_own():
    class Three:
        pass

    registry = resolve("tensorflow.python.framework.tensor_conversion_registry")
    registry.register_tensor_conversion_function(
        Three, lambda value, dtype=None, name=None, as_ref=False: tf.constant(3.0, dtype, name=name)
    )
    with tf.Session() as session:
        assert session.run(tf.add(Three(), 1.0)) == 4.0
