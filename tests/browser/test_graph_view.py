"""The picture's page alone, without a notebook: overview, downloads, marks and themes in Chromium."""

import json
import re
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.jupyter import render
from gpuplace.jupyter.explorer.views import STYLE
from gpuplace.jupyter.pictures import legend_chips, picture_sheet
from gpuplace.views.picture.outline import outline
from gpuplace.views.tables.palette import device_style
from gpuplace.views.tables.placement_view import view_of
from gpuplace.web.modules import widget_module
from tests.jupyter.programs import layered, towers

pytestmark = [pytest.mark.browser]

PAGE = """<!doctype html><html theme="%(theme)s"><head><style>%(style)s
html[theme="dark"] { --jp-ui-font-color1: #e6e9ed; --jp-ui-font-color2: #a5adb8; --jp-layout-color1: #16191d;
  --jp-layout-color2: #20252b; --jp-border-color1: #565d66; --jp-border-color2: #383e46; background: #16191d; }
</style></head><body><div id="el"></div><script type="module">
const text = %(script)s;
const { default: view } = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
const state = %(state)s;
window.sent = [];
const heard = {};
const on = (event, callback) => (heard[event] ??= []).push(callback);
const model = { get: (key) => state[key], on, send: (message) => window.sent.push(message) };
window.change = (values) => {
  Object.assign(state, values);
  for (const name of Object.keys(values)) for (const callback of heard[`change:${name}`] ?? []) callback();
};
view.render({ model, el: document.getElementById("el") });
</script></body></html>"""


def in_script(value):
    """The value as JavaScript inside a script element."""
    return json.dumps(value).replace("</", "<\\/")


def page_of(browser, placement, opened=None, theme="light", **options):
    """A page that shows the picture of a placement."""
    sheet = picture_sheet(placement, opened, **options)
    state = {
        "svg": render.sheet_svg(sheet, legend=False, transparent=True),
        "legend": legend_chips(sheet),
        "notes": [["plain", text] for _, text in sheet.notes],
        "detail": {},
        "summary": "Placement graph",
        "notice": "",
        "selected_box": "",
    }
    return page_with(browser, state, theme)


def page_with(browser, state, theme="light", width=1300, height=760):
    """A page that shows a picture whose widget has this state."""
    state = {name: value for name, value in state.items() if not name.startswith("_")}
    script = in_script(widget_module("gpuplace/widgets/graph_view.js"))
    page = browser.new_page(viewport={"width": width, "height": height}, accept_downloads=True)
    errors = page.errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(PAGE % {"theme": theme, "style": STYLE, "script": script, "state": in_script(state)})
    page.locator(".gp-canvas[data-drawn]").wait_for()
    return page


@pytest.fixture(scope="module")
def placement():
    return tf.place(towers(), machine="4x Tesla K20m")


@pytest.fixture(params=["light", "dark"])
def page(request, browser, placement):
    page = page_of(browser, placement, theme=request.param)
    yield page
    assert page.errors == []
    page.close()


def test_the_overview_shows_while_something_is_out_of_sight(page, screenshots):
    overview = page.get_by_role("img", name="Overview")
    assert overview.count() == 0
    for _ in range(5):
        page.get_by_role("button", name="Zoom in").click()
    assert overview.is_visible()
    assert overview.locator("rect:not(.gp-map-frame)").count() == 7
    page.screenshot(path=screenshots / "overview.png")
    before = page.evaluate("document.querySelector('.gp-canvas > svg').viewBox.baseVal.x")
    box = overview.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 3, box["y"] + 3)
    after = page.evaluate("document.querySelector('.gp-canvas > svg').viewBox.baseVal.x")
    assert after > before
    assert page.evaluate("window.sent.filter((message) => message.type !== 'canvas')") == []
    page.get_by_role("button", name="Fit the whole picture").click()
    assert not overview.is_visible()


