"""Small faults put into the package at random, to see whether the tests notice: python -m tests.tools.faults

A fault is one change of one expression: a comparison, a sign, a number, a boolean. It is put into a copy of the
checkout, where the tests of the module's own layer run until the first one fails: those of the module's mirror first,
then those of the innermost folder of tests that mirrors the module's, then the layer's. A fault that none of them
notices survives; either a test is missing, or the code does nothing.

    python -m tests.tools.faults --count 200 --seed 1
    python -m tests.tools.faults --count 20 --seed 3 --only placer cost/shapes
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CORE = (
    "advisor", "clusters", "cost", "device", "files", "findings", "graph", "graphdef", "jupyter", "kernels", "model",
    "placer", "runtime", "saving", "sweeps", "views", "why",
)  # fmt: skip
"""Folders of the package that faults are drawn from: the core, without ops, which their tables of values test."""
COPIED = (
    "gpuplace",
    "tests",
    "notebooks",
    "pyproject.toml",
    "README.md",
    "CONTRIBUTING.md",
    "environment.yml",
)
MOST_SECONDS = 600
"""A layer's tests that take longer have noticed: the fault made something endless."""

_OPPOSITE = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is", "in": "not in",
    "not in": "in", "+": "-", "-": "+", "and": "or", "or": "and", "True": "False", "False": "True",
}  # fmt: skip
_OPERATOR = re.compile(r"<=|>=|==|!=|<|>|\bis\s+not\b|\bnot\s+in\b|\bis\b|\bin\b|\+|-|\band\b|\bor\b")


class Fault(NamedTuple):
    """One change of a module."""

    path: str
    """The module's file, from the checkout's root."""
    line: int
    start: int
    """Offset in the file's text."""
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before or '(nothing)'} -> {self.after or '(nothing)'}"

    def applied(self, text: str) -> str:
        """Return the module's text with the fault."""
        return text[: self.start] + self.after + text[self.start + len(self.before) :]


def faults_of(path: str, text: str) -> list[Fault]:
    """Return all faults that a module can have, in the order of its text."""
    tree = ast.parse(text)
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    encoded = text.splitlines()

    def offset(line: int, column: int) -> int:
        # Columns of the syntax tree count bytes.
        return lines[line - 1] + len(encoded[line - 1].encode()[:column].decode())

    def begin(node: ast.expr) -> int:
        return offset(node.lineno, node.col_offset)

    def end(node: ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return offset(node.end_lineno, node.end_col_offset)

    def between(first: ast.expr, second: ast.expr) -> Iterator[Fault]:
        match = _OPERATOR.search(text, end(first), begin(second))
        if match is not None:
            found = " ".join(match[0].split())
            yield Fault(
                path, text.count("\n", 0, match.start()) + 1, match.start(), match[0], _OPPOSITE[found]
            )

    def changes(node: ast.AST) -> Iterator[Fault]:
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for first, second in zip(operands, operands[1:], strict=False):
                yield from between(first, second)
        elif isinstance(node, ast.BoolOp):
            for first, second in zip(node.values, node.values[1:], strict=False):
                yield from between(first, second)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            yield from between(node.left, node.right)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            before = text[begin(node) : begin(node.operand)].removesuffix("(")
            yield Fault(path, node.lineno, begin(node), before, "")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield Fault(path, node.lineno, begin(node), str(node.value), _OPPOSITE[str(node.value)])
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield Fault(path, node.lineno, begin(node), text[begin(node) : end(node)], str(node.value + 1))

    found = [fault for node in _expressions(tree) for fault in changes(node)]
    return sorted(set(found), key=lambda fault: (fault.start, fault.after))


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions that run: no annotations, no blocks for type checkers, no parts of f-strings."""
    if isinstance(node, ast.JoinedStr):
        return  # their positions are those of the string
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _expressions(child)


def drawn(count: int, seed: int, only: list[str]) -> list[Fault]:
    """Return faults at random, a module with more code more often."""
    faults = []
    for folder in only or CORE:
        place = ROOT / "gpuplace" / folder
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
            path = str(file.relative_to(ROOT))
            if "/server/" not in path:
                faults += faults_of(path, file.read_text(encoding="utf-8"))
    return random.Random(seed).sample(faults, min(count, len(faults)))


def tests_of(path: str) -> list[list[str]]:
    """Return what to run for a module: its mirror, the tests of its folder, those of its layer."""
    parts = Path(path).with_suffix("").parts[1:]
    stages = [f"tests/{'/'.join(parts[:-1])}/test_{parts[-1]}.py"]
    stages += ["/".join(("tests", *parts[:count])) for count in range(len(parts) - 1, 0, -1)]
    return [[stage] for stage in dict.fromkeys(stages) if (ROOT / stage).exists()]


class Trial:
    """A copy of the checkout in which faults are tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)

    def noticed_by(self, fault: Fault) -> str:
        """Return what noticed a fault: a test, or "the time limit"; "" if it survived."""
        file = self.folder / fault.path
        text = file.read_text(encoding="utf-8")
        file.write_text(fault.applied(text), encoding="utf-8")
        try:
            for stage in tests_of(fault.path):
                if found := self._first_failure(stage):
                    return found
            return ""
        finally:
            file.write_text(text, encoding="utf-8")

    def _first_failure(self, stage: list[str]) -> str:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            *stage,
        ]
        try:
            result = subprocess.run(
                command,
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=MOST_SECONDS,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return "the time limit"
        if result.returncode in (0, 5):  # all passed, or there are none
            return ""
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", result.stdout, re.MULTILINE)
        return failed[1] if failed is not None else "the import"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.faults", description=str(__doc__).split("\n")[0]
    )
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="FOLDER", help="folders or modules of the package"
    )
    parser.add_argument("--list", action="store_true", help="print the faults, and try none")
    parser.add_argument("--skip", type=int, default=0, help="do not try the first ones of the draw")
    options = parser.parse_args(argv)
    faults = drawn(options.count, options.seed, options.only)[options.skip :]
    if options.list:
        print(*faults, sep="\n")
        return 0
    results: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        trial = Trial(Path(folder))
        for fault in faults:
            began = time.monotonic()
            found = trial.noticed_by(fault)
            results["noticed" if found else "survived"] += 1
            print(f"{fault}  {found or 'SURVIVED'}  {time.monotonic() - began:.0f} s", flush=True)
    print(
        f"{results['noticed']} of {results.total()} noticed ({results['noticed'] / max(results.total(), 1):.0%})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
