"""The question to Graphviz and its answer."""

import pytest

from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.layout import layout_text, read_layout
from gpuplace.views.picture.sheet import sheet_of
from gpuplace.views.tables.palette import LIGHT
from gpuplace.views.tables.placement_view import PlacementView
from tests.views.tables.views import MACHINE, towers

ANSWER = """{"bb": "0,0,200,100", "objects": [
  {"name": "cluster_4_0", "bb": "10,20,90,80", "_gvid": 0, "nodes": [1]},
  {"name": "n0", "_gvid": 1, "pos": "50,60"}, {"name": "n1", "_gvid": 2, "pos": "150,10.5"}],
 "edges": [{"_gvid": 0, "tail": 1, "head": 2, "pos": "s,50,50 e,150,20 50,50 70,40 90,30 148,22"}]}"""


def test_places_count_downwards():
    layout = read_layout(ANSWER)
    assert (layout.width, layout.height) == (200, 100)
    assert layout.boxes == {"n0": (50, 40), "n1": (150, 89.5)}
    assert layout.clusters == {4: {0: (10, 20, 90, 80)}}
    route = layout.routes["n0", "n1"]
    assert route.points == ((50, 50), (70, 60), (90, 70), (148, 78))
    assert route.tip == (150, 80)


def test_a_line_against_the_flow_is_read_from_its_start():
    layout = read_layout(
        ANSWER.replace('"head": 2, "pos": "s,50,50 e,150,20', '"head": 2, "dir": "back", "pos": "s,50,50')
    )
    route = layout.routes["n1", "n0"]
    assert route.points == ((148, 78), (90, 70), (70, 60), (50, 50)) and route.tip == (50, 50)


def test_an_empty_picture():
    layout = read_layout('{"bb": "0,0,0,0"}')
    assert (layout.boxes, layout.clusters, layout.routes) == ({}, {}, {})


def test_the_question_holds_no_colour_and_no_device():
    text = layout_text(sheet_of(draw(towers())))
    assert "#" not in text and "GPU" not in text and "MatMul" not in text
    assert LIGHT.background not in text
    assert "n2 -> n6" in text


def test_boxes_without_lines_stand_in_rows():
    rows = [(f"n{i}", "NoOp", "", MACHINE[0]) for i in range(14)]
    view = PlacementView.of_columns(rows, [("n0", 0, "n1", 0)])
    text = layout_text(sheet_of(draw(view, [])))
    assert text.count("style=invis") == 12 - 4
    assert "n0 -> n1" in text and "n2 -> n6 [style=invis weight=0]" in text


def test_directions():
    assert "rankdir=LR" in layout_text(sheet_of(draw(towers())), "LR")
    with pytest.raises(ValueError, match="direction is"):
        layout_text(sheet_of(draw(towers())), "up")
