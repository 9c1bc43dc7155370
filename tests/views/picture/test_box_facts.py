"""What folded boxes say of copies and of a predicted step: the numbers that tables and estimates have."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.views.picture.box_facts import box_facts, node_costs
from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.sheet import sheet_of
from gpuplace.views.tables.memory import memory_rows
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.text import sizes_text
from tests.jupyter.programs import layered
from tests.placer.corpus_files import folder


@pytest.fixture(scope="module")
def placement():
    return tf.place(folder("corpus", "1.15") / "towers_4.pb", "4x Tesla K20m")


@pytest.fixture(scope="module")
def estimate(placement):
    return tf.estimate(placement)


def test_copies_of_boxes_are_those_of_the_step(placement):
    view = view_of(placement)
    drawing = draw(view, [])
    for box, facts in zip(drawing.boxes, box_facts(drawing, None), strict=True):
        inside = drawing.box_of == drawing.boxes.index(box)
        leaving = inside[view.src] & ~inside[view.dst]
        entering = ~inside[view.src] & inside[view.dst]
        for told, edges in ((facts.sent, leaving), (facts.received, entering)):
            copies = view.copies_along(edges)
            assert told == (sum(copy.runs for copy in copies), sizes_text(view, copies) if copies else "")
    named = dict(zip((box.label for box in drawing.boxes), box_facts(drawing, None), strict=True))
    assert named["gradient averaging"].copies_texts() == ("16 in, 397.7 KiB", "4 out, 99.4 KiB")
    assert named["gradient averaging"].copies_texts(has_room=False) == ("↓ 397.7 KiB", "↑ 99.4 KiB")
    assert named["net"].received == (0, "")


def test_costs_of_boxes_are_those_of_the_estimate(placement, estimate):
    view = view_of(placement)
    costs = node_costs(placement, estimate)
    rows = estimate.rows("nodes")
    for row in rows:
        assert costs.seconds[view.index[row.name]] == row.time
    assert costs.seconds.sum() == pytest.approx(sum(row.time for row in rows))
    assert costs.variables.sum() == sum(row.variables for row in memory_rows(placement)) > 0
    for opened in ([], ["net", "net_1", "net_1/hidden"]):
        facts = box_facts(draw(view, opened), costs)
        assert sum(one.share for one in facts) == pytest.approx(1)
        assert sum(one.variables for one in facts) == costs.variables.sum()


def test_a_box_says_what_it_costs_where_there_is_a_prediction(placement, estimate):
    drawing = draw(placement, [])
    told = [
        {line.text for face in sheet_of(drawing, costs=costs).faces for line in face.lines}
        for costs in (None, node_costs(placement, estimate))
    ]
    assert told[0] < told[1]
    assert all("of step" in text or text.endswith("KiB") for text in told[1] - told[0])
    picture = placement.picture(estimate=estimate)
    assert "of step" in picture.svg and "its variables" in picture.text
    assert "of step" not in placement.picture().svg


def test_what_does_not_run_costs_nothing(placement):
    costs = node_costs(placement, tf.estimate(placement, fetches=["net/Mean"]))
    averaging = [node for node, name in enumerate(placement) if name.startswith("Mean")]
    assert averaging and not costs.seconds[averaging].any()
    assert np.count_nonzero(costs.seconds) > 5


def test_an_estimate_of_another_graph_is_refused(placement):
    with pytest.raises(ValueError, match="The estimate is for another graph"):
        placement.picture(estimate=tf.estimate(layered(2), machine="2x Tesla K20m"))