def test_a_picture_too_large_to_be_read_begins_readable(browser, screenshots):
    placement = tf.place(layered(60), machine="2x Tesla K40c")
    stretches = [
        path for path in outline(view_of(placement)).paths if path.startswith("tower_0/") and "…" in path
    ]
    page = page_of(browser, placement, ["tower_0", *stretches])
    assert page.locator("g.node.scope, g.node.op").count() > 50
    heights = page.evaluate(
        "[...document.querySelectorAll('.gp-canvas g.node.scope')].map((g) => g.getBoundingClientRect().height)"
    )
    assert min(heights) > 30
    assert page.get_by_role("img", name="Overview").is_visible()
    page.screenshot(path=screenshots / "long.png")
    page.get_by_role("button", name="Fit the whole picture").click()
    assert not page.get_by_role("img", name="Overview").is_visible()
    assert page.errors == []
    page.close()


def test_download_as_svg(page, tmp_path):
    with page.expect_download() as started:
        page.get_by_role("button", name="Download the picture as SVG").click()
    target = tmp_path / started.value.suggested_filename
    started.value.save_as(target)
    assert target.name == "placement.svg"
    text = target.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = "".join(root.itertext())
    assert "MatMul_1" in words and "GPU:2: 3" in words and "2 copies between devices" in words
    assert "var(" not in text and "tabindex" not in text
    blue = int(device_style("/gpu:2").fill[5:7], 16)
    assert re.search(rf"rgb\(\d+, \d+, {blue}\)", text)


def test_download_as_png(page, tmp_path, screenshots):
    page.get_by_role("button", name="Zoom in").click()
    with page.expect_download() as started:
        page.get_by_role("button", name="Download the picture as PNG").click()
    target = Path(tmp_path) / started.value.suggested_filename
    started.value.save_as(target)
    data = target.read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 10_000
    width, height = struct.unpack(">II", data[16:24])
    assert width > 1000 and height > 600
    (screenshots / "downloaded.png").write_bytes(data)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_can_be_read_on_what_is_below_it(browser, theme, screenshots):
    placement = tf.place(layered(4), machine="2x Tesla K40c")
    page = page_of(browser, placement, ["tower_0"], theme, pattern="add", path=True, colour="cause")
    page.screenshot(path=screenshots / f"marks-{theme}.png")
    assert page.locator("g.node.found").count() >= 1 and page.locator("g.edge.path").count() >= 1
    # Words lie inside their boxes.
    outside = page.evaluate(
        """() => [...document.querySelectorAll('.gp-canvas g.node.op, .gp-canvas g.node.scope')].filter((group) => {
          const box = group.querySelector('path').getBBox();
          return [...group.querySelectorAll('text')].some((text) => {
            const t = text.getBBox();
            return t.x < box.x || t.x + t.width > box.x + box.width || t.y < box.y - 1
              || t.y + t.height > box.y + box.height + 1;
          });
        }).map((group) => group.id)"""
    )
    assert outside == []
    assert page.errors == []
    page.close()


def test_what_is_unfolded_stays_under_the_pointer(browser):
    """Python lays the picture out again; the script shows the same place of it."""
    placement = tf.place(layered(12), machine="2x Tesla K40c")
    svg = {
        opened: render.sheet_svg(picture_sheet(placement, opened), legend=False, transparent=True)
        for opened in ((), ("tower_1",))
    }
    page = page_of(browser, placement, [])
    box = page.locator("g.node[aria-label^=tower_1]")
    number = box.get_attribute("id")[1:]
    at = box.bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    page.mouse.dblclick(x, y)
    assert page.evaluate("window.sent.at(-1)") == {"type": "toggle", "id": f"s{number}"}
    page.evaluate("(svg) => window.change({ svg })", svg[("tower_1",)])
    frame = page.locator(f"g.cluster#c{number}").bounding_box()
    assert frame["x"] < x < frame["x"] + frame["width"] and frame["y"] < y < frame["y"] + frame["height"]
    x, y = frame["x"] + 5, frame["y"] + 5
    page.mouse.dblclick(x, y)
    assert page.evaluate("window.sent.at(-1)") == {"type": "toggle", "id": f"c{number}"}
    page.evaluate("(svg) => window.change({ svg })", svg[()])
    at = box.bounding_box()
    assert abs(at["x"] + at["width"] / 2 - x) < 3 and abs(at["y"] + at["height"] / 2 - y) < 3
    assert page.errors == []
    page.close()
