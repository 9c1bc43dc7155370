"""Serialized ``Summary`` messages for the summary ops.

>>> written = summary_bytes([{"tag": "loss", "simple_value": 0.5}])
>>> Summary.FromString(merged_summaries([written])).value[0].simple_value
0.5

Source: tensorflow/core/kernels/summary_op.cc and summary_tensor_op.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.attr_value import TensorValue
from gpuplace.graphdef.messages import DecodeError, Message, Summary, SummaryMetadata, TensorProto
from gpuplace.graphdef.tensor_proto import encode_tensor


def summary_bytes(values: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a ``Summary``.

    Args:
        values: fields of each value, by name; a mapping stands for a message.
    """
    written: bytes = Summary(value=[dict(fields) for fields in values]).SerializeToString()
    return written


def tensor_summary(tensor: np.ndarray[Any, Any], metadata: bytes | None, **names: str) -> bytes:
    """Return a ``Summary`` of one tensor.

    Args:
        tensor: tensor of any type and shape.
        metadata: serialized ``SummaryMetadata``; unreadable parts are left out, as in TensorFlow. None: no metadata.
        **names: its ``tag`` or ``node_name``.
    """
    message = Summary()
    value = message.value.add(**names)
    value.tensor.CopyFrom(_tensor_proto(tensor))
    if metadata is not None:
        value.metadata.SetInParent()
        try:
            value.metadata.CopyFrom(SummaryMetadata.FromString(metadata))
        except DecodeError:
            pass
    written: bytes = message.SerializeToString()
    return written


def _tensor_proto(tensor: np.ndarray[Any, Any]) -> TensorProto:
    """Return the tensor with its raw memory, also for a single value."""
    proto = encode_tensor(TensorValue.of_array(tensor, as_dtype(tensor.dtype)))
    if tensor.dtype == object or proto.tensor_content:
        return proto
    content = np.ascontiguousarray(tensor).tobytes()
    return TensorProto(dtype=proto.dtype, tensor_shape=proto.tensor_shape, tensor_content=content)


def merged_summaries(parts: Iterable[bytes]) -> bytes:
    """Merge serialized ``Summary`` messages.

    Args:
        parts: serialized messages.

    Raises:
        InvalidArgumentError: a part is not a ``Summary``, or two values have the same tag.
    """
    message = Summary()
    tags: set[str] = set()
    for part in parts:
        try:
            summary = Summary.FromString(part)
        except DecodeError:
            raise InvalidArgumentError.of("Could not parse one of the summary inputs") from None
        for value in summary.value:
            if value.tag and value.tag in tags:
                raise InvalidArgumentError.of(
                    f"Duplicate tag {value.tag} found in summary inputs",
                    hint="give each merged summary a unique name",
                )
            tags.add(value.tag)
        message.value.extend(summary.value)
    written: bytes = message.SerializeToString()
    return written


def summary_metadata(given: Message | None, description: str | None, display_name: str | None) -> bytes:
    """Serialize a ``SummaryMetadata``.

    Args:
        given: message to start from; None: an empty one.
        description: new ``summary_description``; None: unchanged.
        display_name: new ``display_name``; None: unchanged.
    """
    metadata = SummaryMetadata()
    if given is not None:
        metadata.CopyFrom(given)
    if description is not None:
        metadata.summary_description = description
    if display_name is not None:
        metadata.display_name = display_name
    written: bytes = metadata.SerializeToString()
    return written


def plugin_metadata(plugin_name: str) -> Message:
    """Return the ``SummaryMetadata`` for a TensorBoard plugin.

    Args:
        plugin_name: plugin name, such as ``text``.
    """
    plugin = SummaryMetadata.PluginData(plugin_name=plugin_name)
    return SummaryMetadata(plugin_data=plugin)
