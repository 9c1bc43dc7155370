"""Functions that are called while a step is gone through, and the branches that run, as the estimate times them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpuplace.cost.node_work import branches_that_run, longest_body
from gpuplace.cost.shapes import calls
from gpuplace.cost.shapes.engine import Engine
from gpuplace.graph.operation import Operation


class CallBodies:
    """The calls that are under way, the innermost last.

    Args:
        engine: the shapes of the graph that calls.
    """

    def __init__(self, engine: Engine) -> None:
        self._engines: list[Engine | None] = [engine]
        self._outermost = engine

    @contextmanager
    def inside(self, op: Operation, name: str, first: int) -> Iterator[None]:
        """Runs the body of a function that an operation calls.

        Args:
            op: what calls.
            name: the function.
            first: the position of its first argument among the inputs of the operation.
        """
        engine, node = self._node(op)
        body = None
        if engine is not None and node is not None:
            body = calls.inner(engine, name, calls.arguments_of(engine, node, first))
        self._engines.append(body)
        try:
            yield
        finally:
            self._engines.pop()

    def branch(self, op: Operation, values: Sequence[Any]) -> str:
        """Return the function that a conditional calls.

        Args:
            op: the conditional.
            values: what the function gets.
        """
        engine, node = self._node(op)
        if engine is not None and node is not None:
            names = branches_that_run(engine, node, engine.kinds[node])
            found = longest_body(engine, names, calls.arguments_of(engine, node, 1))
        else:
            names = calls.branches_of(op.attrs)
            arguments = [calls.Argument(getattr(value, "shape", None)) for value in values]
            found = longest_body(self._outermost, names, arguments)
        return names[0] if found is None else found[0]

    def _node(self, op: Operation) -> tuple[Engine | None, int | None]:
        """The position of an operation among the nodes of the graph that is being gone through."""
        engine = self._engines[-1]
        node = None if engine is None else engine.graph.index.get(op.name)
        if engine is None or node is None or engine.kinds[node].op_type != op.type:
            return engine, None
        return engine, node
