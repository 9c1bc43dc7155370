"""Variables in sessions: values, assignments, errors; reference and resource variables alike."""

import numpy as np
import pytest

import gpuplace as tf

BOTH = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
MACHINE = pytest.mark.parametrize(
    "machine",
    [
        pytest.param("cpu", id="numpy"),
        pytest.param("2x Tesla K40c", id="simulated"),
        pytest.param("local", id="cupy", marks=pytest.mark.gpu),
    ],
)


def use(machine):
    tf.use_machine(tf.Machine.local() if machine == "local" else machine)


@BOTH
@MACHINE
def test_assignments(use_resource, machine):
    use(machine)
    v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource)
    added, taken, given = v.assign_add([1.0, 1.0]), v.assign_sub([0.5, 0.5]), v.assign([7.0, 8.0])
    with tf.Session() as session:
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(v), [1, 2])
        np.testing.assert_array_equal(session.run(added), [2, 3])
        np.testing.assert_array_equal(session.run(taken), [1.5, 2.5])
        np.testing.assert_array_equal(v.eval(), [1.5, 2.5])
        np.testing.assert_array_equal(session.run(given), [7, 8])
        np.testing.assert_array_equal(session.run(v.read_value() * 2), [14, 16])
        v.load([3.0, 4.0])
        np.testing.assert_array_equal(session.run(v + 1), [4, 5])


@BOTH
@MACHINE
def test_scatter_changes_rows(use_resource, machine):
    use(machine)
    v = tf.Variable(np.zeros([3, 2], np.float32), use_resource=use_resource)
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([2, 2]))
    added = v.scatter_add(slices)
    with tf.Session() as session:
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(added), [[0, 0], [0, 0], [4, 6]])
        row = tf.IndexedSlices(tf.constant([[9.0, 9.0]]), tf.constant([0]))
        np.testing.assert_array_equal(session.run(v.scatter_update(row))[0], [9, 9])
        np.testing.assert_array_equal(session.run(tf.gather(v, [2, 0])), [[4, 6], [9, 9]])


def test_reading_a_reference_variable_too_early():
    w = tf.Variable(1.0, name="w")
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError) as caught:
        session.run(w + 1.0)
    assert "Attempting to use uninitialized value w" in caught.value.message
    assert "global_variables_initializer" in str(caught.value)


def test_reading_a_resource_variable_too_early():
    w = tf.Variable(1.0, name="w", use_resource=True)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError) as caught:
        session.run(w + 1.0)
    assert "Error while reading resource variable w from Container: localhost." in caught.value.message


def test_assigning_another_shape_is_refused_while_building():
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(
        ValueError, match="Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are"
    ):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(3,\) are incompatible"):
        tf.Variable([1.0, 2.0], use_resource=True).assign([1.0, 2.0, 3.0])


def test_assigning_another_shape_is_refused_when_run():
    v = tf.Variable([1.0, 2.0])
    value = tf.placeholder(tf.float32)
    assign = v.assign(value)
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(assign, {value: [1.0, 2.0, 3.0]})
    expected = "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]"
    assert expected in caught.value.message


def test_a_variable_changes_its_shape_where_that_is_not_validated():
    v = tf.Variable(tf.placeholder_with_default([1.0], None), validate_shape=False)
    assign = tf.assign(v, [[1.0, 2.0]], validate_shape=False)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(assign)
        assert session.run(v).shape == (1, 2)


def test_assigning_another_type_is_refused():
    with pytest.raises(
        TypeError, match="Expected float32 passed to parameter 'value' of op 'Assign', got 'x'"
    ):
        tf.Variable(1.0).assign("x")


def test_an_initial_value_is_needed():
    with pytest.raises(ValueError, match="initial_value must be specified."):
        tf.Variable()
    with pytest.raises(ValueError, match="initial_value must have a shape specified: "):
        tf.Variable(tf.placeholder(tf.float32, [None]))


