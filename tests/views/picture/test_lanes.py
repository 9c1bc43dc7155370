"""Boxes taken apart by device: every node in one share, every copy between lanes, the same on the report page."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.jupyter.pictures import picture_sheet
from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.lanes import by_device, lanes_size, scene, whole_of
from gpuplace.views.picture.sheet import sheet_of
from gpuplace.views.tables.placement_view import PlacementView, view_of
from tests.placer.corpus_files import folder

SOFT = tf.ConfigProto(allow_soft_placement=True)
GRAPHS = ("towers_4", "lenet", "parameter_servers_ref", "word2vec", "resnet_true")


def placed(name, machine="4x Tesla K20m"):
    return tf.place(folder("corpus", "1.15") / f"{name}.pb", machine, SOFT, on_error="keep")


@pytest.mark.parametrize("opened", [[], None])
@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_is_in_one_share_of_its_box_and_its_device(name, opened):
    placement = placed(name)
    view = view_of(placement)
    drawing = draw(placement, opened)
    shares = by_device(drawing)
    assert sum(box.nodes for box in shares.boxes) == len(view)
    for node, share in enumerate(shares.box_of.tolist()):
        box = shares.boxes[share]
        whole = drawing.boxes[drawing.box_of[node]]
        assert whole_of(box.id) == whole.id and box.share_of == whole.nodes
        assert [device for device, _ in box.shares] == [view.device_of(node)]
    for number in ("unmet", "guilty"):
        total = sum(getattr(box, number) for box in drawing.boxes)
        assert sum(getattr(box, number) for box in shares.boxes) == total
    assert shares.whole is drawing


@pytest.mark.parametrize("name", GRAPHS)
def test_all_copies_go_from_lane_to_lane_and_nothing_else_does(name):
    placement = placed(name)
    shares = by_device(draw(placement, []))
    view = view_of(placement)
    fed = np.isin(view.src, [copy.node for copy in view.copies if copy.use == "feed"])
    copied = view.is_copy & ~fed  # a feed comes from the client, wherever its placeholder is
    src, dst = shares.box_of[view.src], shares.box_of[view.dst]
    assert not (copied & (src == dst)).any(), "a copy is never inside a share"
    lanes = np.array([view.devices.index(box.device) if box.device else -1 for box in shares.boxes])
    crosses = (lanes[src] != lanes[dst]) & (lanes[src] >= 0) & (lanes[dst] >= 0)
    assert not (copied & ~crosses).any()
    runs = placement.subject.runs
    in_step = runs[view.src] & runs[view.dst] & ~view.is_control & ~fed
    types = [view.op_type_of(node) for node in view.src]
    values = np.array([not name.startswith(("VarHandleOp", "Placeholder")) for name in types], dtype=bool)
    assert (copied | ~(in_step & crosses & values)).all()


def test_a_share_asks_for_what_its_own_nodes_ask_for():
    rows = [
        ("a/x", "Const", "/cpu:0", "/device:CPU:0"),
        ("a/y", "Neg", "/gpu:0", "/device:GPU:0"),
        ("a/z", "Neg", "", ""),
    ]
    shares = by_device(draw(PlacementView.of_columns(rows, [("a/x", 0, "a/y", 0)]), []))
    assert [(box.device, box.requests) for box in shares.boxes] == [
        ("/device:CPU:0", ("/cpu:0",)),
        ("/device:GPU:0", ("/gpu:0",)),
        ("", ()),
    ]


def test_a_scene_has_a_lane_for_each_device_with_what_is_copied_to_it():
    placement = placed("towers_4")
    made = scene(picture_sheet(placement, [], lanes=True), placement)
    assert [lane["label"] for lane in made["lanes"]] == ["CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"]
    assert sum(lane["nodes"] for lane in made["lanes"]) == len(placement)
    copies = sum(int(lane["texts"][1].split()[0]) for lane in made["lanes"] if len(lane["texts"]) > 1)
    assert copies == sum(copy.runs for copy in view_of(placement).copies)
    ids = {box["id"] for box in made["boxes"]}
    assert all({link["src"], link["dst"]} <= ids for link in made["links"])
    assert all(box["lines"] and box["lines"][0][0] for box in made["boxes"])


def test_what_goes_from_one_box_to_one_lane_is_labelled_once_and_counts_a_tensor_once():
    rows = [("a", "Const", "", "/device:CPU:0")]
    rows += [(f"b{i}", "Neg", "", "/device:GPU:0") for i in range(3)]
    view = PlacementView.of_columns(rows, [("a", 0, f"b{i}", 0) for i in range(3)])
    made = scene(sheet_of(by_device(draw(view, []))), view)
    labels = [link["look"]["label"] for link in made["links"]]
    assert sorted(map(len, labels)) == [0, 0, 1]
    assert max(labels)[0].startswith(("1 copy", "?"))


def test_what_has_no_device_has_a_lane():
    view = PlacementView.of_columns([("a", "Const", "", "")])
    made = scene(sheet_of(by_device(draw(view, []))), view)
    assert [lane["label"] for lane in made["lanes"]] == ["no device"]


def test_an_open_scope_is_named_in_its_boxes():
    placement = placed("lenet")
    made = scene(picture_sheet(placement, ["conv0", "full"], lanes=True), placement)
    told = {line[0] for box in made["boxes"] for line in box["lines"]}
    assert any(text.startswith("in ") for text in told)


def test_colours_other_than_the_device_are_shown_as_shares():
    placement = placed("lenet")
    for colour, has_bars in (("assigned", False), ("requested", True)):
        made = scene(picture_sheet(placement, [], colour=colour, lanes=True), placement)
        assert any(box["bars"] for box in made["boxes"]) == has_bars


def test_the_size_grows_with_what_is_open():
    placement = placed("lenet")
    canvas = (900.0, 600.0)
    sizes = []
    for opened in ([], ["conv0", "full", "dropout"]):
        width, height = lanes_size(picture_sheet(placement, opened, lanes=True), canvas)
        sizes.append(max(width / canvas[0], height / canvas[1]))
    assert sizes[0] < sizes[1]


def test_an_empty_graph_has_no_boxes():
    placement = tf.place(tf.Graph(), "1x Tesla K20m")
    sheet = picture_sheet(placement, lanes=True)
    assert sheet.drawing.boxes == () and max(lanes_size(sheet, (100.0, 100.0))) < 200
    assert [lane["nodes"] for lane in scene(sheet, placement)["lanes"]] == [0, 0]
