"""What a page lights up, and the boxes and lines that it marks."""

import numpy as np

from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.lighting import LIGHTS, lights_for, lit_boxes, lit_by
from tests.views.picture.test_marks import timed
from tests.views.tables.views import towers, training


def test_folded_boxes_count():
    view = training(towers=2, layers=4, ops=5)
    drawing = draw(view, ["tower_0"])
    start = np.array([view.index["tower_0/layer_2/op_1"]])
    lit = lit_by(view, "inputs", start, "tower_0/layer_2/op_1")
    shown = lit_boxes(drawing, lit)
    named = {box.name: shown["boxes"].get(box.id) for box in drawing.boxes}
    assert named["tower_0/layer_0"] == [5, 10] and named["tower_0/layer_2"] == [2, 10]
    assert named["tower_0/layer_3"] is None and named["tower_1"] is None
    assert len(shown["links"]) == 2 and all("->" in link for link in shown["links"])
    assert [box.name for box in drawing.boxes if box.id in shown["starts"]] == ["tower_0/layer_2"]
    assert shown["text"].startswith("what tower_0/layer_2/op_1 depends on: 11 nodes on GPU:0")


def test_the_critical_path_by_each_weight():
    view = towers()
    step = timed(Const=5, Const_1=900, MatMul=10, MatMul_1=20, AddN=1)
    assert lights_for(view) == tuple(what for what in LIGHTS if what != "path by time")
    assert lights_for(view, step) == tuple(LIGHTS)
    lit = lit_by(view, "path by time", run_metadata=step)
    assert [view.names[node] for node in np.flatnonzero(lit.nodes)] == ["Const_1", "MatMul", "AddN"]
    assert int(lit.edges.sum()) == 2
    assert lit.text == "critical path: 3 ops, 911 µs, the longest chain by measured time"
    assert "most bytes copied" in lit_by(view, "path by bytes").text


def test_matches_and_nothing_to_light_yet():
    view = towers()
    found = lit_by(view, "matches", pattern="^MatMul")
    assert found.text == "2 matches of ^MatMul" and int(found.nodes.sum()) == 2
    for what in ("inputs", "consumers", "both", "matches"):
        waiting = lit_by(view, what)
        assert waiting.nodes is None and waiting.text.startswith(("Select", "Search"))
        assert "boxes" not in lit_boxes(draw(view), waiting)
    assert lit_boxes(draw(view), lit_by(view, "")) == {"what": "", "text": ""}
