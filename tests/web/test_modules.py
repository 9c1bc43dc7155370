"""The scripts as modules: what one imports is there, and exported."""

import re
from pathlib import Path

import pytest

from gpuplace.web.modules import import_map, module_text, modules, names_imported, widget_module

WEB = Path(__file__).resolve().parents[2] / "gpuplace" / "web"
NAMES = sorted(f"gpuplace/{path.relative_to(WEB).as_posix()}" for path in WEB.rglob("*.js"))
FIRST = (
    "gpuplace/widgets/controls_view.js",
    "gpuplace/widgets/graph_view.js",
    "gpuplace/widgets/panel_view.js",
    "gpuplace/widgets/rule_view.js",
    "gpuplace/widgets/table_view.js",
    "gpuplace/widgets/timeline_view.js",
    "gpuplace/page/placement.js",
    "gpuplace/page/timeline.js",
)


def exported(text: str) -> set[str]:
    names = re.findall(r"^export (?:async )?(?:function|const|let|class) (\w+)", text, re.MULTILINE)
    lists = re.findall(r"^export \{([^}]*)\};", text, re.MULTILINE)
    names += [name.strip() for listed in lists for name in listed.split(",")]
    return {*names, *(["default"] if "export default " in text else [])}


@pytest.mark.parametrize("name", NAMES)
def test_every_import_is_there(name):
    text = module_text(name)
    found = names_imported(text)
    assert len(found) == len(
        re.findall(r"^import\b", text, re.MULTILINE)
    )  # each is of a form that is understood
    for needed, taken in found.items():
        assert set(taken) <= exported(module_text(needed)), f"{name} imports {taken} from {needed}"


def test_every_module_is_used():
    used = {name for first in FIRST for name in modules(first)} | {
        "gpuplace/widgets/load.js",
        "gpuplace/page/unpack.js",
    }
    assert used - {"gpuplace/rules.js"} == set(NAMES)


@pytest.mark.parametrize("name", FIRST)
def test_a_module_stands_behind_those_it_needs(name):
    listed = list(modules(name))
    assert listed[-1] == name
    for place, known in enumerate(listed):
        assert set(names_imported(module_text(known))) <= set(listed[:place])


def test_a_widget_is_one_module_and_a_page_has_a_map():
    assert widget_module("gpuplace/widgets/panel_view.js").startswith("const MODULES = {")
    mapped = re.findall(r'"(gpuplace/[^"]+)": "data:', import_map("gpuplace/widgets/panel_view.js"))
    assert mapped == list(modules("gpuplace/widgets/panel_view.js"))


def test_a_module_that_is_missing_is_an_error():
    with pytest.raises(FileNotFoundError):
        modules("gpuplace/nothing.js")
