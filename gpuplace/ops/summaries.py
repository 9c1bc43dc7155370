"""``tf.summary``'s ops: turn tensors into ``Summary`` messages for TensorBoard.

The result of a summary op is a string scalar, the message's bytes, for ``FileWriter.add_summary``. The tag is the
op's name with all its scopes; ``family``, if given, is prepended once more.

Source: tensorflow/python/summary/summary.py, ops/summary_op_util.py and core/kernels/summary_op.cc,
summary_image_op.cc, summary_audio_op.cc, summary_tensor_op.cc, release 1.15.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gpuplace import tf_logging
from gpuplace.display import above
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.histograms import Histogram
from gpuplace.numerics.summary_media import IMAGE_CHANNELS, png_file, shades, wav_file
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import new, scalar_shape
from gpuplace.release import rules
from gpuplace.typing import Array, ArrayModule, TensorLike

_UNFIT = re.compile(r"[^-/\w\.]")


def scalar(
    name: str, tensor: TensorLike, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """Return a summary of a number, which TensorBoard plots as a curve.

    Args:
        name: name of the op, and of the curve.
        tensor: a scalar of a real type.
        collections: collections to add the op to; None: ``GraphKeys.SUMMARIES``, which ``merge_all`` merges.
        family: group that the curve is shown in.

    Returns:
        A string scalar, the bytes of a ``Summary``.

    Raises:
        TypeError: ``tensor`` is bool, complex or a string.
        InvalidArgumentError: at run time, ``tensor`` is not a scalar.
    """
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        return _collected(new("ScalarSummary", scope, tags=tag, values=tensor), collections)


def histogram(
    name: str, values: TensorLike, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """Return a summary of the distribution of values.

    Args:
        name: name of the op and of its tag.
        values: a tensor of a real type, of any shape.
        collections: collections to add the op to; None: ``GraphKeys.SUMMARIES``.
        family: group that the histogram is shown in.

    Returns:
        A string scalar, the bytes of a ``Summary``.

    Raises:
        TypeError: ``values`` are bool, complex or strings.
        InvalidArgumentError: at run time, a value is NaN or infinite.
    """
    with _summary_scope(name, family, [values], "HistogramSummary") as (tag, scope):
        return _collected(new("HistogramSummary", scope, tag=tag, values=values), collections)


def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Return a summary of the first images of a batch.

    Values of uint8 are shown unchanged. Others are scaled for each image: without negative values the largest becomes
    white, otherwise 0 becomes the middle gray. Pixels with NaN or infinity are red.

    Args:
        name: name of the op. The tag is ``name/image`` for one image; for several they are ``name/image/0`` and so
            on.
        tensor: uint8, float16, float32 or float64, ``[batch, height, width, channels]`` with 1, 3 or 4 channels.
        max_outputs: the maximum number of images.
        collections: collections to add the op to; None: ``GraphKeys.SUMMARIES``.
        family: group that the images are shown in.

    Returns:
        A string scalar, the bytes of a ``Summary``.

    Raises:
        TypeError: ``tensor`` has another type.
        ValueError: ``max_outputs`` is less than 1.
        InvalidArgumentError: at run time, ``tensor`` has another shape.
    """
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        summary = new("ImageSummary", scope, tag=tag, tensor=tensor, max_images=max_outputs)
        return _collected(summary, collections)


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Return a summary of the first audio clips of a batch.

    Args:
        name: name of the op. The tag is ``name/audio`` for one clip; for several they are ``name/audio/0`` and so on.
        tensor: float32 from -1 to 1, ``[batch, frames, channels]`` or ``[batch, frames]``.
        sample_rate: a float32 scalar, in Hz.
        max_outputs: the maximum number of clips.
        collections: collections to add the op to; None: ``GraphKeys.SUMMARIES``.
        family: group that the clips are shown in.

    Returns:
        A string scalar, the bytes of a ``Summary``.

    Raises:
        TypeError: ``tensor`` has another type.
        ValueError: ``max_outputs`` is less than 1.
        InvalidArgumentError: at run time, ``tensor`` has another shape, or the rate is not positive.
    """
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtype="float32", name="sample_rate")
        result = new(
            "AudioSummaryV2", scope, tag=tag, tensor=tensor, max_outputs=max_outputs, sample_rate=rate
        )
        return _collected(result, collections)


def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: str | None = None,
    collections: Sequence[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """Return a summary of an unchanged tensor, for TensorBoard plugins.

    Args:
        name: name of the op and of its tag.
        tensor: of any type and shape.
        summary_description: a description in Markdown.
        collections: collections to add the op to; None: ``GraphKeys.SUMMARIES``.
        summary_metadata: a ``SummaryMetadata`` that names the plugin; None: an empty one.
        family: group that the tensor is shown in.
        display_name: its name in TensorBoard.

    Returns:
        A string scalar, the bytes of a ``Summary``.
    """
    metadata: bytes = above("gpuplace.graphdef.summary_messages", "summary_metadata")(
        summary_metadata, summary_description, display_name
    )
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        summary = new("TensorSummaryV2", scope, tensor=tensor, tag=tag, serialized_summary_metadata=metadata)
        return _collected(summary, collections)


def text(name: str, tensor: TensorLike, collections: Sequence[str] | None = None) -> Tensor:
    """Return a summary of Markdown strings; vectors and matrices are shown as tables.

    Args:
        name: name of the op and of its tag.
        tensor: strings.
        collections: collections to add the op to; None: ``GraphKeys.SUMMARIES``.

    Returns:
        A string scalar, the bytes of a ``Summary``.

    Raises:
        ValueError: ``tensor`` has another type.
    """
    texts = convert_to_tensor(tensor)
    if texts.dtype.base_dtype.name != "string":
        raise ValueError(f"Expected tensor {texts.name} to have dtype string, got {texts.dtype!r}")
    metadata = above("gpuplace.graphdef.summary_messages", "plugin_metadata")("text")
    return tensor_summary(name, texts, summary_metadata=metadata, collections=collections)


def merge(
    inputs: Sequence[TensorLike], collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """Return one summary with the values of several.

    Args:
        inputs: string tensors, each the bytes of a ``Summary``.
        collections: collections to add the op to, or None.
        name: name of the scope.

    Returns:
        A string scalar, the bytes of a ``Summary``.

    Raises:
        ValueError: there is nothing to merge.
        InvalidArgumentError: at run time, two values have the same tag.
    """
    name = _clean(name)
    with name_scope(name, "Merge", list(inputs)):
        return _collected(new("MergeSummary", name, inputs=list(inputs)), collections or ())


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """Return one summary with the values of all summaries collected in the default graph.

    Args:
        key: name of the collection.
        scope: a regular expression that matches the start of the summaries' names; None: all.
        name: name of the scope.

    Returns:
        A string scalar, the bytes of a ``Summary``; None if no summaries are collected.

    Raises:
        InvalidArgumentError: at run time, two values have the same tag.
    """
    collected = get_default_graph().get_collection(key, scope)
    return merge(collected, name=name) if collected else None


def get_summary_description(node_def: Any) -> Any:
    """Return the description in a ``TensorSummary`` node.

    Args:
        node_def: its ``NodeDef``.

    Returns:
        A ``SummaryDescription``.

    Raises:
        ValueError: the node has another op type.
    """
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    import json  # loaded on first use

    fields = json.loads(node_def.attr["description"].s or b"{}")
    return above("gpuplace.graphdef.messages", "SummaryDescription")(type_hint=fields.get("typeHint", ""))


def _clean(name: str | None) -> str | None:
    """Return a name that is valid for nodes; log it if it differs from the given one."""
    if name is None:
        return None
    fit = _UNFIT.sub("_", name).lstrip("/")
    if fit != name:
        tf_logging.info("Summary name %s is illegal; using %s instead.", name, fit)
    return fit


@contextlib.contextmanager
def _summary_scope(
    name: str | None, family: str | None, values: Sequence[Any], default_name: str | None = None
) -> Iterator[tuple[str, str]]:
    """Open the scope of a summary; yield its tag and its name."""
    name, family = _clean(name), _clean(family)
    with name_scope(name if family is None else f"{family}/{name}", default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope


def _collected(summary: Tensor, collections: Sequence[str] | None) -> Tensor:
    for key in (GraphKeys.SUMMARIES,) if collections is None else collections:
        get_default_graph().add_to_collection(key, summary)
    return summary


def _scalar_text(array: Array, otherwise: str) -> str:
    if array.shape != ():
        raise InvalidArgumentError.of(otherwise)
    return _text(array.item())


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _shown(array: Array) -> str:
    return f"[{','.join(map(str, array.shape))}]"


def _written(values: list[dict[str, Any]]) -> Array:
    return _bytes(above("gpuplace.graphdef.summary_messages", "summary_bytes")(values))


def _bytes(message: bytes) -> Array:
    return np.array(message, object)


@compute("ScalarSummary")
def _scalar_summary(xp: ArrayModule, tags: Array, values: Array) -> Array:
    if tags.shape != values.shape:
        tag = f" (tag '{_text(tags.reshape(-1)[0])}')" if tags.size == 1 else ""
        are = "are " if rules() == "2.21" else ""
        raise InvalidArgumentError.of(
            f"tags and values {are}not the same shape: {_shown(tags)} != {_shown(values)}{tag}",
            hint="a scalar summary records one value per step: reduce the tensor first, for example with"
            " tf.reduce_mean, or show all values with tf.summary.histogram",
        )
    with np.errstate(over="ignore"):
        numbers = values.reshape(-1).astype(np.float32).tolist()
    return _written(
        [
            {"tag": _text(tag), "simple_value": number}
            for tag, number in zip(tags.reshape(-1).tolist(), numbers, strict=True)
        ]
    )


@compute("HistogramSummary")
def _histogram_summary(xp: ArrayModule, tag: Array, values: Array, *, ctx: Any) -> Array:
    label = _scalar_text(tag, "tags must be scalar")
    flat = values.reshape(-1).astype(np.float64)
    finite = np.isfinite(flat)
    if not finite.all():
        infinity = "Infinity in Histogram" if rules() == "2.21" else "Infinity in summary histogram"
        message = "Nan in summary histogram" if np.isnan(flat[finite.argmin()]) else infinity
        raise InvalidArgumentError.of(
            f"{message} for: {ctx.op.name}",
            hint="apply tf.check_numerics to the tensors that it is computed from to find the first non-finite one",
        )
    histogram = Histogram.of(flat)
    fields = {
        "min": histogram.smallest,
        "max": histogram.largest,
        "num": histogram.count,
        "sum": histogram.total,
        "sum_squares": histogram.total_of_squares,
        "bucket_limit": histogram.limits,
        "bucket": histogram.counts,
    }
    return _written([{"tag": label, "histo": fields}])


@compute("ImageSummary")
def _image_summary(xp: ArrayModule, tag: Array, tensor: Array, *, max_images: int, bad_color: Any) -> Array:
    label = _scalar_text(tag, "Tags must be a scalar")
    if tensor.ndim != 4 or tensor.shape[3] not in IMAGE_CHANNELS:
        raise InvalidArgumentError.of(
            f"Tensor must be 4-D with last dim 1, 3, or 4, not {_shown(tensor)}",
            hint="a batch of grayscale images has the shape [batch, height, width, 1]: tf.expand_dims(tensor, -1)",
        )
    batch, height, width, depth = tensor.shape
    if batch and 0 in (height, width):
        raise InvalidArgumentError.of(
            f"input tensor must have non-zero dims. Found: [{', '.join(map(str, tensor.shape))}]."
        )
    if height * width >= 1 << 29:
        raise InvalidArgumentError.of(f"Tensor too large for summary {_shown(tensor)}")
    bad_colour = np.asarray(bad_color.array)
    if tensor.dtype != np.uint8 and bad_colour.size < depth:
        raise InvalidArgumentError.of(
            f"expected depth <= bad_color.size, got depth = {depth}, bad_color.size = {bad_colour.size}"
        )
    values = []
    for number, item in enumerate(tensor[:max_images]):
        pixels = item if item.dtype == np.uint8 else shades(item, bad_colour[:depth])
        fields = {
            "height": height,
            "width": width,
            "colorspace": depth,
            "encoded_image_string": png_file(pixels),
        }
        tag_of_one = f"{label}/image/{number}" if max_images > 1 else f"{label}/image"
        values.append({"tag": tag_of_one, "image": fields})
    return _written(values)


@compute("AudioSummaryV2")
def _audio_summary(
    xp: ArrayModule, tag: Array, tensor: Array, sample_rate: Array, *, max_outputs: int
) -> Array:
    if sample_rate.shape != ():
        raise InvalidArgumentError.of(f"sample_rate must be scalar, got shape {_shown(sample_rate)}")
    rate = float(sample_rate)
    label = _scalar_text(tag, "Tag must be a scalar")
    if tensor.ndim not in (2, 3):
        raise InvalidArgumentError.of(f"Tensor must be 3-D or 2-D, got: {_shown(tensor)}")
    if not rate > 0:
        raise InvalidArgumentError.of("sample_rate must be > 0")
    values = []
    for number, item in enumerate(tensor[:max_outputs]):
        if not len(item) and rules() == "1.15":
            raise InvalidArgumentError.of("num_frames must be positive.")
        frames = item if item.ndim == 2 else item[:, None]
        if not frames.shape[1]:
            raise InvalidArgumentError.of("num_channels must be positive.")
        fields = {
            "sample_rate": rate,
            "num_channels": frames.shape[1],
            "length_frames": frames.shape[0],
            "encoded_audio_string": wav_file(frames, rate),
            "content_type": "audio/wav",
        }
        tag_of_one = f"{label}/audio/{number}" if max_outputs > 1 else f"{label}/audio"
        values.append({"tag": tag_of_one, "audio": fields})
    return _written(values)


@compute("TensorSummaryV2")
def _tensor_summary_v2(
    xp: ArrayModule, tag: Array, tensor: Array, serialized_summary_metadata: Array
) -> Array:
    label = _scalar_text(tag, "tag must be scalar")
    if serialized_summary_metadata.shape != ():
        raise InvalidArgumentError.of("serialized_summary_metadata must be scalar")
    metadata = serialized_summary_metadata.item()
    return _bytes(above("gpuplace.graphdef.summary_messages", "tensor_summary")(tensor, metadata, tag=label))


@compute("TensorSummary")
def _tensor_summary(xp: ArrayModule, tensor: Array, *, ctx: Any) -> Array:
    return _bytes(
        above("gpuplace.graphdef.summary_messages", "tensor_summary")(tensor, None, node_name=ctx.op.name)
    )


@compute("MergeSummary")
def _merge_summary(xp: ArrayModule, inputs: list[Any]) -> Array:
    parts = [part for array in inputs for part in array.reshape(-1).tolist()]
    return _bytes(above("gpuplace.graphdef.summary_messages", "merged_summaries")(parts))


shape_function(
    "AudioSummaryV2",
    "HistogramSummary",
    "ImageSummary",
    "MergeSummary",
    "ScalarSummary",
    "TensorSummary",
    "TensorSummaryV2",
)(scalar_shape)


not_differentiable(
    "AudioSummaryV2",
    "HistogramSummary",
    "ImageSummary",
    "MergeSummary",
    "ScalarSummary",
    "TensorSummary",
    "TensorSummaryV2",
)