@BOTH
def test_collections_and_representation(use_resource):
    v = tf.Variable([1.0], name="v", use_resource=use_resource)
    w = tf.Variable(1, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    assert tf.global_variables() == [v] == tf.trainable_variables()
    assert tf.local_variables() == [w]
    assert isinstance(v, tf.Variable)
    assert repr(v) == f"<tf.Variable 'v:0' shape=(1,) dtype=float32{'' if use_resource else '_ref'}>"
    with pytest.raises(TypeError, match="'Variable' object is not iterable."):
        iter(v)


def test_names_of_variables_without_a_value():
    v = tf.Variable(1.0, name="v")
    tf.Variable(1.0, name="r", use_resource=True)
    missing = tf.report_uninitialized_variables()
    with tf.Session() as session:
        assert list(session.run(missing)) == [b"v", b"r"]
        session.run(v.initializer)
        assert list(session.run(missing)) == [b"r"]
        assert session.run(tf.is_variable_initialized(v))


def test_one_run_initialises_variables_that_depend_on_each_other():
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable(v * 2.0, name="w")
    u = tf.Variable(w.initialized_value() + 1.0, name="u")
    r = tf.Variable([3.0], use_resource=True)
    s = tf.Variable(r.initialized_value() * 2.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable, expected in ((w, [2, 4]), (u, [3, 5]), (s, [6])):
            np.testing.assert_array_equal(session.run(variable), expected)


def test_sessions_have_values_of_their_own():
    v = tf.Variable(1.0)
    add = v.assign_add(1.0)
    with tf.Session() as one, tf.Session() as other:
        for session in (one, other):
            session.run(v.initializer)
        assert one.run(add) == 2 and one.run(add) == 3
        assert other.run(v) == 1


def test_counting_up_to_a_limit():
    v = tf.Variable(0)
    count = v.count_up_to(2)
    with tf.Session() as session:
        session.run(v.initializer)
        assert [session.run(count), session.run(count)] == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(count)


def test_an_assignment_is_placed_with_its_variable():
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0], name="v")
    with tf.device("/cpu:0"):
        v.assign([2.0], name="set")
    placement = tf.place(tf.get_default_graph(), machine="2x Tesla K40c")
    assert placement["set"] == placement["v"] == "/job:localhost/replica:0/task:0/device:GPU:1"
    assert placement["set/value"].endswith("CPU:0")


@pytest.mark.parametrize(
    "dtype, shape, value, message",
    [
        ("int32", [], 0.0, "Trying to read variable with wrong dtype. Expected int32 got float"),
        ("int32", [], [0], "Shapes must be equal rank, but are 0 and 1"),
        ("float32", [None, 3], [[1.0, 2.0]], "Dimension 1 in both shapes must be equal, but are 3 and 2"),
    ],
)
def test_a_handle_takes_values_of_its_type_and_shape(dtype, shape, value, message):
    handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=shape, container="", shared_name="")
    for op in (tf.raw_ops.AssignVariableOp, tf.raw_ops.AssignAddVariableOp):
        with pytest.raises(ValueError, match=message):
            op(resource=handle, value=tf.constant(value))


def test_the_initial_value_of_a_message_without_its_name_is_not_known():
    variable = tf.Variable(3.0)
    message = variable.to_proto()
    message.ClearField("initial_value_name")
    again = tf.Variable(variable_def=message)
    assert again.to_proto() == message
    with pytest.raises(ValueError, match="false_fn must have a return value"):
        again.initialized_value()


def test_counting_a_resource_up_to_a_limit():
    variable = tf.get_variable("v", initializer=0, use_resource=True)
    counts = variable.count_up_to(2), tf.count_up_to(variable, 2)
    assert {one.op.type for one in counts} == {"ResourceCountUpTo"}
    assert counts[0].op.node_def.input == ["v"]
    with tf.Session() as session:
        session.run(variable.initializer)
        assert [session.run(one) for one in counts] == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(counts[0])
        assert session.run(variable) == 2
