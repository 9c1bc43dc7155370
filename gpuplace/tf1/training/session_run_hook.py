"""Hooks that extend the runs of a monitored session.

::

    begin ─ session created ─ after_create_session ─┬─ before_run ─ run ─ after_run ─┬─ end
                                                    └──────────── each step ─────────┘

``end`` is not called if an error ends the block.

Source: tensorflow/python/training/session_run_hook.py, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.typing import FeedDict


class SessionRunArgs(NamedTuple):
    """A hook's additions to a run."""

    fetches: Any
    """Values to fetch, as for ``Session.run``, or None."""
    feed_dict: FeedDict | None = None
    """Feeds, or None."""
    options: Any = None
    """``RunOptions``, which are merged with those of other hooks, or None."""


class SessionRunValues(NamedTuple):
    """The results of a run for a hook."""

    results: Any
    """The values of the hook's fetches."""
    options: Any
    """The ``RunOptions`` of the run."""
    run_metadata: Any
    """The ``RunMetadata`` of the run; empty unless it was traced."""


class SessionRunContext:
    """Information about a run for hooks, which can also request a stop.

    Args:
        original_args: the arguments of the program's run.
        session: the session, without hooks.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The arguments of the program's run, as ``SessionRunArgs``."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session, without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook requested a stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Make ``should_stop`` of the monitored session return True after this run."""
        self._stop_requested = True


class SessionRunHook:
    """Base class of hooks; its methods do nothing."""

    def begin(self) -> None:
        """Called once before the session is created, when the graph may still be changed."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when a session is created, or recreated after a failure.

        Args:
            session: the session; its graph is finalized.
            coord: the ``Coordinator`` of its threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run.

        Args:
            run_context: the ``SessionRunContext`` of the run.

        Returns:
            Additional fetches and feeds, as ``SessionRunArgs``, or None.
        """
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each successful run.

        Args:
            run_context: the ``SessionRunContext`` of the run.
            run_values: the values of the fetches of ``before_run``.
        """

    def end(self, session: Any) -> None:
        """Called before the session closes, unless an error other than the end of the input closes it.

        Args:
            session: the session.
        """
