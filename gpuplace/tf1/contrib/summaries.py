"""Summaries of collections: ``tf.contrib.layers.summarize_*``.

Source: tensorflow/contrib/layers/python/layers/summaries.py, release 1.15.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpuplace.dtypes import string as string_type
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_sets import CUT_OFF_BELOW_ZERO
from gpuplace.graph.operation import Tensor
from gpuplace.ops import summaries
from gpuplace.ops.math import cast, comparison
from gpuplace.ops.math.reduction import reduce_mean
from gpuplace.typing import Function

__all__ = [
    "summarize_activation", "summarize_activations", "summarize_biases", "summarize_collection", "summarize_tensor",
    "summarize_tensors", "summarize_variables", "summarize_weights",
]  # fmt: skip


def summarize_tensor(tensor: Any, tag: str | None = None) -> Tensor | None:
    """Return a scalar summary of a scalar, or a histogram of any other tensor.

    Args:
        tensor: a numeric tensor or variable.
        tag: name of the summary; None: the name of the tensor's op plus ``_summary``.

    Returns:
        The summary; None for strings and booleans.
    """
    if tensor.dtype.base_dtype == string_type or tensor.dtype.is_bool:
        return None
    summary = summaries.scalar if tensor.get_shape().ndims == 0 else summaries.histogram
    return summary(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Tensor) -> Tensor:
    """Add a histogram of an activation, and for ReLUs the fraction of clipped elements.

    Args:
        op: the output of the activation.

    Returns:
        The histogram.
    """
    cut: list[tuple[str, Any, float]] = []
    if op.op.type in CUT_OFF_BELOW_ZERO:
        cut.append(("zeros", comparison.less, 0.0))
    if op.op.type == "Relu6":
        cut.append(("sixes", comparison.greater, 6.0))
    for name, compare, bound in cut:
        before = op.op.inputs[0]
        beyond = compare(before, cast.cast(bound, before.dtype))
        summaries.scalar(f"{op.op.name}/{name}", reduce_mean(cast.to_float(beyond)))
    return summaries.histogram(f"{op.op.name}/activation", op)


def summarize_tensors(tensors: Iterable[Any], summarizer: Function = summarize_tensor) -> list[Any]:
    """Return a summary of each tensor.

    Args:
        tensors: tensors and variables.
        summarizer: returns the summary of a tensor.
    """
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Function = summarize_tensor
) -> list[Any]:
    """Return a summary of each tensor in a collection.

    Args:
        collection: name of the collection.
        name_filter: a regular expression that must match the start of the ops' names; None: all.
        summarizer: returns the summary of a tensor.
    """
    tensors = get_default_graph().get_collection(collection)
    return summarize_tensors(
        [x for x in tensors if name_filter is None or re.match(name_filter, x.op.name)], summarizer
    )


def summarize_variables(name_filter: str | None = None, summarizer: Function = summarize_tensor) -> list[Any]:
    """Return a summary of each global variable.

    Args:
        name_filter: as for ``summarize_collection``.
        summarizer: as for ``summarize_collection``.
    """
    return summarize_collection(GraphKeys.GLOBAL_VARIABLES, name_filter, summarizer)


def summarize_weights(name_filter: str | None = None, summarizer: Function = summarize_tensor) -> list[Any]:
    """Return a summary of each tensor in the collection of weights.

    Args:
        name_filter: as for ``summarize_collection``.
        summarizer: as for ``summarize_collection``.
    """
    return summarize_collection(GraphKeys.WEIGHTS, name_filter, summarizer)


def summarize_biases(name_filter: str | None = None, summarizer: Function = summarize_tensor) -> list[Any]:
    """Return a summary of each tensor in the collection of biases.

    Args:
        name_filter: as for ``summarize_collection``.
        summarizer: as for ``summarize_collection``.
    """
    return summarize_collection(GraphKeys.BIASES, name_filter, summarizer)


def summarize_activations(
    name_filter: str | None = None, summarizer: Function = summarize_activation
) -> list[Any]:
    """Return a summary of each tensor in the collection of activations.

    Args:
        name_filter: as for ``summarize_collection``.
        summarizer: as for ``summarize_collection``.
    """
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
