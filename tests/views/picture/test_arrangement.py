"""Pictures wrapped for a canvas: strips in order, lines between them that meet no box, shelves below."""

import pytest

import gpuplace as tf
from gpuplace.jupyter import render
from gpuplace.jupyter.first_view import first_view
from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.layout import wrapping
from gpuplace.views.picture.sheet import sheet_of
from gpuplace.views.tables.placement_view import PlacementView, view_of
from tests.placer.corpus_files import folder
from tests.views.tables.views import training

pytestmark = pytest.mark.dot

CANVAS = (760.0, 560.0)


def chain(length):
    names = [f"op_{i}" for i in range(length)]
    edges = [(a, 0, b, 0) for a, b in zip(names, names[1:], strict=False)]
    return PlacementView.of_columns([(name, "Neg", "", "") for name in names], edges)


def hits(sheet, layout):
    """Lines between strips that pass through a box which is none of their ends."""
    wrapped = wrapping(sheet, "TB", CANVAS)
    found = []
    for (src, dst), route in layout.routes.items():
        if wrapped.strip_of.get(src) == wrapped.strip_of.get(dst):
            continue  # Graphviz's own
        for face in sheet.faces:
            if face.box.id in (src, dst):
                continue
            x, y = layout.boxes[face.box.id]
            left, right = x - face.width / 2 + 1, x + face.width / 2 - 1
            top, bottom = y - face.height / 2 + 1, y + face.height / 2 - 1
            for start in range(0, len(route.points) - 1, 3):
                curve = route.points[start : start + 4]
                for k in range(21):
                    t = k / 20
                    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
                    px, py = (
                        sum(w * point[i] for w, point in zip(weights, curve, strict=True)) for i in (0, 1)
                    )
                    if left < px < right and top < py < bottom:
                        found.append((src, dst, face.box.id))
                        break
    return found


def test_a_chain_stands_in_strips_from_left_to_right():
    sheet = sheet_of(draw(chain(16)))
    layout = render.sheet_layout(sheet, canvas=CANVAS)
    assert layout.width <= CANVAS[0] and layout.height <= CANVAS[1]
    places = [layout.boxes[f"n{i}"] for i in range(16)]
    columns = sorted({round(x) for x, _ in places})
    assert len(columns) >= 2
    order = [columns.index(round(x)) for x, _ in places]
    assert order == sorted(order), "strips follow each other"
    for (x, y), (next_x, next_y) in zip(places, places[1:], strict=False):
        assert next_y > y or next_x > x
    assert hits(sheet, layout) == []
    start, end = layout.routes["n0", "n1"], layout.boxes["n1"]
    assert abs(start.tip[0] - end[0]) < 60


def test_without_a_canvas_nothing_is_wrapped():
    sheet = sheet_of(draw(chain(16)))
    assert render.sheet_layout(sheet).height > 600
    assert wrapping(sheet, "LR", CANVAS).count == 1


@pytest.mark.parametrize(
    "name", ["towers_4", "resnet_true", "lenet", "unet", "word2vec", "transformer_block"]
)
def test_real_graphs_fit_their_canvas(name):
    view = view_of(tf.place(folder("corpus", "1.15") / f"{name}.pb", "4x Tesla K20m", on_error="keep"))
    opened = first_view(view, CANVAS, 40)
    assert first_view(view, CANVAS, 40) is opened
    sheet = sheet_of(draw(view, opened))
    layout = render.sheet_layout(sheet, canvas=CANVAS)
    room = render.room_on(CANVAS)
    assert layout.width <= room[0] and layout.height <= room[1]
    assert hits(sheet, layout) == []
    lowest = max(
        layout.boxes[face.box.id][1] for face in sheet.faces if face.box.id not in sheet.drawing.shelved
    )
    assert all(layout.boxes[box][1] > lowest for box in sheet.drawing.shelved)


def test_a_canvas_of_another_size_shows_more_or_less():
    view = training(towers=2, layers=9, ops=2)
    counts = [
        len(draw(view, first_view(view, canvas, 40)).boxes) for canvas in ((500.0, 400.0), (1600.0, 1000.0))
    ]
    assert counts[0] < counts[1]
