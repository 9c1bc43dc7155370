"""Ops of a log by device, with what their kernels say about GPUs, in every view."""

import pytest

import gpuplace
from gpuplace.views.logs.op_rows import op_rows

L = "/job:localhost/replica:0/task:0/device"
LOG = f"""a: (Const): {L}:GPU:0
png: (DecodePng): {L}:CPU:0
sum: (AddV2): {L}:CPU:0
product: (MatMul): {L}:CPU:0
product_1: (_MklMatMul): {L}:CPU:0
own: (MyOwnOp): {L}:CPU:0
x: (_Arg): {L}:CPU:0
iterator: (IteratorGetNext): {L}:CPU:0
Executing op AddV2 in device {L}:CPU:0
Executing op AddV2 in device {L}:CPU:0
Executing op __inference_step_12 in device {L}:CPU:0
"""
CPU = [
    ("AddV2", 1, 2, "has GPU kernels"),
    ("DecodePng", 1, 0, "no GPU kernel"),
    ("IteratorGetNext", 1, 0, "has GPU kernels"),
    ("MatMul", 1, 0, "GPU kernels, but not for int32, int64"),
    ("MyOwnOp", 1, 0, "a custom op, not part of TensorFlow"),
    ("_Arg", 1, 0, ""),
    ("_MklMatMul", 1, 0, "oneDNN version of MatMul, for CPUs only"),
    ("__inference_step_12", 0, 1, "a function; its nodes have their own rows"),
]


@pytest.fixture
def log():
    """The log, read."""
    return gpuplace.parse_log(LOG)


def test_rows(log):
    rows = op_rows(log)
    assert [tuple(row[1:]) for row in rows if row.device.endswith("CPU:0")] == CPU
    assert [tuple(row[1:]) for row in rows if row.device.endswith("GPU:0")] == [("Const", 1, 0, "")]
    assert sum(row.nodes for row in rows) == len(log.rows)
    assert sum(row.eager for row in rows) == len(log.events)


def test_frame(log):
    frame = log.frame("ops")
    assert list(frame.columns) == ["op", "assigned", "device", "nodes", "eager", "reason"]
    assert frame.nodes.sum() == 8 and frame.eager.sum() == 3
    assert frame.set_index("op").loc["DecodePng", "reason"] == "no GPU kernel"
    assert list(gpuplace.parse_log("nothing").frame("ops").columns) == list(frame.columns)


def test_notebook_view_and_page(log):
    from gpuplace.views.page.page import page_html

    shown = log._repr_mimebundle_()
    for text in (shown["text/html"], page_html(log)):
        assert "oneDNN version of MatMul" in text and "no GPU kernel" in text
    assert "CPU:0   DecodePng            1      0            no GPU kernel" in shown["text/plain"]
