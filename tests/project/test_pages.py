"""README.md and the pages of the reference: their examples run, and no public name is forgotten."""

import importlib.util
import os
import re
import subprocess
import sys
import types

import pytest

import gpuplace
from gpuplace.cli import main, parser
from gpuplace.cost.calibration import calibrate, probe_runs
from gpuplace.release import RELEASES
from tests.project.page_examples import PAGES, ROOT, commands, folder_with_files, has_examples, run

REFERENCE = ROOT / "notebooks" / "reference"
WITH_EXAMPLES = [path for path in PAGES if has_examples(path)]
COMMANDS = sorted({tuple(words) for path in PAGES for words in commands(path)})
ONLY_PARSED = ("explore", "watch")
"""Commands that are not run here: they open a server, or run a program that has TensorFlow. tests/cli runs them."""


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_print_what_the_page_says(path):
    assert run(path) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_work(words, monkeypatch, capfd):
    if words[0] in ONLY_PARSED or "--tensorflow" in words:
        assert parser.build_parser().parse_args(words).command == words[0]
        return
    if words[0] == "calibrate":  # one quick measurement instead of all
        monkeypatch.setattr(calibrate, "PROBES", calibrate.PROBES[:1])
        monkeypatch.setattr(probe_runs, "BRIEF", probe_runs.Limit(1, 0.0))
        monkeypatch.setattr(probe_runs, "ROUNDS", 1)
    monkeypatch.setenv("GPUPLACE_MACHINE", "2x V100")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with folder_with_files() as folder:
        if words[0] == "run":  # a script has a process of its own
            process = [sys.executable, "-m", "gpuplace", *words]
            code = subprocess.run(process, cwd=folder, env=environment).returncode
        else:
            code = main(words)
    differs = words[0] == "log" and "--against" in words
    assert code == (3 if differs else 0), capfd.readouterr().err


def test_the_examples_are_found():
    assert {"README.md", "views.md", "releases.md"} <= {path.name for path in WITH_EXAMPLES}
    assert {words[0] for words in COMMANDS} == set(parser.COMMANDS)


def test_every_command_and_release_has_its_place():
    page = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    for command in parser.COMMANDS:
        assert f"\n## gpuplace {command}\n" in page
        assert f"```{{help}} {command}\n" in page
    page = (REFERENCE / "releases.md").read_text(encoding="utf-8")
    for release in RELEASES:
        assert f'| `"{release}"`' in page


