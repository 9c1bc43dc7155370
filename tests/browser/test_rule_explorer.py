"""The explorer of rules in JupyterLab: moved with the keyboard, in both themes."""

import pytest

from tests.browser.accessibility import violations
from tests.browser.conftest import VIEWPORT, write_notebook
from tests.browser.jupyterlab import Watch, open_notebook, run_all

pytestmark = [pytest.mark.browser, pytest.mark.notebook]

RULES = """
import gpuplace as tf

def product(dtype):
    x = tf.placeholder(dtype, [2, 2], name="x")
    return tf.matmul(x, x, name="product")

tf.explore_rules(product, machine="2x Tesla K40c")
"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_rules_strike_devices_out(browser, jupyter, theme, screenshots):
    from playwright.sync_api import expect

    with jupyter.fresh(theme) as base:
        write_notebook(jupyter.root / "rules.ipynb", RULES)
        page = browser.new_page(viewport=VIEWPORT)
        watch = Watch(base).over(page)
        open_notebook(page, base, "rules.ipynb")
        run_all(page)
        shown = page.locator(".jp-OutputArea-output")
        expect(shown.locator("del")).to_have_text(["CPU:0", "GPU:1"])
        shown.get_by_label("tf.device").focus()
        page.keyboard.press("End")
        expect(shown).to_contain_text("which the machine does not have")
        page.keyboard.press("ArrowUp")
        expect(shown.locator("del")).to_have_text(["CPU:0", "GPU:0"])
        page.keyboard.press("Tab")
        page.keyboard.press("End")
        expect(shown).to_contain_text("has no device")
        shown.get_by_label("soft placement").focus()
        page.keyboard.press("Space")
        expect(shown).to_contain_text("soft placement: asks for '/device:GPU:1'")
        page.screenshot(path=screenshots / f"rules_{theme.split()[-1].lower()}.png")
        assert violations(page, ".jp-OutputArea-output") == []
        page.close()
    assert watch.errors == [] and watch.elsewhere == []
