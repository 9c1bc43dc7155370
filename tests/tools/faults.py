"""Small faults put into the package at random, to see whether the tests notice: python -m tests.tools.faults

A fault is one change of one expression: a comparison, a sign, a number, a boolean. It is put into a copy of the
checkout, where the tests of the module's own layer run until the first one fails. A fault that none of them notices
survives; either a test is missing, or the code does nothing.

Most tests of a layer never run the function that has the fault. So each file of tests first runs once, in a process of
its own, with functions that report that they run; a fault then needs only the tests that reach its function, those of
the nearest files first. A file whose tests share results runs as a whole: only the first of them computes. Faults
outside functions, and in functions that numba compiles, need all tests of the layer.

    python -m tests.tools.faults --count 200 --seed 1
    python -m tests.tools.faults --count 20 --seed 3 --only placer cost/shapes
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
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
COMPILED = "gpuplace.numerics.compiled.arrays"
"""What a module imports whose functions numba compiles: it could not compile a report."""

_REPORT = """
import os

_reported = set()


def reached(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (number, test) not in _reported:
        _reported.add((number, test))
        with open(os.environ["FAULTS_REACHED"], "a") as file:
            file.write(f"{number} {test}\\n")
"""
_CHILDREN = """
import importlib, json, os, signal, sys, time

for name in sys.argv[1:]:
    importlib.import_module(name)
import pytest


class Chosen:
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if {item.nodeid, item.nodeid.split("::")[0]} & set(tests)]


for line in sys.stdin:
    tests, limit, variables, output = json.loads(line)
    began, ended = time.monotonic(), 0
    child = os.fork()
    if not child:
        os.setsid()
        os.environ.update(variables)
        os.dup2(os.open(output, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 1)
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        sys.stdin = open(os.devnull)
        files = dict.fromkeys(test.split("::")[0] for test in tests)
        os._exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *files], [Chosen()]))
    while not ended and time.monotonic() - began < limit:
        time.sleep(0.02)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), time.monotonic() - began]), flush=True)
"""
"""Runs tests, by name or by file, in children that find libraries imported: half of the time of a short test."""

LONGEST = 600.0
"""Seconds that a file of tests may take without a fault."""

_SHARED = re.compile(r"@(functools\.)?(lru_)?cache\b|scope=\"(module|class|session)\"")
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
    """Return faults at random, a module with more code more often; those of a layer in a row."""
    faults = []
    for folder in only or CORE:
        place = ROOT / "gpuplace" / folder
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
            path = str(file.relative_to(ROOT))
            if "/server/" not in path:
                faults += faults_of(path, file.read_text(encoding="utf-8"))
    return sorted(random.Random(seed).sample(faults, min(count, len(faults))))


def layer_of(fault: Fault) -> str:
    """Return the folder of the tests of a fault's layer."""
    return "/".join(("tests", *Path(fault.path).with_suffix("").parts[1:2]))


def nearness(path: str, file: str) -> int:
    """Return how many folders a file of tests shares with a module; the module's mirror comes before all others."""
    module, test = Path(path).with_suffix("").parts[1:], Path(file).with_suffix("").parts[1:]
    if test == (*module[:-1], f"test_{module[-1]}"):
        return len(module)
    shared = [one == other for one, other in zip(module[:-1], test[:-1], strict=False)]
    return [*shared, False].index(False)