# ------------------------------------------------------------------------------------------------------- public names
def topics() -> types.ModuleType:
    """The module that reads the pages, which lies with the site's configuration."""
    path = ROOT / "notebooks" / "site" / "topics.py"
    spec = importlib.util.spec_from_file_location("topics", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_internal(name: str, value: object) -> bool:
    """A package of ours that the import leaves behind, or what a module imports for itself."""
    if name.startswith("_"):
        return True
    if isinstance(value, types.ModuleType):
        return True
    return getattr(value, "__module__", None) in ("typing", "collections.abc") or name == "annotations"


def namespaces() -> dict[str, types.ModuleType]:
    """`tf.nn` and the like: modules that programs reach as attributes, and that are TensorFlow's."""
    names = (
        "app audio bitwise compat config contrib data debugging distribute distributions dtypes errors estimator flags "
        "gfile graph_util image initializers io layers linalg logging lookup losses manip math metrics nest nn "
        "profiler python_io quantization queue random raw_ops resource_loader saved_model sets signal sparse spectral "
        "strings summary test train version"
    )
    return {name: getattr(gpuplace, name) for name in names.split()}


def public_names() -> dict[str, object]:
    """Every public name of the package and of TensorFlow's namespaces in it, with what it stands for."""
    found = {f"tf.{name}": getattr(gpuplace, name) for name in gpuplace.__all__}
    found = {full: value for full, value in found.items() if not is_internal(full[3:], value)}
    for namespace, module in namespaces().items():
        for name in getattr(module, "__all__", None) or vars(module):
            if not is_internal(name, getattr(module, name)):
                found[f"tf.{namespace}.{name}"] = getattr(module, name)
    return found


def value_of(full: str) -> object:
    """What a name of the pages stands for; AttributeError where there is no such thing."""
    value = gpuplace
    for part in full.split(".")[1:]:
        value = getattr(value, part)
    return value


def test_every_public_name_is_in_exactly_one_topic():
    """A name in a namespace that stands for something described elsewhere (`tf.math.add`) need not be named."""
    named = [full for block in topics().blocks() for full in block.full_names if block.kind == "names"]
    named = [full for full in named if full.startswith("tf.")]
    described = {id(value_of(full)) for full in named if not isinstance(value_of(full), int)}
    missing = [
        full
        for full, value in public_names().items()
        if full not in named and not (full.count(".") > 1 and id(value) in described)
    ]
    assert missing == [], "put them into a topic in notebooks/reference"
    assert sorted(full for full in set(named) if named.count(full) > 1) == []


def test_every_namespace_is_in_exactly_one_topic():
    named = [block.argument for block in topics().blocks() if block.kind == "namespace"]
    assert sorted(named) == sorted(f"tf.{name}" for name in namespaces())


def test_every_module_that_the_package_offers_is_a_namespace_or_its_own():
    """A namespace that is added shows here: it is reached under a name that is not that of its file."""
    offered = {name for name, value in vars(gpuplace).items() if isinstance(value, types.ModuleType)}
    strangers = {name for name in offered if not getattr(gpuplace, name).__name__.startswith("gpuplace.")}
    assert {name for name in strangers if not name.startswith("_")} == set()
    moved = {name for name in offered if getattr(gpuplace, name).__name__ != f"gpuplace.{name}"}
    assert moved <= set(namespaces())


def test_every_public_name_of_testing_is_described():
    from gpuplace import testing

    named = {full for block in topics().blocks() for full in block.full_names}
    for name in set(testing.__all__) - {"place", "Machine"}:
        assert f"gpuplace.testing.{name}" in named


def test_every_page_is_in_the_table_of_contents():
    index = re.split(r"[\s<>]+", (ROOT / "notebooks" / "index.md").read_text(encoding="utf-8"))
    for path in [*REFERENCE.glob("*.md"), *(ROOT / "notebooks").glob("[0-9]*.ipynb")]:
        assert str(path.relative_to(ROOT / "notebooks").with_suffix("")) in index


ANCHORS = {
    *(
        "requested-device",
        "assigned-device",
        "soft-placement",
        "overridden-request",
        "kernel",
        "kernel-priority",
    ),
    *(
        "type-priority",
        "colocation-group",
        "reference-edge",
        "resource-edge",
        "visited-first",
        "generator-node",
    ),
    *(
        "metadata-node",
        "verdict",
        "machine",
        "release",
        "subject",
        "step",
        "copy",
        "signal",
        "feed-and-fetch",
        "role",
    ),
    *(
        "layer",
        "tower",
        "series",
        "lane",
        "estimate",
        "finding",
        "recommendation",
        "move",
        "bound",
        "what-if",
    ),
}
"""Anchors of the glossary that links from outside the pages may use."""


def test_each_entry_of_the_glossary_has_two_sentences_and_a_link():
    page = (REFERENCE / "glossary.md").read_text(encoding="utf-8")
    entries = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    anchors = {entry.partition("\n")[0].lower().replace(" ", "-") for entry in entries}
    assert anchors >= ANCHORS
    for entry in entries:
        term, _, text = entry.partition("\n")
        text = re.split(r"^## ", text, flags=re.MULTILINE)[0]
        prose = re.sub(r"`[^`]*`|\([^()]*\)", "", text)
        assert len(re.findall(r"\.(?=\s|$)", prose)) == 2, term
        assert re.search(r"\]\([\w./#-]+\)", text), term
