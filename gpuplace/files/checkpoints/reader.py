"""A checkpoint of either format, asked by name: ``tf.train.NewCheckpointReader``.

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
    """A checkpoint of either format.

    Args:
        prefix: what its files' names begin with; a pattern, or the file itself, for the first format.

    Raises:
        NotFoundError: there is none.
        DataLossError: it is damaged.
        OpError: it cannot be read.
    """
    return Bundle(prefix) if os.path.exists(index_file(prefix)) else TensorSlices(prefix)


class CheckpointReader:
    """Reads a checkpoint, without a graph.

    Args:
        filepattern: the path that `tf.train.Saver.save` returned.

    Raises:
        NotFoundError: there is no such checkpoint.
        DataLossError: it is damaged.
    """

    def __init__(self, filepattern: str) -> None:
        self._checkpoint = open_checkpoint(text_of(filepattern))

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes of all tensors, lists of sizes, by name."""
        return {name: list(self._checkpoint.shape(name)) for name in self._checkpoint.names()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The element types of all tensors, by name."""
        return {name: self._checkpoint.dtype(name) for name in self._checkpoint.names()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of that name.

        Args:
            tensor_str: the name.
        """
        try:
            self._checkpoint.dtype(tensor_str)
        except NotFoundError:
            return False
        return True

    def get_tensor(self, tensor_str: str) -> Any:
        """The values of a tensor.

        Args:
            tensor_str: its name.

        Returns:
            An array, or a scalar for rank 0; bytes for texts.

        Raises:
            NotFoundError: there is none of that name.
            InvalidArgumentError: only a part of it was saved.
            DataLossError: the values are damaged.
            OutOfRangeError: the file ends too early.
        """
        return self._checkpoint.read(tensor_str)[()]

    def debug_string(self) -> bytes:
        """A line for every tensor: its name, type and shape, as bytes."""
        return self._checkpoint.debug_string().encode(errors="surrogateescape")


NewCheckpointReader = CheckpointReader
"""The name that programs call it by."""
