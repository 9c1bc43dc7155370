"""Kernel rows and gaps as a reader sees them."""

import pytest

from gpuplace import dtypes, errors
from gpuplace.kernels.listing import DeviceGap, kernel_rows, never_on
from gpuplace.kernels.registry import Catalogue, default_catalogue


def test_rows_of_an_op_as_texts():
    rows = kernel_rows("Conv2DBackpropFilter", "2.21")
    assert len(rows) == len(default_catalogue("2.21").kernels.rows("Conv2DBackpropFilter"))
    custom = next(row for row in rows if row.label == "custom")
    assert (custom.device_type, custom.constraints) == ("CPU", 'T=float data_format="NHWC"')
    reshape = [row for row in kernel_rows("Reshape", "1.15") if row.device_type == "GPU"]
    assert {row.host_memory for row in reshape} == {"shape", "output,shape,tensor"}
    assert kernel_rows("NoOp", "1.15")[0].constraints == ""
    with pytest.raises(errors.NotFoundError, match="Op type not registered 'Resape'"):
        kernel_rows("Resape")


def gaps(*ops, release="2.21", device_type="GPU"):
    return {gap.op: str(gap) for gap in never_on(device_type, ops, release)}


def test_ops_and_types_that_never_run_on_a_gpu():
    assert gaps("StringJoin", "MatMul", "NoOp", "AddN") == {
        "StringJoin": "StringJoin on GPU: never",
        "MatMul": "MatMul on GPU: never for T in int32, int64",
        "AddN": "AddN on GPU: never for T in uint8, int16, int8, uint16, uint64",
    }
    assert gaps("MatMul", release="1.15")["MatMul"].endswith("int32, int64, bfloat16")


def test_a_toy_catalogue_shows_the_rules():
    toys = Catalogue()
    toys.register_op("Typed", ["x: T"], [], ["T: {float, int32, int64, half}", "U: type"])
    toys.register_kernel("Typed", "CPU", U="int32")
    toys.register_kernel("Typed", "GPU", T="float", U="int32")
    toys.register_kernel("Typed", "GPU", T="half", label="asked for")
    toys.register_kernel("Typed", "DEFAULT", T="int32", U="int32")
    toys.register_op("CpuOnly")
    toys.register_kernel("CpuOnly", "CPU")
    toys.register_op("Anywhere")
    toys.register_kernel("Anywhere", "DEFAULT")
    toys.register_op("Lowered")
    assert never_on("GPU", catalogue=toys) == (
        DeviceGap("CpuOnly", "GPU", "", ()),
        DeviceGap("Typed", "GPU", "T", (dtypes.int64, dtypes.float16)),
    )
    assert never_on("CPU", catalogue=toys) == ()


def test_gaps_agree_with_find_for_every_op_with_one_type():
    """Brute force: an op whose only deciding attribute is one type has a gap exactly where ``find`` finds nothing."""
    catalogue = default_catalogue("2.21")
    listed = {gap.op: gap for gap in never_on("GPU", release="2.21")}
    checked = 0
    for op_def in map(catalogue.ops.lookup, catalogue.ops.names()):
        deciding = catalogue.kernels.deciding_attrs(op_def.name)
        if len(deciding) != 1 or op_def.attr_defs[deciding[0]].type != "type":
            continue
        missing = {
            dtype
            for dtype in op_def.attr_defs[deciding[0]].allowed or dtypes.ALL_DTYPES
            if catalogue.kernels.find(op_def.name, {deciding[0]: dtype}, "GPU")[0] is None
            and any(
                catalogue.kernels.find(op_def.name, {deciding[0]: dtype}, other)[0]
                for other in ("CPU", "XLA_CPU", "XLA_GPU", "TPU", "TPU_SYSTEM")
            )
        }
        gap = listed.get(op_def.name)
        if gap is None:
            assert not missing, op_def.name
        elif gap.attr:
            assert set(gap.dtypes) == missing, op_def.name
        else:
            assert missing, op_def.name
        checked += 1
    assert checked > 500


def test_types_that_a_release_does_not_know_are_no_gaps():
    (old,) = [gap for gap in never_on("GPU", ["Identity"], "1.15") if gap.attr == "T"]
    (new,) = [gap for gap in never_on("GPU", ["Identity"], "2.21") if gap.attr == "T"]
    assert "uint32" in {dtype.name for dtype in old.dtypes}
    assert not any(dtype.name.startswith(("float8", "int4", "float4")) for dtype in old.dtypes)
    assert old.dtypes != new.dtypes
