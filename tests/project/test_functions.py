"""Functions of the package are short, and nest a few levels deep."""

import ast
from pathlib import Path

import pytest

import gpuplace

PACKAGE = Path(gpuplace.__file__).parent
MOST_LINES = 100
MOST_LEVELS = 5
BLOCKS = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.Match)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def lines(function):
    """Lines of a function's code, without its signature and docstring."""
    first = (
        function.body[1]
        if ast.get_docstring(function) is not None and len(function.body) > 1
        else function.body[0]
    )
    return function.end_lineno - first.lineno + 1


def levels(node, level=0):
    """How deep blocks nest in a node; ``elif`` is no level, and functions within count for themselves."""
    deepest = level
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        held = getattr(node, field, [])
        is_elif = (
            field == "orelse" and isinstance(node, ast.If) and len(held) == 1 and isinstance(held[0], ast.If)
        )
        for one in held:
            if isinstance(one, (ast.ExceptHandler, ast.match_case)):
                deepest = max(deepest, levels(one, level))
            elif isinstance(one, BLOCKS):
                deepest = max(deepest, levels(one, level if is_elif else level + 1))
    return deepest


@pytest.mark.parametrize(
    "measure, most", [(lines, MOST_LINES), (levels, MOST_LEVELS)], ids=["lines", "levels"]
)
def test_functions_are_short_and_flat(measure, most):
    found = {
        f"{path.relative_to(PACKAGE)}: {node.name}": measure(node)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, FUNCTIONS)
    }
    assert {name: number for name, number in found.items() if number > most} == {}


def test_levels_are_counted():
    source = """
def f():
    for a in b:
        if c:
            pass
        elif d:
            with e:
                pass
"""
    assert levels(ast.parse(source).body[0]) == 3
    assert lines(ast.parse('def f():\n    """Says."""\n    a = 1\n    return a\n').body[0]) == 2
