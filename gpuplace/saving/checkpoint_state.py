"""The file ``checkpoint``, which lists the last checkpoints, and functions on checkpoint paths.

Source: tensorflow/python/training/checkpoint_management.py, release 1.15.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.errors import OpError
from gpuplace.files.checkpoints.bundle import index_file
from gpuplace.files.file_system import matching_paths, read_bytes, text_of, with_op_errors
from gpuplace.graphdef.messages import CheckpointState, SaverDef, text_format
from gpuplace.writing import write_file

__all__ = [
    "CheckpointState",
    "checkpoint_exists",
    "checkpoints_iterator",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "latest_checkpoint",
    "meta_graph_filename",
    "remove_bundle",
    "remove_checkpoint",
    "update_checkpoint_state",
    "wait_for_new_checkpoint",
]


def _state_file(folder: Any, latest_filename: str | None) -> str:
    return os.path.join(text_of(folder), "checkpoint" if latest_filename is None else latest_filename)


def generate_checkpoint_state_proto(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """Return the content of the file that lists the last checkpoints.

    Args:
        save_dir: folder of the file. If it is a relative path, relative paths are converted to be relative to it.
        model_checkpoint_path: last checkpoint.
        all_model_checkpoint_paths: existing checkpoints, oldest first; the last checkpoint is appended if missing.
        all_model_checkpoint_timestamps: times of writing, in seconds since 1970; None: not recorded.
        last_preserved_timestamp: time of the last checkpoint that is never removed; None: not recorded.

    Returns:
        A ``CheckpointState``.

    Raises:
        ValueError: the lists differ in length.
    """
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        tf_logging.info("%s is not in all_model_checkpoint_paths. Manually adding it.", model_checkpoint_path)
        paths.append(model_checkpoint_path)
    times = list(all_model_checkpoint_timestamps or [])
    if times and len(times) != len(paths):
        raise ValueError(
            f"Checkpoint timestamps, if provided, must match checkpoint paths (got paths {paths} and timestamps"
            f" {times})"
        )
    folder = text_of(save_dir)
    if not os.path.isabs(folder):
        model_checkpoint_path = _relative(model_checkpoint_path, folder)
        paths = [_relative(path, folder) for path in paths]
    return CheckpointState(
        model_checkpoint_path=model_checkpoint_path,
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def _relative(path: str, folder: str) -> str:
    """Return a relative path relative to a folder; absolute paths are unchanged."""
    return path if os.path.isabs(path) else os.path.relpath(path, folder or None)


def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the file that lists the last checkpoints.

    Args:
        save_dir: folder of the file.
        model_checkpoint_path: last checkpoint.
        all_model_checkpoint_paths: existing checkpoints, oldest first.
        latest_filename: name of the file; None: ``checkpoint``.
        all_model_checkpoint_timestamps: times of writing, in seconds since 1970; None: not recorded.
        last_preserved_timestamp: time of the last checkpoint that is never removed; None: not recorded.

    Raises:
        RuntimeError: a checkpoint has the name of this file.
        ValueError: the lists differ in length.
        OpError: the file cannot be written.
    """
    write_checkpoint_state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        latest_filename,
        False,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def write_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    save_relative_paths: bool = False,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Like `update_checkpoint_state`, with an option for relative paths.

    Args:
        save_dir: folder of the file.
        model_checkpoint_path: last checkpoint.
        all_model_checkpoint_paths: existing checkpoints, oldest first.
        latest_filename: name of the file; None: ``checkpoint``.
        save_relative_paths: write paths relative to the folder, so that it can be moved.
        all_model_checkpoint_timestamps: times of writing, in seconds since 1970; None: not recorded.
        last_preserved_timestamp: time of the last checkpoint that is never removed; None: not recorded.

    Raises:
        RuntimeError: a checkpoint has the name of this file.
        ValueError: the lists differ in length.
        OpError: the file cannot be written.
    """
    file = _state_file(save_dir, latest_filename)
    last, paths = model_checkpoint_path, list(all_model_checkpoint_paths or [])
    if save_relative_paths:
        folder = text_of(save_dir) or None
        last, *paths = (
            os.path.relpath(path, folder) if os.path.isabs(path) else path for path in (last, *paths)
        )
    state = generate_checkpoint_state_proto(
        save_dir, last, paths, all_model_checkpoint_timestamps, last_preserved_timestamp
    )
    if file == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.  Please use a"
            " different save path."
        )
    with with_op_errors(file):
        write_file(file, text_format.MessageToString(state))


def get_checkpoint_state(checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None) -> Any:
    """Return the content of the file that lists the last checkpoints.

    Args:
        checkpoint_dir: folder of the file.
        latest_filename: name of the file; None: ``checkpoint``.

    Returns:
        A ``CheckpointState`` with paths relative to the working directory; None, with a logged warning if the file is
        damaged, or without one if it does not exist.

    Raises:
        ValueError: the file lists no checkpoint.
    """
    file = _state_file(checkpoint_dir, latest_filename)
    if not os.path.exists(file):
        return None
    state = CheckpointState()
    try:
        text_format.Parse(read_bytes(file).decode("utf-8", "surrogateescape"), state)
    except (OpError, text_format.ParseError) as error:
        tf_logging.warning("%s: %s", type(error).__name__, error)
        tf_logging.warning("%s: Checkpoint ignored", file)
        return None
    folder = text_of(checkpoint_dir)
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder}")
    state.model_checkpoint_path = os.path.join(folder, state.model_checkpoint_path)
    for index, path in enumerate(state.all_model_checkpoint_paths):
        state.all_model_checkpoint_paths[index] = os.path.join(folder, path)
    return state


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """Return the path of the last checkpoint in a folder; None if there is none.

    Args:
        checkpoint_dir: folder of the checkpoints.
        latest_filename: name of the file that lists the checkpoints; None: ``checkpoint``.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    path: str = state.model_checkpoint_path
    if checkpoint_exists(path):
        return path
    tf_logging.error("Couldn't match files for checkpoint %s", path)
    return None


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Return whether a checkpoint of either format exists.

    Args:
        checkpoint_prefix: result of ``Saver.save`` or ``latest_checkpoint``.
    """
    prefix = text_of(checkpoint_prefix)
    return bool(matching_paths(index_file(prefix)) or matching_paths(prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """Return when checkpoints were last modified; checkpoints that do not exist are omitted.

    Args:
        checkpoint_prefixes: results of ``Saver.save``.

    Returns:
        A list of times in seconds since 1970.
    """
    times = []
    for prefix in checkpoint_prefixes:
        found = matching_paths(index_file(prefix)) or matching_paths(prefix)
        if found:
            with with_op_errors(found[0]):
                times.append(os.stat(found[0]).st_mtime_ns / 1e9)
    return times


def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = SaverDef.V2, meta_graph_suffix: str = "meta"
) -> None:
    """Remove the files of a checkpoint and its meta graph.

    Args:
        checkpoint_prefix: result of ``Saver.save``.
        checkpoint_format_version: ``SaverDef.V2`` or ``SaverDef.V1``.
        meta_graph_suffix: suffix of the meta graph's file.

    Raises:
        OpError: a file cannot be removed.
    """
    _remove(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))
    if checkpoint_format_version == SaverDef.V2:
        remove_bundle(checkpoint_prefix)
    else:
        _remove(checkpoint_prefix)


def remove_bundle(checkpoint_prefix: str) -> None:
    """Remove the files of a checkpoint in V2 format.

    Args:
        checkpoint_prefix: prefix of their names.

    Raises:
        OpError: a file cannot be removed.
    """
    _remove(index_file(checkpoint_prefix))  # first: without the index there is no checkpoint
    _remove(f"{checkpoint_prefix}.data-?????-of-?????")


def _remove(pattern: str) -> None:
    for path in matching_paths(pattern):
        with with_op_errors(path):
            os.remove(path)


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Return the path of a checkpoint's meta graph.

    >>> meta_graph_filename("model-?????-of-00002")
    'model.meta'

    Args:
        checkpoint_filename: path of the checkpoint.
        meta_graph_suffix: suffix of the file.
    """
    return re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename) + f".{meta_graph_suffix}"


