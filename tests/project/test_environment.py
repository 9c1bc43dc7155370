"""environment.yml names for conda what pyproject.toml names for pip."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Where conda-forge has another name, or another package, for what PyPI calls so.
CONDA_NAMES = {
    "ml-dtypes": "ml_dtypes",
    "graphviz": "python-graphviz",
    "graphviz-pure": "graphviz",
    "playwright": "playwright-python",
    "cupy-cuda12x": "cupy",
    "cupy-cuda13x": "cupy",
}
# Not asked for unless its mark is removed: what only some machines can have.
ON_REQUEST = {"cuda12", "cuda13", "oracle"}
# Another package with versions of its own.
OTHER_VERSIONS = {"graphviz"}


def split(requirement: str) -> tuple[str, str]:
    """(name, bound) of a pip or conda requirement: `numpy>=1.26` and `numpy >=1.26` are the same."""
    name, bound = re.fullmatch(r"([A-Za-z0-9_.-]+?)\s*([=<>!].*)?", requirement.strip()).groups()
    return name, (bound or "").replace(" ", "").replace("==", "=")


def conda() -> tuple[dict[str, str], dict[str, str]]:
    """The requirements of environment.yml: those in force, and those behind a mark."""
    text = (ROOT / "environment.yml").read_text(encoding="utf-8").partition("dependencies:")[2]
    lines = [re.sub(r"\s# .*", "", line).strip() for line in text.splitlines()]
    in_force = dict(split(line[2:]) for line in lines if line.startswith("- ") and line != "- pip:")
    on_request = dict(split(line[5:]) for line in lines if line.startswith("#? - "))
    return in_force, on_request


def pip() -> tuple[dict[str, str], dict[str, str]]:
    """The requirements of pyproject.toml under conda's names, divided the same way."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    in_force = {"python": project["requires-python"], "pip": ""}
    on_request: dict[str, str] = {}
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    for extra, requirements in groups.items():
        target = on_request if extra in ON_REQUEST else in_force
        for name, bound in map(split, requirements):
            conda_name = CONDA_NAMES.get(name, name)
            target[conda_name] = max(bound, target.get(conda_name, ""))
    return in_force, on_request


def test_both_files_name_the_same_set():
    for ours, theirs in zip(conda(), pip(), strict=True):
        assert sorted(ours) == sorted(theirs)


def test_both_files_give_the_same_bounds():
    for ours, theirs in zip(conda(), pip(), strict=True):
        for name in set(ours) - OTHER_VERSIONS:
            assert ours[name] == theirs[name], name


def test_the_name_map_holds_only_names_in_use():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [project["dependencies"], *project["optional-dependencies"].values()]
    assert set(CONDA_NAMES) <= {split(requirement)[0] for group in named for requirement in group}
