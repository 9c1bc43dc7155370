"""The catalogue of kernels as messages: as many, and the same, as TensorFlow 1.15.5 says it has."""

import hashlib

import pytest

from gpuplace.graphdef.kernel_messages import KernelList, kernel_list
from gpuplace.kernels.registry import KernelRegistry
from gpuplace.tf1.stand_in.names import resolve

RECORDED = {
    "KernelLabel": (3, "cb30380a5a384382"),
    "MatMul": (26, "bda271b7912482ee"),
    "Reshape": (28, "47949a787a41e4da"),
    "ConcatV2": (31, "a4aa093d75b7fe90"),
    "NoSuchOp": (0, "e3b0c44298fc1c14"),
}
"""Op -> how many kernels, and a digest of what is said of each."""


def described(found):
    """A line a kernel, in an order of its own."""
    return sorted(
        str(
            (
                (one.op, one.device_type, one.label, one.priority, sorted(one.host_memory_arg)),
                sorted((had.name, sorted(had.allowed_values.list.type)) for had in one.constraint),
            )
        )
        for one in found.kernel
    )


def digest(found):
    return hashlib.sha256("\n".join(described(found)).encode()).hexdigest()[:16]


@pytest.mark.parametrize("op", RECORDED)
def test_kernels_of_an_op(op):
    found = resolve("tensorflow.python.framework.kernels").get_registered_kernels_for_op(op)
    assert (len(found.kernel), digest(found)) == RECORDED[op]


def test_all_kernels():
    registry = KernelRegistry.load("1.15")
    found = kernel_list(row for op in registry.op_names() for row in registry.rows(op))
    everywhere = resolve("tensorflow.python.framework.kernels").get_all_registered_kernels()
    assert set(described(found)) <= set(described(everywhere))
    assert (len(found.kernel), digest(found)) == (9740, "0d9fe436432af786")
    assert len(KernelList.FromString(found.SerializeToString()).kernel) == 9740


def test_which_gpus_there_are_kernels_for():
    info = resolve("tensorflow.python.platform.build_info")
    assert info.is_cuda_build and not info.is_rocm_build