def wait_for_new_checkpoint(
    checkpoint_dir: str | os.PathLike[str],
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Wait until a folder contains a new checkpoint.

    Args:
        checkpoint_dir: folder of the checkpoints.
        last_checkpoint: known checkpoint, or None.
        seconds_to_sleep: interval between checks, in seconds.
        timeout: maximum wait, in seconds; None: no limit.

    Returns:
        The path of the checkpoint, as from ``latest_checkpoint``; None after the timeout.
    """
    tf_logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        latest = latest_checkpoint(checkpoint_dir)
        if latest is not None and latest != last_checkpoint:
            tf_logging.info("Found new checkpoint at %s", latest)
            return latest
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: str | os.PathLike[str],
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Iterate over the checkpoints of a folder as they are written, always the latest.

    Args:
        checkpoint_dir: folder of the checkpoints.
        min_interval_secs: minimum time between two checkpoints, in seconds.
        timeout: maximum wait for a checkpoint, in seconds; None: no limit.
        timeout_fn: called after the timeout; the iteration ends if it returns a true value. None: it ends.

    Yields:
        The path of a checkpoint, as from ``latest_checkpoint``.
    """
    last: str | None = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if new is None:
            if timeout_fn is None:
                tf_logging.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        last, start = new, time.monotonic()
        yield last
        time.sleep(max(0.0, start + min_interval_secs - time.monotonic()))
