"""Plain English: words and constructions that gpuplace's texts avoid, in the documents and in the package.

Documents have none. Each area of the package has the number of hits that it may have, which only falls.

`python -m tests.project.test_words` prints today's table, and `python -m tests.project.test_words AREA` the hits of an
area.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from functools import cache

import pytest

from tests.project.texts import ROOT, Sentence, documents, package

PATTERNS: dict[str, str] = {
    "foretell": r"\bforet(?:ell|old)",
    "light up": r"\blit\b|\blight(?:s|ed|ing)? up\b",
    "an advice": r"\b(?:an|one|another|every|each) advice\b|\badvices\b",
    "not met": r"\bnot met\b|\bunmet\b",
    "softly": r"\bsoftly\b",
    "else": r"(?:^|[.,;:(–] ?)else\b(?! if|:)",
    "is no": r"(?<![Tt]here )\b(?:is|are|was|were) (?:none\b(?! of\b)|"
    r"no (?!(?:longer|faster|slower|better|worse|larger|smaller|more|less|fewer|later|earlier)\b))",
    "so many": r"\bso (?:many|much)\b",
    "whereupon": r"\bwhereupon\b|\banew\b|\bunasked\b|\bbut for\b",
    "mended": r"\bmend(?:s|ed)?\b",
    "behind": r"\bbehind\b",
    "for": r"[,;] for (?:it|they|there|nothing|nobody|the \w+ (?:is|are|has|have|was|were))\b",
    "is said": r"\b(?:is|are|was|were|be) (?:said|told)\b(?! apart)|\bsays of\b|\btells? of\b",
    "hand on": r"\bhand(?:s|ed|ing)? on\b",
    "fill up": r"\bfill(?:s|ed|ing)? up\b|\bdot dot\b|\bthree dots\b|\bwithout windows\b",
    "go round": r"\bgo(?:es|ing|ne)? round\b|\bwent round\b",
    "nobody": r"\bnobody (?!can\b|may\b|else\b)\w+|\btakers?\b|\bwhat (?:nothing|nobody|no \w+) \w+",
    "What ...": r"^What(?!-if| to)\b[^?]*$",
    "Who ...": r"^Who\b[^?]*$",
    "such as has": r"\bsuch as (?:has|have|are|is|was|were)\b",
    "taken as": r"\btaken (?:as (?!it\b|they\b|given\b)|for an?\b|to be\b)",
    "lies": r"\b(?:lies|lying|lay) (?:in|on|at|with|where|beside)\b|\bwhere \S+ \S+ lies\b",
    "the found": r"\bthe (?:found|asked|made|told|wanted)\b(?! \w+s?\b(?<!one)(?<!ones))",
    "net": r"(?<![/.])\bnets?\b(?![/.:]\S|: )",
    "hang on": r"\bhang(?:s|ing)? on\b|\bgo(?:es)? by\b(?! the name)",
    "a row a device": r"\b(?:row|line|figure|lane|box|entry|field|docstring|category|number) an? "
    r"(?:row|node|device|edge|error|line|step|copy|case|box|field|group|GPU|graph|kernel|op|page|category|second|visible)\b",
    "one's own": r"\bone's own\b",
}
"""Name of a pattern -> what it finds in a sentence, whatever the case."""
CASE_MATTERS = ("is no", "What ...", "Who ...")
"""Patterns that look for these letters only: ``is None`` is Python's."""

TENSORFLOW = (
    "Please read the implementation for the math behind it.",
    "seconds behind the last preserved checkpoint timestamp.",
)
"""Sentences of TensorFlow's own, which stay as they are."""

BUDGET: dict[str, int] = {}
"""Area -> its number of hits. Lower a number when you correct texts; areas without a number have no hits."""

_IDIOMS = re.compile(
    r"\b(?:leav\w+|left)(?: \w+)? behind\b|\bbehind TLS\b|"
    r"\bbehind (?:an?|the|its|their) (?:handle|resource|names?|ops?|value)\b|^metrics nets$",
    re.IGNORECASE,
)
"""Phrases that have a word of a pattern in its ordinary sense."""

_FINDERS = {
    name: re.compile(pattern, re.IGNORECASE if name not in CASE_MATTERS else 0)
    for name, pattern in PATTERNS.items()
}


