"""No circles of files: no module imports, in however many steps, one that imports it, not even inside a function."""

from __future__ import annotations

import ast

from tests.project.test_layers import MODULES, imports, module_name

NAMES = {module_name(path) for path in MODULES}

# The front door: the package names `compat`, and `compat.v1` is the package.
FACADES = {frozenset({"gpuplace", "gpuplace.api.compat"})}
# Circles that are still there. This list only shrinks: none is added, and none grows.
KNOWN = [
    {
        "gpuplace.graph.graph",
        "gpuplace.graph.operation",
        "gpuplace.graph.scopes",
        "gpuplace.graph.shape_inference",
        "gpuplace.graph.stacks",
    },
    {"gpuplace.ops.flow.conditionals", "gpuplace.ops.flow.control"},
    {
        "gpuplace.placer.placer",
        "gpuplace.why.blame",
        "gpuplace.why.causes_of_moves",
        "gpuplace.why.deciding",
        "gpuplace.why.diff",
        "gpuplace.why.explain",
        "gpuplace.why.explanation",
        "gpuplace.why.kernel_text",
        "gpuplace.why.messages",
        "gpuplace.why.moved_by",
        "gpuplace.why.placement",
        "gpuplace.why.placement_log",
        "gpuplace.why.remedy",
        "gpuplace.why.ties",
    },
]


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
        needs[module] = {module_of(name, NAMES) for _, name in named} - {"", module}
    unknown = [
        sorted(circle)
        for circle in circles(needs)
        if frozenset(circle) not in FACADES and not any(circle <= known for known in KNOWN)
    ]
    assert unknown == []


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [{"b", "c"}]
