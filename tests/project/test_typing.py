"""What type checkers see of the package: mypy, strict, on programs that use it and on every public name.

Of the package itself `make types` tells; both use one cache, as the options are those of ``pyproject.toml``.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gpuplace
import gpuplace.typing

ROOT = Path(__file__).resolve().parents[2]
USER = Path(__file__).with_name("user_program.py")
WRONG = Path(__file__).with_name("wrong_program.py")


def every_name() -> str:
    """A program that names all that is public, namespaces included."""
    names = [f"gpuplace.{name}" for name in gpuplace.__all__]
    for name in gpuplace.__all__:
        if isinstance(space := getattr(gpuplace, name), ModuleType):
            names += [f"gpuplace.{name}.{inner}" for inner in getattr(space, "__all__", ())]
    return "\n".join(["import gpuplace", *names, ""])


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """File name -> ``(line, code)`` of the errors of one run of mypy over all programs."""
    names = tmp_path_factory.mktemp("typing") / "every_name.py"
    names.write_text(every_name(), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", str(USER), str(WRONG), str(names)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode in (0, 1), result.stderr
    found: dict[str, list[tuple[int, str]]] = {}
    for line in result.stdout.splitlines():
        if match := re.fullmatch(r"(.+?):(\d+): error: .*\[([\w-]+)\]", line):
            found.setdefault(Path(match[1]).name, []).append((int(match[2]), match[3]))
    return found


def test_a_right_program_passes(complaints):
    assert complaints.get(USER.name) is None


def test_every_public_name_is_seen(complaints):
    assert complaints.get("every_name.py") is None


def test_mistakes_are_found(complaints):
    lines = WRONG.read_text(encoding="utf-8").splitlines()
    expected = [(number, line.split("  # ")[1]) for number, line in enumerate(lines, 1) if "  # " in line]
    assert sorted(set(complaints[WRONG.name])) == expected


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "gpuplace" / "py.typed").read_bytes() == b""


def test_the_names_of_types_are_those_of_their_stub():
    """`gpuplace.typing` has, where a program runs, the names that its stub gives to type checkers."""
    stub = ast.parse((ROOT / "gpuplace" / "typing.pyi").read_text(encoding="utf-8"))
    named = {node.name for node in stub.body if isinstance(node, ast.ClassDef)}
    named |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert set(dir(gpuplace.typing)) == named
