"""``tensorflow.python.layers.utils``: normalized layer arguments, and the output sizes of convolutions.

Source: tensorflow/python/layers/utils.py, release 1.15 (names, arguments, messages).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph import constant_value as constants
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import nest
from gpuplace.ops.layers.convolutional import normalize_data_format, normalize_tuple
from gpuplace.ops.layers.reachable import reachable_from
from gpuplace.ops.variables.variables import Variable

__all__ = [
    "constant_value", "conv_input_length", "conv_output_length", "convert_data_format", "deconv_output_length",
    "get_reachable_from_inputs", "normalize_data_format", "normalize_padding", "normalize_tuple", "object_list_uid",
    "static_shape",
]  # fmt: skip

_LETTERS = {3: "W", 4: "HW", 5: "DHW"}


def convert_data_format(data_format: str, ndim: int) -> str:
    """Return the op's data format for ``"channels_first"`` or ``"channels_last"``.

    >>> convert_data_format("channels_first", 4)
    'NCHW'

    Args:
        data_format: one of these two.
        ndim: the rank of the layer's input.

    Raises:
        ValueError: ``data_format`` or ``ndim`` has another value.
    """
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError("Invalid data_format:", data_format)
    if ndim not in _LETTERS:
        raise ValueError("Input rank not supported:", ndim)
    inner = _LETTERS[ndim]
    return f"NC{inner}" if data_format == "channels_first" else f"N{inner}C"


def normalize_padding(value: str) -> str:
    """Return ``"valid"`` or ``"same"``, in lower case.

    Args:
        value: the padding.

    Raises:
        ValueError: ``value`` is neither.
    """
    if value.lower() not in ("valid", "same"):
        raise ValueError(f'The `padding` argument must be one of "valid", "same". Received: {value.lower()}')
    return value.lower()


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Return the output length of a convolution; None if the input length is unknown.

    >>> conv_output_length(4, 2, "full", 1)
    5

    Args:
        input_length: length of its input.
        filter_size: length of the filter.
        padding: ``"same"``, ``"valid"`` or ``"full"``.
        stride: step of the filter.
        dilation: distance between the filter's elements.
    """
    if input_length is None:
        return None
    beyond = filter_size + (filter_size - 1) * (dilation - 1) - 1
    longer = {"same": 0, "valid": -beyond, "full": beyond}[padding]
    return (input_length + longer + stride - 1) // stride


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """Return the input length of a convolution; None if the output length is unknown.

    Args:
        output_length: length of its output.
        filter_size: length of the filter.
        padding: ``"same"``, ``"valid"`` or ``"full"``.
        stride: step of the filter.
    """
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(input_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """Return the output length of a transposed convolution; None if the input length is unknown.

    Args:
        input_length: length of its input.
        filter_size: length of the filter.
        padding: ``"same"``, ``"valid"`` or ``"full"``.
        stride: step of the filter.
    """
    if input_length is None:
        return None
    longer = {"valid": max(filter_size - stride, 0), "full": -(stride + filter_size - 2)}.get(padding, 0)
    return input_length * stride + longer


def constant_value(pred: Any) -> Any:
    """Return the value of a constant condition; None for variables and for values known only at run time.

    Args:
        pred: a bool, 0, 1, a variable or a tensor.

    Returns:
        A bool; for a constant tensor, its value of any type.

    Raises:
        TypeError: the argument has another type.
    """
    if isinstance(pred, Variable):
        return None
    if isinstance(pred, int) and pred in (0, 1):
        return bool(pred)
    if isinstance(pred, bool):
        return pred
    if not isinstance(pred, Tensor):
        raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")
    return constants.constant_value(pred)


def object_list_uid(object_list: Any) -> str:
    """Return a string that identifies objects.

    Args:
        object_list: objects, in any structure.
    """
    return ", ".join(str(abs(id(one))) for one in nest.flatten(object_list))


def static_shape(x: Any) -> tuple[int | None, ...] | None:
    """Return the static shape of a tensor; None if its rank is unknown or ``x`` is None.

    Args:
        x: a tensor or None.
    """
    if x is None:
        return None
    sizes: tuple[int | None, ...] | None = x.get_shape().sizes
    return sizes


def get_reachable_from_inputs(inputs: Sequence[Any], targets: Sequence[Any] | None = None) -> set[Any]:
    """Return the tensors that can be reached from given tensors along the edges of the graph.

    Args:
        inputs: tensors or variables.
        targets: stop when all of these are found; None: search the whole graph.

    Returns:
        The inputs and the reachable tensors.

    Raises:
        TypeError: the argument has another type.
    """
    return {one for one in reachable_from(inputs, targets) if not isinstance(one, Operation)}
