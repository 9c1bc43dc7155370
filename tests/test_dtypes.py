"""Element types and the conversion of Python values."""

import pickle

import ml_dtypes
import numpy as np
import pytest

from gpuplace import dtypes
from gpuplace.shapes import Dimension, TensorShape


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("float32", "float32"), ("float", "float32"), ("double", "float64"), ("half", "float16"), ("DT_INT32", "int32"),
        ("int32_ref", "int32_ref"), (1, "float32"), (101, "float32_ref"), (np.float64, "float64"),
        (np.dtype("int8"), "int8"),
        (float, "float32"), (int, "int64"), (bool, "bool"), (str, "string"), (bytes, "string"), (np.str_, "string"),
        (ml_dtypes.bfloat16, "bfloat16"), (dtypes.qint8, "qint8"), (np.array(1, np.uint16).dtype, "uint16"),
    ],
)  # fmt: skip
def test_as_dtype(value, name):
    assert dtypes.as_dtype(value).name == name


@pytest.mark.parametrize("value", ["float33", 999, None, 1.5, [1]])
def test_as_dtype_refuses(value):
    with pytest.raises(TypeError, match="Cannot convert value"):
        dtypes.as_dtype(value)


def test_reference_types():
    assert dtypes.float32._as_ref.name == "float32_ref"
    assert dtypes.float32._as_ref.base_dtype is dtypes.float32
    assert dtypes.float32.is_compatible_with(dtypes.float32._as_ref)
    assert not dtypes.float32._as_ref.is_compatible_with(dtypes.float32)
    assert dtypes.float32._as_ref.enum_name == "DT_FLOAT_REF"


def test_equality_and_pickling():
    assert dtypes.float32 == np.float32
    assert dtypes.float32 == "float32"
    assert dtypes.float32 != dtypes.float64
    assert (dtypes.float32 == 3.5) is False
    assert pickle.loads(pickle.dumps(dtypes.int64._as_ref)) is dtypes.int64._as_ref
    assert {dtypes.float32: 1}[dtypes.as_dtype("float")] == 1


def test_kinds_and_limits():
    assert dtypes.bfloat16.is_floating
    assert dtypes.uint8.is_unsigned
    assert dtypes.uint8.is_integer
    assert not dtypes.qint8.is_integer
    assert not dtypes.bool.is_integer
    assert dtypes.int8.min == -128
    assert dtypes.uint16.max == 65535
    assert float(dtypes.float16.max) == 65504.0
    assert dtypes.complex128.real_dtype is dtypes.float64
    with pytest.raises(TypeError):
        _ = dtypes.string.max


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, None, np.array(1, np.int32)),
        (2**31, None, np.array(2**31, np.int64)),
        (1.0, None, np.array(1, np.float32)),
        ([1, 2.5], None, np.array([1, 2.5], np.float32)),
        (True, None, np.array(True)),
        (1j, None, np.array(1j, np.complex128)),
        ([], None, np.zeros(0, np.float32)),
        ([[1], [2]], "float64", np.array([[1.0], [2.0]])),
        (np.arange(3), None, np.arange(3)),
        (np.float64(2), None, np.array(2.0)),
        (np.array([1.7]), "int32", np.array([1], np.int32)),
        ([np.int64(1), np.int64(2)], None, np.array([1, 2], np.int32)),
        ([np.int64(1), 2**40], None, np.array([1, 2**40], np.int64)),
        ([np.float64(1), np.int8(2)], None, np.array([1, 2], np.float32)),
        ([np.int8(1), np.int8(2)], None, np.array([1, 2], np.int8)),
        (True, "float32", np.array(1, np.float32)),
        ([True, 2], None, np.array([1, 2], np.int32)),
        ([Dimension(3), 4], None, np.array([3, 4], np.int32)),
        (TensorShape([2, 3]), None, np.array([2, 3], np.int32)),
        (1, "bfloat16", np.array(1, ml_dtypes.bfloat16)),
    ],
)  # fmt: skip
def test_as_array(value, dtype, expected):
    array = dtypes.as_array(value, dtype)
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    assert (array == expected).all()


@pytest.mark.parametrize(("value", "shape"), [([], (0,)), ([[], []], (2, 0)), (((),), (1, 0))])
def test_no_strings_are_an_array_too(value, shape):
    array = dtypes.as_array(value, dtypes.string)
    assert array.shape == shape and array.dtype == object


def test_strings_become_bytes():
    array = dtypes.as_array([["a", b"b"], ["ü", ""]])
    assert array.dtype == object
    assert array.tolist() == [[b"a", b"b"], ["ü".encode(), b""]]
    assert dtypes.as_array("a").item() == b"a"
    assert dtypes.as_array(np.array(["x", "yy"])).tolist() == [b"x", b"yy"]


