"""The size of the package's two sides, its folders and the wall; `python -m tests.tools.package_figures` shows more.

A side that has grown needs something else to go, or a program that many people use and that needs the new breadth.
"""

import pytest

from tests.tools.package_figures import (
    Source,
    deep_functions,
    folders,
    global_statements,
    imports_across_the_wall,
    lines_of_code,
    long_functions,
    reach_ins,
    shares_of_any,
    sources,
)

MOST_LINES = {"core": 106_040, "tf1": 48_485}
MOST_FOLDERS = 24
MOST_ANY = {"core": (0.132, 0.116), "tf1": (0.231, 0.242)}
"""Shares of the parameters and of the results that are `Any`."""
MOST_REACH_INS = {"core": 54, "tf1": 28}


@pytest.fixture(scope="module")
def sides():
    return {"core": sources(walled=False), "tf1": sources(walled=True)}


@pytest.mark.parametrize("side", MOST_LINES)
def test_lines_of_code(sides, side):
    assert lines_of_code(sides[side]) <= MOST_LINES[side]


def test_folders_at_the_top():
    assert len(folders()) <= MOST_FOLDERS


@pytest.mark.parametrize("side", MOST_REACH_INS)
def test_private_names_of_other_modules(sides, side):
    found = reach_ins(sides[side])
    assert len(found) <= MOST_REACH_INS[side], "\n".join(found)


@pytest.mark.parametrize("side", MOST_ANY)
def test_parameters_and_results_that_are_any(sides, side):
    shares = shares_of_any(sides[side])
    assert shares[0] <= MOST_ANY[side][0] and shares[1] <= MOST_ANY[side][1]


def test_no_function_is_long(sides):
    assert long_functions(sides["core"]) + long_functions(sides["tf1"]) == []


def test_no_function_rebinds_a_name_of_its_module(sides):
    """State of the whole process is in `gpuplace/process.py`, or in an object of the module that needs it."""
    assert global_statements(sides["core"]) + global_statements(sides["tf1"]) == []


def test_nothing_goes_through_the_wall(sides):
    assert imports_across_the_wall(sides["core"]) == []


SOURCE = '''
"""A module.

Of two lines.
"""
from gpuplace.errors import _private
from typing import Any  # what it is

NUMBER = 3
"""What it is."""


def f(x: Any, y: int) -> Any:
    """Says
    it."""
    global NUMBER

    NUMBER = x._hidden + f._own + len(x._fields)
    f._own = (
        1
    )
'''


def test_what_is_counted():
    given = [Source("gpuplace.some", SOURCE)]
    assert lines_of_code(given) == 9
    assert global_statements(given) == ["gpuplace.some:16"]
    assert reach_ins(given) == ["gpuplace.some _hidden", "gpuplace.some _private"]
    assert shares_of_any(given) == (0.5, 1.0)
    assert long_functions(given) == deep_functions(given) == []


def test_long_and_deep_functions():
    long = "def f():\n" + "    x = 1\n\n" * 80
    deep = "def f():\n" + "".join(" " * 4 * n + "if x:\n" for n in range(1, 7)) + " " * 28 + "pass\n"
    assert long_functions([Source("m", long)]) == []
    assert long_functions([Source("m", long + "    x = 2\n")]) == ["m:1 f"]
    assert deep_functions([Source("m", deep)]) == ["m:1 f"]
