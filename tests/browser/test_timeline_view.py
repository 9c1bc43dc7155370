"""The timeline's page alone, without a notebook: lanes, keys, zoom, search and themes in Chromium."""

import base64
import json
import re

import pytest

import gpuplace as tf
from gpuplace.jupyter.explorer.views import STYLE
from gpuplace.jupyter.timeline_view import TimelineView
from gpuplace.web.modules import widget_module
from tests.views.timelines.steps import busy_step, crowded_step, tower_step

pytestmark = [pytest.mark.browser]

PAGE = """<!doctype html><html theme="%(theme)s"><head><style>%(style)s
html[theme="dark"] { --jp-ui-font-color1: #e6e9ed; --jp-ui-font-color2: #a5adb8; --jp-layout-color1: #16191d;
  --jp-layout-color2: #20252b; --jp-border-color1: #565d66; --jp-border-color2: #383e46; background: #16191d; }
</style></head><body><div id="el"></div><script type="module">
const text = %(script)s;
const { default: view } = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
const state = %(state)s;
const raw = Uint8Array.from(atob(state.columns), (letter) => letter.charCodeAt(0));
state.columns = new DataView(raw.buffer);
window.sent = [];
const heard = {};
window.set = (key, value) => { state[key] = value; (heard[`change:${key}`] ?? []).forEach((act) => act()); };
const model = {
  get: (key) => state[key],
  on: (what, act) => (heard[what] ??= []).push(act),
  send: (message) => window.sent.push(message),
};
view.render({ model, el: document.getElementById("el") });
</script></body></html>"""


def in_script(value):
    """The value as JavaScript inside a script element."""
    return json.dumps(value).replace("</", "<\\/")


def page_of(browser, timeline, theme="light"):
    """A page that shows a timeline."""
    view = TimelineView(timeline)
    state = {
        "step": view.step,
        "columns": base64.b64encode(view.columns).decode(),
        "colour": view.colour,
        "goto": {},
    }
    script = in_script(widget_module("gpuplace/widgets/timeline_view.js"))
    page = browser.new_page(viewport={"width": 1200, "height": 620})
    errors = page.errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(PAGE % {"theme": theme, "style": STYLE, "script": script, "state": in_script(state)})
    page.locator(".gp-lanes[data-drawn]").wait_for()
    return page


def said(page):
    return page.locator(".gp-timeline-said").inner_text()


def span(page):
    page.wait_for_timeout(60)
    canvas = page.locator(".gp-lanes")
    return float(canvas.get_attribute("data-from")), float(canvas.get_attribute("data-to"))


@pytest.fixture
def page(request, browser):
    theme = getattr(request, "param", "light")
    tf.use_machine("2x Tesla K40c")
    page = page_of(browser, tower_step(), theme)
    page.theme = theme
    yield page
    assert page.errors == []
    page.close()


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_keys_go_from_event_to_event(page, screenshots):
    canvas = page.get_by_role("application")
    assert "ops on 3 devices" in canvas.get_attribute("aria-label")
    canvas.focus()
    page.keyboard.press("ArrowDown")
    assert "on GPU:0" in said(page), "GPUs come first"
    assert canvas.get_attribute("aria-label") == said(page)
    page.keyboard.press("ArrowDown")
    assert "on GPU:1" in said(page)
    first = said(page)
    away, back = "ArrowRight", "ArrowLeft"
    page.keyboard.press(away)
    if said(page) == first:  # the last one of its lane
        away, back = back, away
        page.keyboard.press(away)
    assert said(page) != first
    page.keyboard.press(back)
    assert said(page) == first
    page.keyboard.press("c")
    assert "on the critical path" in said(page)
    page.screenshot(path=screenshots / f"timeline_{page.theme}.png")
    selected = page.evaluate("window.sent.filter((m) => m.type === 'select').length")
    assert selected == 5
    page.keyboard.press("Escape")
    assert said(page) == ""


