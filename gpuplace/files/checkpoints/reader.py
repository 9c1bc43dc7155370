"""``tf.train.NewCheckpointReader``: read values by name from a checkpoint of either format.

Source: tensorflow/c/checkpoint_reader.cc and tensorflow/python/util/tf_export (``CheckpointReader``), release 1.15.
"""

from __future__ import annotations

import os
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.errors import NotFoundError
from gpuplace.files.checkpoints.bundle import Bundle, index_file
from gpuplace.files.checkpoints.tensor_slices import TensorSlices
from gpuplace.files.file_system import text_of

__all__ = ["CheckpointReader", "NewCheckpointReader", "open_checkpoint"]


def open_checkpoint(prefix: str) -> Bundle | TensorSlices:
    """Open a checkpoint of either format.

    Args:
        prefix: prefix of the file names; for the first format, a pattern or the file itself.

    Raises:
        NotFoundError: the checkpoint does not exist.
        DataLossError: the checkpoint is damaged.
        OpError: the checkpoint cannot be read.
    """
    return Bundle(prefix) if os.path.exists(index_file(prefix)) else TensorSlices(prefix)


class CheckpointReader:
    """Reads a checkpoint without a graph.

    Args:
        filepattern: path returned by `tf.train.Saver.save`.

    Raises:
        NotFoundError: the checkpoint does not exist.
        DataLossError: the checkpoint is damaged.
    """

    def __init__(self, filepattern: str) -> None:
        self._checkpoint = open_checkpoint(text_of(filepattern))

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return name -> shape, a list of sizes."""
        return {name: list(self._checkpoint.shape(name)) for name in self._checkpoint.names()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return name -> element type."""
        return {name: self._checkpoint.dtype(name) for name in self._checkpoint.names()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Return whether a tensor exists.

        Args:
            tensor_str: name of the tensor.
        """
        try:
            self._checkpoint.dtype(tensor_str)
        except NotFoundError:
            return False
        return True

    def get_tensor(self, tensor_str: str) -> Any:
        """Return the values of a tensor.

        Args:
            tensor_str: name of the tensor.

        Returns:
            An array, or a scalar for rank 0; bytes for strings.

        Raises:
            NotFoundError: the tensor does not exist.
            InvalidArgumentError: only a part of the tensor was saved.
            DataLossError: the values are damaged.
            OutOfRangeError: the file ends too early.
        """
        return self._checkpoint.read(tensor_str)[()]

    def debug_string(self) -> bytes:
        """Return a line for each tensor (name, type and shape), as bytes."""
        return self._checkpoint.debug_string().encode(errors="surrogateescape")


NewCheckpointReader = CheckpointReader
"""The name of the class in programs."""