def hits_in(text: str) -> list[str]:
    """Return the names of the patterns that a sentence has, TensorFlow's own sentences aside."""
    for own in TENSORFLOW:
        text = text.replace(own, "TENSORFLOW")
    text = _IDIOMS.sub("IDIOM", text)
    return [name for name, finder in _FINDERS.items() if finder.search(text)]


@cache
def hits() -> dict[str, list[tuple[str, Sentence]]]:
    """Return the hits of each area: name of the pattern and sentence."""
    found: dict[str, list[tuple[str, Sentence]]] = defaultdict(list)
    for sentence in (*documents(), *package()):
        found[sentence.area] += [(name, sentence) for name in hits_in(sentence.text)]
    return dict(found)


def _listed(area: str, most: int | None = None) -> str:
    lines = [f"{one.place} [{name}] {one.text[:160]}" for name, one in hits().get(area, [])]
    return "\n".join(lines[:most])


@pytest.mark.parametrize("area", sorted({*BUDGET, *(sentence.area for sentence in documents())}))
def test_texts_are_plain_english(area):
    count, allowed = len(hits().get(area, ())), BUDGET.get(area, 0)
    assert count <= allowed, f"{area} has {count} hits instead of {allowed}:\n{_listed(area, 40)}"
    assert count >= allowed, (
        f"{area} has only {count} hits: lower its number in BUDGET from {allowed} to {count}"
    )


def test_each_area_has_a_budget():
    assert {area for area, found in hits().items() if found} <= set(BUDGET)
    assert not {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "notebooks", "notebooks/reference"} & set(
        BUDGET
    )


EXAMPLES = {
    "foretell": ("A step can be foretold.", "A step can be predicted."),
    "light up": ("Matches light up.", "Matches are highlighted in a lighter colour."),
    "an advice": ("An advice is never worse.", "Advice for teachers."),
    "not met": ("3 requests not met", "3 device requests overridden"),
    "softly": ("It was placed softly.", "Soft placement moved it."),
    "else": ("The default, else the first.", "Nothing else is copied; otherwise it fails."),
    "is no": ("That is no ConfigProto.", "There is no GPU, and it is no longer there."),
    "so many": ("It grows by so many elements.", "It grows by many elements, so memory fills."),
    "whereupon": ("It ends, whereupon it starts anew.", "It ends and starts again."),
    "mended": ("The fault is mended.", "The recommended fix."),
    "behind": ("It runs behind the others.", "It runs after the others."),
    "for": ("It waits, for there is no device.", "It waits for the device, for example."),
    "is said": ("What fits is said.", "The report says what fits."),
    "hand on": ("Nodes that only hand on values.", "Values on hand."),
    "fill up": ("Fill up to the size.", "Pad to the size."),
    "go round": ("Lines go round boxes.", "Lines go around boxes."),
    "nobody": ("Gradients that nobody takes.", "Unused gradients."),
    "What ...": ("What fills tables.", "What fills tables?"),
    "Who ...": ("Who wants to divide a graph decides.", "Who decides?"),
    "such as has": ("Such as has no shape.", "Such as a shape."),
    "taken as": ("It is taken as 1.", "It takes 1 as the default."),
    "lies": ("The array lies in memory.", "Nodes that lie outside the step."),
    "the found": ("Sort the found.", "Sort the found nodes."),
    "net": ("A net with branches.", "A network, a ResNet."),
    "hang on": ("It hangs on the size.", "It depends on the size."),
    "a row a device": ("One row a device.", "One row for each device."),
    "one's own": ("A model of one's own.", "Your own model."),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_finds_what_it_is_for_and_no_more(name):
    wrong, right = EXAMPLES[name]
    assert name in hits_in(wrong)
    assert hits_in(right) == []


def test_tensorflows_sentences_are_excepted_only_where_needed():
    texts = "\n".join(sentence.text for sentence in package())
    for own in TENSORFLOW:
        assert own in texts and any(finder.search(own) for finder in _FINDERS.values()), own


def test_documents_are_short():
    readme = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Development\n")[0]
    assert len(readme.split()) <= 900
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(changelog.splitlines()) <= 150


if __name__ == "__main__":
    if sys.argv[1:]:
        print("\n".join(_listed(area) for area in sys.argv[1:]))
    else:
        for area, found in sorted(hits().items()):
            if found:
                most = ", ".join(
                    f"{name} {count}" for name, count in Counter(name for name, _ in found).most_common(5)
                )
                print(f'    "{area}": {len(found)},  # {most}')
