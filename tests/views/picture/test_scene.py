"""The picture of a graph as values for the page: boxes in their frames, copies along lines, what stood before."""

import json

import pytest

import gpuplace as tf
from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.scene import BAR, graph_scene
from gpuplace.views.picture.sheet import sheet_of
from gpuplace.views.tables.placement_view import PlacementView, view_of
from tests.placer.corpus_files import folder
from tests.views.tables.views import training

GRAPHS = ("towers_4", "lenet", "parameter_servers_ref", "word2vec", "resnet_true")


def view(name):
    return view_of(tf.place(folder("corpus", "1.15") / f"{name}.pb", "4x Tesla K20m", on_error="keep"))


@pytest.mark.parametrize("opened", [[], None])
@pytest.mark.parametrize("name", GRAPHS)
def test_everything_of_a_drawing_is_in_its_scene(name, opened):
    sheet = sheet_of(draw(view(name), opened))
    drawing = sheet.drawing
    scene = json.loads(json.dumps(graph_scene(sheet)))
    frames = [frame["id"] for frame in scene["frames"]]
    assert frames == [f"c{cluster.scope}" for cluster in drawing.clusters]
    for position, frame in enumerate(scene["frames"]):
        assert frame["frame"] in ["c0", *frames[:position]], "outer frames come first"
    for box, values in zip(drawing.boxes, scene["boxes"], strict=True):
        assert (values["face"]["id"], values["frame"]) == (box.id, f"c{box.cluster}")
        written = [line[0] for line in values["face"]["lines"]]
        assert box.label in written[0] or "…" in written[0]
        assert written.count(BAR) == len(values["face"]["bars"])
        assert all(
            line[1] < len(values["face"]["bars"]) for line in values["face"]["lines"] if line[0] == BAR
        )
    numbers = {str(number) for link in scene["links"] for number in link["sent"]}
    assert numbers == set(scene["copies"])
    for link, values in zip(drawing.links, scene["links"], strict=True):
        assert (values["src"], values["dst"], values["rank"]) == (link.src, link.dst, link.rank)
        assert sum(scene["copies"][str(number)][0] for number in values["sent"]) == link.copies
        assert bool(values["name"]) == (link.tensors + link.controls == 1)


def test_what_stood_for_a_box_before():
    placed = training(towers=2, layers=2, ops=2)
    folded, opened, inner = (draw(placed, scopes) for scopes in ([], ["tower_0"], ["tower_0/layer_1"]))
    tower = next(box.id for box in folded.boxes if box.name == "tower_0")
    number = int(tower[1:])
    former = graph_scene(sheet_of(opened), folded)["former"]
    inside = {box.id for box in opened.boxes if box.cluster == number}
    assert former == {f"c{number}": tower} | dict.fromkeys(inside, tower)
    layer = next(box.id for box in opened.boxes if box.name == "tower_0/layer_1")
    former = graph_scene(sheet_of(inner), opened)["former"]
    assert former[f"c{layer[1:]}"] == layer
    assert set(former.values()) == {layer}
    assert graph_scene(sheet_of(folded), inner)["former"] == {tower: f"c{number}"}
    assert graph_scene(sheet_of(folded), folded)["former"] == {}
    assert graph_scene(sheet_of(folded))["former"] == {}


def test_ops_of_a_bundle_come_from_it_and_go_back():
    rows = [(f"part/op_{number}", "NoOp", "", "/device:CPU:0") for number in range(150)]
    nodes = PlacementView.of_columns(rows)
    bundled = draw(nodes, ["part"])
    bundle = next(box for box in bundled.boxes if box.kind == "bundle")
    split = draw(nodes, ["part", bundle.name])
    former = graph_scene(sheet_of(split), bundled)["former"]
    assert set(former.values()) == {bundle.id} and len(former) == bundle.nodes == 150
    back = graph_scene(sheet_of(bundled), split)["former"]
    assert set(back) == {bundle.id} and back[bundle.id] in former
