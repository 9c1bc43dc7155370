"""``tf.parse_example`` and its kin: tensors out of ``Example`` messages.

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
    """How a feature of any length is parsed: as a sparse tensor."""

    dtype: Any
    """The type of its values: float32, int64 or string."""


class _SparseFeature(NamedTuple):
    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class SparseFeature(_SparseFeature):
    """How a sparse tensor is parsed from features for its positions and its values.

    Args:
        index_key: the feature with the positions, int64, or a list of them, one for each dimension.
        value_key: the feature with the values.
        dtype: the type of the values.
        size: the size of the dimension, or a list of sizes.
        already_sorted: whether the positions are in order.
    """

    __slots__ = ()


class FixedLenFeature(NamedTuple):
    """How a feature of known shape is parsed."""

    shape: Any
    """Its shape."""
    dtype: Any
    """The type of its values: float32, int64 or string."""
    default_value: Any = None
    """Its value where it is missing; None: it must not be."""


class FixedLenSequenceFeature(NamedTuple):
    """How a feature with any number of parts of known shape is parsed."""

    shape: Any
    """The shape of a part."""
    dtype: Any
    """The type of its values: float32, int64 or string."""
    allow_missing: bool = False
    """Whether it may be missing, and then has no parts."""
    default_value: Any = None
    """What shorter ones are padded with; None: zeros, or empty texts."""


@dataclass
class _Raw:
    """What the ops are told of the features."""

    sparse_keys: list[str] = field(default_factory=list)
    sparse_types: list[DType] = field(default_factory=list)
    dense_keys: list[str] = field(default_factory=list)
    dense_types: list[DType] = field(default_factory=list)
    dense_shapes: list[TensorShape] = field(default_factory=list)
    defaults: dict[str, Any] = field(default_factory=dict)

    def add_sparse(self, key: str, dtype: DTypeLike) -> None:
        """Adds a feature of any length, once."""
        dtype = as_dtype(dtype)
        if key in self.sparse_keys:
            known = self.sparse_types[self.sparse_keys.index(key)]
            if known is not dtype:
                raise ValueError(f"Conflicting type {known} vs {dtype} for feature {key}.")
            return
        self.sparse_keys.append(key)
        self.sparse_types.append(dtype)

    def add_dense(self, key: str, feature: Any) -> None:
        """Adds a feature of known shape."""
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        self.dense_keys.append(key)
        self.dense_types.append(as_dtype(feature.dtype))
        self.dense_shapes.append(as_shape(feature.shape))


def raw_of(features: Mapping[str, Any], allowed: tuple[type, ...]) -> _Raw:
    """What the ops are told of features, in the order of their keys.

    Raises:
        ValueError: a feature is of no kind that is allowed here, or not complete.
    """
    raw = _Raw()
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
    """The features with the number of parts as the first dimension of sequences."""
    found: dict[str, Any] = {}
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
            feature = feature._replace(shape=[None, *_listed(feature.shape)])
        found[key] = feature
    return found


def default_tensors(raw: _Raw, of_sequences: bool = False) -> list[Tensor]:
    """The defaults of the features of known shape: empty where there is none.

    Args:
        raw: the features.
        of_sequences: as they are given, for ``ParseSequenceExample``, which does not look at their shapes.
    """
    found = []
    for key, dtype, shape in zip(raw.dense_keys, raw.dense_types, raw.dense_shapes, strict=True):
        default = raw.defaults.get(key)
        plain = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
        if shape.sizes and shape.sizes[0] is None:
            if default is None:
                found.append(convert_to_tensor("" if dtype is string else 0, dtype=dtype))
            else:
                padding = convert_to_tensor(default, dtype=dtype, name=f"padding_{plain}")
                found.append(reshape(padding, []))
        elif default is None:
            found.append(constant([], dtype=dtype))
        elif isinstance(default, Tensor):
            found.append(default)
        elif of_sequences:
            found.append(convert_to_tensor(default, dtype=dtype, name=f"key_{plain}"))
        else:
            found.append(reshape(convert_to_tensor(default, dtype=dtype, name=f"key_{plain}"), shape))
    return found


def _by_key(raw: _Raw, outputs: list[Tensor]) -> dict[str, Any]:
    count = len(raw.sparse_keys)
    found: dict[str, Any] = {
        key: SparseTensor(*parts)
        for key, *parts in zip(
            raw.sparse_keys,
            outputs[:count],
            outputs[count : 2 * count],
            outputs[2 * count : 3 * count],
            strict=True,
        )
    }
    found.update(zip(raw.dense_keys, outputs[3 * count :], strict=True))
    return found


def with_sparse_features(features: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What was parsed, sparse features put together."""
    made = dict(found)
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            keys = _listed(feature.index_key)
            ids = [found[index_key] for index_key in keys]
            is_one = not isinstance(feature.index_key, list | tuple)
            made[key] = sparse_merge(
                ids[0] if is_one else ids,
                found[feature.value_key],
                feature.size,
                already_sorted=feature.already_sorted,
            )
    wanted = set(features)
    return {key: value for key, value in made.items() if key in wanted}


