"""Sessions that start with a checkpoint if there is one, otherwise with initial values.

Source: tensorflow/python/training/session_manager.py, release 1.15 (error and log messages).
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace import tf_logging
from gpuplace.errors import DeadlineExceededError, FailedPreconditionError, OpError
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.runtime.session.session import Session
from gpuplace.saving.checkpoint_state import get_checkpoint_state
from gpuplace.typing import ConfigLike, ConfigProto, FeedDict


class SessionManager:
    """A factory of sessions whose variables have values.

    Args:
        local_init_op: run in every new session, or None.
        ready_op: a tensor with the names of uninitialized variables; None: the model is always ready.
        ready_for_local_init_op: the same before ``local_init_op`` runs.
        graph: the graph; None for the default one.
        recovery_wait_secs: seconds between checks while waiting.
        local_init_run_options: ``RunOptions`` of ``local_init_op``.

    Raises:
        ValueError: ``ready_for_local_init_op`` is given without ``local_init_op``.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
    ) -> None:
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , ready_for_local_init_op"
                f" [{ready_for_local_init_op}]"
            )

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_filename_with_path: str | os.PathLike[str] | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigLike | None = None,
        init_feed_dict: FeedDict | None = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """Create a session, and restore or initialize its variables.

        Args:
            master: execution engine, as for ``Session``.
            init_op: run if no checkpoint was restored.
            saver: the ``Saver`` to restore with; None: restore nothing.
            checkpoint_dir: folder whose last checkpoint is restored, or None.
            checkpoint_filename_with_path: a checkpoint to restore, or None.
            wait_for_checkpoint: whether to wait for a checkpoint in the folder.
            max_wait_secs: longest time to wait, in seconds.
            config: a ``ConfigProto``.
            init_feed_dict: the feeds for ``init_op``.
            init_fn: called with the session after ``init_op``.

        Returns:
            The session.

        Raises:
            RuntimeError: nothing initializes the model, or variables stay without values.
            ValueError: both a folder and a checkpoint are given.
        """
        session, is_restored = self._open_and_restore(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        with _closed_on_errors(session):
            if not is_restored:
                if init_op is None and not init_fn and self._local_init_op is None:
                    raise RuntimeError(
                        "Model is not initialized and no init_op or init_fn or local_init_op was given"
                    )
                if init_op is not None:
                    session.run(init_op, feed_dict=init_feed_dict)
                if init_fn:
                    init_fn(session)
            missing = self._run_local_init_op(session)
            if missing is not None:
                raise RuntimeError(
                    "Init operations did not make model ready for local_init.  Init op: "
                    f"{_name_of(init_op)}, init fn: {init_fn}, error: {missing}"
                )
            missing = missing_values(self._ready_op, session, "Model not ready")
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready.  Init op: {_name_of(init_op)}, init fn: {init_fn},"
                    f" local_init_op: {self._local_init_op}, error: {missing}"
                )
        return session

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_filename_with_path: str | os.PathLike[str] | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigLike | None = None,
    ) -> tuple[Session, bool]:
        """Create a session, and restore its variables if possible.

        Args:
            master: execution engine, as for ``Session``.
            saver: the ``Saver`` to restore with; None: restore nothing.
            checkpoint_dir: folder whose last checkpoint is restored, or None.
            checkpoint_filename_with_path: a checkpoint to restore, or None.
            wait_for_checkpoint: whether to wait for a checkpoint in the folder.
            max_wait_secs: longest time to wait, in seconds.
            config: a ``ConfigProto``.

        Returns:
            The session, and whether its variables have values.

        Raises:
            ValueError: both a folder and a checkpoint are given.
        """
        session, is_restored = self._open_and_restore(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        with _closed_on_errors(session):
            missing = self._run_local_init_op(session)
            if not is_restored:
                return session, False
            source = checkpoint_dir or checkpoint_filename_with_path
            if missing is not None:
                tf_logging.info(
                    "Restoring model from %s did not make model ready for local init: %s", source, missing
                )
                return session, False
            missing = missing_values(self._ready_op, session, "Model not ready")
            if missing is not None:
                tf_logging.info("Restoring model from %s did not make model ready: %s", source, missing)
                return session, False
        tf_logging.info("Restored model from %s", source)
        return session, True

    def wait_for_session(
        self, master: str, config: ConfigLike | None = None, max_wait_secs: float | None = math.inf
    ) -> Session:
        """Wait for another process to initialize the variables.

        Args:
            master: execution engine, as for ``Session``.
            config: a ``ConfigProto``.
            max_wait_secs: longest time to wait, in seconds; None for no limit.

        Returns:
            A session in which the model is ready.

        Raises:
            DeadlineExceededError: the model was not ready in time.
        """
        limit = math.inf if max_wait_secs is None else max_wait_secs
        end = time.monotonic() + limit
        while True:
            session = Session(master, graph=self._graph, config=config)
            not_ready = None
            not_ready_for_local = self._run_local_init_op(session)
            if not_ready_for_local is None:
                not_ready = missing_values(self._ready_op, session, "Model not ready")
                if not_ready is None:
                    return session
            session.close()
            if end - time.monotonic() < self._wait_secs:
                raise DeadlineExceededError.of(f"Session was not ready after waiting {limit:.0f} secs.")
            tf_logging.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                not_ready_for_local,
                not_ready,
            )
            time.sleep(self._wait_secs)

    def _open_and_restore(
        self,
        master: str,
        saver: Any,
        folder: Any,
        path: Any,
        wait: bool,
        max_wait_secs: float,
        config: ConfigProto,
    ) -> tuple[Session, bool]:
        """Return a new session, and whether a checkpoint was restored."""
        if folder and path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        session = Session(master, graph=self._graph, config=config)
        with _closed_on_errors(session):
            if not saver or not (folder or path):
                return session, False
            if path:
                saver.restore(session, path)
                return session, True
            waited = 0.0
            state = get_checkpoint_state(folder)
            while not state or not state.model_checkpoint_path:
                if not wait or waited >= max_wait_secs:
                    return session, False
                tf_logging.info("Waiting for checkpoint to be available.")
                time.sleep(self._wait_secs)
                waited += self._wait_secs
                state = get_checkpoint_state(folder)
            saver.restore(session, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return session, True

    def _run_local_init_op(self, session: Session) -> str | None:
        """Run ``local_init_op`` if the model is ready for it; return an error message if not."""
        if self._local_init_op is None:
            return None
        missing = missing_values(self._ready_for_local_init_op, session, "Model not ready for local init")
        if missing is None:
            tf_logging.info("Running local_init_op.")
            session.run(self._local_init_op, options=self._local_init_run_options)
            tf_logging.info("Done running local_init_op.")
        return missing


@contextlib.contextmanager
def _closed_on_errors(session: Session) -> Any:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OpError, RuntimeError):
            session.close()
        raise


def missing_values(ready_op: Any, session: Session, what: str) -> str | None:
    """Return a sentence that lists the uninitialized variables, or None."""
    if ready_op is None:
        return None
    try:
        value = session.run(ready_op)
    except FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            tf_logging.warning("%s : error [%s]", what, error)
            raise
        return str(error)
    if value is None or value.dtype == np.int32 or value.size == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in value)


def _name_of(op: Any) -> str:
    if op is None:
        return "None"
    return op.name if hasattr(op, "name") else f"<no name for {type(op)}>"
