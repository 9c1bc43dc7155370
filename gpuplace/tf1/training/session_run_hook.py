"""What extends the runs of a monitored session.

::

    begin ─ session made ─ after_create_session ─┬─ before_run ─ run ─ after_run ─┬─ end
                                                 └──────────── each step ─────────┘

``end`` is left out where the block ends by an error.

Source: tensorflow/python/training/session_run_hook.py, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.typing import FeedDict


class SessionRunArgs(NamedTuple):
    """What a hook adds to a run."""

    fetches: Any
    """What it wants fetched, as for ``Session.run``; None: nothing."""
    feed_dict: FeedDict | None = None
    """What it feeds; None: nothing."""
    options: Any = None
    """``RunOptions`` that are merged with those of others; None: none."""


class SessionRunValues(NamedTuple):
    """What a hook gets of a run."""

    results: Any
    """The values of what it wanted fetched."""
    options: Any
    """The ``RunOptions`` of the run."""
    run_metadata: Any
    """The ``RunMetadata`` of the run; empty unless it was traced."""


class SessionRunContext:
    """What hooks know about a run, and how they end the training.

    Args:
        original_args: what the program asked for.
        session: the session, without hooks.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program asked for, as ``SessionRunArgs``."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session, without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Makes ``should_stop`` of the monitored session True; the run itself is completed."""
        self._stop_requested = True


class SessionRunHook:
    """Base of hooks; what a hook does not define does nothing."""

    def begin(self) -> None:
        """Called once before the session is made, when the graph may still be changed."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when a session was made, and again when it was made anew after a failure.

        Args:
            session: the session; its graph is finalised.
            coord: the ``Coordinator`` of its threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run.

        Args:
            run_context: the ``SessionRunContext`` of the run.

        Returns:
            What to fetch and feed besides, as ``SessionRunArgs``; None: nothing.
        """
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that did not fail.

        Args:
            run_context: the ``SessionRunContext`` of the run.
            run_values: the values of what ``before_run`` asked for.
        """

    def end(self, session: Any) -> None:
        """Called before the session is closed, unless an error other than the end of the input closes it.

        Args:
            session: the session.
        """
