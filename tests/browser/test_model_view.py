"""The view of a model on the report page and in the explorer: flow and gradients, towers, labels, sizes, what stays."""

import pytest

import gpuplace as tf
from gpuplace.page.page import page_html
from tests.browser.jupyterlab import Watch
from tests.browser.test_graph_view import page_with
from tests.placer.corpus_files import folder

pytestmark = [pytest.mark.browser]

SOFT = tf.ConfigProto(allow_soft_placement=True)
VIEWPORT = {"width": 1400, "height": 900}


def placed(name, release="1.15"):
    """A graph of the corpus on four GPUs."""
    return tf.place(folder("corpus", release) / f"{name}.pb", "4x Tesla K20m", SOFT, release=release)


@pytest.fixture
def opened(browser, tmp_path):
    """`opened(placement)` writes the page and opens it; it may neither err nor ask for anything."""
    pages, watches = [], []

    def open_page(placement, name="page", theme="light", **options):
        path = tmp_path / f"{name}.html"
        path.write_text(page_html(placement, title=name, **options), encoding="utf-8")
        page = browser.new_page(viewport=VIEWPORT, color_scheme=theme)
        watches.append(Watch(path.as_uri()).over(page))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    for watch in watches:
        assert watch.errors == [] and watch.elsewhere == []


@pytest.fixture
def explored(browser):
    """`explored(explorer)` shows its picture on a page as large as it says that it is."""
    pages = []

    def open_explorer(explorer, theme="light"):
        graph = explorer._views.graph
        page = page_with(browser, graph.get_state(), theme, width=1100, height=900)
        page.wait_for_function("window.sent.some((message) => message.type === 'canvas')")
        explorer._heard(graph, page.evaluate("window.sent.find(({ type }) => type === 'canvas')"), None)
        page.close()
        page = page_with(browser, graph.get_state(), theme, width=1100, height=900)
        pages.append(page)
        return page

    yield open_explorer
    for page in pages:
        assert page.errors == []
        page.close()


def boxes(page):
    return page.locator("g.node").evaluate_all("(all) => all.map((box) => box.id).sort()")


def lines(page, kind=""):
    """Ends of the lines, or of copies alone."""
    found = page.locator(f"g.edge{kind}").evaluate_all("(all) => all.map((line) => line.dataset.ends)")
    return {pair for ends in found for pair in ends.split(" ")}


@pytest.mark.parametrize("look", ["graph", "devices"])
def test_gradients_and_updates_are_lines_on_request(opened, look):
    from playwright.sync_api import expect

    page = opened(placed("trained_ref_adam"), "adam")
    if look == "devices":
        page.get_by_role("button", name="By device").click()
    button = page.get_by_role("button", name="Show backward")
    expect(button).to_have_attribute("aria-pressed", "false")
    shown, flow, copies = boxes(page), lines(page), lines(page, ".copy")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".gp-legend")).to_contain_text("lines of gradients and updates are drawn too")
    assert boxes(page) == shown and lines(page) > flow and lines(page, ".copy") >= copies
    page.wait_for_timeout(400)
    page.reload()  # the address keeps it
    page.wait_for_selector("html[data-ready=yes]")
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    assert lines(page) == flow


def test_what_is_not_trained_has_no_gradients_to_show(opened, explored):
    from playwright.sync_api import expect

    placement = placed("alexnet_inference")
    expect(opened(placement).get_by_role("button", name="Show backward")).to_have_count(0)
    expect(explored(tf.explore(placement)).get_by_role("button", name="Show backward")).to_have_count(0)


def test_the_explorer_shows_gradients_on_request(explored):
    from playwright.sync_api import expect

    explorer = tf.explore(placed("trained_ref_adam"))
    page = explored(explorer)
    button = page.get_by_role("button", name="Show backward")
    expect(button).to_have_attribute("aria-pressed", "false")
    shown, flow = boxes(page), lines(page)
    button.click()
    sent = page.evaluate("window.sent.at(-1)")
    assert sent == {"type": "backward", "on": True}
    explorer._heard(explorer._views.graph, sent, None)
    assert explorer.backward
    page = explored(explorer)
    expect(page.get_by_role("button", name="Show backward")).to_have_attribute("aria-pressed", "true")
    assert boxes(page) == shown and lines(page) > flow


TOWERS = """() => [...document.querySelectorAll("g.node")].map((box) => {
    const { left, top, bottom } = box.querySelector("path, polygon").getBoundingClientRect();
    return [box.querySelector("text").textContent.replace("▸ ", ""), left, top, bottom];
})"""


@pytest.mark.parametrize("number", [2, 4, 8])
@pytest.mark.parametrize("where", ["page", "explorer"])
def test_towers_stand_beside_each_other_between_what_they_share(opened, explored, number, where):
    placement = placed(f"towers_{number}")
    page = opened(placement) if where == "page" else explored(tf.explore(placement))
    found = {name: (left, top, bottom) for name, left, top, bottom in page.evaluate(TOWERS)}
    if "net" not in found:  # few towers are open
        names = [name for name in found if name == "hidden"]
        assert names
        return
    towers = [found[f"net_{i}" if i else "net"] for i in range(number)]
    assert max(top for _, top, _ in towers) < min(bottom for *_, bottom in towers)
    assert [left for left, *_ in towers] == sorted(left for left, *_ in towers)
    assert found["shared variables"][2] < min(top for _, top, _ in towers)
    assert found["gradient averaging"][1] > max(bottom for *_, bottom in towers)
