"""gpuplace finds the kernel rows, the refusals and the host-memory arguments that TensorFlow finds."""

import shutil
import sys

import pytest

from gpuplace.kernels.registry import default_catalogue
from tests.oracle.compare_kernels import compare, nodes


@pytest.mark.oracle
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_nodes_of_every_op_get_tensorflows_kernels():
    count, differences = compare(sys.executable, "2.21", 10)
    assert count > 30_000
    assert differences == []


def test_nodes_cover_every_value_that_decides_a_kernel():
    catalogue = default_catalogue("2.21")
    made = nodes(catalogue.ops.lookup("Cast"), catalogue, 2000)
    types = catalogue.ops.lookup("Cast").attr_defs["SrcT"]
    assert types.allowed is None
    assert len({node["SrcT"] for node in made}) == len({node["DstT"] for node in made}) == 33
    labels = {node.get("_kernel") for node in nodes(catalogue.ops.lookup("Conv2D"), catalogue, 2000)}
    assert labels == {row.label.encode() or None for row in catalogue.kernels.rows("Conv2D")}
