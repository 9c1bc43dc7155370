"""Pictures of a notebook's outputs in Chromium: in the theme of the page around them, live and saved."""

import base64

import pytest

import gpuplace as tf
from gpuplace.jupyter.timeline_view import timeline_html
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
from gpuplace.runtime.memory.device_memory import DeviceMemory
from gpuplace.views.picture.memory_map import memory_html
from tests.jupyter.programs import layered

pytestmark = [pytest.mark.browser]

LIGHTS = """async ([data]) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const sheet = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    sheet.drawImage(picture, 0, 0);
    const lights = [];
    for (let x = 0; x < picture.width; x += 2) {
        for (let y = 0; y < picture.height; y += 2) {
            const [r, g, b] = sheet.getImageData(x, y, 1, 1).data;
            lights.push(0.2126 * r + 0.7152 * g + 0.0722 * b);
        }
    }
    lights.sort((a, b) => a - b);
    return [lights[lights.length >> 1], lights[0], lights.at(-1)];
}"""
"""Of a screenshot: how light most of it is, the darkest and the lightest; 0 to 255."""


def output(kind):
    """The HTML of an output with a picture."""
    if kind == "placement":
        picture = tf.place(layered(3), "2x Tesla K20m").picture(open=["tower_0"], table=False)
        return picture._repr_mimebundle_()["text/html"]
    if kind == "memory":
        allocator = BFCAllocator(DeviceMemory(8 << 20), 8 << 20, allow_growth=True)
        allocator.allocate(768 << 10, label="weights")
        return memory_html(allocator)
    step = tf.RunMetadata()
    device = step.step_stats.dev_stats.add(device="/device:GPU:0")
    device.node_stats.add(node_name="a", all_end_rel_micros=40)
    return timeline_html(tf.timeline(step))


@pytest.mark.parametrize("kind", ["placement", "memory", "timeline"])
@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_picture_is_as_the_page_around_it(browser, screenshots, kind, system):
    page = browser.new_page(viewport={"width": 1100, "height": 700}, color_scheme=system)
    html = output(kind)
    for mark, is_dark in (
        ('data-jp-theme-light="true"', False),
        ('data-jp-theme-light="false"', True),
        ('class="vscode-dark"', True),
        ("", False),  # a page with no theme of its own is light, whatever the system is
    ):
        page.set_content(f"<!doctype html><body {mark}>{html}</body>")
        picture = page.locator("img.gp-still")
        picture.evaluate("(image) => image.decode()")
        shot = picture.screenshot(path=screenshots / f"{kind}-{system}-{is_dark}.png")
        most, darkest, lightest = page.evaluate(LIGHTS, [base64.b64encode(shot).decode()])
        assert (most < 60) == is_dark and (most > 190) == (not is_dark)
        assert lightest > 190 and darkest < 60  # words stand out
    page.close()


def test_a_theme_that_was_asked_for_stays(browser):
    page = browser.new_page()
    for theme, is_dark in (("light", False), ("dark", True)):
        html = tf.place(layered(2), "2x Tesla K20m").picture(theme=theme)._repr_mimebundle_()["text/html"]
        page.set_content(f'<!doctype html><body data-jp-theme-light="{str(is_dark).lower()}">{html}</body>')
        picture = page.locator("img")
        picture.evaluate("(image) => image.decode()")
        most, _, _ = page.evaluate(LIGHTS, [base64.b64encode(picture.screenshot()).decode()])
        assert (most < 60) == is_dark
    page.close()
