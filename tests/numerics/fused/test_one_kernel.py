"""Functions as one kernel, on a stand-in for CuPy."""

import numpy as np
import pytest

from gpuplace.errors import InvalidArgumentError
from gpuplace.numerics.fused import one_kernel
from gpuplace.numerics.fused.one_kernel import OneKernel, kernel_text
from tests.stand_ins.fake_cupy import FakeCupy

SINGLE = np.dtype("float32")


def step(xp, var, lr, grad):
    if var.shape != grad.shape:
        raise InvalidArgumentError(None, None, "var and grad differ")
    moved = var - lr * grad
    return moved, xp.square(moved)


@pytest.fixture
def fake():
    return FakeCupy()


def arrays(fake, *shapes):
    random = np.random.default_rng(0)
    return [fake.asarray(random.standard_normal(shape).astype(np.float32)) for shape in shapes]


def kernel_of(fake, function=step, launches=None):
    def record(recorder, given):
        return function(recorder, *given)

    return OneKernel(fake, "step", record, lambda *given: function(fake, *given), launches)


def calls(fake):
    return [event[1] for event in fake.events if event[0] == "call" and event[1] != "asarray"]


def test_the_text_of_a_function():
    text = kernel_text(lambda xp, given: step(xp, *given), [(SINGLE, (2, 3)), (SINGLE, ()), (SINGLE, (2, 3))])
    assert text.parameters == "float32 x0, float32 x1, float32 x2"
    assert text.results == "float32 y0, float32 y1"
    assert text.body.splitlines() == [
        "float v0 = __fmul_rn(x1, x2);",
        "float v1 = __fsub_rn(x0, v0);",
        "float v2 = __fmul_rn(v1, v1);",
        "y0 = v1;",
        "y1 = v2;",
    ]
    assert text.given == ((0, None), (1, None), (2, None))


def test_results_are_those_of_the_function(fake):
    given = arrays(fake, (2, 3), (), (2, 3))
    kernel = kernel_of(fake)
    for _ in range(2):
        found = kernel(*given)
        for one, other in zip(found, step(fake, *given), strict=True):
            np.testing.assert_array_equal(fake.asnumpy(one), fake.asnumpy(other))
    assert (
        calls(fake).count("step") == 2 and len([event for event in fake.events if event[0] == "kernel"]) == 1
    )


def test_the_function_says_what_is_wrong(fake):
    with pytest.raises(InvalidArgumentError, match="var and grad differ"):
        kernel_of(fake)(*arrays(fake, (2, 3), (), (3, 3)))
    assert calls(fake) == []


def test_results_of_several_shapes_are_computed_by_the_function(fake):
    kernel = kernel_of(fake, lambda xp, x, y: (x + y, x * x))
    assert [made.shape for made in kernel(*arrays(fake, (1, 3), (2, 3)))] == [(2, 3), (1, 3)]
    assert calls(fake) == ["add", "multiply"]


def test_kernels_are_shared_and_forgotten(fake, monkeypatch):
    launches = {}
    first, second = kernel_of(fake, launches=launches), kernel_of(fake, launches=launches)
    first(*arrays(fake, (2,), (), (2,)))
    second(*arrays(fake, (2,), (), (2,)))
    assert len([event for event in fake.events if event[0] == "kernel"]) == 1
    monkeypatch.setattr(one_kernel, "MAX_SHAPES", 3)
    for size in range(2, 7):
        second(*arrays(fake, (size,), (), (size,)))
        assert len(launches) <= 3


def test_an_unused_or_reshaped_input(fake):
    kernel = kernel_of(fake, lambda xp, x, unused, bias: (xp.add(x, bias.reshape(-1, 1)) * 2.0,))
    x, unused, bias = arrays(fake, (3, 2), (5,), (3,))
    found = fake.asnumpy(kernel(x, unused, bias))
    np.testing.assert_array_equal(found, (fake.asnumpy(x) + fake.asnumpy(bias)[:, None]) * 2)
    assert "step" in calls(fake) and "add" not in calls(fake)


def test_long_names_are_cut(fake):
    OneKernel(fake, "n" * 1000, lambda xp, given: [xp.add(*given)], fake.add)(*arrays(fake, (2,), (2,)))
    assert calls(fake) == ["n" * one_kernel.MAX_NAME]
