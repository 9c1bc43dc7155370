"""``tf.train.CheckpointManager``: keeps the latest object-based checkpoints and removes older ones.

Source: tensorflow/python/training/checkpoint_management.py, release 1.15.
"""

from __future__ import annotations

import numbers
import os
import time
from typing import Any

from gpuplace import tf_logging
from gpuplace.files.file_system import text_of
from gpuplace.ops.train.global_step import global_step
from gpuplace.ops.variables.variable_scope import variable_creator_scope
from gpuplace.saving.checkpoint_state import get_checkpoint_state, remove_bundle, write_checkpoint_state
from gpuplace.tf1.saving.tracking.status import get_session

__all__ = ["CheckpointManager"]


class CheckpointManager:
    """Manager of the numbered checkpoints in a folder, which removes old ones.

    It also stores its state in the folder, in the file that names the latest checkpoints, so that a later
    manager can continue.

    >>> import gpuplace as tf, os, tempfile
    >>> count = tf.Variable(3, name="count")
    >>> manager = tf.train.CheckpointManager(tf.train.Checkpoint(count=count), tempfile.mkdtemp(), max_to_keep=2)
    >>> with tf.Session() as session:
    ...     session.run(count.initializer)
    ...     for _ in range(3):
    ...         path = manager.save()
    >>> [os.path.basename(path) for path in manager.checkpoints]
    ['ckpt-2', 'ckpt-3']

    Args:
        checkpoint: the ``tf.train.Checkpoint``.
        directory: the folder.
        max_to_keep: number of checkpoints to keep; None for all.
        keep_checkpoint_every_n_hours: hours between checkpoints that are kept forever, or None.
        checkpoint_name: prefix of the checkpoint names.

    Raises:
        ValueError: ``max_to_keep`` is less than 1.
    """

    def __init__(
        self,
        checkpoint: Any,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_max_to_keep`, got {max_to_keep}."
            )
        self._checkpoint = checkpoint
        self._save_counter_assign: Any = None
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._directory = text_of(directory)
        self._checkpoint_prefix = os.path.join(self._directory, checkpoint_name)
        self._latest_checkpoint: str | None = None
        self._maybe_delete: dict[str, float] = {}
        """Checkpoints that may be removed, the oldest first, and when each was written."""
        now = time.time()
        self._last_preserved_timestamp = now - 1.0  # so that the next checkpoint has a later time
        state = get_checkpoint_state(self._directory)
        if state is not None:
            self._resume(state, now)

    def _resume(self, state: Any, now: float) -> None:
        """Restore the state of an earlier manager."""
        self._latest_checkpoint = state.model_checkpoint_path
        preserved = state.last_preserved_timestamp
        if now < preserved:
            tf_logging.warning(
                "time.time() returned a value %f seconds behind the last preserved checkpoint timestamp.",
                preserved - now,
            )
            preserved = now
        self._last_preserved_timestamp = preserved
        paths = state.all_model_checkpoint_paths
        times = state.all_model_checkpoint_timestamps or [preserved] * len(paths)
        for path, written in zip(paths, times):
            if min(written, now) > preserved:
                self._maybe_delete[path] = min(written, now)

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, or None."""
        return self._latest_checkpoint

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints, the oldest first, without those that are kept forever."""
        return list(self._maybe_delete)

    @property
    def _prefix(self) -> str:
        """Prefix of the checkpoint paths."""
        return self._checkpoint_prefix

    def _sweep(self) -> None:
        """Remove superfluous checkpoints."""
        hours = self._keep_checkpoint_every_n_hours
        while self._max_to_keep and len(self._maybe_delete) > self._max_to_keep:
            path = next(iter(self._maybe_delete))
            written = self._maybe_delete.pop(path)
            if hours and written - hours * 3600.0 >= self._last_preserved_timestamp:
                self._last_preserved_timestamp = written
            else:
                remove_bundle(path)

    def _record_state(self) -> None:
        """Write the state to the folder."""
        assert self._latest_checkpoint is not None
        write_checkpoint_state(
            self._directory,
            model_checkpoint_path=self._latest_checkpoint,
            all_model_checkpoint_paths=list(self._maybe_delete),
            save_relative_paths=True,
            all_model_checkpoint_timestamps=list(self._maybe_delete.values()),
            last_preserved_timestamp=self._last_preserved_timestamp,
        )

    def save(self, checkpoint_number: Any = None) -> str:
        """Write a checkpoint in the default session, and remove superfluous ones.

        Args:
            checkpoint_number: its number, an integer, or a variable or tensor of one; None for the
                checkpoint's ``save_counter``, which is incremented in any case.

        Returns:
            The checkpoint's path.

        Raises:
            ValueError: there is no session, or an object has changed so that it could not be restored.
            NotImplementedError: an object cannot be saved.
        """
        session = get_session()

        def initialized(next_creator: Any, **kwargs: Any) -> Any:
            variable = next_creator(**kwargs)
            session.run(variable.initializer)
            return variable

        with variable_creator_scope(initialized):
            counter = self._checkpoint.save_counter
        if self._save_counter_assign is None:
            self._save_counter_assign = counter.assign_add(1, read_value=False)
        session.run(self._save_counter_assign)
        number = counter if checkpoint_number is None else checkpoint_number
        if not isinstance(number, numbers.Integral):
            number = global_step(sess=session, global_step_tensor=number)
        path: str = self._checkpoint.write(f"{self._prefix}-{int(number)}")
        self._maybe_delete.pop(path, None)
        self._maybe_delete[path] = time.time()
        self._latest_checkpoint = path
        # Written twice: after an interruption in between, the new checkpoint is recorded, with old ones that
        # may be superfluous.
        self._record_state()
        self._sweep()
        self._record_state()
        return path
