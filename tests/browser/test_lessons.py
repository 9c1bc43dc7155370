"""From the index to a lesson in JupyterLab: follow a link, run the lesson, flip its switch, unfold an answer."""

import pytest

from tests.browser.jupyterlab import open_notebook, run_all

pytestmark = [
    pytest.mark.browser,
    pytest.mark.parametrize("lab", ["JupyterLab Dark"], indirect=True),
]

ACTIVE = ".jp-NotebookPanel:not(.lm-mod-hidden)"


def test_links_of_the_index_open_lessons(page, lab, screenshots):
    from playwright.sync_api import expect

    base, _ = lab
    open_notebook(page, base, "00-index.ipynb")
    page.screenshot(path=screenshots / "index-dark.png")
    page.locator(ACTIVE).get_by_role("link", name="4. How much GPU memory a program takes").click()
    lesson = page.locator(ACTIVE).filter(has_text="4. How much GPU memory")
    expect(lesson.locator("h1").first).to_contain_text("4. How much GPU memory a program takes")
    bars = lesson.locator("img[alt^='GPU memory. GPU_0_bfc']")
    expect(bars).to_have_count(3)
    for picture in bars.all():
        picture.scroll_into_view_if_needed()
        assert picture.evaluate("image => image.complete && image.naturalWidth > 500")
    page.screenshot(path=screenshots / "memory-dark.png")


def test_a_lesson_runs_and_its_answers_unfold(page, lab, screenshots):
    from playwright.sync_api import expect

    base, _ = lab
    open_notebook(page, base, "05-one-gpu-of-several.ipynb")
    run_all(page)
    explorer = page.locator(f"{ACTIVE} .gp-explorer")
    explorer.scroll_into_view_if_needed()
    explorer.locator(".gp-canvas g.node").filter(has_text="MatMul").click()
    expect(explorer.locator(".gp-reason")).to_contain_text("asked for '/device:GPU:2'")
    explorer.get_by_label("GPU 3 ·").uncheck()
    explorer.get_by_label("GPU 2 ·").uncheck()
    expect(explorer.get_by_role("alert")).to_contain_text("was explicitly assigned to /device:GPU:2")
    explorer.get_by_label("Soft placement").check()
    expect(explorer.locator(".gp-reason")).to_contain_text("soft placement")
    page.screenshot(path=screenshots / "lesson-dark.png")
    answers = page.locator(f"{ACTIVE} .jp-MarkdownCell details")
    expect(answers).to_have_count(4)
    answers.first.scroll_into_view_if_needed()
    expect(answers.first.get_by_text("Everything runs on the CPU.")).to_be_hidden()
    answers.first.locator("summary").click()
    expect(answers.first.get_by_text("Everything runs on the CPU.")).to_be_visible()
    expect(answers.first.locator("pre").last).to_contain_text("{'CPU:0': 3}")
    page.screenshot(path=screenshots / "answer-dark.png")
