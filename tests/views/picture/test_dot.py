"""DOT text: what each record becomes, and names that try to break out."""

import html
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuplace.views.picture.dot import dot_text, quote
from gpuplace.views.picture.drawing import draw
from gpuplace.views.tables.palette import DARK, LIGHT, device_style
from gpuplace.views.tables.placement_view import PlacementView
from tests.views.tables.views import LOCAL, towers, training

EVIL = [
    'say "hi"',
    "a<b>&amp;</b>",
    "back\\slash\\N\\G",
    "ünïcødé 图",
    "new\nline\ttab",
    "nul\x00\x1b",
    "]; evil -> x [",
    "--",
    "x" * 300,
]


def line_of(text: str, start: str) -> str:
    (line,) = [line.strip() for line in text.splitlines() if line.strip().startswith(start)]
    return line


def test_nodes_have_the_colour_and_the_label_of_their_device():
    text = dot_text(draw(towers()))
    line = line_of(text, "n2 [")
    assert f'fillcolor="{device_style("/device:GPU:2").fill}"' in line
    assert "MatMul · GPU:2" in line and "asked /device:GPU:2" in line
    assert 'class="op"' in line and "rounded" in line
    assert "rounded" not in line_of(text, "n6 [")


def test_copies_are_dashed_with_shape_and_bytes_control_edges_dotted():
    view = PlacementView.of_columns(
        [("a", "Const", "", f"{LOCAL}CPU:0"), ("b", "NoOp", "", f"{LOCAL}CPU:0")], [("a", -1, "b", -1)]
    )
    assert "style=dotted" in line_of(dot_text(draw(view)), "n0 -> n1")
    line = line_of(dot_text(draw(towers())), "n2 -> n6")
    assert 'class="copy"' in line and "style=dashed" in line and '2×2 float32<BR ALIGN="LEFT"/>16 B' in line


def test_unmet_requests_are_marked():
    line = line_of(dot_text(draw(towers(second="GPU:0"))), "n5 [")
    assert 'class="op unmet"' in line
    assert "≠ asked /device:GPU:3" in line
    assert f'color="{LIGHT.alarm}"' in line


def test_nodes_that_cannot_be_placed_are_marked():
    view = towers(second="")
    object.__setattr__(view, "guilty", frozenset({5}))
    text = dot_text(draw(view))
    assert "cannot be placed" in line_of(text, "n5 [")
    assert 'class="op blank guilty"' in line_of(text, "n5 [")
    assert "✖ 1 node cannot be placed" in text


def test_the_legend_counts_every_device_of_the_machine():
    text = dot_text(draw(towers()))
    for label in (
        "CPU:0: 1",
        "GPU:0: 0",
        "GPU:1: 0",
        "GPU:2: 3",
        "GPU:3: 3",
        "2 copies between devices, 32 B",
    ):
        assert label in text
    assert "GPU:0: 0" not in dot_text(draw(towers()), legend=False)


def test_open_scopes_are_frames_closed_ones_boxes_with_shares():
    view = training(towers=2, layers=3, ops=4)
    text = dot_text(draw(view, ["tower_0"]))
    assert re.search(r'subgraph cluster_1 \{\s*graph \[id="c1" class="open" label=<<B>tower_0</B>>', text)
    line = next(line for line in text.splitlines() if "▸ tower_1" in line)
    assert "24 nodes" in line and "GPU:1 (24)" in line
    assert line.count("BGCOLOR") == 2  # forward and backward


def test_themes_change_what_is_around_the_boxes_and_no_fill():
    light, dark = (dot_text(draw(towers()), theme=theme) for theme in (LIGHT, DARK))
    assert f'bgcolor="{DARK.background}"' in dark and f'bgcolor="{LIGHT.background}"' in light
    fills = re.compile(r' fillcolor="(#\w+)"')
    assert fills.findall(light) == fills.findall(dark)


def test_a_direction_that_does_not_exist():
    with pytest.raises(ValueError, match="'TB', 'LR', 'BT' or 'RL', not 'up'"):
        dot_text(draw(towers()), direction="up")


def svg_of(text: str) -> ElementTree.Element:
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=True, timeout=60)
    assert done.stderr.decode() == ""
    return ElementTree.fromstring(done.stdout)


def evil_view(names: list[str]) -> PlacementView:
    return PlacementView.of_columns(
        [(name, name, name, f"{LOCAL}GPU:0") for name in names],
        [(names[i], 0, names[i + 1], 0) for i in range(len(names) - 1)],
    )


@pytest.mark.dot
def test_names_that_try_to_break_out_come_through():
    svg = svg_of(dot_text(draw(evil_view(EVIL))))
    shown = " ".join(element.text or "" for element in svg.iter("{http://www.w3.org/2000/svg}text"))
    assert (
        'say "hi"' in shown
        and "<b>&amp;" in shown
        and "back\\slash\\N\\G" in shown.replace("\u200b", "")
        and "ünïcødé 图" in shown
    )
    assert "new\\nline\\ttab" in shown and "nul\\x00\\x1b" in shown
    groups = [
        element for element in svg.iter("{http://www.w3.org/2000/svg}g") if "node" in element.get("class", "")
    ]
    assert {group.get("id") for group in groups} == {f"n{i}" for i in range(len(EVIL))}
    tips = [a.get("{http://www.w3.org/1999/xlink}title") for a in svg.iter("{http://www.w3.org/2000/svg}a")]
    tips = [tip.replace("\u200b", "") for tip in tips if tip]
    assert any(tip.startswith("back\\slash\\N\\G\n") for tip in tips)
    assert any(tip.startswith("a<b>&amp;</b>\n") for tip in tips)


@pytest.mark.dot
@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=20), unique=True, min_size=1, max_size=4))
def test_any_name_is_drawn(names):
    svg = svg_of(dot_text(draw(evil_view(names), opened=None)))
    assert svg.tag.endswith("svg")


@given(st.text(max_size=30))
def test_quote_is_undone_by_reading(text):
    quoted = quote(text)
    assert quoted[0] == quoted[-1] == '"'
    inside = quoted[1:-1]
    assert not re.search(r'(?<!\\)(\\\\)*"', inside)
    read = html.unescape(re.sub(r"\\(.)", r"\1", inside))
    if text.isprintable():
        assert read.replace("\u200b", "") == text.replace("\u200b", "")


@pytest.mark.dot
def test_a_folded_training_graph_is_laid_out_within_seconds():
    assert shutil.which("dot")
    view = training(towers=4, layers=50)
    for opened in (None, [], ["tower_0", "tower_0/layer_0", "tower_1", "gradients"]):
        done = subprocess.run(
            ["dot", "-Tsvg"], input=dot_text(draw(view, opened)).encode(), capture_output=True, timeout=15
        )
        assert done.returncode == 0
