"""Figures of the package: python -m tests.tools.package_figures

Lines of code are counted by the tokenizer: no docstrings, no comments, no blank lines. The package has two sides, the
TensorFlow 1 library in `gpuplace/tf1` and the core, which is all else.

A name that begins with an underscore is not private where its owner documents it for callers: the methods of named
tuples (`_replace`, `_asdict`, `_fields`, `_make`), `sys._getframe`, and IPython's display methods (`_repr_html_`,
`_repr_mimebundle_` and so on).
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.project.test_functions import FUNCTIONS, levels
from tests.project.test_layers import MODULES, PACKAGE, WALLED, is_within, module_name, through_the_wall

LONG = 80
"""Lines of code of a function that are still few."""
DEEP = 5
"""Levels of a function that are still few."""

_DOCUMENTED = re.compile(r"__\w*|_(replace|asdict|fields|make|getframe|repr_\w+_)")
"""Names with an underscore that their owners document for callers."""

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass
class Source:
    """A module's text, its tree, and the numbers of its lines of code and of its comments."""

    module: str
    text: str
    tree: ast.Module = field(init=False)
    code: set[int] = field(init=False)
    comments: int = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)
        tokens = list(tokenize.generate_tokens(io.StringIO(self.text).readline))
        self.comments = sum(token.type == tokenize.COMMENT for token in tokens)
        self.code = {
            line
            for token in tokens
            if token.type not in _NO_CODE
            for line in range(token.start[0], token.end[0] + 1)
        } - set(_strings_alone(self.tree))


def _strings_alone(tree: ast.AST) -> Iterator[int]:
    """The lines of docstrings, and of strings below what they describe."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield from range(node.lineno, node.end_lineno + 1)


def sources(walled: bool | None = None) -> list[Source]:
    """The modules of the package; of one of its sides alone where it is said which."""
    named = [(module_name(path), path) for path in MODULES]
    return [
        Source(module, path.read_text(encoding="utf-8"))
        for module, path in named
        if walled is None or is_within(module, WALLED) == walled
    ]


def lines_of_code(given: list[Source]) -> int:
    """How many lines of code there are."""
    return sum(len(one.code) for one in given)


def folders() -> list[str]:
    """The names of the folders at the top."""
    return sorted(
        {path.relative_to(PACKAGE).parts[0] for path in MODULES if len(path.relative_to(PACKAGE).parts) > 1}
    )


def imports_across_the_wall(given: list[Source]) -> list[str]:
    """What the core names of the TensorFlow 1 library, its gates aside."""
    return [fault for one in given for fault in through_the_wall(one.module, one.text)]


def functions(given: list[Source]) -> Iterator[tuple[Source, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All functions and methods."""
    for one in given:
        for node in ast.walk(one.tree):
            if isinstance(node, FUNCTIONS):
                yield one, node


def _is_any(annotation: ast.expr) -> bool:
    return ast.unparse(annotation) in ("Any", "Any | None", "Sequence[Any]", "list[Any]", "tuple[Any, ...]")


def shares_of_any(given: list[Source]) -> tuple[float, float]:
    """The shares of annotated parameters and of results that are `Any`, or nothing but a row of them."""
    parameters, results = [], []
    for _, node in functions(given):
        args = node.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        parameters += [
            _is_any(arg.annotation) for arg in every if arg is not None and arg.annotation is not None
        ]
        if node.returns is not None:
            results.append(_is_any(node.returns))
    return sum(parameters) / max(len(parameters), 1), sum(results) / max(len(results), 1)


def long_functions(given: list[Source]) -> list[str]:
    """The functions of more than `LONG` lines of code."""
    return [
        f"{one.module}:{node.lineno} {node.name}"
        for one, node in functions(given)
        if len(one.code & set(range(node.body[0].lineno, node.end_lineno + 1))) > LONG
    ]


def deep_functions(given: list[Source]) -> list[str]:
    """The functions that nest more than `DEEP` levels deep."""
    return [
        f"{one.module}:{node.lineno} {node.name}" for one, node in functions(given) if levels(node) > DEEP
    ]


def global_statements(given: list[Source]) -> list[str]:
    """Where functions rebind names of their module."""
    return [
        f"{one.module}:{node.lineno}"
        for one in given
        for node in ast.walk(one.tree)
        if isinstance(node, ast.Global)
    ]


def _own_names(tree: ast.AST) -> set[str]:
    """Names that a module itself gives to functions, classes, variables and attributes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def reach_ins(given: list[Source]) -> list[str]:
    """Private names of other modules that a module uses: imported, or an attribute of something."""
    found = []
    for one in given:
        own = _own_names(one.tree)
        names: set[str] = set()
        for node in ast.walk(one.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpuplace"):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and node.attr not in own and not _is_self(node.value):
                names.add(node.attr)
        found += [
            f"{one.module} {name}"
            for name in sorted(names)
            if name.startswith("_") and not _DOCUMENTED.fullmatch(name)
        ]
    return found


def _is_self(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id in ("self", "cls")) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def comment_share(given: list[Source]) -> float:
    """Comments among all lines."""
    return sum(one.comments for one in given) / max(sum(one.text.count("\n") for one in given), 1)


def main() -> None:
    core, library = sources(walled=False), sources(walled=True)
    rows = {
        "lines of code": lines_of_code,
        "functions above 80 lines of code": lambda given: len(long_functions(given)),
        "functions above 5 levels": lambda given: len(deep_functions(given)),
        "`global` statements": lambda given: len(global_statements(given)),
        "private names of other modules": lambda given: len(reach_ins(given)),
        "parameters that are Any": lambda given: f"{shares_of_any(given)[0]:.1%}",
        "results that are Any": lambda given: f"{shares_of_any(given)[1]:.1%}",
        "comments": lambda given: f"{comment_share(given):.1%}",
    }
    print(f"{'':34}{'core':>10}{'tf1':>10}{'both':>10}")
    for name, measure in rows.items():
        print(f"{name:34}{measure(core):>10}{measure(library):>10}{measure(core + library):>10}")
    print(f"{'folders at the top':34}{len(folders()):>30}")
    print(f"{'imports across the wall':34}{len(imports_across_the_wall(core)):>30}")


if __name__ == "__main__":
    main()
