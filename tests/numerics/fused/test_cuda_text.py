"""The C of single functions: types, literals and casts."""

import numpy as np
import pytest

from gpuplace.numerics.fused.cuda_text import FUNCTIONS, TYPE_NAMES, cast_text, literal, text_of


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_exist_in_numpy_and_for_some_type(name):
    assert isinstance(getattr(np, name), np.ufunc)
    texts = [text_of(name, ["x0", "x1"], dtype) for dtype in TYPE_NAMES]
    assert any(texts) and not any(text and ("{" in text or "}" in text) for text in texts)


def test_sums_and_products_are_never_merged():
    for name in ("add", "subtract", "multiply", "square", "sign"):
        for dtype, kind in (("float32", "f"), ("float64", "d"), ("float16", "f")):
            assert f"__{kind}" in text_of(name, ["x0", "x1"], np.dtype(dtype))


def test_what_is_not_there():
    for name, dtype in (
        ("remainder", "float32"),
        ("floor_divide", "float64"),
        ("power", "int32"),
        ("add", "bool"),
    ):
        assert text_of(name, ["x0", "x1"], np.dtype(dtype)) is None
    assert not {"logaddexp", "float_power", "cbrt"} & FUNCTIONS.keys()


@pytest.mark.parametrize("dtype", [dtype.name for dtype in TYPE_NAMES if dtype.kind == "f"])
def test_literals_are_the_number(dtype):
    kind = np.dtype(dtype).type
    for value in (0.1, 1.0, 1e-7, 65504.0, 1 / 3, float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)):
        text = literal(kind(value))
        assert kind(text.removeprefix("float16(").rstrip("f)")) == kind(value)
    assert literal(kind(-2)).removeprefix("float16")[0] == "("
    assert literal(kind(np.inf)) is None and literal(kind(np.nan)) is None


def test_other_literals():
    assert literal(np.True_) == "true" and literal(np.False_) == "false"
    assert literal(np.int8(5)) == "static_cast<signed char>(5ull)"
    assert literal(np.int64(-(2**63))) == "static_cast<long long>(9223372036854775808ull)"
    assert literal(np.uint64(2**64 - 1)) == "static_cast<unsigned long long>(18446744073709551615ull)"


def test_casts():
    types = {name: np.dtype(name) for name in ("bool", "float16", "float32", "int64")}
    assert cast_text("x", types["bool"], types["float32"]) == "static_cast<float>((x ? 1 : 0))"
    assert cast_text("x", types["float16"], types["int64"]) == "static_cast<long long>(float(x))"
    assert cast_text("x", types["int64"], types["float16"]) == "static_cast<float16>(x)"