def reporting(text: str, faults: dict[int, Fault]) -> tuple[str, set[int]]:
    """Return a module's text in which functions with faults report that they run, and the numbers of these faults."""
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and COMPILED not in text
    ]
    lines, reports = text.splitlines(keepends=True), {}
    for number, fault in faults.items():
        # The walk goes outside in, so the last function around a fault is the innermost.
        for function in functions:
            body = function.body[1:] if ast.get_docstring(function) and function.body[1:] else function.body
            first = min([body[0].lineno, *(one.lineno for one in getattr(body[0], "decorator_list", []))])
            if function.lineno < first <= fault.line <= (body[-1].end_lineno or 0):
                reports[number] = first
    for number, line in reports.items():
        indent = lines[line - 1][: -len(lines[line - 1].lstrip())]
        lines[line - 1] = f"{indent}__import__('faults_report').reached({number})\n{lines[line - 1]}"
    return "".join(lines), set(reports)


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
        (folder / "faults_report.py").write_text(_REPORT, encoding="utf-8")
        self._libraries = self._process("numpy", "pandas", "numba", "hypothesis", "google.protobuf")

    def _process(self, *imports: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", _CHILDREN, *imports],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(self.folder),
                "FAULTS_REACHED": str(self.folder / "reached"),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _run(
        self, process: subprocess.Popen[str], tests: list[str], limit: float, reached: str = "reached"
    ) -> tuple[str, float]:
        """Return the first failure of a run, "" if there is none, and the seconds that it took."""
        assert process.stdin is not None and process.stdout is not None
        output = self.folder / "output"
        variables = {"FAULTS_REACHED": str(self.folder / reached)}
        print(json.dumps([tests, limit, variables, str(output)]), file=process.stdin, flush=True)
        status, seconds = json.loads(process.stdout.readline())
        if status in (0, 5):  # all passed, or there are none
            return "", seconds
        if seconds >= limit:
            return "the time limit", seconds
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output.read_text(errors="replace"), re.MULTILINE)
        return failed[1] if failed is not None else "the import", seconds

    def _shares_results(self, file: str) -> bool:
        """Whether tests of a file, or helpers that it imports, keep what another test has computed."""
        text = (self.folder / file).read_text(encoding="utf-8")
        helpers = [
            self.folder / f"{name.replace('.', '/')}.py"
            for name in re.findall(r"^from (tests\.[\w.]+) import", text, re.MULTILINE)
        ]
        texts = [text, *(path.read_text(encoding="utf-8") for path in helpers if path.exists())]
        return any(_SHARED.search(one) for one in texts)

    def tests_for(self, layer: str, faults: dict[int, Fault]) -> tuple[dict[int, set[str]], dict[str, float]]:
        """Return the tests of a layer that reach each fault, by name or by file, and the seconds of each file."""
        texts = {
            fault.path: (self.folder / fault.path).read_text(encoding="utf-8") for fault in faults.values()
        }
        everywhere = set(faults)
        for path, text in texts.items():
            own = {number: fault for number, fault in faults.items() if fault.path == path}
            text, reports = reporting(text, own)
            (self.folder / path).write_text(text, encoding="utf-8")
            everywhere -= reports
        process = self._process("gpuplace")
        found: dict[int, set[str]] = {number: set() for number in faults}
        taken: dict[str, float] = {}
        doubtful = []
        for test_path in sorted((self.folder / layer).rglob("test_*.py")):
            file = str(test_path.relative_to(self.folder))
            report = self.folder / "reports" / file
            report.parent.mkdir(parents=True, exist_ok=True)
            failure, taken[file] = self._run(process, [file], LONGEST, f"reports/{file}")
            doubtful += [file] if failure else []
            for number in everywhere:
                found[number].add(file)
            for reached in (report, self.folder / "reached"):
                for line in reached.read_text().splitlines() if reached.exists() else []:
                    number, test = line.split(" ", 1)
                    found[int(number)].add(file if not test or self._shares_results(file) else test)
        process.communicate()
        for path, text in texts.items():
            (self.folder / path).write_text(text, encoding="utf-8")
        for file in doubtful:
            # A test of the module's own lines may fail for the reports; one that fails without them proves nothing.
            failure, taken[file] = self._run(self._libraries, [file], LONGEST)
            if failure:
                print(f"{file} left out: {failure} fails without a fault", flush=True)
            for tests in found.values():
                of_file = {test for test in tests if test.split("::")[0] == file}
                tests -= of_file
                tests |= {file} if of_file and not failure else set()
        return found, taken

    def noticed_by(self, fault: Fault, tests: set[str], taken: dict[str, float]) -> str:
        """Return what noticed a fault: a test, or "the time limit"; "" if it survived.

        Args:
            fault: the fault.
            tests: the tests to run, by name or by file.
            taken: the seconds that each file takes without the fault.
        """
        if not tests:
            return ""
        file = self.folder / fault.path
        text = file.read_text(encoding="utf-8")
        file.write_text(fault.applied(text), encoding="utf-8")
        files = {test.split("::")[0] for test in tests}
        nearest = sorted(
            tests, key=lambda test: (-nearness(fault.path, test.split("::")[0]), taken[test.split("::")[0]])
        )
        try:
            return self._run(self._libraries, nearest, 60 + 5 * sum(taken[name] for name in files))[0]
        finally:
            file.write_text(text, encoding="utf-8")

    def close(self) -> None:
        """End the process that runs the tests."""
        self._libraries.communicate()


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
    parser.add_argument("--layers", nargs="*", default=[], help="try only the draw's faults in these folders")
    options = parser.parse_args(argv)
    faults = drawn(options.count, options.seed, options.only)
    if options.layers:
        # In the order in which they are named, so that quick layers can come first.
        places = {f"tests/{layer}": place for place, layer in enumerate(options.layers)}
        faults = sorted(
            (fault for fault in faults if layer_of(fault) in places), key=lambda one: places[layer_of(one)]
        )
    if options.list:
        print(*faults, sep="\n")
        return 0
    results: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        trial = Trial(Path(folder))
        for layer, group in groupby(faults, layer_of):
            numbered = dict(enumerate(group))
            tests, taken = trial.tests_for(layer, numbered)
            for number, fault in numbered.items():
                began = time.monotonic()
                found = trial.noticed_by(fault, tests[number], taken)
                results["noticed" if found else "survived"] += 1
                print(
                    f"{fault}  {found or 'SURVIVED'}  {len(tests[number])} tests, {time.monotonic() - began:.0f} s",
                    flush=True,
                )
        trial.close()
    print(
        f"{results['noticed']} of {results.total()} noticed ({results['noticed'] / max(results.total(), 1):.0%})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
