"""What a caller does to arrays, given or fetched, changes nothing in the graph and the session."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.dtypes import own_array
from gpuplace.graph.constant_value import constant_value

LARGE = 1 << 16
"""Elements: more than what variables keep as it is and kernels compute in one piece."""


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


class Wrapped:
    """As libraries give out their own memory."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array


def ones(count=3):
    return np.ones(count, np.float32)


@pytest.mark.parametrize("count", [3, LARGE])
@pytest.mark.parametrize(
    "make",
    [
        tf.constant,
        tf.convert_to_tensor,
        lambda array: tf.constant(array, tf.float32),
        lambda array: tf.constant(array, shape=[1, len(array)]),
        lambda array: tf.constant(Wrapped(array)),
        lambda array: array + tf.zeros(len(array)),
        lambda array: tf.import_graph_def(graph_of(array), return_elements=["array:0"])[0],
    ],
    ids=["constant", "convert", "dtype", "shape", "__array__", "operator", "import"],
)
def test_a_constant_is_a_copy_of_an_array(session, make, count):
    array = ones(count)
    tensor = make(array)
    array[0] = 99
    assert session.run(tensor).ravel()[0] == 1


def mapped(tmp_path):
    array = np.memmap(tmp_path / "values", np.float32, "w+", shape=(3,))
    array[:] = 1
    return array, array


def spread(tmp_path):
    array = ones(1)
    return np.broadcast_to(array, (3,)), array


def watched(tmp_path):
    array = ones()
    seen = array.view()
    seen.flags.writeable = False
    return seen, array


@pytest.mark.parametrize(
    "make",
    [
        lambda tmp_path: (np.ones((4, 6), np.float32)[::2, ::-3],) * 2,
        lambda tmp_path: (np.asfortranarray(np.ones((3, 2), np.float32)),) * 2,
        lambda tmp_path: (np.ones((), np.float32),) * 2,
        lambda tmp_path: (np.ones(3, bool),) * 2,
        lambda tmp_path: (np.array([b"1", "1"], object)[::-1],) * 2,
        lambda tmp_path: (np.array([b"1", b"1"]),) * 2,
        lambda tmp_path: (np.ones(3, tf.bfloat16.as_numpy_dtype),) * 2,
        mapped,
        spread,
        watched,
    ],
    ids="strided fortran scalar bool objects bytes bfloat16 mapped spread read-only".split(),
)
def test_arrays_of_every_kind_are_copied(session, tmp_path, make):
    """By constants, variables, feeds that variables keep, and results of Python functions."""
    array, memory = make(tmp_path)
    constant, variable = tf.constant(array), tf.Variable(array)
    fed = tf.placeholder(constant.dtype, array.shape)
    stored = tf.Variable(constant)
    session.run([variable.initializer, stored.initializer])
    session.run(stored.assign(fed).op, {fed: array})
    expected = session.run(constant).tolist()
    memory[...] = b"9" if memory.dtype.kind in "OS" else 0
    session.run(variable.initializer)
    for tensor in (constant, variable, stored):
        assert session.run(tensor).tolist() == expected
    assert set(np.ravel(expected).tolist()) in ({1}, {b"1"})


def test_calls_of_a_partial_run_keep_what_was_fed_and_fetched_as_it_was(session):
    x, y = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
    for fetched in (x, tf.identity(x), x * 1):
        later = [x + y, fetched + y]
        handle = session.partial_run_setup([fetched, *later], [x, y])
        array = ones()
        found = session.partial_run(handle, fetched, {x: array})
        array[:] = 99
        found[:] = 98
        assert [one.tolist() for one in session.partial_run(handle, later, {y: ones()})] == [[2, 2, 2]] * 2


def graph_of(array):
    with tf.Graph().as_default() as graph:
        tf.constant(array, name="array")
    return graph.as_graph_def()


def test_a_constant_of_strings_is_a_copy_too(session):
    array = np.array([b"a", b"b"], object)
    tensor = tf.constant(array)
    array[0] = b"z"
    assert session.run(tensor).tolist() == [b"a", b"b"]


def test_an_array_is_copied_once_and_only_where_it_has_to_be():
    array = ones()
    assert not np.shares_memory(own_array(array), array)
    converted = own_array(array, tf.float64)
    assert converted.base is None and converted.dtype == np.float64
    assert array.flags.writeable


