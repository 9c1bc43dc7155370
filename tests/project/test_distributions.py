"""The wheel and the sdist hold the whole package, and an installed wheel works without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import gpuplace

ROOT = Path(__file__).resolve().parents[2]
LESSON = ROOT / "notebooks" / "01-devices-and-names.ipynb"
RUN_CODE_CELLS = """
import json, sys
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), sys.argv[1], "exec"), globals())
import gpuplace
print(gpuplace.__file__)
"""


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The wheel and the sdist, built from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), "-t", "wheel", "-t", "sdist"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def package_files() -> set[str]:
    """Paths of the package's files in the checkout, without what running it leaves behind."""
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / "gpuplace").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_both_are_named_after_the_version(distributions):
    wheel, sdist = distributions
    assert wheel.name == f"gpuplace-{gpuplace.__version__}-py3-none-any.whl"
    assert sdist.name == f"gpuplace-{gpuplace.__version__}.tar.gz"


def test_the_wheel_holds_the_package_and_nothing_else(distributions):
    with zipfile.ZipFile(distributions[0]) as files:
        names = {name for name in files.namelist() if ".dist-info/" not in name and ".data/" not in name}
    server = "gpuplace/jupyter/server/"
    expected = {name.removeprefix(server) for name in package_files()}
    extension = {name for name in expected if "/labextension/" in name or name.endswith("server-config.json")}
    assert names - expected == set()
    assert expected - names <= extension  # those go where JupyterLab looks for them


def test_the_sdist_holds_what_builds_and_tests_it(distributions):
    with tarfile.open(distributions[1]) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert package_files() <= names
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "tests/conftest.py",
        f"notebooks/{LESSON.name}",
    } <= names


def test_the_installed_wheel_runs_the_first_lesson(distributions, tmp_path):
    """In an environment of its own, with the dependencies of this one, as a test fetches nothing."""
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    paths = {"base": str(tmp_path / "env"), "platbase": str(tmp_path / "env")}
    installed = Path(sysconfig.get_path("purelib", vars=paths))
    with zipfile.ZipFile(distributions[0]) as files:
        files.extractall(installed)
    (installed / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GPUPLACE"))
    }

    def output_of(*arguments: str) -> str:
        return subprocess.run(
            [python, *arguments], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert output_of("-m", "gpuplace", "--version") == f"gpuplace {gpuplace.__version__}\n"
    assert output_of("-c", RUN_CODE_CELLS, str(LESSON)).splitlines()[-1].startswith(str(installed))
