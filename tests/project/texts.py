"""The texts that users and readers of gpuplace see, without code: documents, lessons, docstrings, messages and labels.

>>> sentences_of_markdown("See `x`: [What a step costs](cost.md). It is short.")
['See CODE: “What a step costs”.', 'It is short.']
>>> sentences_of_python('def f():\\n    "Return `x`.  Slowly."\\n    raise ValueError(f"{x} is no net: " "choose")')
['Return CODE.', 'Slowly.', '… is no net: choose']
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
_HTML = re.compile(r"<[^<>]+>")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_CODE = re.compile(r"(`+)[^`]+?\1(?:_|s\b)?")
_DOCTEST = re.compile(r"^[ \t]*>>> .*?(?=^[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_LITERAL = re.compile(r"::\n\n(?:(?:[ \t]+[^\n]*)?\n)+")
_PARAGRAPH = re.compile(
    r"\n[ \t]*\n|\n[ \t]*(?=[-*|#>] |\d+\. |\|)|[ \t]\|(?=[ \t])|\n(?= *\*{0,2}\w+(?:, \w+)*: )"
)
_SENTENCE = re.compile(r"(?<=[.!?:;])[ \t]+(?=[A-Z…])|(?<=[.!?])[ \t]+(?=“)")
_SCRIPT_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
_COMMENT = re.compile(r"/\*[\s\S]*?\*/|^\s*//.*$", re.MULTILINE)


class Sentence(NamedTuple):
    """One sentence or label."""

    area: str
    """The document or the folder of the package, as in the table of `test_words`."""
    place: str
    """Path and line of the text that it is part of."""
    text: str


def sentences(text: str) -> list[str]:
    """Return the sentences of a text without markup, each on one line; items of lists and cells of tables are apart."""
    parts = [" ".join(part.split()) for part in _PARAGRAPH.split(text)]
    found = [sentence.strip(" *#>-|") for part in parts for sentence in _SENTENCE.split(part)]
    return [sentence for sentence in found if re.search(r"[A-Za-z]", sentence)]


def sentences_of_markdown(text: str) -> list[str]:
    """Return the sentences of a page, with ``CODE`` for inline code and quotation marks around the texts of links."""
    text = _FENCE.sub("\n\n", text)
    text = _CODE.sub("CODE", text)
    text = _LINK.sub(r"“\1”", text)
    return sentences(_HTML.sub("", text))


def sentences_of_python(source: str) -> list[str]:
    """Return the sentences of the docstrings and strings in a module."""
    return [
        sentence for _, text in _strings(ast.parse(source)) for sentence in sentences(_without_code(text))
    ]


def _without_code(text: str) -> str:
    return _CODE.sub("CODE", _DOCTEST.sub("", _LITERAL.sub("\n\n", text)))


def _strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and value of each string that has more than one word; formatted values are an ellipsis."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in node.values)
            parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield node.lineno, text


def documents() -> Iterator[Sentence]:
    """Yield the sentences of README, CHANGELOG, CONTRIBUTING, the pages of the site and the lessons."""
    pages = [(name, ROOT / name) for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    pages += [("notebooks", path) for path in sorted((ROOT / "notebooks").glob("*.md"))]
    pages += [("notebooks/reference", path) for path in sorted((ROOT / "notebooks/reference").glob("*.md"))]
    for area, path in pages:
        for text in sentences_of_markdown(path.read_text(encoding="utf-8")):
            yield Sentence(area, str(path.relative_to(ROOT)), text)
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "markdown":
                for text in sentences_of_markdown("".join(cell["source"])):
                    yield Sentence("lessons", f"{path.relative_to(ROOT)}, cell {number}", text)


def package() -> Iterator[Sentence]:
    """Yield the sentences in the Python modules, the scripts and the table of words of the package."""
    for path in sorted((ROOT / "gpuplace").rglob("*")):
        parts = path.relative_to(ROOT).parts
        area = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
        if path.suffix == ".py":
            texts = list(_strings(ast.parse(path.read_text(encoding="utf-8"))))
        elif path.suffix == ".js" or path.name == "rules.json":
            code = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), path.read_text(encoding="utf-8"))
            found = ((match.start(), match[1] or match[2] or "") for match in _SCRIPT_STRING.finditer(code))
            texts = [(code.count("\n", 0, at) + 1, text) for at, text in found if " " in text.strip()]
        else:
            continue
        for line, text in texts:
            for sentence in sentences(_without_code(text)):
                yield Sentence(area, f"{path.relative_to(ROOT)}:{line}", sentence)
