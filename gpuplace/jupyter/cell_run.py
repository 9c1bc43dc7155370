"""Runs the body of a cell magic the way IPython runs a cell, and hands back what went wrong.

The lines of the body keep the numbers that they have in the notebook, where the magic's own line is the first; so
tracebacks, and whoever asks where a line is (``In[3]:2``), point to what the user sees. IPython's own ``run_cell``
would print the traceback at once and tell "Run all" that the cell went well.
"""

from __future__ import annotations

import ast
import inspect
from types import TracebackType
from typing import Any


def run_body(shell: Any, body: str, magic: str) -> Exception | None:
    """Runs the body in the user's namespace and shows its last expression, as for an ordinary cell.

    Args:
        shell: IPython.
        body: the lines below the magic's.
        magic: the magic's line, shown in tracebacks.

    Returns:
        The exception that the body ended with; its traceback begins at the body. None if it ran to its end.

    Raises:
        SyntaxError: the body cannot be compiled, or awaits.
    """
    raw = f"{magic}\n{body}"
    blank = len(body) - len(body.lstrip("\n"))  # which IPython would drop, and miscount the lines
    code = "\n" * (1 + blank) + shell.transform_cell(body)
    filename = shell.compile.cache(f"# {magic}{code}", shell.displayhook.prompt_count, raw_code=raw)
    with shell.builtin_trap:
        module = shell.transform_ast(shell.compile.ast_parse(code, filename))
        last = module.body[-1] if module.body else None
        parts: list[ast.Module | ast.Interactive] = [ast.Module(module.body, [])]
        if isinstance(last, ast.Expr) and not shell.displayhook.semicolon_at_end_of_expression(body):
            parts = [ast.Module(module.body[:-1], []), ast.Interactive([last])]
        codes = [
            shell.compile(part, filename, "single" if isinstance(part, ast.Interactive) else "exec")
            for part in parts
        ]
        if any(code.co_flags & inspect.CO_COROUTINE for code in codes):
            raise SyntaxError(f"'await' outside a function is not possible under {magic.split()[0]}")
        try:
            for compiled in codes:
                exec(compiled, shell.user_global_ns, shell.user_ns)
        except Exception as error:
            error.__traceback__ = _from_file(error.__traceback__, filename)
            return error
    return None


def _from_file(trace: TracebackType | None, filename: str) -> TracebackType | None:
    """The traceback from the first frame of the file on; all of it if there is none."""
    found = trace
    while found is not None and found.tb_frame.f_code.co_filename != filename:
        found = found.tb_next
    return found or trace


def with_traceback_of(shell: Any, error: Exception) -> Exception:
    """The error, prepared to be raised again by a magic: IPython shows the traceback that it has now, and no more."""
    lines = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__, tb_offset=0)
    error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
    return error
