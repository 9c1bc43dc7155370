"""The kernels of all elementwise ops, compiled by NVRTC in the source that CuPy makes of them.

This needs CuPy, NVRTC and CUDA's headers (``pip install cupy-cuda12x[ctk]``), and no GPU.
"""

import functools
import itertools
import re

import numpy as np
import pytest

from gpuplace.numerics.fused.cuda_text import PREAMBLE
from gpuplace.numerics.fused.one_kernel import kernel_text
from gpuplace.plan.fused_elementwise import recorded
from tests.stand_ins.elementwise_ops import group_of, operations

ARRAY, INDEXER = 1, 2
"""CuPy's kinds of arguments."""


@pytest.fixture(scope="module")
def compiled():
    """A function that makes PTX of kernels, as CuPy compiles them."""
    pytest.importorskip("cupy", reason="CuPy is not installed", exc_type=ImportError)
    import cupy
    from cupy._core import _carray, _kernel, core
    from cupy.cuda import compiler
    from cupy_backends.cuda.libs import nvrtc

    try:
        options = core.assemble_cupy_compiler_options(("-ftz=true", "-arch=compute_80"))
        nvrtc.getVersion()
    except RuntimeError as error:  # headers or library are not there
        pytest.skip(str(error).partition("\n")[0])

    def source(text, name):
        kernel = cupy.ElementwiseKernel(text.parameters, text.results, text.body, name=name)
        parameters = f"{text.parameters}, {text.results}".split(",")
        types = [np.dtype(parameter.split()[0]) for parameter in parameters]
        given = [_kernel._ArgInfo(ARRAY, cupy.ndarray, dtype, 1, True, True) for dtype in types]
        given.append(_kernel._ArgInfo(INDEXER, _carray.Indexer, None, 1, True, True))
        count = kernel.nin
        *_, type_map = kernel._decide_params_type(tuple(types[:count]), tuple(types[count:]))
        return _kernel._get_elementwise_kernel_code(
            tuple(given), type_map, kernel.params, kernel.operation, name, kernel.preamble
        )

    def compile_all(texts):
        head = "".join(f"#include <{name}>\n" for name in core._cupy_header_list) + PREAMBLE
        sources = [source(text, name) for name, text in texts]
        program = compiler._NVRTCProgram(head + "\n".join(sources), method="ptx")
        made, _ = program.compile((*options, "--device-as-default-execution-space"))
        return made.decode() if isinstance(made, bytes) else made

    return compile_all


def arithmetic(ptx):
    """Names of the operations on floating numbers."""
    return re.findall(r"\s((?:fma|mul|add|sub)\.[\w.]*f(?:32|64))\s", ptx)


def test_every_op_and_type(compiled):
    texts = []
    for name, op in operations():
        inputs = [
            (tensor.dtype.numpy_dtype, tuple(tensor.shape.as_list())) for tensor in dict.fromkeys(op.inputs)
        ]
        texts.append((name, kernel_text(functools.partial(recorded, group_of(op)), inputs)))
    assert len(texts) > 500
    for part in itertools.batched(texts, 50) if hasattr(itertools, "batched") else [texts]:
        ptx = compiled(part)
        assert all(f".entry {name}(" in ptx for name, _ in part)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_products_and_sums_are_not_merged(compiled, dtype):
    inputs = [(np.dtype(dtype), (4,))] * 3
    text = kernel_text(lambda xp, given: [given[0] * given[1] + given[2] - given[0] * given[0]], inputs)
    kind = "f64" if dtype == "float64" else "ftz.f32"
    assert sorted(arithmetic(compiled([("apart", text)]))) == sorted(
        f"{name}.rn.{kind}" for name in ("mul", "add", "mul", "sub")
    )


def test_without_that_they_would_be(compiled):
    inputs = [(np.dtype("float32"), (4,))] * 3
    text = kernel_text(lambda xp, given: [given[0] * given[1] + given[2]], inputs)
    merged = text._replace(body="float v0 = x0 * x1;\nfloat v1 = v0 + x2;\ny0 = v1;")
    assert arithmetic(compiled([("merged", merged)])) == ["fma.rn.ftz.f32"]
