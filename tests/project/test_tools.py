"""The scripts behind `make`: a notebook to a page, and the system packages."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.browser.jupyterlab import chromium_path

TOOLS = Path(__file__).resolve().parents[1] / "tools"


def to_html(folder: Path, *cells: str) -> subprocess.CompletedProcess[str]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, folder / "lesson.ipynb")
    return subprocess.run(
        [
            sys.executable,
            str(TOOLS / "notebook_to_html.py"),
            str(folder / "lesson.ipynb"),
            str(folder / "out"),
        ],
        capture_output=True,
        text=True,
    )


CELLS = (
    "import ipywidgets\nslider = ipywidgets.IntSlider()\nslider",
    "from IPython.display import HTML\nHTML('<b>six times seven</b>')",
    "print(6 * 7)",
)


@pytest.fixture(scope="module")
def lesson(tmp_path_factory) -> Path:
    """The page of a notebook."""
    folder = tmp_path_factory.mktemp("lesson")
    result = to_html(folder, *CELLS)
    assert result.returncode == 0, result.stderr
    return folder / "out" / "lesson.html"


@pytest.mark.notebook
def test_a_notebook_becomes_a_page(lesson):
    page = lesson.read_text(encoding="utf-8")
    assert "<pre>42\n</pre>" in page and "six times seven" in page and "IntSlider(value=0)" in page
    assert "unpkg" not in page


@pytest.mark.notebook
@pytest.mark.browser
def test_the_page_asks_no_other_host(lesson):
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(lesson.as_uri())
        page.wait_for_load_state("networkidle")
        assert "six times seven" in page.inner_text("body")
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert faults == []


@pytest.mark.notebook
def test_a_cell_that_fails_fails_the_command(tmp_path):
    result = to_html(tmp_path, "1 / 0")
    assert result.returncode == 1
    assert "ZeroDivisionError" in result.stderr and "a cell failed" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_notebook_that_does_not_exist(tmp_path):
    result = subprocess.run(
        [sys.executable, str(TOOLS / "notebook_to_html.py"), "nowhere.ipynb", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stderr) == (1, "nowhere.ipynb: there is no such notebook\n")


@pytest.fixture
def system(tmp_path: Path):
    """`system(uid, *packages, **programs)` runs the script where only these programs exist, and returns what they
    were asked."""

    def run(uid: int, *packages: str, apt: bool = True, sudo: bool = False) -> tuple[int, str, list[str]]:
        programs = tmp_path / "bin"
        programs.mkdir()
        log = tmp_path / "log"
        log.touch()

        def program(name: str, body: str) -> None:
            (programs / name).write_text(f"#!/bin/bash\n{body}\n")
            (programs / name).chmod(0o755)

        for name in ("env", "mktemp", "rm", "tail", "bash"):
            (programs / name).symlink_to(f"/usr/bin/{name}")
        program("id", f"echo {uid}")
        program("dpkg-query", '[[ "${!#}" = graphviz || "${!#}" = chrome ]] && echo -n installed')
        program("apt-cache", '[ "${!#}" != unheard-of ]')
        if apt:
            program(
                "apt-get",
                f'echo "apt-get $*" >> {log}; [ "${{!#}}" != nonsense ] || {{ echo cannot; exit 100; }}',
            )
        if sudo:
            program("sudo", f'echo "sudo $*" >> {log}; exec "$@"')
        result = subprocess.run(
            [str(TOOLS / "install_system_packages.sh"), *packages],
            env=os.environ | {"PATH": str(programs)},
            capture_output=True,
            text=True,
        )
        return result.returncode, result.stderr, log.read_text().splitlines()

    return run


def test_nothing_is_asked_when_all_is_there(system):
    assert system(0, "graphviz") == (0, "", [])


def test_root_updates_and_installs_what_is_missing(system):
    code, _, asked = system(0, "graphviz", "chromium", "fonts-liberation")
    assert code == 0
    assert asked == [
        "apt-get update",
        "apt-get install --yes --no-install-recommends chromium fonts-liberation",
    ]


@pytest.mark.parametrize(
    ("choice", "installed"),
    [
        ("chromium|chrome", "chromium graphviz-dev"),
        ("unheard-of|chromium|chrome", "chromium graphviz-dev"),
        ("unheard-of|chrome", "chrome graphviz-dev"),
        ("graphviz|chromium", "graphviz-dev"),
    ],
)
def test_the_first_of_several_that_is_known_is_installed(system, choice, installed):
    code, _, asked = system(0, choice, "graphviz-dev")
    assert (code, asked[1:]) == (0, [f"apt-get install --yes --no-install-recommends {installed}"])


def test_what_is_there_will_do_where_nothing_can_be_installed(system):
    assert system(1000, "chromium|chrome") == (0, "", [])


def test_what_is_there_will_do_where_apt_fails(system):
    code, message, _ = system(0, "nonsense|chrome")
    assert code == 0 and "cannot" in message and "do without them" in message


def test_others_ask_sudo(system):
    code, _, asked = system(1000, "chromium", sudo=True)
    assert code == 0
    assert asked[0] == "sudo apt-get update" and asked[2].startswith(
        "sudo env DEBIAN_FRONTEND=noninteractive apt-get"
    )


def test_without_root_or_sudo_the_command_is_named(system):
    code, message, asked = system(1000, "chromium")
    assert (code, asked) == (1, [])
    assert "Run as root: apt-get install chromium" in message


def test_without_apt_the_packages_are_named(system):
    code, message, _ = system(0, "chromium", apt=False)
    assert code == 1 and "no apt-get" in message and "chromium" in message


def test_a_failed_install_shows_what_apt_said(system):
    code, message, _ = system(0, "nonsense")
    assert code == 1 and "cannot" in message
