"""The first view of real graphs, before any click: all in sight, readable names, the network and not its books.

On the report page at 1400 x 900, and in the explorer's picture at a notebook's usual width. That a box shows the
network is judged without what the package knows of bookkeeping: by names and types that only initialisers, savers and
summaries have. Screenshots of both themes are kept with pytest's other temporary files.
"""

import re

import pytest

import gpuplace as tf
from gpuplace.views.page.page import page_html
from gpuplace.views.tables.placement_view import view_of
from tests.browser.jupyterlab import Watch
from tests.browser.live_explorer import LiveExplorer
from tests.placer.corpus_files import folder
from tests.support.node_specs import graph_def
from tests.support.training_graph import training_graph

pytestmark = [pytest.mark.browser]

SOFT = tf.ConfigProto(allow_soft_placement=True)
CORPUS = {
    "1.15": (
        *("alexnet_inference", "dcgan", "hessian", "language_model"),
        *("lenet", "lstm_unrolled", "parameter_servers_ref", "reinforcement_learning", "resnet_true"),
        *("towers_4", "trained_ref_adam", "unet", "word2vec"),
    ),
    "2.21": (
        *("lstm_in_a_loop_resource", "matrix_factorization", "sequence_to_sequence", "style_transfer"),
        *("towers_8", "transformer_block", "variational_autoencoder"),
    ),
}
GRAPHS = [(release, name) for release, names in CORPUS.items() for name in names]
LARGE = ("1.15", "training graph of 100,000 nodes")

VIEW = """() => {
    const canvas = document.querySelector(".gp-canvas");
    const whole = canvas.getBoundingClientRect();
    const boxes = [...canvas.querySelectorAll("svg g.node")];
    const texts = boxes.flatMap((box) => [...box.querySelectorAll("text")]);
    const seen = texts.filter((text) => {
        const { left, right, top, bottom, width } = text.getBoundingClientRect();
        return width > 0 && left >= whole.left - 1 && right <= whole.right + 1
            && top >= whole.top - 1 && bottom <= whole.bottom + 1;
    });
    const names = boxes.map((box) => box.querySelector("text"));
    const pixels = names.map((name) => parseFloat(name.getAttribute("font-size")) * name.getScreenCTM().a);
    const places = boxes.map((box) => box.getBoundingClientRect());
    const width = Math.max(...places.map((r) => r.right)) - Math.min(...places.map((r) => r.left));
    const height = Math.max(...places.map((r) => r.bottom)) - Math.min(...places.map((r) => r.top));
    return {
        boxes: boxes.map((box) => box.id),
        inside: seen.length / texts.length,
        pixels: Math.min(...pixels),
        share: width * height / (whole.width * whole.height),
    };
}"""

BOOKS = re.compile(
    r"/Initializer/|/Assign$|IsInitialized|^save/|/save/|^init|report_uninitialized|[Ss]ummary"
)
BOOK_TYPES = re.compile(r"Save|Restore|Summary|NoOp|ShardedFilename|MergeV2Checkpoints")


def placed(release, name):
    if name.startswith("training graph"):
        source = graph_def(training_graph(100_000))
    else:
        source = folder("corpus", release) / f"{name}.pb"
    return tf.place(source, "4x Tesla K20m", SOFT, release=release, on_error="keep")


def check(found, view, box_of, boxes):
    """What is asked of a first view; `box_of` gives the box of each node, `boxes` their ids."""
    assert len(found["boxes"]) >= 3
    assert found["inside"] >= 0.9
    assert found["pixels"] >= 10.99
    assert found["share"] >= 0.25
    network = {
        boxes[box]
        for node, box in enumerate(box_of)
        if not BOOKS.search(view.names[node]) and not BOOK_TYPES.search(view.op_type_of(node))
    }
    assert len(network) >= 0.6 * len(boxes), "most boxes are of the network"


@pytest.mark.parametrize(("release", "name"), [*GRAPHS, LARGE])
def test_the_report_page(browser, tmp_path, screenshots, release, name):
    placement = placed(release, name)
    path = tmp_path / "page.html"
    path.write_text(page_html(placement, title=name), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    watch = Watch(path.as_uri()).over(page)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
    for look in ("graph", "devices"):
        if look == "devices":
            page.get_by_role("button", name="By device").click()
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.screenshot(path=screenshots / f"first-{name}-page-{look}-{theme}.png")
        box_of = page.evaluate("[...gpuplacePage.drawn.boxOf]")
        boxes = page.evaluate("gpuplacePage.drawn.boxes.map((box) => box.id)")
        check(page.evaluate(VIEW), view_of(placement), box_of, boxes)
    page.close()
    assert watch.errors == [] and watch.elsewhere == []


@pytest.mark.parametrize(("release", "name"), [*GRAPHS, LARGE])
@pytest.mark.parametrize("theme", ["light"])
def test_the_explorer(browser, screenshots, release, name, theme):
    placement = placed(release, name)
    explorer = tf.explore(placement)
    for look in ("graph", "devices"):
        explorer.view = look
        live = LiveExplorer(browser, explorer, theme)
        live.page.screenshot(path=screenshots / f"first-{name}-explorer-{look}-{theme}.png")
        found, drawing = live.page.evaluate(VIEW), explorer._views.drawing
        assert live.page.errors == []
        live.page.close()
        check(found, view_of(placement), drawing.box_of.tolist(), [box.id for box in drawing.boxes])
