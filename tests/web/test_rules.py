"""Every rule and every word of the shared file is used, and every word that is used is in it."""

import re
from pathlib import Path

import pytest

from gpuplace.web.rules import RULES, words

PACKAGE = Path(__file__).resolve().parents[2] / "gpuplace"
PYTHON = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
SCRIPTS = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.js"))


OF_ONE = {"widest", "shelved_from", "structured_from"}
"""What Python alone decides, for the page too."""


@pytest.mark.parametrize("section", ["folding", "text", "box", "line", "units", "lights", "tables"])
def test_every_rule_is_read_by_both(section):
    for name in RULES[section]:
        assert f'["{name}"]' in PYTHON, name
        assert name in OF_ONE or re.search(rf"\b{name}\b", SCRIPTS), name


def test_every_word_is_said_and_every_word_that_is_said_is_there():
    said = set(re.findall(r"""\bwords\(\s*['"](\w+)['"]""", PYTHON + SCRIPTS))
    said |= set(re.findall(r"RULES\.words\.(\w+)", SCRIPTS)) | {"asked", "asked_unmet"}
    assert said == set(RULES["words"])


def test_what_is_filled_in_is_named():
    assert words("note_folded", nodes="3 nodes", boxes="2 boxes") == "▸ folded: 3 nodes in 2 boxes"
    with pytest.raises(KeyError):
        words("note_folded", nodes="3 nodes")
