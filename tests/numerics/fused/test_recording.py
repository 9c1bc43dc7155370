"""Kernels written down: what they call, and what cannot be written."""

import numpy as np
import pytest

import gpuplace.ops  # noqa: F401
from gpuplace.kernels.compute import find_compute
from gpuplace.numerics.fused.recording import NotRecorded, Recorder

SINGLE, DOUBLE, HALF, INTEGER = (np.dtype(name) for name in ("float32", "float64", "float16", "int32"))


def test_a_kernel_is_written_as_it_computes():
    recorder = Recorder()
    x = recorder.given("x0", SINGLE, (3,))
    found = find_compute("Sigmoid", "GPU").function(recorder, {}, None)(x)
    assert recorder.lines == [
        "float v0 = -x0;",
        "float v1 = exp(v0);",
        "float v2 = __fadd_rn(1.0f, v1);",
        "float v3 = 1.0f / v2;",
    ]
    assert (found.text, found.shape, found.dtype) == ("v3", (3,), SINGLE)


def test_library_functions_do_not_meet():
    """The product at the end of one could be merged with the sum at the beginning of the next."""
    recorder = Recorder()
    x = recorder.given("x0", SINGLE, ())
    recorder.log1p(recorder.where(x > 0, recorder.exp(x), x))
    recorder.log1p(recorder.exp(x) + 0.0)
    assert recorder.lines == [
        "bool v0 = x0 > 0.0f;",
        "float v1 = exp(x0);",
        "float v2 = v0 ? v1 : x0;",
        "volatile float v3 = v2;",
        "float v4 = log1p(v3);",
        "float v5 = exp(x0);",
        "float v6 = __fadd_rn(v5, 0.0f);",
        "float v7 = log1p(v6);",
    ]


def test_numbers_do_not_meet_library_functions():
    """The compiler would compute a part of the function beforehand."""
    recorder = Recorder()
    x = recorder.given("x0", SINGLE, ())
    recorder.power(x, 2.0)
    assert recorder.lines == ["volatile float v0 = 2.0f;", "float v1 = pow(x0, v0);"]


def test_half_precision_is_rounded_by_its_type():
    recorder = Recorder()
    x = recorder.given("x0", HALF, (2,))
    recorder.log1p(recorder.exp(x))  # the conversion is a rounding
    assert recorder.lines == [
        "float16 v0 = float16(exp(float(x0)));",
        "float16 v1 = float16(log1p(float(v0)));",
    ]


def test_results_are_written_over_computed_arrays():
    recorder = Recorder()
    x = recorder.given("x0", SINGLE, (2,))
    step = x * x
    found = recorder.subtract(x, step, step)
    assert found is step
    step += x
    recorder.exp(found, out=found)
    assert found is step and found.text == "v3"
    assert recorder.lines == [
        "float v0 = __fmul_rn(x0, x0);",
        "float v1 = __fsub_rn(x0, v0);",
        "float v2 = __fadd_rn(v1, x0);",
        "float v3 = exp(v2);",
    ]
    with pytest.raises(NotRecorded, match="where it does not belong"):
        recorder.add(x, 1, found.astype(DOUBLE))
    with pytest.raises(NotRecorded, match="where it does not belong"):
        x += 1


def test_shapes_broadcast():
    recorder = Recorder()
    x, y = recorder.given("x0", SINGLE, (2, 1)), recorder.given("x1", SINGLE, (3,), 1)
    assert (x + y).shape == (2, 3) and (1 - x).shape == (2, 1) and recorder.zeros_like(y).shape == (3,)
    with pytest.raises(ValueError, match="broadcast"):
        recorder.add(x, recorder.given("x2", SINGLE, (3, 2), 2))


def test_inputs_have_other_shapes_under_other_names():
    recorder = Recorder()
    x = recorder.given("x0", SINGLE, (6,), 0)
    views = [x.reshape(2, 3), x.reshape((6, 1)), x.reshape(2, -1), x.reshape(6)]
    assert [view.text for view in views] == ["x0_0", "x0_1", "x0_0", "x0"]
    assert [view.shape for view in views] == [(2, 3), (6, 1), (2, 3), (6,)]
    assert recorder.reshaped == {0: [(2, 3), (6, 1)]}
    with pytest.raises(ValueError, match="reshape"):
        x.reshape(4, 2)
    with pytest.raises(NotRecorded, match="a computed array gets another shape"):
        (x + 1).reshape(2, 3)


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (lambda xp, x, i: xp.sum(x), "sum is not elementwise"),
        (lambda xp, x, i: x.sum(), "sum of an array is not elementwise"),
        (lambda xp, x, i: x + i, "types are mixed"),
        (lambda xp, x, i: i + 0.5, "a fraction beside integers"),
        (lambda xp, x, i: xp.where(i, x, x), "a condition that is not bool"),
        (lambda xp, x, i: x if (x > 0) else i, "a kernel looks at values"),
        (lambda xp, x, i: xp.remainder(x, x), "remainder of float32 has no equal"),
        (lambda xp, x, i: x + np.inf, "inf has no literal"),
        (lambda xp, x, i: xp.add(x, x, out=x), "a result is written where it does not belong"),
        (lambda xp, x, i: x.astype(np.complex64), "complex64 is not computed with"),
        (lambda xp, x, i: xp.given("x2", np.dtype("complex64"), ()), "complex64 is not computed with"),
        (lambda xp, x, i: xp.add(1, 2), "types are mixed"),
    ],
)
def test_what_cannot_be_written(kernel, reason):
    recorder = Recorder()
    with pytest.raises(NotRecorded) as error:
        kernel(recorder, recorder.given("x0", SINGLE, (2,)), recorder.given("x1", INTEGER, (2,), 1))
    assert str(error.value) == reason


def test_numbers_take_the_type_of_arrays():
    recorder = Recorder()
    x, y = recorder.given("x0", SINGLE, (2,)), recorder.given("x1", DOUBLE, (2,), 1)
    assert (np.float32(2) * x).dtype == SINGLE and (2 * y).dtype == DOUBLE
    assert recorder.lines == ["float v0 = __fmul_rn(2.0f, x0);", "double v1 = __dmul_rn(2.0, x1);"]
    assert recorder.add(recorder.less(x, 1), True, dtype=INTEGER).dtype == INTEGER
    assert recorder.lines[-2:] == [
        "int v3 = static_cast<int>((v2 ? 1 : 0));",
        "int v4 = (int)((unsigned int)v3 + (unsigned int)static_cast<int>(1ull));",
    ]
