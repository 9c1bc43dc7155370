"""The default graph and the default session of each thread.

A stack per thread: entering ``graph.as_default()`` or ``session.as_default()`` pushes, leaving pops. The graph
below all stacks, used where nothing was pushed, is one per thread's stack bottom for the whole process, as in
TensorFlow.

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
    """Nested defaults of one thread."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[T] = []
        self.enforce_nesting = True

    def get(self) -> T | None:
        """The innermost default, or None."""
        return self.stack[-1] if self.stack else None

    def push(self, default: T) -> Pushed[T]:
        """Makes ``default`` the innermost one within a ``with`` block; AssertionError if blocks are not nested."""
        return Pushed(self, default)

    def drop(self, default: T) -> None:
        """Ends the block of ``default``."""
        if not self.stack:
            return
        if self.stack[-1] is default:
            self.stack.pop()
            return
        if self.enforce_nesting:
            raise AssertionError(
                f"Nesting violated for default stack of {type(default)} objects: close what was"
                f" opened last first"
            )
        if default in self.stack:
            self.stack.remove(default)

    def reset(self) -> None:
        """Forgets all defaults of this thread."""
        self.stack = []


class Block(contextlib.ContextDecorator):
    """A ``with`` block that ends even if an exception of a signal handler comes while it is entered or left.

    Such an exception can come before the first instruction of ``__exit__``, or after the last but one of ``__enter__``.
    Then nothing needs the block any more, and it ends when Python drops it. Where there is nothing to undo, Python
    calls functions of C alone then: in one of Python's, it would drop an exception that comes just there.
    """

    _ending: Callable[[], Any] = bool
    """Undoes what has been changed and is still there; does not refer to the block, which would keep itself alive."""

    __del__ = property(operator.attrgetter("_ending"))


class Pushed(Block, Generic[T]):
    """A block within which something is the innermost default."""

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
        else:  # blocks within this one may have been interrupted
            end_default(get_ident(), self._stack.stack, self._depth, self._default)
        self._ending = bool


def end_default(thread: int, stack: list[Any], depth: int, default: Any) -> None:
    """Ends a default and those within it, if it is still there.

    Args:
        thread: whose stack it is.
        stack: the stack.
        depth: where in it the default is.
        default: the default.
    """
    if thread == get_ident() and len(stack) > depth and stack[depth] is default:
        del stack[depth:]


graph_stack: DefaultStack[Any] = DefaultStack()
session_stack: DefaultStack[Any] = DefaultStack()
_lock = threading.Lock()


def get_default_graph(make: Callable[[], Graph] | None = None) -> Graph:
    """Returns the graph that new operations of this thread go to.

    Args:
        make: makes the process's graph where there is none yet.
    """
    innermost = graph_stack.get()
    return innermost if innermost is not None else global_graph(make)


def global_graph(make: Callable[[], Graph] | None = None) -> Graph:
    """Returns the process's graph, which is the default one outside of all blocks.

    Args:
        make: as for ``get_default_graph``.
    """
    with _lock:
        if PROCESS.default_graph is None:
            assert make is not None
            PROCESS.default_graph = make()
        graph: Graph = PROCESS.default_graph
        return graph


def is_default_graph(graph: Graph) -> bool:
    """Whether new operations of this thread go to ``graph``."""
    stack = graph_stack.stack
    return (stack[-1] if stack else PROCESS.default_graph) is graph


def reset_default_graph() -> None:
    """Forgets the process's default graph; AssertionError within a ``with graph.as_default()`` block."""
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
    """A ``with`` block of this thread without a default graph or session; those from before come back after it."""
    graphs, sessions, outermost = graph_stack.stack, session_stack.stack, PROCESS.default_graph
    nesting = graph_stack.enforce_nesting, session_stack.enforce_nesting
    graph_stack.stack, session_stack.stack, PROCESS.default_graph = [], [], None
    try:
        yield
    finally:
        graph_stack.stack, session_stack.stack, PROCESS.default_graph = graphs, sessions, outermost
        graph_stack.enforce_nesting, session_stack.enforce_nesting = nesting


def get_default_session() -> Any:
    """The innermost default session of this thread, or None."""
    return session_stack.get()
