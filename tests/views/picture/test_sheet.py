"""What is written on a picture: lines, marks, legends; and boxes whose size does not change with a switch."""

import pytest

import gpuplace as tf
from gpuplace.views.picture.colouring import colouring, moved_colouring
from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.layout import layout_text
from gpuplace.views.picture.marks import Marks, compare, critical_path, find
from gpuplace.views.picture.sheet import sheet_of
from gpuplace.views.tables.placement_view import PlacementView
from tests.jupyter.programs import layered
from tests.views.tables.views import MACHINE, towers, training


def texts(face):
    return [line.text for line in face.lines]


def face_of(sheet, name):
    return next(face for face in sheet.faces if face.box.name == name)


def test_an_op_says_what_it_is_where_it_is_and_what_was_asked():
    assert texts(face_of(sheet_of(draw(towers())), "MatMul")) == [
        "MatMul",
        "MatMul · GPU:2",
        "asked /device:GPU:2",
    ]
    unmet = face_of(sheet_of(draw(towers(second="GPU:0"))), "MatMul_1")
    assert texts(unmet)[-1] == "≠ asked /device:GPU:3"
    assert unmet.is_dashed and unmet.stroke == "alarm" and "overridden" in unmet.tip


def test_a_colouring_adds_what_it_shows():
    view = towers()
    face = face_of(sheet_of(draw(view), colouring(view, "memory")), "MatMul")
    assert "16 B" in texts(face) and "bytes of outputs: 16 B" in face.tip
    sheet = sheet_of(draw(view), colouring(view, "type"))
    assert sheet.title == "op type: number of nodes"
    assert [(category.label, category.count) for category in sheet.legend] == [
        ("Const", 4),
        ("MatMul", 2),
        ("AddN", 1),
    ]


def test_a_folded_box_has_shares_in_the_same_categories():
    view = training(towers=2, layers=4, ops=3)
    sheet = sheet_of(draw(view, []), colouring(view, "type"))
    face = face_of(sheet, "tower_0")
    assert texts(face) == ["▸ tower_0", "MatMul (16) · +2", "1 out"]
    looks = {category.label: category.look for category in sheet.legend}
    forward, backward = face.bars
    assert forward == ((looks["MatMul"], 4), (looks["Add"], 4), (looks["Relu"], 4))
    assert backward == ((looks["MatMul"], 12),)
    assert "MatMul (16) · Add (4) · Relu (4)" in face.tip
    assert ("plain", "▬ strips of a box, from the top: forward, backward, update") in sheet.notes


def test_shares_that_do_not_fit_are_counted():
    rows = [(f"s/n{i}", f"AnOpOfSomeLength{i % 5}", "", MACHINE[0]) for i in range(10)]
    view = PlacementView.of_columns(rows)
    (face,) = sheet_of(draw(view, []), colouring(view, "type")).faces
    assert texts(face)[1] == "AnOpOf…h0 (2) · +4"
    assert "AnOpOfSomeLength4 (2)" in face.tip


def test_numbers_are_summed_up():
    placement = tf.place(layered(2), machine="2x Tesla K40c")
    sheet = sheet_of(draw(placement, []), colouring(placement, "memory"))
    assert texts(face_of(sheet, "tower_0"))[-1].endswith("in total")


def test_matches_are_marked_and_counted_inside_folded_boxes():
    view = training(towers=2, layers=2, ops=3)
    found = find(view, "tower_0/layer_1")
    sheet = sheet_of(draw(view, []), None, Marks(found=found, pattern="tower_0/layer_1"))
    assert texts(face_of(sheet, "tower_0"))[-1] == "● 3 matches inside"
    assert texts(face_of(sheet, "gradients"))[-1] == "● 3 matches inside"
    assert "found" not in face_of(sheet, "tower_1").classes
    assert ("mark", "● 6 matches of tower_0/layer_1") in sheet.notes


def test_the_critical_path_is_marked_in_boxes_and_lines():
    view = towers()
    sheet = sheet_of(draw(view), None, Marks(path=critical_path(view)))
    on = [wire for wire in sheet.wires if wire.on_path]
    assert len(on) == 2 and all(wire.pen >= 3 for wire in on)
    assert sum("path" in face.classes for face in sheet.faces) == 3
    assert ("path", "◆ critical path: 3 ops, the longest chain") in sheet.notes


def test_moved_nodes_say_from_where_to_where():
    view = towers(second="GPU:0")
    moves = compare(view, towers())
    sheet = sheet_of(draw(view), moved_colouring(view, moves), Marks(moves=moves))
    face = face_of(sheet, "MatMul_1")
    assert texts(face)[1] == "MatMul · GPU:3 → GPU:0" and "moved: GPU:3 → GPU:0" in face.tip
    assert "moved" in face.classes
    assert ("moved", "3 nodes moved") in sheet.notes
    folded = sheet_of(draw(training(2, 30), []), None, Marks(moves=compare(training(2, 30), training(2, 30))))
    assert not any("moved" in face.classes for face in folded.faces)


@pytest.mark.parametrize(
    ("one", "other"),
    [(towers(), towers(second="GPU:0")), (towers(), towers(second="CPU:0"))],
    ids=["another GPU", "the CPU"],
)
def test_a_switch_that_moves_ops_leaves_the_layout(one, other):
    assert layout_text(sheet_of(draw(one))) == layout_text(sheet_of(draw(other)))


def test_a_switch_on_a_folded_graph_leaves_the_layout():
    graph = layered(40)
    soft = tf.ConfigProto(allow_soft_placement=True)
    pictures = [
        layout_text(sheet_of(draw(tf.place(graph, machine=machine, config=soft), [])))
        for machine in ("2x Tesla K40c", "1x Tesla K40c", "cpu")
    ]
    assert len(set(pictures)) == 1


def test_every_line_fits_into_its_box():
    view = training(towers=3, layers=12)
    for name in ("assigned", "type", "requested"):
        for face in sheet_of(draw(view, ["tower_0", "gradients"]), colouring(view, name)).faces:
            assert max(line.width for line in face.lines) <= face.width
