"""``tf.parse_example`` and the like: parse ``Example`` messages to tensors.

Source: tensorflow/python/ops/parsing_ops.py, release 1.15.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuplace.dtypes import DType, as_dtype, int64, string
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import new
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.sparse.sparse_ops import sparse_merge
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature", "decode_json_example",
    "parse_example", "parse_sequence_example", "parse_single_example", "parse_single_sequence_example", "parse_tensor",
    "serialize_tensor",
]  # fmt: skip


class VarLenFeature(NamedTuple):
    """A feature of any length, parsed to a sparse tensor."""

    dtype: Any
    """Dtype of its values: float32, int64 or string."""


class _SparseFeature(NamedTuple):
    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class SparseFeature(_SparseFeature):
    """A sparse tensor, parsed from features with its indices and its values.

    Args:
        index_key: the feature with the indices, int64, or a list of them, one for each dimension.
        value_key: the feature with the values.
        dtype: dtype of the values.
        size: size of the dimension, or a list of sizes.
        already_sorted: whether the indices are sorted.
    """

    __slots__ = ()


class FixedLenFeature(NamedTuple):
    """A feature with a known shape."""

    shape: Any
    """Its shape."""
    dtype: Any
    """Dtype of its values: float32, int64 or string."""
    default_value: Any = None
    """The value if it is missing; None: it is required."""


class FixedLenSequenceFeature(NamedTuple):
    """A feature that is a sequence: any number of elements of one known shape."""

    shape: Any
    """The shape of an element."""
    dtype: Any
    """Dtype of its values: float32, int64 or string."""
    allow_missing: bool = False
    """Whether it may be missing, which counts as an empty sequence."""
    default_value: Any = None
    """Padding value for shorter sequences; None: zeros, or empty strings."""


@dataclass
class _FeatureArguments:
    """Description of the features in the form of the ops' attributes."""

    sparse_keys: list[str] = field(default_factory=list)
    sparse_types: list[DType] = field(default_factory=list)
    dense_keys: list[str] = field(default_factory=list)
    dense_types: list[DType] = field(default_factory=list)
    dense_shapes: list[TensorShape] = field(default_factory=list)
    defaults: dict[str, Any] = field(default_factory=dict)

    def add_sparse(self, key: str, dtype: DTypeLike) -> None:
        """Add a feature of any length, unless it exists."""
        dtype = as_dtype(dtype)
        if key in self.sparse_keys:
            known_dtype = self.sparse_types[self.sparse_keys.index(key)]
            if known_dtype is not dtype:
                raise ValueError(f"Conflicting type {known_dtype} vs {dtype} for feature {key}.")
            return
        self.sparse_keys.append(key)
        self.sparse_types.append(dtype)

    def add_dense(self, key: str, feature: Any) -> None:
        """Add a feature with a known shape."""
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        self.dense_keys.append(key)
        self.dense_types.append(as_dtype(feature.dtype))
        self.dense_shapes.append(as_shape(feature.shape))


