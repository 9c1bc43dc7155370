"""``Session`` and ``InteractiveSession``, which also set the default session and the default graph.

Source: tensorflow/python/client/session.py, releases 1.15 and 2.21.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from gpuplace.callers import warn
from gpuplace.display import above
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.graph.stacks import session_stack
from gpuplace.runtime.session.base_session import BaseSession
from gpuplace.typing import ConfigLike


class Session(BaseSession):
    """Session that runs a graph; as a context manager it is the default session, and is closed at the end.

    Within the context, its graph is the default graph.

    >>> from gpuplace.graph.graph import Graph
    >>> with Graph().as_default() as graph:
    ...     go = graph.create_op("NoOp", [], [], name="go")
    >>> with Session(graph=graph) as session:
    ...     session.run([go])
    [None]

    Args:
        target: execution engine: ``""`` for this process, or the ``"grpc://host:port"`` of a ``tf.train.Server``.
        graph: the graph to run; None: the default graph.
        config: a ``ConfigProto``, or an object with its attributes; None: its defaults.

    Raises:
        TypeError: an argument has the wrong type.
        NotFoundError: the ``target`` does not exist.
        OpError: the devices cannot be created with this config, or the cluster cannot be used.
    """

    def __init__(
        self, target: str | bytes = "", graph: Graph | None = None, config: ConfigLike | None = None
    ) -> None:
        super().__init__(target, graph, config)
        self._contexts: list[contextlib.ExitStack] = []

    def __enter__(self) -> Session:
        if self._contexts:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a session"
                " multiple times."
            )
        stack = contextlib.ExitStack()
        stack.enter_context(self.graph.as_default())
        stack.enter_context(self.as_default())
        self._contexts.append(stack)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._contexts.pop().__exit__(kind, error, trace)
        self.close()

    @staticmethod
    def reset(target: str, containers: Sequence[str] | None = None, config: ConfigLike | None = None) -> None:
        """Clear the variables and other resources of a cluster's containers, and end its sessions.

        Args:
            target: target of a ``tf.train.Server``, as in ``Session``.
            containers: names of the containers; None: the default container.
            config: a ``ConfigProto``, of which ``device_filters`` and ``cluster_def`` are used.

        Raises:
            InvalidArgumentError: ``target`` is this process, whose sessions do not share variables.
            NotFoundError: the ``target`` does not exist.
        """
        if not target:
            raise InvalidArgumentError.of(
                "Session.reset needs a remote session; sessions here keep their variables to themselves."
            )
        above("gpuplace.clusters.master", "reset")(target, containers, config)


class InteractiveSession(BaseSession):
    """Session that is the default session from its creation on; for shells and notebooks.

    As in TensorFlow, only the nodes that a step needs are placed, and without a config GPU memory grows on demand.

    Args:
        target: execution engine: ``""`` for this process, or the ``"grpc://host:port"`` of a ``tf.train.Server``.
        graph: the graph to run, which becomes the default graph; None: the default graph.
        config: a ``ConfigProto``, or an object with its attributes; None: its defaults with ``allow_growth``.

    Raises:
        TypeError: an argument has the wrong type.
        NotFoundError: the ``target`` does not exist.
        OpError: the devices cannot be created with this config, or the cluster cannot be used.
    """

    _place_pruned = True
    _active_lock = threading.Lock()
    _active: ClassVar[set[InteractiveSession]] = set()

    def __init__(
        self, target: str | bytes = "", graph: Graph | None = None, config: ConfigLike | None = None
    ) -> None:
        super().__init__(target, graph, _GrowingConfig() if config is None else config)
        with InteractiveSession._active_lock:
            if InteractiveSession._active:
                warn(
                    "An interactive session is already active. This can cause out-of-memory errors in some cases. You"
                    " must explicitly call `InteractiveSession.close()` to release resources held by the other"
                    " session(s)."
                )
            InteractiveSession._active.add(self)
        session_stack.enforce_nesting = False
        self._stack = contextlib.ExitStack()
        if graph is not None:
            self._stack.enter_context(graph.as_default())
        self._stack.enter_context(self.as_default())

    def close(self) -> None:
        """Close the session and remove it as the default session."""
        if not self._closed:
            with InteractiveSession._active_lock:
                InteractiveSession._active.discard(self)
            super().close()
            self._stack.close()

    @staticmethod
    @contextlib.contextmanager
    def none_active() -> Iterator[None]:
        """Hide the active interactive sessions within a ``with`` block, and those of the block afterwards."""
        with InteractiveSession._active_lock:
            outside, InteractiveSession._active = InteractiveSession._active, set()
        try:
            yield
        finally:
            with InteractiveSession._active_lock:
                InteractiveSession._active = outside


class _GrowingConfig:
    """Default config of an interactive session."""

    class gpu_options:
        """Options with memory that grows on demand."""

        allow_growth = True
