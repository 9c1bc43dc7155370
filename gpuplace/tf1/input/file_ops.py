"""Ops that read and write whole files: ``tf.read_file``, ``tf.write_file``, ``tf.matching_files``.

Source: tensorflow/python/ops/io_ops.py, core/kernels/whole_file_read_ops.cc and matching_files_op.cc, release 1.15.
"""

from __future__ import annotations

import os
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.files import file_system
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank, require_rank_at_most
from gpuplace.ops.support import new
from gpuplace.ops.variables.variables import Variable
from gpuplace.shapes import SCALAR_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike
from gpuplace.writing import write_file as write_whole_file

__all__ = ["match_filenames_once", "matching_files", "read_file", "write_file"]


def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """Return the contents of a file.

    Args:
        filename: its path, a string scalar.
        name: name of the op.

    Returns:
        A string scalar.

    Raises:
        NotFoundError: at run time, the file does not exist.
    """
    return new("ReadFile", name, filename=filename)


def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> Operation:
    """Write a file, and create its folders.

    Args:
        filename: its path, a string scalar.
        contents: the new contents, a string scalar.
        name: name of the op.

    Returns:
        An operation.

    Raises:
        OpError: at run time, the file cannot be written.
    """
    return apply_op("WriteFile", name, filename=filename, contents=contents)


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """Return the paths of the files that match a pattern, sorted.

    Args:
        pattern: strings with ``*``, ``?`` and ``[...]``, a scalar or a vector.
        name: name of the op.

    Returns:
        A string vector.
    """
    return new("MatchingFiles", name, pattern=pattern)


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """Return the paths of matching files, determined when the local variables are initialized.

    Args:
        pattern: strings with ``*``, ``?`` and ``[...]``, a scalar or a vector.
        name: name of the variable.

    Returns:
        A local variable, a string vector.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            name=scope,
            initial_value=matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


def scalar_text(what: str, value: Array) -> str:
    """Return the text of a scalar; InvalidArgumentError for anything else."""
    if value.ndim:
        raise InvalidArgumentError.of(f"{what} tensor must be scalar, but had shape: {brackets(value.shape)}")
    return os.fsdecode(value.item())


@compute("ReadFile", reads_outside=True)
def _read(xp: ArrayModule, filename: Array) -> Array:
    return xp.array(file_system.read_bytes(scalar_text("Input filename", filename)), object)


@compute("WriteFile")
def _write(xp: ArrayModule, filename: Array, contents: Array) -> tuple[()]:
    path = scalar_text("Input filename", filename)
    if contents.ndim:
        raise InvalidArgumentError.of(
            f"Contents tensor must be scalar, but had shape: {brackets(contents.shape)}"
        )
    if folder := os.path.dirname(path):
        file_system.makedirs(folder)
    with file_system.with_op_errors(path):
        write_whole_file(path, contents.item())
    return ()


@compute("MatchingFiles", reads_outside=True)
def _matching(xp: ArrayModule, pattern: Array) -> Array:
    if pattern.ndim > 1:
        raise InvalidArgumentError.of(
            f"Input patterns tensor must be scalar or vector, but had shape: {brackets(pattern.shape)}"
        )
    paths = sorted(os.fsencode(path) for path in file_system.glob(pattern.reshape(-1).tolist()))
    result = xp.empty(len(paths), object)
    result[:] = paths
    return result


@shape_function("ReadFile")
def _scalar(op: Operation) -> tuple[TensorShape, ...]:
    require_rank(op.inputs[0].shape, 0)
    return (SCALAR_SHAPE,)


@shape_function("WriteFile")
def _nothing(op: Operation) -> Any:
    for tensor in op.inputs:
        require_rank(tensor.shape, 0)
    return ()


@shape_function("MatchingFiles")
def _vector(op: Operation) -> Any:
    require_rank_at_most(op.inputs[0].shape, 1)
    return (TensorShape.of((None,)),)


not_differentiable("ReadFile", "WriteFile", "MatchingFiles")
