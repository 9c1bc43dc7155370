"""The C of every elementwise op against NumPy's bits, compiled by g++ where there is one.

What a mathematics library computes differs in the last bits between processors and is left to a GPU; everything else
is exact by IEEE 754 and C++, and so the same everywhere. Half precision, which g++ has not, is computed by the
stand-in's own reading of the text.
"""

import ctypes
import functools
import re
import shutil
import subprocess
import zlib

import numpy as np
import pytest

from gpuplace.kernels.compute import bind
from gpuplace.numerics.fused.cuda_text import FUNCTIONS, TYPE_NAMES
from gpuplace.numerics.fused.one_kernel import kernel_text
from gpuplace.numerics.fused.recording import Recorder
from gpuplace.plan.fused_elementwise import recorded
from tests.stand_ins.elementwise_ops import ELEMENTWISE_OPS, group_of, operations
from tests.stand_ins.fake_elementwise import TYPES, run_body

HEAD = """
#include <algorithm>
#include <cmath>
using namespace std;
static float max(float a, float b) { return fmaxf(a, b); }
static double max(double a, double b) { return fmax(a, b); }
static float min(float a, float b) { return fminf(a, b); }
static double min(double a, double b) { return fmin(a, b); }
#define ARITHMETIC(kind, type) \\
    static type __##kind##add_rn(type a, type b) { return a + b; } \\
    static type __##kind##sub_rn(type a, type b) { return a - b; } \\
    static type __##kind##mul_rn(type a, type b) { return a * b; }
ARITHMETIC(f, float)
ARITHMETIC(d, double)
template <typename T> static T quotient(T x, T y) {
    if (!y) return 0;
    T q = x / y;
    return q - (x % y != 0 && (x < 0) != (y < 0));
}
static int _floor_divide(int x, int y) { return quotient(x, y); }
static long long _floor_divide(long long x, long long y) { return quotient(x, y); }
static unsigned _floor_divide(unsigned x, unsigned y) { return quotient(x, y); }
static unsigned long long _floor_divide(unsigned long long x, unsigned long long y) { return quotient(x, y); }
"""
LIBRARY = re.compile(r"\b(" + "|".join(
    function.floating.partition("(")[0] for function in FUNCTIONS.values() if function.is_library
) + r")\(")  # fmt: skip
COUNT = 300
EXTREMES = {"ClipByValue", "Maximum", "Minimum", "Relu", "Relu6"}
"""Ops of which IEEE 754 leaves open which of two zeros they give."""


def exact_operations():
    for name, op in operations():
        inputs = [
            (tensor.dtype.numpy_dtype, tuple(tensor.shape.as_list())) for tensor in dict.fromkeys(op.inputs)
        ]
        text = kernel_text(functools.partial(recorded, group_of(op)), inputs)
        if not LIBRARY.search(text.body):
            yield name, op, text


@pytest.fixture(scope="module")
def cases():
    found = list(exact_operations())
    assert len(found) > 400
    assert {op.type for _, op, _ in found} == ELEMENTWISE_OPS - set(
        "Acos Acosh Asin Asinh Atan Atan2 Atanh Cos Cosh Elu Erf Erfc Exp Expm1 Log Log1p Pow Selu Sigmoid Sin Sinh"
        " Softplus SoftplusGrad Tan Tanh Xlogy".split()
    )
    return found


