"""Variables in checkpoints, read without a graph: ``tf.train.list_variables`` and ``tf.train.load_variable``.

Source: tensorflow/python/training/checkpoint_utils.py, release 1.15.
"""

from __future__ import annotations

import os
from typing import Any

from gpuplace.files.checkpoints.reader import CheckpointReader
from gpuplace.saving.checkpoint_state import latest_checkpoint

__all__ = ["list_variables", "load_checkpoint", "load_variable"]


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Return a checkpoint reader.

    Args:
        ckpt_dir_or_file: the path that ``Saver.save`` returned, or a folder, whose last checkpoint is read.

    Raises:
        ValueError: the folder has no checkpoint.
        NotFoundError: there is no such checkpoint.
        DataLossError: the checkpoint is damaged.
    """
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        checkpoint = latest_checkpoint(path)
        if checkpoint is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
        path = checkpoint
    return CheckpointReader(path)


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """Return the value of a variable in a checkpoint, an array or scalar.

    Args:
        ckpt_dir_or_file: as for ``load_checkpoint``.
        name: the variable's name; a final ``:0`` is ignored.

    Raises:
        ValueError: the folder has no checkpoint.
        NotFoundError: there is no such checkpoint or variable.
        DataLossError: the checkpoint is damaged.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Return the names and shapes (lists of sizes) of the variables in a checkpoint, sorted by name.

    Args:
        ckpt_dir_or_file: as for ``load_checkpoint``.

    Raises:
        ValueError: the folder has no checkpoint.
        NotFoundError: there is no such checkpoint.
        DataLossError: the checkpoint is damaged.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
