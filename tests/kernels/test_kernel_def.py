"""Single kernel rows: notation, matching, texts."""

import pytest

from gpuplace import dtypes, errors
from gpuplace.graph.op_def import make_op_def
from gpuplace.kernels.kernel_def import KernelDef, make_kernel_def, parse_kernel

ROW = 'GPU T=float,int32 data_format="","NHWC" k=-1 last=true host:axis,shape priority:2 label:custom'


def test_a_row_is_read_as_it_is_written():
    row = parse_kernel("Toy", ROW)
    assert row == KernelDef(
        "Toy",
        "GPU",
        (
            ("T", frozenset({dtypes.float32, dtypes.int32})),
            ("data_format", frozenset({b"", b"NHWC"})),
            ("k", frozenset({-1})),
            ("last", frozenset({True})),
        ),
        frozenset({"axis", "shape"}),
        "custom",
        2,
    )
    assert str(row) == ROW
    assert parse_kernel("Toy", "CPU") == KernelDef("Toy", "CPU")
    with pytest.raises(ValueError, match="'what' is neither a constraint"):
        parse_kernel("Toy", "CPU what")


def test_texts_of_messages():
    row = parse_kernel("Toy", 'GPU T=int32,float s="a" host:y priority:1 label:l')
    assert row.describe() == "device='GPU'; label='l'; T in [DT_FLOAT, DT_INT32]; s in [\"a\"]"
    assert row.debug_string() == (
        'op: "Toy" device_type: "GPU"'
        ' constraint { name: "T" allowed_values { list { type: DT_FLOAT type: DT_INT32 } } }'
        ' constraint { name: "s" allowed_values { list { s: "a" } } } host_memory_arg: "y" label: "l" priority: 1'
    )


def test_constraints_of_types_lists_and_strings():
    row = parse_kernel("Toy", "GPU T=float,half")
    assert row.admits({"T": dtypes.float32})
    assert not row.admits({"T": dtypes.int32})
    assert row.admits({"T": (dtypes.float32, dtypes.float16)})
    assert row.admits({"T": ()})
    assert not row.admits({"T": (dtypes.float32, dtypes.int32)})
    both = parse_kernel("Toy", "GPU T=float Tidx=int32")
    assert not both.admits({"T": dtypes.float32, "Tidx": dtypes.int64})
    assert parse_kernel("Toy", 'CPU data_format="NHWC"').admits({"data_format": b"NHWC"})
    assert not parse_kernel("Toy", 'CPU data_format="NHWC"').admits({"data_format": b"NCHW"})


def test_attributes_that_do_not_fit_the_constraint():
    row = parse_kernel("Toy", "GPU T=float")
    with pytest.raises(
        errors.InvalidArgumentError, match="OpKernel 'Toy' has constraint on attr 'T' not in NodeDef"
    ):
        row.admits({"U": dtypes.float32})
    with pytest.raises(
        errors.InvalidArgumentError, match="that does not have type 'type' or 'list\\(type\\)'"
    ):
        row.admits({"T": b"float"})


def test_rows_are_checked_against_their_op():
    toy = make_op_def("Toy", ["x: T"], ["y: T"], ["T: type", "format: string"])
    row = make_kernel_def(toy, "GPU", 0, "", ("x",), {"T": ["float", dtypes.int32], "format": "NHWC"})
    assert row.constraints == (
        ("T", frozenset({dtypes.float32, dtypes.int32})),
        ("format", frozenset({b"NHWC"})),
    )
    with pytest.raises(ValueError, match="Op 'Toy' has no attr 'U': it has T, format"):
        make_kernel_def(toy, "GPU", 0, "", (), {"U": "float"})
    with pytest.raises(ValueError, match="Op 'Toy' has no argument 'z': it has x, y"):
        make_kernel_def(toy, "GPU", 0, "", ("z",), {})