@pytest.mark.parametrize(
    ("value", "dtype", "error", "message"),
    [
        (None, None, ValueError, "None values not supported"),
        ([1, None], None, TypeError, r"Failed to convert object .*Contents: \[1, None\]"),
        ([1, None], "int32", TypeError, "Expected int32, got None of type 'NoneType' instead"),
        ([1, [2]], None, ValueError, "must be a dense tensor"),
        ([[1, 2], [3]], None, ValueError, r"\[3\]\] - got shape \[2\], but wanted \[2, 2\]."),
        ([["a"], ["b", "c"]], None, ValueError, "must be a dense tensor"),
        ([1, "a"], None, TypeError, r"Failed to convert object of type <class 'list'> to Tensor. Contents: \[1, 'a'\]"),
        (1.5, "int32", TypeError, "Expected int32, got 1.5 of type 'float' instead"),
        ("a", "float32", TypeError, "Expected float32, got 'a' of type 'str' instead"),
        (True, "string", TypeError, "Expected string, got True of type 'bool' instead"),
        (2**63, "int64", OverflowError, "Python int too large to convert to C long"),
        (1, "string", TypeError, "Expected string, got 1"),
        (object(), None, TypeError, "Failed to convert object"),
    ],
)  # fmt: skip
def test_as_array_refuses(value, dtype, error, message):
    with pytest.raises(error, match=message):
        dtypes.as_array(value, dtype)


def test_a_shape_is_filled_with_the_last_element():
    assert dtypes.as_array([1, 2], shape=[2, 2]).tolist() == [[1, 2], [2, 2]]
    assert dtypes.as_array(0.5, shape=[3]).tolist() == [0.5, 0.5, 0.5]
    with pytest.raises(ValueError, match="Too many elements provided. Needed at most 2, but received 3"):
        dtypes.as_array([1, 2, 3], shape=[2])
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2, 2\), got \(2,\)"):
        dtypes.as_array([1, 2], shape=[2, 2], verify_shape=True)
    with pytest.raises(ValueError, match="must be fully defined"):
        dtypes.as_array(1, shape=[None])


def test_a_thing_with_a_type_is_no_type():
    class Typed:
        dtype = dtypes.float32

    with pytest.raises(TypeError, match="Cannot convert value"):
        dtypes.as_dtype(Typed())
    assert dtypes.float32 != Typed()


@pytest.mark.parametrize(
    "dtype", [None, dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.int8]
)
@pytest.mark.parametrize(
    "value",
    [
        0, -1, 2**31, 2**24 + 1, 0.1, 1e36, 1e39, float("inf"), float("nan"), True, [1, 2], (3, -4), [2**31, 1], [0.5],
        [float("nan"), 1.0], [1.0, float("inf")], [True], [1, 2.0], [], [[1, 2]], np.int8(3), [np.int8(3)],
    ],
    ids=str,
)  # fmt: skip
def test_the_short_way_of_as_array_gives_what_the_long_one_gives(value, dtype, monkeypatch):
    def made():
        try:
            with np.errstate(all="ignore"):
                return dtypes.as_array(value, dtype)
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    short = made()
    monkeypatch.setattr(dtypes, "_plain_array", lambda value, given: None)
    long = made()
    if isinstance(long, tuple):
        assert short == long
    else:
        assert (short.dtype, short.shape) == (long.dtype, long.shape)
        np.testing.assert_array_equal(short, long)


def test_a_type_is_found_by_its_number():
    assert dtypes.DType(1) is dtypes.float32 and dtypes.DType(101) is dtypes.float32._as_ref
    with pytest.raises(TypeError, match="type_enum is not a valid types_pb2.DataType: 99"):
        dtypes.DType(99)


class WithMethod:
    def __array__(self, dtype=None, copy=None):
        return np.array([b"foo", b"ba"])


class WithInterface:
    held = np.array([1.5, 2.5])

    @property
    def __array_interface__(self):
        return self.held.__array_interface__


def test_objects_that_become_arrays():
    text = dtypes.as_array(WithMethod())
    assert text.dtype == object and text.tolist() == [b"foo", b"ba"]
    assert dtypes.as_array(WithInterface()).dtype == np.float64
    assert dtypes.as_array(WithInterface(), dtypes.float32, shape=[1, 2]).tolist() == [[1.5, 2.5]]
    assert dtypes.as_array(WithInterface(), dtypes.int32).tolist() == [1, 2]
