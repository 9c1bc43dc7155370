"""Files of the project that no program reads, but people do."""

import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import gpuplace

ROOT = Path(__file__).resolve().parents[2]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def make(*arguments: str) -> str:
    """What `make --dry-run` would do for these arguments."""
    result = subprocess.run(
        ["make", "--dry-run", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return result.stdout


def test_nothing_else_stands_at_the_top():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {path.partition("/")[0] for path in tracked.splitlines()} <= {
        *("pyproject.toml", "gpuplace", "notebooks", "tests", "environment.yml", "README.md", "LICENSE"),
        *("CHANGELOG.md", "CONTRIBUTING.md", "Makefile", ".ci", ".gitignore", ".pre-commit-config.yaml"),
    }


def test_no_folder_of_the_package_has_more_files_than_can_be_taken_in():
    tracked = subprocess.run(
        ["git", "ls-files", "gpuplace"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    files = Counter(str(Path(path).parent) for path in tracked.splitlines())
    assert {name: count for name, count in files.items() if count > 25} == {}


def test_ci_runs_what_make_test_runs():
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^exec make test$", text, re.MULTILINE)
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_make_test_runs_every_check():
    steps = make("test")
    for step in (
        "ruff check",
        "ruff format --check",
        "deno lint",
        "deno check",
        "mypy",
        "pytest --doctest-modules gpuplace tests",
    ):
        assert step in steps, step
    assert "--require dot,notebook,browser" in steps


def test_make_demo_opens_the_index_or_executes_the_first_lesson():
    (first,) = [path.name for path in (ROOT / "notebooks").glob("01-*.ipynb")]
    assert (ROOT / "notebooks" / "00-index.ipynb").is_file()
    assert "jupyter lab" in make("demo") and '"notebooks/00-index.ipynb"' in make("demo")
    headless = make("demo", "HEADLESS=1")
    assert f'notebook_to_html.py "notebooks/{first}" build' in headless and "jupyter lab" not in headless


def test_make_docs_builds_the_site_from_the_notebooks_and_fails_on_warnings():
    steps = make("docs")
    assert "--fail-on-warning" in steps and "--conf-dir notebooks/site" in steps
    assert steps.rstrip().splitlines()[-2].endswith("notebooks build/docs")


def test_the_changelog_knows_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{gpuplace.__version__}]" in text


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(name):
    """A path that begins with a folder of ours, or a link without a host, is a file of the project."""
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w/.])((?:gpuplace|tests|tools|notebooks|\.ci)/[\w./-]*[\w/])", text)
    named += [link for link in re.findall(r"\]\(([\w./-]+)\)", text) if "://" not in link]
    assert named
    missing = [path for path in named if not (ROOT / path).exists()]
    assert missing == []
