"""No circles of files: no module imports, in however many steps, one that imports it, not even inside a function.

What a class shows by a layer above its own is named in `UPWARDS`, and does not count.
"""

from __future__ import annotations

import ast

from tests.project.test_layers import MODULES, UPWARDS, imports, module_name

NAMES = {module_name(path) for path in MODULES}

# The front door: the package has the names of its core, one of which is `compat`, and `compat.v1` is the package.
FACADES = {frozenset({"gpuplace", "gpuplace.api.compat", "gpuplace.api.core"})}


def module_of(name: str, names: set[str]) -> str:
    """The module that a dotted name is, or is defined in; \"\" for none of ours."""
    while name and name not in names:
        name = name.rpartition(".")[0]
    return name


def circles(needs: dict[str, set[str]]) -> list[set[str]]:
    """The sets of modules each of which imports, directly or not, all others of its set (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    found = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        waiting.append(module)
        for other in sorted(needs[module]):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in waiting:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            at = waiting.index(module)
            found.append(set(waiting[at:]))
            del waiting[at:]

    for module in sorted(needs):
        if module not in number:
            visit(module)
    return [circle for circle in found if len(circle) > 1]


def test_there_is_no_circle_of_files():
    needs = {}
    for path in MODULES:
        module = module_name(path)
        named = imports(ast.parse(path.read_text(encoding="utf-8")))
        if module == "gpuplace.typing":  # what it names, for type checkers alone, it does not load
            needs[module] = set()
            continue
        needs[module] = (
            {module_of(name, NAMES) for _, name in named} - {"", module} - UPWARDS.get(module, set())
        )
    unknown = [sorted(circle) for circle in circles(needs) if frozenset(circle) not in FACADES]
    assert unknown == []


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [{"b", "c"}]