def feature_arguments(features: Mapping[str, Any], allowed: tuple[type, ...]) -> _FeatureArguments:
    """Return the description of features for the ops, in the order of their keys.

    Raises:
        ValueError: a feature is incomplete, or of a class that is not allowed here.
    """
    raw = _FeatureArguments()
    for key in sorted(features or {}):
        feature = features[key]
        if isinstance(feature, VarLenFeature | SparseFeature | FixedLenFeature | FixedLenSequenceFeature):
            if not isinstance(feature, allowed):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature}.")
        else:
            raise ValueError(f"Invalid feature {key}:{feature}.")
        if isinstance(feature, VarLenFeature):
            if not feature.dtype:
                raise ValueError(f"Missing type for feature {key}.")
            raw.add_sparse(key, feature.dtype)
        elif isinstance(feature, SparseFeature):
            for name in ("index_key", "value_key", "dtype"):
                if not getattr(feature, name):
                    raise ValueError(f"Missing {name} for SparseFeature {feature}.")
            for index_key in _listed(feature.index_key):
                raw.add_sparse(index_key, int64)
            raw.add_sparse(feature.value_key, feature.dtype)
        elif isinstance(feature, FixedLenFeature):
            raw.add_dense(key, feature)
            shape = raw.dense_shapes[-1]
            if shape.ndims and shape.sizes and shape.sizes[0] is None:
                raise ValueError(
                    f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature."
                )
            if not shape.is_fully_defined():
                raise ValueError(
                    f"All dimensions of shape for feature {key} need to be known but received {shape}."
                )
            if feature.default_value is not None:
                raw.defaults[key] = feature.default_value
        else:
            raw.add_dense(key, feature)
            if feature.allow_missing:
                raw.defaults[key] = None
            if feature.default_value is not None:
                raw.defaults[key] = feature.default_value
    return raw


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def with_rows(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return the features with an unknown first dimension, the number of parts, for sequences."""
    extended: dict[str, Any] = {}
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
            feature = feature._replace(shape=[None, *_listed(feature.shape)])
        extended[key] = feature
    return extended


def default_tensors(raw: _FeatureArguments, of_sequences: bool = False) -> list[Tensor]:
    """Return the defaults of the features with a known shape: empty if there is none.

    Args:
        raw: the features.
        of_sequences: whether to keep them unchanged, for ``ParseSequenceExample``, which ignores their shapes.
    """
    defaults = []
    for key, dtype, shape in zip(raw.dense_keys, raw.dense_types, raw.dense_shapes, strict=True):
        default = raw.defaults.get(key)
        plain = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
        if shape.sizes and shape.sizes[0] is None:
            if default is None:
                defaults.append(convert_to_tensor("" if dtype is string else 0, dtype=dtype))
            else:
                padding = convert_to_tensor(default, dtype=dtype, name=f"padding_{plain}")
                defaults.append(reshape(padding, []))
        elif default is None:
            defaults.append(constant([], dtype=dtype))
        elif isinstance(default, Tensor):
            defaults.append(default)
        elif of_sequences:
            defaults.append(convert_to_tensor(default, dtype=dtype, name=f"key_{plain}"))
        else:
            defaults.append(reshape(convert_to_tensor(default, dtype=dtype, name=f"key_{plain}"), shape))
    return defaults


def _by_key(raw: _FeatureArguments, outputs: list[Tensor]) -> dict[str, Any]:
    count = len(raw.sparse_keys)
    by_key: dict[str, Any] = {
        key: SparseTensor(*parts)
        for key, *parts in zip(
            raw.sparse_keys,
            outputs[:count],
            outputs[count : 2 * count],
            outputs[2 * count : 3 * count],
            strict=True,
        )
    }
    by_key.update(zip(raw.dense_keys, outputs[3 * count :], strict=True))
    return by_key


def with_sparse_features(features: Mapping[str, Any], parsed: dict[str, Any]) -> dict[str, Any]:
    """Combine parsed parts into sparse features."""
    combined = dict(parsed)
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            keys = _listed(feature.index_key)
            ids = [parsed[index_key] for index_key in keys]
            is_one = not isinstance(feature.index_key, list | tuple)
            combined[key] = sparse_merge(
                ids[0] if is_one else ids,
                parsed[feature.value_key],
                feature.size,
                already_sorted=feature.already_sorted,
            )
    requested = set(features)
    return {key: value for key, value in combined.items() if key in requested}


ANY_FEATURE = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


def parse_example(
    serialized: TensorLike, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse the features of several ``Example`` messages.

    Args:
        serialized: the messages, a string vector ``[batch]``.
        features: key -> ``FixedLenFeature``, ``VarLenFeature``, ``FixedLenSequenceFeature`` or ``SparseFeature``.
        name: name of the scope.
        example_names: names of the messages, for errors, a string vector; None: no names.

    Returns:
        A dict from key to a tensor ``[batch, ...]``, or a ``SparseTensor`` for features of any length.

    Raises:
        ValueError: the features are incomplete.
        InvalidArgumentError: at run time, a message is invalid, or a feature is missing or has another dtype or size.
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    features = with_rows(features)
    raw = feature_arguments(features, ANY_FEATURE)
    with name_scope(name, "ParseExample", [serialized, example_names]):
        op = apply_op(
            "ParseExample",
            name,
            serialized=serialized,
            names=[] if example_names is None else example_names,
            dense_defaults=default_tensors(raw),
            sparse_keys=raw.sparse_keys,
            sparse_types=raw.sparse_types,
            dense_keys=raw.dense_keys,
            dense_shapes=raw.dense_shapes,
        )
        parsed = _by_key(raw, list(op.outputs))
    return with_sparse_features(features, parsed)


def parse_single_example(
    serialized: TensorLike, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse the features of an ``Example`` message.

    >>> import gpuplace as tf
    >>> numbers = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"x": numbers}))
    >>> found = tf.parse_single_example(example.SerializeToString(), {"x": tf.FixedLenFeature([2], tf.float32)})
    >>> tf.Session().run(found["x"]).tolist()
    [1.0, 2.0]

    Args:
        serialized: the message, a string scalar.
        features: as for ``parse_example``.
        name: name of the scope.
        example_names: name of the message, for errors, a string scalar; None: no name.

    Returns:
        A dict from key to a tensor, or a ``SparseTensor`` for features of any length.

    Raises:
        ValueError: the features are incomplete.
        InvalidArgumentError: as for ``parse_example``.
    """
    if not features:
        raise ValueError("Missing features.")
    features = with_rows(features)
    raw = feature_arguments(features, ANY_FEATURE)
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        text = convert_to_tensor(serialized, name="serialized")
        op = apply_op(
            "ParseSingleExample",
            name,
            serialized=text,
            dense_defaults=default_tensors(raw),
            num_sparse=len(raw.sparse_keys),
            sparse_keys=raw.sparse_keys,
            sparse_types=raw.sparse_types,
            dense_keys=raw.dense_keys,
            dense_shapes=raw.dense_shapes,
        )
        parsed = _by_key(raw, list(op.outputs))
    return with_sparse_features(features, parsed)


def parse_single_sequence_example(
    serialized: TensorLike, context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None, example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Parse the features of a ``SequenceExample`` message.

    Args:
        serialized: the message, a string scalar.
        context_features: features of the message: key -> ``FixedLenFeature`` or ``VarLenFeature``, or None.
        sequence_features: features of its steps: key -> ``FixedLenSequenceFeature`` or ``VarLenFeature``, or None.
        example_name: name of the message, for errors, a string scalar; None: no name.
        name: name of the scope.

    Returns:
        Two dicts from key to a tensor, or a ``SparseTensor`` for features of any length.

    Raises:
        ValueError: the features are incomplete, or there are none.
        InvalidArgumentError: at run time, the message is invalid, or a feature is missing or has another dtype or size.
    """
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = feature_arguments(context_features or {}, (VarLenFeature, FixedLenFeature))
    sequence = feature_arguments(sequence_features or {}, (VarLenFeature, FixedLenSequenceFeature))
    missing = [key for key, default in sequence.defaults.items() if default is None]
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        op = apply_op(
            "ParseSingleSequenceExample",
            name,
            serialized=serialized,
            debug_name="" if example_name is None else example_name,
            context_dense_defaults=default_tensors(context),
            context_sparse_keys=context.sparse_keys,
            context_sparse_types=context.sparse_types,
            context_dense_keys=context.dense_keys,
            context_dense_shapes=context.dense_shapes,
            feature_list_sparse_keys=sequence.sparse_keys,
            feature_list_sparse_types=sequence.sparse_types,
            feature_list_dense_keys=sequence.dense_keys,
            feature_list_dense_types=sequence.dense_types,
            feature_list_dense_shapes=sequence.dense_shapes,
            feature_list_dense_missing_assumed_empty=missing,
        )
        outputs = list(op.outputs)
        middle = 3 * len(context.sparse_keys) + len(context.dense_keys)
        return _by_key(context, outputs[:middle]), _by_key(sequence, outputs[middle:])


def parse_sequence_example(
    serialized: TensorLike, context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None, example_names: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:  # fmt: skip
    """Parse the features of several ``SequenceExample`` messages.

    Args:
        serialized: the messages, a string vector ``[batch]``.
        context_features: features of a message: key -> ``FixedLenFeature`` or ``VarLenFeature``, or None.
        sequence_features: features of its steps: key -> ``FixedLenSequenceFeature`` or ``VarLenFeature``, or None.
        example_names: names of the messages, for errors, a string vector; None: no names.
        name: name of the scope.

    Returns:
        Three dicts: the features of the messages, ``[batch, ...]``, and of their steps, ``[batch, longest, ...]``,
        padded with zeros or empty strings, as tensors or as ``SparseTensor`` for features of any length; and the
        numbers of steps, int64 ``[batch]``, for each feature of fixed length.

    Raises:
        ValueError: the features are incomplete, or there are none.
        InvalidArgumentError: at run time, a message is invalid, or a feature is missing or has another dtype or size.
    """
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = feature_arguments(context_features or {}, (VarLenFeature, FixedLenFeature))
    sequence = feature_arguments(sequence_features or {}, (VarLenFeature, FixedLenSequenceFeature))
    missing = [key for key, default in sequence.defaults.items() if default is None]
    with name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        op = apply_op(
            "ParseSequenceExample",
            name,
            serialized=serialized,
            debug_name=[] if example_names is None else example_names,
            context_dense_defaults=default_tensors(context, of_sequences=True),
            feature_list_dense_missing_assumed_empty=missing,
            context_sparse_keys=context.sparse_keys,
            context_dense_keys=context.dense_keys,
            feature_list_sparse_keys=sequence.sparse_keys,
            feature_list_dense_keys=sequence.dense_keys,
            Ncontext_sparse=len(context.sparse_keys),
            Ncontext_dense=len(context.dense_keys),
            Nfeature_list_sparse=len(sequence.sparse_keys),
            Nfeature_list_dense=len(sequence.dense_keys),
            context_sparse_types=context.sparse_types,
            context_dense_shapes=context.dense_shapes,
            feature_list_sparse_types=sequence.sparse_types,
            feature_list_dense_types=sequence.dense_types,
            feature_list_dense_shapes=sequence.dense_shapes,
        )
        outputs = list(op.outputs)
        middle = 3 * len(context.sparse_keys) + len(context.dense_keys)
        end = len(outputs) - len(sequence.dense_keys)
        lengths = dict(zip(sequence.dense_keys, outputs[end:], strict=True))
        return _by_key(context, outputs[:middle]), _by_key(sequence, outputs[middle:end]), lengths


def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Convert ``Example`` messages from JSON to their binary form.

    Args:
        json_examples: strings of any shape.
        name: name of the op.

    Returns:
        Strings of the same shape.

    Raises:
        InvalidArgumentError: at run time, a text is not such a message.
    """
    return new("DecodeJSONExample", name, json_examples=json_examples)


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Parse a ``TensorProto`` message to a tensor.

    Args:
        serialized: the message, a string scalar.
        out_type: dtype of the tensor.
        name: name of the op.

    Returns:
        A tensor of unknown shape.

    Raises:
        InvalidArgumentError: at run time, the text is not such a message, or its dtype is different.
    """
    return new("ParseTensor", name, serialized=serialized, out_type=out_type)


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Serialize a tensor as a ``TensorProto`` message.

    Args:
        tensor: a tensor of any dtype and shape.
        name: name of the op.

    Returns:
        A string scalar.
    """
    return new("SerializeTensor", name, tensor=tensor)
