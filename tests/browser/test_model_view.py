"""The view of a model on the report page and in the explorer: flow and gradients, towers, labels, sizes, what stays."""

import itertools

import pytest

import gpuplace as tf
from gpuplace.views.page.page import page_html
from tests.browser.accessibility import violations
from tests.browser.jupyterlab import Watch
from tests.browser.live_explorer import LiveExplorer
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

    def open_page(placement, name="page", theme="light", viewport=VIEWPORT, **options):
        path = tmp_path / f"{name}.html"
        path.write_text(page_html(placement, title=name, **options), encoding="utf-8")
        page = browser.new_page(viewport=viewport, color_scheme=theme)
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
        pages.append(LiveExplorer(browser, explorer, theme).page)
        return pages[-1]

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
    explorer._views.graph._handle_custom_msg(sent, [])
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


LOOK = """() => {
    const canvas = document.querySelector(".gp-canvas").getBoundingClientRect();
    const rect = (element) => {
        const { left, top, right, bottom } = element.getBoundingClientRect();
        return { left, top, right, bottom };
    };
    const pixels = (text) => parseFloat(text.getAttribute("font-size")) * text.getScreenCTM().a;
    const boxes = [...document.querySelectorAll("g.node")];
    const texts = [...document.querySelectorAll(".gp-canvas svg text")];
    const labels = [...document.querySelectorAll("g.edge text")].map(rect);
    const shapes = boxes.map((box) => rect(box.querySelector("path, polygon")));
    const meet = (a, b, by = 1) => a.left + by < b.right && b.left + by < a.right
        && a.top + by < b.bottom && b.top + by < a.bottom;
    const inside = ({ left, top, right, bottom }) => left >= canvas.left - 1 && right <= canvas.right + 1
        && top >= canvas.top - 1 && bottom <= canvas.bottom + 1;
    const points = [...document.querySelectorAll("g.edge path")].flatMap((line) => {
        const steps = Math.ceil(line.getTotalLength() / 3);
        const at = (step) => line.getPointAtLength(line.getTotalLength() * step / steps);
        return Array.from({ length: steps + 1 }, (_, step) => at(step).matrixTransform(line.getScreenCTM()));
    });
    const isOn = ({ x, y }, { left, top, right, bottom }) => x > left && x < right && y > top && y < bottom;
    const isCrossed = (name) => points.some((point) => isOn(point, rect(name)));
    const frames = [...document.querySelectorAll("g.cluster-label text")];
    return {
        crossed: frames.filter(isCrossed).map((name) => name.textContent),
        boxes: boxes.length,
        names: Math.min(...boxes.map((box) => pixels(box.querySelector("text")))),
        smallest: Math.min(...texts.map(pixels)),
        outside: texts.filter((text) => !inside(rect(text))).map((text) => text.textContent),
        covered: labels.filter((label) => shapes.some((shape) => meet(label, shape, 3))).length,
        overlapping: labels.filter((label, i) => labels.slice(0, i).some((other) => meet(label, other, 3))).length,
    };
}"""
REAL = ("alexnet_inference", "dcgan", "layers_on_devices", "resnet_true", "towers_4", "towers_8", "unet")


def check_first_picture(found):
    """What the first picture of every model has to be like."""
    assert 4 <= found["boxes"] <= 30
    assert found["names"] >= 12 and found["smallest"] >= 11
    assert found["crossed"] == [], "names of frames"
    assert found["outside"] == [] and found["covered"] == 0 and found["overlapping"] == 0


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("width", [1100, 1400, 1900])
def test_first_pictures_of_pages_can_be_read_and_nothing_overlaps(opened, name, width):
    page = opened(placed(name), viewport={"width": width, "height": 900})
    check_first_picture(page.evaluate(LOOK))


@pytest.mark.parametrize("name", REAL)
def test_first_pictures_of_explorers_can_be_read_and_nothing_overlaps(explored, name):
    check_first_picture(explored(tf.explore(placed(name))).evaluate(LOOK))


LENGTH = {"x": "width", "y": "height"}


def ends(place, axis):
    """Where a box ends, along an axis."""
    return place[axis] + place[LENGTH[axis]]


def meet(one, other, axis):
    """Whether two boxes are beside each other, seen along the other axis."""
    return one[axis] < ends(other, axis) and other[axis] < ends(one, axis)