def values_for(name, op):
    """Arrays of ``COUNT`` numbers for its inputs, the awkward ones among them."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    made = []
    for slot in dict.fromkeys(op.inputs):
        dtype = slot.dtype.numpy_dtype
        if dtype.kind == "b":
            made.append(random.random(COUNT) < 0.5)
        elif dtype.kind in "iu":
            bounds = np.iinfo(dtype)
            if op.type == "Cast":
                low, high = max(bounds.min, -1000), min(bounds.max, 1000)
            else:
                low, high = bounds.min + (bounds.min < 0), bounds.max  # the least one has no quotient by -1
            drawn = random.integers(low, high, COUNT, dtype, endpoint=True)
            small = random.integers(0 if bounds.min == 0 else -3, 4, COUNT, dtype)
            made.append(np.where(random.random(COUNT) < 0.5, drawn, small).astype(dtype))
        else:
            drawn = (random.standard_normal(COUNT) * 10.0 ** random.integers(-3, 4, COUNT)).astype(dtype)
            if op.type == "Cast" and op.outputs[0].dtype.numpy_dtype.kind in "iu":
                is_signed = op.outputs[0].dtype.numpy_dtype.kind == "i"
                drawn = random.uniform(-100 if is_signed else 0, 100, COUNT).astype(dtype)
            else:
                awkward = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 6, np.finfo(dtype).max], dtype)
                drawn[: len(awkward) ** 2] = (
                    np.tile(awkward, len(awkward)) if made else np.repeat(awkward, len(awkward))
                )
            made.append(drawn)
    return made


def expected(op, values):
    given = dict(zip(dict.fromkeys(op.inputs), values, strict=True))
    shaped = [given[slot] for slot in op.inputs]
    if op.type == "BiasAdd":
        shaped = [shaped[0].reshape(-1, 1), shaped[1][:1]]
    with np.errstate(all="ignore"):
        return np.asarray(bind(op.type, "CPU", np, op, None)(*shaped)).reshape(-1)


def without_integer_zeros(name, op, values):
    """On the CPU a division by an integer zero is an error."""
    if op.type in ("Div", "FloorDiv", "FloorMod", "TruncateDiv") and values[1].dtype.kind in "iu":
        values[1][values[1] == 0] = 1
    if op.type == "BiasAdd":
        values[1][:] = values[1][0]
    return values


def assert_same_bits(name, found, wanted):
    assert found.dtype == wanted.dtype, name
    np.testing.assert_array_equal(found, wanted, err_msg=name)
    if found.dtype.kind == "f" and name.partition("_")[0] not in EXTREMES:
        zeros = wanted == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]), err_msg=name)


def test_as_the_stand_in_reads_it(cases):
    for name, op, text in cases:
        values = without_integer_zeros(name, op, values_for(name, op))
        names = [parameter.split()[1] for parameter in text.parameters.split(", ")]
        found = run_body(text.body, dict(zip(names, values, strict=True)))["y0"]
        assert_same_bits(name, np.broadcast_to(found, COUNT), expected(op, values))


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_as_a_compiler_reads_it(cases, tmp_path):
    cases = [case for case in cases if "float16" not in case[0]]
    source = [HEAD]
    for name, _, text in cases:
        given = [parameter.split() for parameter in text.parameters.split(", ")]
        (kind, _), c_types = text.results.split(), {name: c_type for c_type, name in TYPES.items()}
        arguments = ", ".join(f"const {c_types[kind]} *p_{x}" for kind, x in given)
        reads = " ".join(f"const {c_types[kind]} {x} = p_{x}[i];" for kind, x in given)
        source.append(
            f'extern "C" void {name}({arguments}, {c_types[kind]} *p_y0, long n) {{ for (long i = 0; i < n; ++i) {{'
            f" {reads} {c_types[kind]} &y0 = p_y0[i];\n{text.body}\n}} }}"
        )
    (tmp_path / "ops.cpp").write_text("\n".join(source))
    command = "g++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC ops.cpp -o ops.so"
    subprocess.run(command.split(), cwd=tmp_path, check=True, timeout=300)
    library = ctypes.CDLL(str(tmp_path / "ops.so"))
    for name, op, text in cases:
        values = without_integer_zeros(name, op, values_for(name, op))
        found = np.empty(COUNT, text.results.split()[0])
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*values, found)]
        getattr(library, name)(*pointers, ctypes.c_long(COUNT))
        assert_same_bits(name, found, expected(op, values))


def test_integers_wrap_around_in_a_chain():
    """Signed overflow would let a C++ compiler conclude that ``x + 1 > x``."""
    recorder = Recorder()
    x = recorder.given("x0", np.dtype("int32"), (2,))
    made = recorder.greater(recorder.add(x, 1), x)
    largest = np.array([2**31 - 1, 0], np.int32)
    body = "\n".join([*recorder.lines, f"y0 = {made.text};"])
    assert run_body(body, {"x0": largest})["y0"].tolist() == [False, True]
    assert "(unsigned int)x0" in body


def test_types_have_one_name():
    assert {np.dtype(name): text for text, name in TYPES.items()} == TYPE_NAMES
