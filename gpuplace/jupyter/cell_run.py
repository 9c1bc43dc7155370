"""Run the body of a cell magic as IPython runs a cell, and return its exception.

The lines of the body keep their numbers in the notebook, where the magic's own line is the first. Tracebacks and source
lines (``In[3]:2``) therefore match what the user sees. IPython's own ``run_cell`` would print the traceback immediately
and report the cell as successful, so that "Run all" would continue.
"""

from __future__ import annotations

import ast
import inspect
from types import TracebackType
from typing import Any


def run_body(shell: Any, body: str, magic: str) -> Exception | None:
    """Run the body in the user's namespace and display its last expression, as for an ordinary cell.

    Args:
        shell: IPython's shell.
        body: the lines below the magic's line.
        magic: the magic's line, shown in tracebacks.

    Returns:
        The exception that ended the body, with a traceback that begins at the body; None if it completed.

    Raises:
        SyntaxError: the body cannot be compiled, or contains a top-level ``await``.
    """
    raw = f"{magic}\n{body}"
    blank = len(body) - len(body.lstrip("\n"))  # IPython drops leading blank lines, which shifts line numbers
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
            raise SyntaxError(f"'await' outside a function is not supported under {magic.split()[0]}")
        try:
            for compiled in codes:
                exec(compiled, shell.user_global_ns, shell.user_ns)
        except Exception as error:
            error.__traceback__ = _from_file(error.__traceback__, filename)
            return error
    return None


def _from_file(trace: TracebackType | None, filename: str) -> TracebackType | None:
    """Return the traceback from the first frame of the file on; all of it if there is none."""
    frame = trace
    while frame is not None and frame.tb_frame.f_code.co_filename != filename:
        frame = frame.tb_next
    return frame or trace


def with_traceback_of(shell: Any, error: Exception) -> Exception:
    """Return the error, prepared so that IPython shows its current traceback when a magic re-raises it."""
    lines = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__, tb_offset=0)
    error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
    return error
