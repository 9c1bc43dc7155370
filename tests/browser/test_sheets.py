"""The style sheets as Chromium understands them: no selector and no declaration that it would drop."""

import re

import pytest

from gpuplace.web.sheets import PAGE_SHEETS, page_colours_sheet, sheet

pytestmark = [pytest.mark.browser]

TEXT = re.sub(r"/\*.*?\*/", "", "\n".join([page_colours_sheet(), sheet(PAGE_SHEETS)]), flags=re.DOTALL)


@pytest.fixture
def page(browser):
    page = browser.new_page()
    yield page
    page.close()


def test_every_declaration_is_understood(page):
    declared = re.findall(r"([\w-]+)\s*:\s*([^;{}]+);", TEXT)
    pairs = sorted({(name, value) for name, value in declared if not name.startswith("--")})
    assert len(pairs) > 200
    wrong = page.evaluate(
        "pairs => pairs.filter(([name, value]) => !CSS.supports(name, value.replace('!important', '').trim()))",
        pairs,
    )
    assert wrong == []


def test_every_selector_is_understood(page):
    kept = page.evaluate(
        """text => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync(text);
            const inner = (rule) => (rule.cssRules ? count(rule.cssRules) : 0);
            const count = (rules) => [...rules].reduce((sum, rule) => sum + 1 + inner(rule), 0);
            return count(sheet.cssRules);
        }""",
        TEXT,
    )
    assert kept == TEXT.count("{")
