"""Grouping, checks, prints and Python functions, in sessions."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.flow.control import summary


def test_group_waits_for_all_and_has_one_node_a_device() -> None:
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    grouped = tf.group(a, [b.op], name="both")
    assert grouped.name == "both" and grouped.type == "NoOp"
    assert {op.name for op in grouped.control_inputs} == {"a", "b"}
    with tf.device("/gpu:1"):
        c = tf.constant(3.0, name="c")
    spread = tf.group(a, c, name="spread")
    assert [(op.name, op.device) for op in spread.control_inputs] == [
        ("spread/NoOp", ""),
        ("spread/NoOp_1", "/device:GPU:1"),
    ]
    assert tf.group().control_inputs == []


def test_group_runs() -> None:
    grouped = tf.group(tf.constant(1.0), tf.constant(2.0))
    with tf.Session() as session:
        assert session.run(grouped) is None


def test_group_refuses_what_is_no_operation() -> None:
    with pytest.raises(TypeError, match="should be zero or more"):
        tf.group(3)
    with pytest.raises(ValueError, match="Unknown keyword arguments: nmae"):
        tf.group(nmae="x")


def test_tuple_gates_all_of_its_tensors() -> None:
    x, y = tf.tuple([tf.constant(1.0), tf.constant(2.0)])
    assert [op.type for op in x.op.control_inputs] == ["NoOp"]
    assert x.op.control_inputs == y.op.control_inputs
    assert tf.tuple([None, tf.constant(1)])[0] is None
    with pytest.raises(ValueError, match="Must have at least one Tensor"):
        tf.tuple([None])


def test_assert_shows_its_data() -> None:
    x = tf.placeholder(tf.float32, [None])
    check = tf.Assert(tf.reduce_all(x > 0.0), ["not positive: ", x], summarize=2)
    with tf.Session() as session:
        session.run(check, {x: [1.0]})
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"assertion failed: \[not positive: \] \[-1 2...\]"
        ):
            session.run(check, {x: [-1.0, 2.0, 3.0]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected 'False' to be true"):
        tf.Assert(False, [x])


def test_print_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    x = tf.constant([[1.5, 2.0], [3.0, 4.0]])
    shown = tf.Print(x, [x, tf.shape(x)], message="x: ", first_n=1, summarize=3)
    with tf.Session() as session:
        assert session.run(shown).tolist() == [[1.5, 2.0], [3.0, 4.0]]
        session.run(shown)
    assert capsys.readouterr().err == "x: [[1.5 2][3...]...][2 2]\n"


@pytest.mark.parametrize(
    ("value", "entries", "text"),
    [
        (np.float32(0.1), 3, "0.1"),
        (np.float32(1 / 3), 3, "0.33333334"),
        (np.float64(1 / 3), 3, "0.33333333333333331"),
        (np.float32(np.nan), 3, "nan"),
        (np.arange(4), 3, "0 1 2..."),
        (np.arange(4), -1, "0 1 2 3"),
        (np.array([True, False]), 3, "1 0"),
        (np.array([b"a", b"b"], object), 3, "a b"),
        (np.arange(8).reshape(2, 2, 2), 5, "[[0 1][2 3]][[4...]]..."),
        (np.zeros([0, 2]), 3, ""),
    ],
)
def test_summaries(value: np.ndarray, entries: int, text: str) -> None:
    assert summary(np.asarray(value), entries) == text


def test_python_functions() -> None:
    x = tf.placeholder(tf.float32, [2])
    double = tf.py_func(lambda value: value * 2, [x], tf.float32)
    both = tf.py_func(lambda value: (value.sum(), np.int64(3)), [x], [tf.float32, tf.int64], stateful=False)
    assert double.op.type == "PyFunc" and both[0].op.type == "PyFuncStateless"
    with tf.Session() as session:
        assert session.run(double, {x: [1, 2]}).tolist() == [2, 4]
        assert session.run(both, {x: [1, 2]}) == [3.0, 3]


def test_python_function_of_another_type_is_refused() -> None:
    wrong = tf.py_func(lambda: np.float64(1), [], tf.float32)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="0-th value returned by pyfunc_"),
    ):
        session.run(wrong)


def test_python_function_that_raises_is_named() -> None:
    def broken(value: np.ndarray) -> np.ndarray:
        raise ValueError("no such luck")

    with tf.Session() as session, pytest.raises(tf.errors.OpError, match="no such luck"):
        session.run(tf.py_func(broken, [tf.constant(1.0)], tf.float32))
