"""No lists of op types: what ops are like stands where they are registered, what they are for in one module."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuplace.graph.op_def import op_registry
from gpuplace.release import RELEASES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "gpuplace"

FEWEST = 3
"""Names that make a list."""

ALLOWED = {
    "__init__.py": "public names, of which some are those of ops",
    "graph/op_sets.py": "the named sets",
    "placer/host_data.py": "one rule of 2.21's placer, which lists the ops that it is about",
    "placer/node_facts.py": "the placer's rule of ops that take handles from any device, which lists them by release",
    "api/files/io.py": "public names, of which some are those of ops",
    "cost/shapes/trip_counts.py": "what the comparisons and the steps of a loop's counter mean",
    "ops/nn/fused_conv.py": "what may follow a convolution, with the functions that compute it",
    "ops/variables/initialized_value.py": "ops that TensorFlow names in the function that is followed there",
}
"""Files with lists of their own, and why."""


@pytest.fixture(scope="module")
def op_types() -> set[str]:
    return {name for release in RELEASES for name in op_registry(release).names()}


def collections_of(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """(line, texts) of everything that holds several texts; ``__all__`` aside, which is about Python's names."""
    exported = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.Tuple | ast.List) and id(node) not in exported:
            yield node.lineno, [item.value for item in node.elts if is_text(item)]
        elif isinstance(node, ast.Dict):
            yield node.lineno, [item.value for item in node.keys if is_text(item)]
        elif is_text(node):
            yield node.lineno, node.value.split()


def is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def lists_in(source: str, op_types: set[str]) -> list[tuple[int, list[str]]]:
    """(line, op types) of the lists in a module."""
    tree = ast.parse(source)
    found = []
    for line, texts in collections_of(tree):
        named = [text for text in texts if text in op_types]
        if len(named) >= FEWEST and 2 * len(named) > len(texts):
            found.append((line, named))
    return found


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_list_of_op_types(path, op_types):
    found = lists_in(path.read_text(encoding="utf-8"), op_types)
    if path.relative_to(PACKAGE).as_posix() not in ALLOWED:
        assert not found, "declare it where the ops are registered, or name the set in graph/op_sets.py"


@pytest.mark.parametrize("name", ALLOWED)
def test_the_exceptions_are_needed(name, op_types):
    assert lists_in((PACKAGE / name).read_text(encoding="utf-8"), op_types)


@pytest.mark.parametrize(
    "source",
    [
        'SLOW = {"Exp", "Log", "Sin"}',
        'COST = {"Exp": 1, "Log": 2, "Sin": 3}',
        'SLOW = frozenset("Exp Log Sin".split())',
        'if op.type in ("Exp", "Log", "Sin"): pass',
    ],
)
def test_a_list_is_found(source, op_types):
    assert lists_in(source, op_types) == [(1, ["Exp", "Log", "Sin"])]


@pytest.mark.parametrize(
    "source", ['@compute("Exp", "Log", "Sin")\ndef f(): pass', '__all__ = ["Exp", "Log", "Sin"]']
)
def test_registering_and_exporting_are_no_lists(source, op_types):
    assert lists_in(source, op_types) == []
