"""Definitions of terms: every rule that an explanation can name has one."""

from gpuplace.why.rules import RULES, Rule
from gpuplace.why.terms import TERMS, VISITED_FIRST


def test_every_rule_and_the_colocation_group_are_defined():
    assert set(TERMS) == {rule.value for rule in RULES} | {"colocation group"}
    assert all("\n" not in text and len(text) < 140 for text in TERMS.values())


def test_terms_that_readers_ask_about():
    assert TERMS["type priority"] == Rule.TYPE_PRIORITY.meaning
    assert VISITED_FIRST in TERMS["group"] and TERMS["generator"].startswith("a generator (")
