"""Unfolding in the explorer: what is shown stays, apart from the room that is needed, and folding undoes it."""

import pytest

import gpuplace as tf
from tests.browser.live_explorer import LiveExplorer
from tests.browser.test_model_view import ALL_SEEN
from tests.findings.layers import bert
from tests.placer.corpus_files import folder

pytestmark = [pytest.mark.browser]

HEIGHT = 60.0
"""The height of a box."""
SOFT = tf.ConfigProto(allow_soft_placement=True)
GRAPHS = ("towers", "seq2seq", "residual", "keras", "bert")
MACHINE = "4x Tesla K20m"


def bert_graph():
    """A BERT of six layers with Adam, half of it on each of two GPUs."""
    with tf.Graph().as_default() as graph:
        loss, _ = bert(16, 128, 6, 512, lambda layer: f"/gpu:{layer // 3}")
        tf.train.AdamOptimizer(1e-4).minimize(loss)
    return graph


def explorer_of(name):
    if name == "bert":
        return tf.explore(bert_graph(), machine=MACHINE, soft_placement=True)
    if name == "keras":
        return tf.explore(
            folder("functions", "2.21") / "saved_layers", machine=MACHINE, release="2.21", signature=""
        )
    files = {
        "embedding": "word2vec",
        "towers": "towers_4",
        "seq2seq": "sequence_to_sequence",
        "residual": "resnet_true",
    }
    return tf.explore(
        tf.place(folder("corpus", "1.15") / f"{files[name]}.pb", MACHINE, SOFT, on_error="keep")
    )


@pytest.fixture
def live(browser):
    """`live(name)` is a page with the explorer of a graph."""
    made = []

    def make(name, theme="light"):
        made.append(LiveExplorer(browser, explorer_of(name), theme))
        return made[-1]

    yield make
    for one in made:
        assert one.page.errors == []
        one.page.close()
        one.explorer.close()


def is_around(frame, box):
    """Whether a box lies inside a frame, which grows with what is inside it."""
    return (
        frame["x"] <= box["x"]
        and frame["y"] <= box["y"]
        and frame["x"] + frame["w"] >= box["x"] + box["w"]
        and frame["y"] + frame["h"] >= box["y"] + box["h"]
    )


def moves(before, after, box):
    """What went farther than the room that a box takes when it is unfolded: id -> points to the right and down.

    Seen from the middle of its upper side, which stays where it was.
    """
    was, now = before[box], after[f"c{box[1:]}"]
    right, down = now["x"] + now["w"] / 2 - was["x"] - was["w"] / 2, now["y"] - was["y"]
    room = max(0.0, now["w"] - was["w"]), max(0.0, now["h"] - was["h"])
    found = {}
    for other, place in before.items():
        if other != box and not is_around(place, was):
            moved = abs(after[other]["x"] - place["x"] - right), abs(after[other]["y"] - place["y"] - down)
            found[other] = tuple(far - free for far, free in zip(moved, room, strict=True))
    return found


def scopes(places, page):
    """The folded scopes of the network."""
    classes = page.evaluate(
        "(ids) => ids.map((id) => document.getElementById(id).classList.value)", list(places)
    )
    return [box for box, of in zip(places, classes, strict=True) if "scope" in of.split()]


def without_sight(places):
    return {box: {name: place[name] for name in "xywh"} for box, place in places.items()}


@pytest.mark.parametrize("name", GRAPHS)
def test_unfolding_moves_nothing_farther_than_the_room_it_takes_and_folding_undoes_it(live, name):
    page = live(name)
    start = page.places()
    boxes = scopes(start, page.page)
    assert len(boxes) > 1
    for box in boxes:
        page.page.get_by_role("button", name="Fit the whole picture").click()
        before = page.places()
        x, y = page.unfold(box)
        after = page.places()
        frame = f"c{box[1:]}"
        assert set(before) - {box} <= set(after), "nothing is hidden"
        at = after[frame]["seen"]
        is_there = at["x"] < x < at["x"] + at["w"] and at["y"] < y < at["y"] + at["h"]
        assert is_there or page.page.evaluate(ALL_SEEN), (
            "under the pointer, unless all of the picture is in sight"
        )
        too_far = {other: far for other, far in moves(before, after, box).items() if max(far) > HEIGHT}
        assert too_far == {}, box
        x, y = page.fold(frame)
        again = page.places()
        assert without_sight(again) == without_sight(start)
        at = again[box]["seen"]
        assert abs(at["x"] + at["w"] / 2 - x) < 3 and abs(at["y"] + at["h"] / 2 - y) < 3


def test_a_first_view_whose_names_cannot_be_read_opens_less(live):
    """Graphviz needs less room for this graph than the page does, which says so."""
    page = live("embedding")
    assert any(message["type"] == "crowded" for message in page.page.evaluate("window.sent"))
    assert page.page.evaluate(ALL_SEEN)
    sizes = page.page.evaluate(
        """() => [...document.querySelectorAll("g.node text:first-of-type")].map(
            (name) => parseFloat(name.getAttribute("font-size")) * name.getScreenCTM().a)"""
    )
    assert min(sizes) >= 11.9
    boxes = set(page.places())
    page.change(lambda: page.explorer._views.show_less(["n0"], page.explorer._views.canvas))
    page.answer()
    assert set(page.places()) == boxes, "it was about another picture"
