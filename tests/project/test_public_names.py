"""The names of ``import gpuplace as tf``: which there are, what ``dir`` shows, and that no package hides a function."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import gpuplace

SOURCE = Path(gpuplace.__file__)


def imported() -> set[str]:
    """What the façade and its core import by name, and ``__all__`` of the modules of which they import all."""
    found: set[str] = set()
    core = Path(importlib.import_module("gpuplace.api.core").__file__)
    texts = [path.read_text(encoding="utf-8") for path in (SOURCE, core)]
    for node in [node for text in texts for node in ast.parse(text).body]:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gpuplace"):
            names = {alias.asname or alias.name for alias in node.names}
            found |= set(importlib.import_module(node.module).__all__) if names == {"*"} else names
    return {name for name in found if not name.startswith("_")}


def test_all_is_complete():
    missing = imported() - set(gpuplace.__all__)
    assert not missing, f"gpuplace/__init__.py: add to __all__ {sorted(missing)}"
    assert len(gpuplace.__all__) == len(set(gpuplace.__all__))


def test_all_names_are_there():
    for name in gpuplace.__all__:
        assert getattr(gpuplace, name) is not None or name == "newaxis", name


def test_dir_shows_public_names_only():
    shown = [name for name in dir(gpuplace) if not name.startswith("__")]
    assert shown == sorted(gpuplace.__all__)
    packages = {path.stem for path in SOURCE.parent.iterdir() if not path.stem.startswith("_")}
    public = {"device", "dtypes", "errors", "kernels"}  # TensorFlow's and our names, which packages have too
    assert packages & set(shown) == public


def test_public_names_stay_what_they_are_when_everything_is_loaded():
    """``tf.device`` and ``tf.kernels`` are functions, and there are packages of these names."""
    code = """
import importlib, pkgutil, gpuplace
before = {name: getattr(gpuplace, name) for name in gpuplace.__all__}
for module in pkgutil.walk_packages(gpuplace.__path__, "gpuplace."):
    if not module.name.endswith(("cupy_backend", "__main__")):
        importlib.import_module(module.name)
changed = [name for name, value in before.items() if getattr(gpuplace, name) is not value]
print(changed, callable(gpuplace.device), callable(gpuplace.kernels))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split("\n")[-2] == "[] True True"


def test_tools_stand_first_in_the_docstring():
    text = gpuplace.__doc__
    tools = [
        "place",
        "explore",
        "parse_log",
        "timeline",
        "kernels",
        "use_machine",
        "Machine",
        "reset_runtime",
    ]
    places = [text.index(f"\n``{tool}") for tool in tools]
    assert places == sorted(places) and max(places) < text.index("All other names are TensorFlow")
    assert gpuplace.__all__[: len(tools)] == tools


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(gpuplace, "nonsense") and not hasattr(gpuplace, "attach")
