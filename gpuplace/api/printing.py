"""``tf.print`` and ``tf.strings.format``: strings with the values of tensors.

Source: tensorflow/python/ops/logging_ops.py and string_ops.py, release 1.15.
"""

from __future__ import annotations

import itertools
import os
import pprint
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace import tf_logging as logging
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import nest
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.variables.variables import Variable

__all__ = ["print_v2", "string_format"]

_FILE = "file://"


def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """Return a string with the values of tensors.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.strings.format("x = {}", tf.constant([1, 2])))
    b'x = [1 2]'

    Args:
        template: the string, with a placeholder for each tensor.
        inputs: a tensor, or a list of them.
        placeholder: the placeholder in ``template``.
        summarize: number of elements to show at each end of an axis; negative: all.
        name: name of the op.

    Returns:
        A string scalar.

    Raises:
        ValueError: the numbers of placeholders and tensors differ.
    """
    tensors = list(inputs) if isinstance(inputs, Sequence) else [inputs]
    places = template.count(placeholder)
    if places != len(tensors):
        raise ValueError(
            f"{places} placeholder(s) in template does not match {len(tensors)} tensor(s) provided as input"
        )
    op = apply_op(
        "StringFormat", name, inputs=tensors, template=template, placeholder=placeholder, summarize=summarize
    )
    return op.outputs[0]


def print_v2(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = os.linesep,
    name: str | None = None,
) -> Operation:
    """Return an operation that prints values when it runs; fetch it, or use it in ``control_dependencies``.

    Args:
        *inputs: values to print: tensors, other values, and lists, tuples and dicts of these.
        output_stream: ``sys.stdout``, ``sys.stderr``, ``tf.logging.info``, ``warning`` or ``error``, or the name of a
            file to append to, ``"file://<path>"``; None: ``sys.stderr``.
        summarize: number of elements to show at each end of an axis; negative: all.
        sep: separator of the values.
        end: text after the values.
        name: name of the operation.

    Returns:
        An operation without outputs.

    Raises:
        ValueError: the stream does not exist.
    """
    stream = _stream(output_stream)
    text = inputs[0] if len(inputs) == 1 else None
    if isinstance(text, Tensor) and text.dtype.base_dtype.name == "string" and text.shape.sizes == ():
        shown: Tensor = text
    else:
        placeholder = _placeholder(inputs)
        tensors: list[Any] = []
        parts = [
            one if isinstance(one, str) else pprint.pformat(_replaced(one, placeholder, tensors))
            for one in inputs
        ]
        shown = string_format(sep.join(parts), tensors, placeholder, summarize)
    return apply_op("PrintV2", name, input=shown, output_stream=stream, end=end)


def _stream(output_stream: Any) -> str:
    known = [
        (sys.stdout, "stdout"),
        (sys.stderr, "stderr"),
        (logging.info, "log(info)"),
        (logging.warning, "log(warning)"),
        (logging.warn, "log(warning)"),
        (logging.error, "log(error)"),
    ]
    if output_stream is None:
        return "stderr"
    for stream, text in known:
        if output_stream is stream or output_stream == stream:
            return text
    if isinstance(output_stream, str) and output_stream.startswith(_FILE):
        return output_stream
    raise ValueError(
        f"Unsupported output stream, logging level, or file.{output_stream}. Supported streams are sys.stdout, "
        "sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File needs to be in the form of "
        "'file://<filepath>'."
    )


def _placeholder(inputs: Sequence[Any]) -> str:
    """Return a string that occurs in none of the values' texts."""
    texts = "".join(one if isinstance(one, str) else repr(one) for one in nest.flatten(list(inputs)))
    return next(
        text for text in itertools.chain(["{}"], (f"{{}}{n}" for n in itertools.count())) if text not in texts
    )


class _Shown:
    """Stands for a tensor in a printed structure."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _replaced(value: Any, placeholder: str, tensors: list[Any]) -> Any:
    """Return a structure with a placeholder for each tensor; append the tensors to ``tensors``."""
    if isinstance(value, Mapping):
        kept = {key: _replaced(value[key], placeholder, tensors) for key in sorted(value)}
        return kept if type(value) is dict else type(value)(kept)  # type: ignore[call-arg]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replaced(one, placeholder, tensors) for one in value))
    if isinstance(value, list | tuple):
        return type(value)(_replaced(one, placeholder, tensors) for one in value)
    if isinstance(value, SparseTensor):
        tensors += [value.indices, value.values, value.dense_shape]
        # a string is shown unchanged
        return f"SparseTensor(indices={placeholder}, values={placeholder}, shape={placeholder})"
    if isinstance(value, Tensor | Variable):
        tensors.append(value)
        return _Shown(placeholder)
    return value
