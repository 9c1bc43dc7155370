"""Style sheets: every colour that is used is defined once, and every class is one that a script or Python gives."""

import re
from pathlib import Path

from gpuplace.web.rules import RULES
from gpuplace.web.sheets import PAGE_SHEETS, page_colours_sheet, sheet

PACKAGE = Path(__file__).resolve().parents[2] / "gpuplace"
TEXT = "\n".join([page_colours_sheet(), sheet(PAGE_SHEETS)])


def test_every_variable_is_defined():
    used = set(re.findall(r"var\((--gp-[\w-]+)", TEXT))
    assert used <= set(re.findall(r"^\s*(--gp-[\w-]+):", TEXT, re.MULTILINE))


def test_colours_stand_in_the_rules_alone():
    for path in (*PACKAGE.glob("web/styles/*.css"), *PACKAGE.glob("web/**/*.js")):
        assert re.findall(r"#[0-9a-f]{6}\b", path.read_text(encoding="utf-8")) == [], path.name


def test_every_class_is_given_to_something():
    given = "\n".join(
        path.read_text(encoding="utf-8") for pattern in ("*.js", "*.py") for path in PACKAGE.rglob(pattern)
    )
    prefixes = tuple(re.findall(r"(gp-[\w-]*)\$\{", given))  # gp-note-${kind}, gp-${corners}
    for name in set(re.findall(r"\.(gp-[\w-]+)", TEXT)):
        is_made = any(name.startswith(prefix) for prefix in prefixes if prefix != "gp-")
        assert name in given or is_made or name in {"gp-round", "gp-square"}, name


def test_both_themes_have_the_same_colours():
    themes = RULES["colours"]["themes"]
    assert list(themes["light"]) == list(themes["dark"])


def test_texts_in_several_colours_follow_the_theme():
    for rules in re.findall(r"^.*g\.\S+ text\[fill.*$", TEXT, re.MULTILINE):
        assert rules.replace(" text[", " tspan[") in TEXT
