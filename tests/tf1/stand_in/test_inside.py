"""Modules of TensorFlow's insides that load without having what they are for, and those that help tests."""

import numpy as np
import pytest
from absl.testing import parameterized

import gpuplace as tf
from gpuplace.errors import UnimplementedError
from gpuplace.tf1.ragged_spec import RaggedTensorSpec
from gpuplace.tf1.stand_in import names
from gpuplace.tf1.stand_in.autograph.core import ag_ctx
from gpuplace.tf1.stand_in.data.kernel_tests import test_base
from gpuplace.tf1.stand_in.data.util import convert, nest, sparse, structure, traverse
from gpuplace.tf1.stand_in.framework import combinations, common_shapes, ops, registry, traceable_stack
from gpuplace.tf1.stand_in.framework.smart_cond import smart_case, smart_cond, smart_constant_value
from gpuplace.tf1.stand_in.names import resolve
from gpuplace.tf1.stand_in.training import tensorboard_logging
from gpuplace.tf1.stand_in.training.saver_test_utils import CheckpointedOp


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


def test_things_with_names():
    things = registry.Registry("things")
    things.register(int)
    assert things.lookup("int") is int and things.list() == ["int"]
    with pytest.raises(KeyError, match="Registering two things with name 'int'"):
        things.register(int)
    with pytest.raises(LookupError, match="things registry has no entry for: float"):
        things.lookup("float")


def test_stacks_that_know_their_lines():
    stack = traceable_stack.TraceableStack()
    assert stack.push_obj("first") == traceable_stack.TraceableObject.SUCCESS
    assert stack.push_obj("second", offset=1000) == traceable_stack.TraceableObject.HEURISTIC_USED
    first = stack.peek_traceable_objs()[1]
    assert (first.obj, first.filename) == ("first", __file__) and stack.peek_objs() == ["second", "first"]
    assert stack.pop_obj() == "second" and len(stack) == 1


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


def test_tests_of_combinations():
    assert combinations.combine(b=[1, 2], a="x") == [{"a": "x", "b": 1}, {"a": "x", "b": 2}]
    with pytest.raises(ValueError, match="Keys need to not overlap"):
        combinations.times(combinations.combine(a=1), combinations.combine(a=2))
    ran = []

    class Case(test_base.DatasetTestBase, parameterized.TestCase):
        @combinations.generate(
            combinations.times(test_base.default_test_combinations(), combinations.combine(count=[2, 3]))
        )
        def test_range(self, count):
            ran.append(count)
            self.assertDatasetProduces(tf.data.Dataset.range(count), expected_output=list(range(count)))

    names = [name for name in dir(Case) if name.startswith("test_range")]
    assert "test_range_test_mode_graph_tfapiversion_1_count_2" in names and len(names) == 8
    reasons = []
    for name in names:
        try:
            Case(name).debug()
        except Exception as skip:
            reasons.append(str(skip))
    assert sorted(ran) == [2, 3] and len(reasons) == 6


def test_what_datasets_produce():
    case = test_base.DatasetTestBase("test_session")
    numbers = tf.data.Dataset.range(3)
    with tf.Session().as_default():
        case.assertDatasetProduces(numbers.map(lambda x: (x, -x)), [(0, 0), (1, -1), (2, -2)])
        with pytest.raises(AssertionError):
            case.assertDatasetProduces(numbers, [0, 1, 3])
        with pytest.raises(AssertionError):
            case.assertDatasetProduces(numbers, [0, 1])
        case.assertDatasetsEqual(numbers, tf.data.Dataset.from_tensor_slices(np.arange(3)))
        failing = numbers.map(lambda x: tf.check_numerics(1.0 / tf.cast(x, tf.float32), "no number"))
        case.assertDatasetProduces(failing, expected_error=(tf.errors.InvalidArgumentError, "no number"))
    assert [op.type for op in traverse.obtain_all_variant_tensor_ops(numbers.batch(2))] == [
        "BatchDatasetV2",
        "RangeDataset",
    ]