PLACES = """() => Object.fromEntries([...document.querySelectorAll("#graph g.node, #graph g.cluster")].map((group) => {
    const { x, y, width, height } = group.querySelector("path, polygon").getBoundingClientRect();
    return [group.id, { x, y, width, height }];
}))"""


@pytest.mark.parametrize("name", ["layers_on_devices", "resnet_true", "towers_4", "unet"])
def test_what_is_unfolded_is_in_sight_and_nothing_else_goes_or_changes_its_row(opened, name):
    page = opened(placed(name))
    for box in page.locator("#graph g.node.scope").evaluate_all("(all) => all.map((box) => box.id)")[:6]:
        page.get_by_role("button", name="Fold all").click()
        page.get_by_role("button", name="Fit the whole picture").click()
        before = page.evaluate(PLACES)
        if box not in before:
            continue
        page.mouse.dblclick(
            *(before[box][a] + before[box][b] / 2 for a, b in (("x", "width"), ("y", "height")))
        )
        frame = f"c{box[1:]}"
        page.locator(f"#{frame}").wait_for()
        after = page.evaluate(PLACES)
        canvas = page.locator(
            "#graph .gp-canvas"
        ).bounding_box()  # it takes the height that its picture needs
        assert set(before) - {box} <= set(after)
        at = after[frame]
        for start, length in (("x", "width"), ("y", "height")):
            if at[length] <= canvas[length]:
                assert canvas[start] - 1 <= at[start]
                assert at[start] + at[length] <= canvas[start] + canvas[length] + 1
            else:
                assert canvas[start] - 1 <= at[start] <= canvas[start] + canvas[length] / 2
        # What stood beside or below another still does.
        others = sorted(set(before) - {box})
        for along, across in (("x", "y"), ("y", "x")):
            for one, other in itertools.permutations(others, 2):
                if (
                    meet(before[one], before[other], across)
                    and ends(before[one], along) <= before[other][along]
                ):
                    assert after[one][along] < ends(after[other], along), (along, one, other)


ALL_SEEN = """() => {
    const canvas = document.querySelector(".gp-canvas").getBoundingClientRect();
    return [...document.querySelectorAll("g.node")].every((box) => {
        const { left, top, right, bottom } = box.getBoundingClientRect();
        return left >= canvas.left - 2 && right <= canvas.right + 2 && top >= canvas.top - 2
            && bottom <= canvas.bottom + 2;
    });
}"""


def test_fit_zoom_and_full_screen_work_together(opened):
    page = opened(placed("resnet_true"))

    def press(name):
        page.get_by_role("button", name=name, exact=True).click()
        page.wait_for_timeout(200)

    assert page.evaluate(ALL_SEEN)
    for _ in range(4):
        press("Zoom in")
    assert not page.evaluate(ALL_SEEN)
    press("Full screen")
    page.wait_for_function("document.fullscreenElement !== null")
    press("Fit the whole picture")
    assert page.evaluate(ALL_SEEN)
    press("Zoom out")
    assert page.evaluate(ALL_SEEN)
    press("Full screen")
    page.wait_for_function("document.fullscreenElement === null")
    page.wait_for_timeout(200)
    assert page.evaluate(ALL_SEEN)  # all was in sight, and is
    page.locator("#graph g.node.scope").nth(3).dblclick()
    press("Fit the whole picture")
    assert page.evaluate(ALL_SEEN)
    look = page.evaluate(LOOK)
    assert look["boxes"] > 4


def test_every_box_is_reached_by_arrows_and_opened_by_enter(opened):
    page = opened(placed("towers_8"))
    page.locator("#graph g.node[tabindex='0']").focus()
    reached = set()
    ids = boxes(page)
    # A walk that goes on to what no key has led to yet.
    keys = ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp")
    for start in ids:
        page.evaluate("(id) => document.getElementById(id).focus()", start)
        for key in keys:
            page.evaluate("(id) => document.getElementById(id).focus()", start)
            page.keyboard.press(key)
            now = page.evaluate("document.activeElement.id")
            if now != start:
                reached.add(now)
    assert reached == set(ids)
    page.evaluate("(id) => document.getElementById(id).focus()", ids[0])
    page.keyboard.press("Enter")
    page.locator(f"#c{ids[0][1:]}").wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_view_of_a_model_has_no_violations(opened, screenshots, theme):
    placement = placed("towers_8")
    page = opened(placement, theme=theme, estimate=tf.estimate(placement))
    page.get_by_role("button", name="Show backward").click()
    page.screenshot(path=screenshots / f"model-{theme}.png")
    assert violations(page) == []