ANY_FEATURE = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


def parse_example(
    serialized: TensorLike, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Returns the features of several ``Example`` messages.

    Args:
        serialized: the messages, a string vector ``[batch]``.
        features: from key to ``FixedLenFeature``, ``VarLenFeature``, ``FixedLenSequenceFeature`` or
            ``SparseFeature``.
        name: name of the scope.
        example_names: names of the messages, for errors, a string vector; None: they have none.

    Returns:
        From key to a tensor ``[batch, ...]``, or a ``SparseTensor`` for features of any length.

    Raises:
        ValueError: the features are not complete.
        InvalidArgumentError: when it runs: a message is none, or a feature is missing or of another type or size.
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    features = with_rows(features)
    raw = raw_of(features, ANY_FEATURE)
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
        found = _by_key(raw, list(op.outputs))
    return with_sparse_features(features, found)


def parse_single_example(
    serialized: TensorLike, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Returns the features of an ``Example`` message.

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
        example_names: name of the message, for errors, a string scalar; None: it has none.

    Returns:
        From key to a tensor, or a ``SparseTensor`` for features of any length.

    Raises:
        ValueError: the features are not complete.
        InvalidArgumentError: as ``parse_example``.
    """
    if not features:
        raise ValueError("Missing features.")
    features = with_rows(features)
    raw = raw_of(features, ANY_FEATURE)
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
        found = _by_key(raw, list(op.outputs))
    return with_sparse_features(features, found)


def parse_single_sequence_example(
    serialized: TensorLike, context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None, example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Returns the features of a ``SequenceExample`` message.

    Args:
        serialized: the message, a string scalar.
        context_features: of all of it: from key to ``FixedLenFeature`` or ``VarLenFeature``; None: none.
        sequence_features: of its steps: from key to ``FixedLenSequenceFeature`` or ``VarLenFeature``; None: none.
        example_name: name of the message, for errors, a string scalar; None: it has none.
        name: name of the scope.

    Returns:
        Two dicts from key to a tensor, or a ``SparseTensor`` for features of any length.

    Raises:
        ValueError: the features are not complete, or there are none.
        InvalidArgumentError: when it runs: the message is none, or a feature is missing or of another type or size.
    """
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = raw_of(context_features or {}, (VarLenFeature, FixedLenFeature))
    sequence = raw_of(sequence_features or {}, (VarLenFeature, FixedLenSequenceFeature))
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
    """Returns the features of several ``SequenceExample`` messages.

    Args:
        serialized: the messages, a string vector ``[batch]``.
        context_features: of a whole message: from key to ``FixedLenFeature`` or ``VarLenFeature``; None: none.
        sequence_features: of its steps: from key to ``FixedLenSequenceFeature`` or ``VarLenFeature``; None: none.
        example_names: names of the messages, for errors, a string vector; None: they have none.
        name: name of the scope.

    Returns:
        The features of the messages, ``[batch, ...]``, and those of their steps, ``[batch, longest, ...]``, filled up
        with zeros or empty strings: two dicts from key to a tensor, or to a ``SparseTensor`` for features of any
        length. Last, from key to the number of steps, int64 ``[batch]``, for each feature of fixed length.

    Raises:
        ValueError: the features are not complete, or there are none.
        InvalidArgumentError: when it runs: a message is none, or a feature is missing or of another type or size.
    """
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = raw_of(context_features or {}, (VarLenFeature, FixedLenFeature))
    sequence = raw_of(sequence_features or {}, (VarLenFeature, FixedLenSequenceFeature))
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
    """Returns ``Example`` messages that are given in JSON in their binary form.

    Args:
        json_examples: strings of any shape.
        name: name of the op.

    Returns:
        Strings, in that shape.

    Raises:
        InvalidArgumentError: when it runs: a text is none.
    """
    return new("DecodeJSONExample", name, json_examples=json_examples)


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Returns the tensor that a ``TensorProto`` message holds.

    Args:
        serialized: the message, a string scalar.
        out_type: the tensor's type.
        name: name of the op.

    Returns:
        A tensor of unknown shape.

    Raises:
        InvalidArgumentError: when it runs: the text is no such message, or holds another type.
    """
    return new("ParseTensor", name, serialized=serialized, out_type=out_type)


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor as a ``TensorProto`` message.

    Args:
        tensor: of any type and shape.
        name: name of the op.

    Returns:
        A string scalar.
    """
    return new("SerializeTensor", name, tensor=tensor)
