"""SVG: well formed whatever the names, with ids, classes, tooltips, hatches and legends."""

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuplace.jupyter.render import sheet_svg
from gpuplace.views.picture.colouring import COLOURINGS, colouring
from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.sheet import sheet_of
from gpuplace.views.tables.palette import DARK, LIGHT, PATTERNS, device_style
from gpuplace.views.tables.placement_view import PlacementView
from tests.views.picture.test_dot import EVIL
from tests.views.tables.views import LOCAL, MACHINE, towers, training

NS = "{http://www.w3.org/2000/svg}"
TITLE = "{http://www.w3.org/1999/xlink}title"


def parsed(view, **options):
    return ElementTree.fromstring(sheet_svg(sheet_of(draw(view)), **options))


def group(root, identity):
    return next(found for found in root.iter(f"{NS}g") if found.get("id") == identity)


def words(element):
    return [text.text or "".join(text.itertext()) for text in element.iter(f"{NS}text")]


def test_an_op_has_colour_words_and_tooltip():
    box = group(parsed(towers()), "n2")
    assert box.get("class") == "node op"
    assert words(box) == ["MatMul", "MatMul · GPU:2", "asked /device:GPU:2"]
    outline = next(box.iter(f"{NS}path"))
    assert outline.get("fill") == device_style("/gpu:2").fill
    assert next(box.iter(f"{NS}a")).get(TITLE).startswith("MatMul\nMatMul on /job:localhost")


def test_copies_are_dashed_and_labelled():
    root = parsed(towers())
    copy = next(edge for edge in root.iter(f"{NS}g") if edge.get("class") == "edge copy")
    assert words(copy) == ["2×2 float32", "16 B"]
    assert next(copy.iter(f"{NS}path")).get("stroke-dasharray")
    assert next(copy.iter(f"{NS}title")).text == "n2->n6"


def test_the_legend_counts():
    text = words(parsed(towers()))
    for expected in (
        "assigned device: number of nodes",
        "GPU:1: 0",
        "GPU:2: 3",
        "╌╌ 2 copies between devices, 32 B",
    ):
        assert expected in text
    assert "GPU:1: 0" not in words(parsed(towers(), legend=False))


def test_hatches_tell_devices_apart_without_colour():
    root = parsed(towers(), patterns=True)
    known = {pattern.get("id") for pattern in root.iter(f"{NS}pattern")}
    used = {
        path.get("fill")
        for identity in ("n2", "n5", "n6")
        for path in group(root, identity).iter(f"{NS}path")
    }
    hatches = {fill for fill in used if fill.startswith("url")}
    assert len(hatches) == 2 and {hatch[5:-1] for hatch in hatches} <= known
    assert not list(parsed(towers()).iter(f"{NS}pattern"))
    assert len(set(PATTERNS)) == len(PATTERNS) == 8


def test_themes_and_backgrounds():
    assert parsed(towers(), theme=DARK).find(f".//{NS}polygon").get("fill") == DARK.background
    plain = parsed(towers(), transparent=True)
    assert all(polygon.get("fill") != LIGHT.background for polygon in plain.iter(f"{NS}polygon"))


@pytest.mark.parametrize("name", [name for name in COLOURINGS if name != "time"])
def test_every_colouring_is_well_formed(name):
    view = training(towers=2, layers=3)
    root = ElementTree.fromstring(sheet_svg(sheet_of(draw(view), colouring(view, name)), patterns=True))
    assert root.tag == f"{NS}svg"


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text(max_size=20) | st.sampled_from(EVIL), min_size=1, max_size=5, unique=True))
def test_any_names_give_well_formed_svg(names):
    rows = [(name, name, name, MACHINE[i % 3]) for i, name in enumerate(names)]
    view = PlacementView.of_columns(rows, [(names[0], 0, names[-1], 0)] if len(names) > 1 else [])
    root = ElementTree.fromstring(sheet_svg(sheet_of(draw(view))))
    assert len([box for box in root.iter(f"{NS}g") if "node" in (box.get("class") or "").split()]) == len(
        names
    )


def test_open_scopes_are_frames():
    drawing = draw(training(towers=2, layers=5, ops=2), ["tower_0", "tower_1"])
    root = ElementTree.fromstring(sheet_svg(sheet_of(drawing)))
    classes = [element.get("class") for element in root.iter(f"{NS}g")]
    assert classes.count("cluster open") == 2 and classes.count("cluster-label") == 2
    frame = group(root, f"c{drawing.clusters[0].scope}")
    assert "open: double-click to fold" in next(frame.iter(f"{NS}a")).get(TITLE)


def test_everything_lies_inside_the_picture():
    for view in (towers(), training(towers=3, layers=20)):
        root = parsed(view)
        left, top, width, height = map(float, root.get("viewBox").split())
        for text in root.iter(f"{NS}text"):
            assert left <= float(text.get("x")) <= left + width
            assert top <= float(text.get("y")) <= top + height
    assert LOCAL in MACHINE[0]