def test_tensor_protos_and_the_graph_as_a_message():
    array = ones()
    proto = tf.make_tensor_proto(array)
    array[0] = 99
    assert tf.make_ndarray(proto)[0] == 1 and array.flags.writeable
    made = tf.make_ndarray(proto)
    made[0] = 5
    assert tf.make_ndarray(proto)[0] == 1


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("count", [3, LARGE])
def test_variables_keep_arrays_of_their_own(session, use_resource, count):
    array = ones(count)
    variable = tf.get_variable("v", initializer=array, use_resource=use_resource)
    array[0] = 99
    session.run(variable.initializer)
    assert session.run(variable)[0] == 1
    array[0] = 2
    variable.load(array, session)
    array[0] = 99
    assert session.run(variable)[0] == 2
    fed = tf.placeholder(tf.float32, [count])
    for assign in (variable.assign(fed), variable.assign(tf.identity(fed))):
        array[0] = 3
        session.run(assign.op, {fed: array})
        array[0] = 99
        assert session.run(variable)[0] == 3
    session.run(variable.assign_add(np.ones(count, np.float32)).op)
    assert session.run(variable)[0] == 4


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("count", [3, LARGE])
def test_what_is_fetched_is_the_callers(session, use_resource, count):
    variable = tf.get_variable("v", initializer=ones(count), use_resource=use_resource)
    constant = tf.constant(ones(count))
    session.run(variable.initializer)
    value = variable.read_value()
    for tensor in (
        *(
            constant,
            tf.identity(constant),
            tf.reshape(constant, [1, count]),
            constant * 2,
            tf.nn.relu(constant),
        ),
        *(
            value,
            tf.identity(value),
            value[:2],
            tf.split(value, [1, count - 1])[1],
            value + 0,
            tf.cast(value, tf.int32),
        ),
        variable.assign_add(tf.zeros(count)),
    ):
        before = session.run(tensor)
        changed = session.run(tensor)
        changed += changed.dtype.type(1)
        assert np.array_equal(session.run(tensor), before), tensor
        assert session.run(constant)[0] == session.run(variable)[0] == 1


def test_the_value_of_a_constant_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        constant_value(tf.constant(ones()))[0] = 99


def test_a_python_function_gets_copies_and_is_copied_from(session):
    kept, buffer = [], ones()

    def spoil(array):
        kept.append(array)
        array[:] = 99
        return buffer

    constant = tf.constant(ones())
    variable = tf.Variable(ones())
    session.run(variable.initializer)
    for tensor in (constant, variable.read_value()):
        made = tf.py_func(spoil, [tensor], tf.float32)
        stored = session.run(variable.assign(made))
        session.run(made)[0] = 7
        buffer[0] = 8
        assert (
            stored.tolist() == session.run(constant).tolist() == session.run(variable).tolist() == [1, 1, 1]
        )
        buffer[0] = 1
    assert kept[0].tolist() == [99, 99, 99]


def test_a_python_function_gets_scalars_for_rank_0(session):
    kinds = []

    def note(*values):
        kinds.extend(map(type, values))
        return np.float32(0)

    half = tf.placeholder_with_default(0.5, [])
    session.run(
        tf.py_func(note, [tf.constant("path"), tf.constant(2.0), half * 2, tf.constant([1])], tf.float32)
    )
    assert kinds == [bytes, np.float32, np.float32, np.ndarray]


def test_one_string_of_several(session):
    index = tf.placeholder(tf.int32, [])
    assert session.run(tf.gather(["a", "b"], index), {index: 1}) == b"b"


def test_results_of_elementwise_ops_are_not_copied(session):
    x = tf.placeholder(tf.float32, [None, 2])
    for tensor in (
        tf.asin(x),
        tf.nn.elu(x),
        tf.floor(x),
        tf.where(x > 0, x, -x),
        tf.cast(x, tf.int32),
        tf.argmax(x, 1),
    ):
        session.run(tensor, {x: [[0, 1]]})
        (plan,) = [plan for plan in session._plans.values() if plan.schedule.fetches[0].tensor is tensor]
        assert "copied" not in plan.code.source, tensor
