"""The default graph and the default session of each thread.

Each thread has a stack: entering ``graph.as_default()`` or ``session.as_default()`` pushes, leaving pops. If the stack
is empty, the default is the process-wide graph, as in TensorFlow.

Source: tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import operator
import threading
from _thread import get_ident
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from gpuplace.process import PROCESS
from gpuplace.typing import Graph

T = TypeVar("T")


class DefaultStack(threading.local, Generic[T]):
    """The nested defaults of a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[T] = []
        self.enforce_nesting = True

    def get(self) -> T | None:
        """Return the innermost default, or None."""
        return self.stack[-1] if self.stack else None

    def push(self, default: T) -> Pushed[T]:
        """Make ``default`` the innermost default in a ``with`` block; AssertionError if blocks are not nested."""
        return Pushed(self, default)

    def drop(self, default: T) -> None:
        """End the block of ``default``."""
        if not self.stack:
            return
        if self.stack[-1] is default:
            self.stack.pop()
            return
        if self.enforce_nesting:
            raise AssertionError(
                f"Nesting violated for default stack of {type(default)} objects: close the last one first"
            )
        if default in self.stack:
            self.stack.remove(default)

    def reset(self) -> None:
        """Forget all defaults of this thread."""
        self.stack = []


class Block(contextlib.ContextDecorator):
    """A ``with`` block that ends even if a signal handler raises while it is entered or left.

    Such an exception can come before the first instruction of ``__exit__``, or just before ``__enter__`` returns. The
    block is then unreachable, and ends when Python frees it. If there is nothing to undo, Python should call only C
    functions here: an exception that arrived in a Python function now would be lost.
    """

    _ending: Callable[[], Any] = bool
    """Undoes changes that are still in effect; must not refer to the block, which would keep it alive."""

    __del__ = property(operator.attrgetter("_ending"))


class Pushed(Block, Generic[T]):
    """A block in which an object is the innermost default."""

    def __init__(self, stack: DefaultStack[T], default: T) -> None:
        self._stack = stack
        self._default = default
        self._depth = 0

    def __enter__(self) -> T:
        stack = self._stack.stack
        self._depth = len(stack)
        self._ending = partial(end_default, get_ident(), stack, self._depth, self._default)
        stack.append(self._default)
        return self._default

    def __exit__(self, kind: Any = None, *exc: object) -> None:
        if kind is None:
            self._stack.drop(self._default)
        else:  # inner blocks may have been interrupted
            end_default(get_ident(), self._stack.stack, self._depth, self._default)
        self._ending = bool


def end_default(thread: int, stack: list[Any], depth: int, default: object) -> None:
    """End a default and its inner defaults, if it still exists.

    Args:
        thread: thread that owns the stack.
        stack: its nested defaults.
        depth: position of the default in the stack.
        default: default to end.
    """
    if thread == get_ident() and len(stack) > depth and stack[depth] is default:
        del stack[depth:]


graph_stack: DefaultStack[Any] = DefaultStack()
session_stack: DefaultStack[Any] = DefaultStack()
_lock = threading.Lock()


def get_default_graph(make: Callable[[], Graph] | None = None) -> Graph:
    """Return the graph that new operations of this thread go to.

    Args:
        make: create the process's graph if it does not exist.
    """
    innermost = graph_stack.get()
    return innermost if innermost is not None else global_graph(make)


def global_graph(make: Callable[[], Graph] | None = None) -> Graph:
    """Return the process's graph, the default outside all blocks.

    Args:
        make: see ``get_default_graph``.
    """
    with _lock:
        if PROCESS.default_graph is None:
            assert make is not None
            PROCESS.default_graph = make()
        graph: Graph = PROCESS.default_graph
        return graph


def is_default_graph(graph: Graph) -> bool:
    """Return whether new operations of this thread go to ``graph``."""
    stack = graph_stack.stack
    return (stack[-1] if stack else PROCESS.default_graph) is graph


def reset_default_graph() -> None:
    """Drop the process's default graph; AssertionError within a ``with graph.as_default()`` block."""
    if graph_stack.stack:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit"
            " the nesting and"
            " create a new graph."
        )
    with _lock:
        PROCESS.default_graph = None


@contextlib.contextmanager
def fresh_defaults() -> Iterator[None]:
    """A ``with`` block without a default graph or session for this thread; the previous ones return afterwards."""
    graphs, sessions, outermost = graph_stack.stack, session_stack.stack, PROCESS.default_graph
    nesting = graph_stack.enforce_nesting, session_stack.enforce_nesting
    graph_stack.stack, session_stack.stack, PROCESS.default_graph = [], [], None
    try:
        yield
    finally:
        graph_stack.stack, session_stack.stack, PROCESS.default_graph = graphs, sessions, outermost
        graph_stack.enforce_nesting, session_stack.enforce_nesting = nesting


def get_default_session() -> Any:
    """Return the innermost default session of this thread, or None."""
    return session_stack.get()