def test_forms_of_elements():
    assert nest.flatten(([1, 2], {"b": 3, "a": 4})) == [[1, 2], 4, 3]
    assert nest.map_structure(lambda x, y: x + y, (1, (2,)), (10, (20,))) == (11, (22,))
    with pytest.raises(ValueError, match="don't have the same nested structure"):
        nest.assert_same_structure((0, 1), 2)
    with pytest.raises(ValueError, match="don't have the same set of keys"):
        nest.assert_same_structure({"a": 1}, {"b": 1})
    with pytest.raises(ValueError, match="Structure is a scalar"):
        nest.pack_sequence_as("scalar", [1, 2])
    spec = structure.type_spec_from_value((tf.constant(1.0), tf.constant([2])))
    tensors = structure.to_tensor_list(spec, (tf.constant(1.0), tf.constant([2])))
    assert structure.are_compatible(
        spec, structure.type_spec_from_value(structure.from_tensor_list(spec, tensors))
    )
    with pytest.raises(ValueError, match="Expected 2 tensors but got 1"):
        structure.from_tensor_list(spec, tensors[:1])


def test_partial_shapes_as_tensors():
    with tf.Session() as session:
        for shape in ([3, None], tf.TensorShape([3, None]), [3, -1], tf.constant([3, -1], tf.int64)):
            assert session.run(convert.partial_shape_to_tensor(shape)).tolist() == [3, -1]
        assert session.run(convert.optional_param_to_tensor("count", None, 5)) == 5
    with pytest.raises(
        TypeError, match=r"must be a 1-D tensor of tf.int64 values, but the element type was float32"
    ):
        convert.partial_shape_to_tensor(tf.constant([1.0]))


def test_tables_that_a_saver_keeps(tmp_path):
    table = CheckpointedOp("table")
    fill, other = table.insert(["one"], [1.0]), table.insert(["two"], [2.0])
    saver = tf.train.Saver([table.saveable])
    with tf.Session() as session:
        session.run(fill)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(other)
        saver.restore(session, path)
        assert session.run([table.keys(), table.values()]) == [[b"one"], [1.0]]


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
    assert ragged.RaggedTensorSpec is RaggedTensorSpec
    with pytest.raises(UnimplementedError, match=r"ragged_tensor.RaggedTensor is not available"):
        ragged.RaggedTensor()


def test_modules_have_those_that_they_import_among_their_names(tensorflow):
    rnn = resolve("tensorflow.python.ops.rnn")
    assert rnn.rnn_cell_impl.BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell
    assert resolve("tensorflow.python.ops.math_ops").dtypes.float32 is tf.float32
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = rnn.nothing_like_it


def test_sparse_tensors_in_forms_are_packed_and_unpacked():
    part = tf.SparseTensor([[0, 0], [1, 2]], [3, 4], [2, 3])
    element = (part, {"dense": tf.constant([1.0, 2.0])})
    classes = sparse.get_classes(element)
    assert classes == (tf.SparseTensor, {"dense": tf.Tensor})
    assert sparse.any_sparse(classes)
    assert not sparse.any_sparse((tf.Tensor, tf.Tensor))
    types, shapes = (
        (tf.int32, {"dense": tf.float32}),
        (tf.TensorShape([2, 3]), {"dense": tf.TensorShape([2])}),
    )
    assert sparse.as_dense_types(types, classes) == (tf.variant, {"dense": tf.float32})
    known = sparse.as_dense_shapes(shapes, classes)
    assert (known[0].ndims, known[1]["dense"].as_list()) == (None, [2])
    packed = sparse.serialize_sparse_tensors(element)
    rows = sparse.serialize_many_sparse_tensors(element)
    assert [packed[0].shape.as_list(), rows[0].shape.as_list()[1:], packed[0].dtype] == [[3], [3], tf.variant]
    assert packed[1]["dense"] is element[1]["dense"]
    again = sparse.deserialize_sparse_tensors(packed, types, shapes, classes)
    with tf.Session() as session:
        found, dense = session.run([again[0], again[1]["dense"]])
    assert (found.indices.tolist(), found.values.tolist(), found.dense_shape.tolist()) == (
        [[0, 0], [1, 2]],
        [3, 4],
        [2, 3],
    )
    assert dense.tolist() == [1.0, 2.0]


def test_conversions_are_registered_in_a_module_of_their_own():
    class Three:
        pass

    registry = resolve("tensorflow.python.framework.tensor_conversion_registry")
    registry.register_tensor_conversion_function(
        Three, lambda value, dtype=None, name=None, as_ref=False: tf.constant(3.0, dtype, name=name)
    )
    with tf.Session() as session:
        assert session.run(tf.add(Three(), 1.0)) == 4.0
