"""Every function that computes an op fits the op's signature in the catalogues."""

import pytest

import gpuplace.ops  # noqa: F401  (registers the functions)
import gpuplace.tf1.contrib.decoding.beam_search  # contrib's libraries have ops of their own
import gpuplace.tf1.contrib.memory_stats  # noqa: F401
from gpuplace.kernels.compute import CONTEXT, computable_ops, compute_defs
from gpuplace.kernels.registry import default_catalogue

VARIADIC, KEYWORDS = 0x04, 0x08  # flags of a code object: *args, **kwargs


@pytest.mark.parametrize("op", computable_ops())
def test_a_function_takes_the_inputs_and_attributes_of_its_op(op):
    known = [default_catalogue(release).ops.get(op) for release in ("1.15", "2.21")]
    op_def = known[0] or known[1]
    assert op_def is not None, f"no release has an op {op}"
    for entry in compute_defs(op):
        code = entry.function.__code__
        assert not code.co_flags & KEYWORDS, entry.where
        assert set(entry.attrs) <= set(op_def.attr_defs), entry.where
        assert CONTEXT not in op_def.attr_defs
        wanted = 3 if entry.is_binder else 1 + len(op_def.inputs)
        least = code.co_argcount - len(entry.function.__defaults__ or ())
        assert least <= wanted, entry.where
        assert wanted <= code.co_argcount or code.co_flags & VARIADIC, entry.where


def test_there_are_many():
    assert len(computable_ops()) >= 20
