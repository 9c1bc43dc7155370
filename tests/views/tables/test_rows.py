"""Rows, their text and their HTML."""

import pytest

from gpuplace.device.machine import Machine
from gpuplace.errors import InvalidArgumentError
from gpuplace.views.tables import html
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.rows import device_rows, mapping_cells, node_rows, scope_rows
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import placement_text, shortened, summary_text, table_text
from tests.views.tables.views import LOCAL, towers, training


def test_node_rows_say_whether_a_request_was_met():
    rows = {row.node: row for row in node_rows(towers(second="GPU:0"))}
    assert rows["MatMul"].is_met is True
    assert rows["MatMul_1"].is_met is False
    assert rows["MatMul_1"][:5] == ("MatMul_1", "MatMul", "/device:GPU:3", f"{LOCAL}GPU:0", "GPU:0")
    free = next(node_rows(PlacementView.of_columns([("x", "NoOp", "", f"{LOCAL}CPU:0")])))
    assert free.is_met is None
    failed = next(node_rows(PlacementView.of_columns([("x", "NoOp", "/gpu:9", "")])))
    assert (failed.is_met, failed.assigned, failed.device) == (None, "", "")


@pytest.mark.parametrize(
    ("request_", "device", "met"),
    [
        ("/gpu:0", "GPU:0", True),
        ("/gpu:1", "GPU:0", False),
        ("/device:GPU:*", "GPU:1", True),
        ("/job:localhost", "CPU:0", True),
        ("/job:ps/gpu:0", "GPU:0", False),
        ("/cpu:0", "GPU:0", False),
    ],
)
def test_requests_of_any_form(request_, device, met):
    (row,) = node_rows(PlacementView.of_columns([("x", "NoOp", request_, f"{LOCAL}{device}")]))
    assert row.is_met is met


def test_device_rows_count_nodes_and_copies():
    rows = {row.device[-5:]: row for row in device_rows(towers())}
    assert [(name, row.nodes, row.copies_in, row.bytes_in) for name, row in rows.items()] == [
        ("CPU:0", 1, 2, 32),
        ("GPU:0", 0, 0, 0),
        ("GPU:1", 0, 0, 0),
        ("GPU:2", 3, 0, 0),
        ("GPU:3", 3, 0, 0),
    ]


def test_scope_rows_by_depth():
    rows = scope_rows(training(towers=2, layers=3, ops=2))
    assert [(row.scope, row.nodes, row.devices) for row in rows] == [
        ("tower_0", 6, {"GPU:0": 6}),
        ("gradients", 12, {"GPU:0": 6, "GPU:1": 6}),
        ("train", 3, {"CPU:0": 3}),
        ("tower_1", 6, {"GPU:1": 6}),
    ]
    assert len(scope_rows(training(towers=2, layers=3, ops=2), depth=2)) > len(rows)


def test_mapping_cells_leave_out_what_is_not_there():
    rows = Machine.parse("2x Tesla K20m").mapping(environ={"CUDA_VISIBLE_DEVICES": "1"})
    hidden, seen = mapping_cells(rows)
    assert hidden[3:6] == (None, None, None) and "CUDA_VISIBLE_DEVICES" in hidden[6]
    assert seen[3:5] == (0, "/device:GPU:0") and seen[6] is None


def test_text_of_a_placement():
    lines = placement_text(towers(second="GPU:0")).splitlines()
    assert lines[0] == (
        "7 nodes: 1 on CPU:0, 3 on GPU:0, 3 on GPU:2; 2 copies between devices, 32 B; 3 device requests overridden"
    )
    assert lines[1].split() == ["node", "type", "requested", "assigned"]
    assert lines[-1].split() == ["AddN", "AddN", "/cpu:0", "CPU:0"]
    assert placement_text(training(), limit=5).splitlines()[-1] == "... and 4,000 more rows"


def test_summaries():
    assert summary_text(PlacementView.of_columns([])) == "0 nodes: none; nothing is copied between devices"
    assert "3 without a device" in summary_text(towers(second=""))


def test_tables_of_texts():
    assert table_text(("a", "b"), []) == "a  b"
    assert table_text(("name", "n"), [("x\ny", 0), ("", None)]).splitlines() == [
        "name  n",
        "x\\ny  0",
        "-     -",
    ]


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 40, "5.0 TiB"), (1 << 62, "4096.0 PiB")],
)
def test_bytes(nbytes, text):
    assert bytes_text(nbytes) == text


def test_shortened_keeps_both_ends():
    assert shortened("abc", 3) == "abc"
    assert shortened("tower_0/conv/weights/Adam", 11) == "tower…/Adam"


def test_html_is_escaped_and_told_in_words():
    view = PlacementView.of_columns([('<script>alert("1")</script>', "T&", "/gpu:1", f"{LOCAL}GPU:0")])
    text = html.node_table(view)
    assert "<script>" not in text and "&lt;script&gt;" in text and "T&amp;" in text
    assert "≠ /gpu:1" in text and ">GPU:0</span>" in text
    assert "and 4,001 more rows" in html.node_table(training(), limit=4)


def test_errors_as_html():
    error = InvalidArgumentError(
        None, None, "no <device>\n\tsecond line", facts={"node": "a&b"}, hint="try\nthis"
    )
    text = html.error_html(error)
    for part in ("InvalidArgumentError", "no &lt;device&gt;<br>", "a&amp;b", "try<br>this", 'role="alert"'):
        assert part in text
    assert "plain" in html.error_html(ValueError("plain"))


def test_a_view_of_a_view_is_itself():
    view = towers()
    assert view_of(view) is view