def test_zoom_by_button_key_and_wheel(page):
    canvas = page.get_by_role("application")
    whole = span(page)
    page.get_by_role("button", name="Zoom in").click()
    closer = span(page)
    assert closer[0] > whole[0] and closer[1] < whole[1]
    canvas.focus()
    page.keyboard.press("Shift+ArrowRight")
    assert span(page)[0] > closer[0]
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 40)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    nearest = span(page)
    assert nearest[1] - nearest[0] < closer[1] - closer[0]
    page.mouse.wheel(0, 200)
    assert span(page) == nearest
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 40)
    page.mouse.up()
    assert span(page)[0] < nearest[0]
    page.get_by_role("button", name="Show the whole step").click()
    assert span(page) == whole


def test_search_lights_what_matches(page):
    page.get_by_role("searchbox").fill("tower_1/")
    matched = int(re.match(r"(\d+) of", said(page))[1])
    assert matched >= 2
    page.keyboard.press("Enter")
    assert said(page).startswith("tower_1/")


def test_hints_go_to_their_node(page):
    hints = page.locator(".gp-timeline-notes ul").first
    assert "waits" in hints.inner_text() and "With this request" in hints.inner_text()
    hints.get_by_role("button").first.click()
    assert said(page).startswith(hints.get_by_role("button").first.inner_text())


def test_many_events_are_drawn_a_pixel_at_a_time(browser):
    page = page_of(browser, busy_step(60_000))
    canvas = page.locator(".gp-lanes")
    assert int(canvas.get_attribute("data-boxes")) < 3000 * 4
    took = page.evaluate(
        """async () => {
            const canvas = document.querySelector('.gp-lanes');
            const begin = performance.now();
            for (let i = 0; i < 10; i += 1) {
                const before = canvas.dataset.drawn;
                document.querySelector('button[title="Zoom in"]').click();
                while (canvas.dataset.drawn === before) await new Promise((done) => setTimeout(done, 1));
            }
            return (performance.now() - begin) / 10;
        }"""
    )
    assert took < 250
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + 700, box["y"] + 34)
    assert re.match(r"op_\d+ \(Add\) on", said(page))
    assert page.errors == []
    page.close()


def test_the_page_follows_the_model(page):
    before = int(page.locator(".gp-lanes").get_attribute("data-drawn"))
    page.evaluate("window.set('goto', {event: 2, number: 1})")
    page.wait_for_function(f"Number(document.querySelector('.gp-lanes').dataset.drawn) > {before}")
    assert said(page) != ""
    assert page.evaluate("window.sent.length") == 0
    page.evaluate("window.set('goto', {node: 'tower_1/out', number: 2})")
    assert said(page).startswith("tower_1/out (MatMul)")
    page.evaluate("window.set('goto', {node: 'not there', number: 3})")
    assert said(page) == ""
    assert page.evaluate("window.sent.length") == 0
    legend = page.locator(".gp-timeline-legend")
    assert "GPU:1" in legend.inner_text()
    page.evaluate("window.set('colour', 'op type')")
    assert "MatMul" in legend.inner_text() and page.get_by_label("Colour boxes by").input_value() == "op type"


def test_the_page_says_what_python_says(browser):
    tf.use_machine("2x Tesla K40c")
    timeline = tower_step()
    page = page_of(browser, timeline)
    said = []
    for event in range(len(timeline)):
        page.evaluate(f"window.set('goto', {{event: {event}, number: {event}}})")
        said.append(page.locator(".gp-timeline-said").inner_text().partition("; last input: ")[2])
    assert said == [timeline.waits_for(event) for event in range(len(timeline))]
    assert any("copy of" in text for text in said) and any(" on GPU:1" in text for text in said)
    page.close()


def test_many_lanes_scroll(browser):
    page = page_of(browser, crowded_step(50), "dark")
    canvas = page.locator(".gp-lanes")
    canvas.focus()
    for _ in range(40):
        page.keyboard.press("ArrowDown")
    assert "CPU:0 (40)" in said(page)
    assert page.evaluate("document.querySelector('.gp-lanes-box').scrollTop") > 500
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + 500, box["y"] + box["height"] - 12)
    assert "CPU:0 (4" in said(page)
    assert page.errors == []
    page.close()
