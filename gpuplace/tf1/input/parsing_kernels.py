"""Kernels of the ops that parse ``Example`` messages.

Source: tensorflow/core/kernels/example_parsing_ops.cc and core/util/example_proto_fast_parsing.cc, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.display import above
from gpuplace.dtypes import DType, string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import same_shape
from gpuplace.shapes import SCALAR_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule

_KINDS = {"bytes_list": "string", "float_list": "float", "int64_list": "int64"}
"""Value list of a feature -> TensorFlow's name of the dtype."""


@functools.cache
def _example_class() -> Any:
    return above("gpuplace.graphdef.own_messages", "Example")


@functools.cache
def _sequence_example_class() -> Any:
    return above("gpuplace.graphdef.own_messages", "SequenceExample")


def _parsed(cls: Any, text: bytes) -> Any:
    """Parse a message of a class.

    Raises:
        InvalidArgumentError: the text is not such a message.
    """
    decode_error: Any = above("gpuplace.graphdef.messages", "DecodeError")
    try:
        return cls.FromString(text)
    except decode_error:
        shown = text[:80].decode("utf-8", "backslashreplace")
        raise InvalidArgumentError.of(f"Could not parse example input, value: '{shown}'") from None


def _array(values: Any, dtype: DType) -> Any:
    if dtype is not string:
        return np.array(values, dtype.as_numpy_dtype)
    result = np.empty(len(values), object)
    result[:] = list(values)
    return result


def _values_of(feature: Any, dtype: DType, complaint: Callable[[str], str]) -> Any:
    """Return the values of a feature; None if it has none.

    Args:
        feature: the message, or None.
        dtype: dtype of the values.
        complaint: returns the error message for another dtype, given its name.
    """
    kind = None if feature is None else feature.WhichOneof("kind")
    if kind is None:
        return None
    if _KINDS[kind] != dtype.short_name:
        raise InvalidArgumentError.of(complaint(_KINDS[kind]))
    return _array(getattr(feature, kind).value, dtype)


def _is_variable(shape: TensorShape) -> bool:
    return bool(shape.sizes) and shape.sizes[0] is None  # type: ignore[index]


def _stride(shape: TensorShape) -> int:
    return int(np.prod([size for size in (shape.sizes or ())[1:] if size is not None], dtype=np.int64))


@dataclass(frozen=True)
class _Dense:
    """A feature with a fixed shape."""

    key: str
    dtype: DType
    shape: TensorShape
    default: Any
    """The value if it is missing; empty: it is required."""

    def of(self, features: Mapping[str, Any], where: str, index: str) -> Any:
        """Return the values ``[n]`` in an example; None for the default.

        Args:
            features: features of the example.
            where: prefix of error messages: the name of the example.
            index: index of the example, for error messages.
        """
        start = f"{where}Key: {self.key}{index}.  "
        value = _values_of(
            features.get(self.key),
            self.dtype,
            lambda actual: (
                f"{start}Data types don't match. Data type: {actual} but expected type: {self.dtype.short_name}"
            ),
        )
        if value is None:
            if _is_variable(self.shape) or self.default.size or 0 in (self.shape.sizes or ()):
                return None
            raise InvalidArgumentError.of(
                f"{where}Feature: {self.key} (data type: {self.dtype.short_name}) is required but could not be found.",
                hint="set default_value in FixedLenFeature, or use VarLenFeature",
            )
        name, shape = self.dtype.short_name, brackets(self.shape)
        if _is_variable(self.shape):
            if len(value) % max(_stride(self.shape), 1):
                raise InvalidArgumentError.of(
                    f"{start}Number of {name} values is not a multiple of stride length. Saw {len(value)} values but"
                    f" output shape is: {shape}"
                )
        elif len(value) != self.shape.num_elements():
            if not index:
                raise InvalidArgumentError.of(
                    f"{start}Can't parse serialized Example.",
                    facts={"values": f"{len(value)} of type {name}", "expected": f"shape {shape}"},
                )
            raise InvalidArgumentError.of(
                f"{start}Number of {name} values != expected.  Values size: {len(value)} but output shape: {shape}"
            )
        return value

    def alone(self, value: Any) -> Any:
        """Return the tensor of one example."""
        sizes = self.shape.sizes or ()
        if value is None:
            value = self.default if not _is_variable(self.shape) else _array([], self.dtype)
        if _is_variable(self.shape):
            return value.reshape(len(value) // max(_stride(self.shape), 1), *sizes[1:])
        return value.reshape(sizes)

    def together(self, values: Sequence[Any]) -> Any:
        """Return the tensor of several examples; values of variable length are padded with the default."""
        if not _is_variable(self.shape):
            parts = [self.alone(value) for value in values]
            if parts:
                return np.stack(parts)
            return np.empty((0, *(self.shape.sizes or ())), self.dtype.as_numpy_dtype)
        rows = [self.alone(value) for value in values]
        longest = max((len(row) for row in rows), default=0)
        filler: Any = (
            self.default.reshape(-1)[0] if self.default.size else (b"" if self.dtype is string else 0)
        )
        sizes: Any = (len(rows), longest, *(self.shape.sizes or ())[1:])
        dtype: Any = object if self.dtype is string else self.dtype.as_numpy_dtype
        result: Any = np.full(sizes, filler, dtype)
        for number, row in enumerate(rows):
            result[number, : len(row)] = row
        return result


def _sparse_of(key: str, dtype: DType, features: Mapping[str, Any], where: str, index: str) -> Any:
    """Return the values of a feature of any length."""
    value = _values_of(
        features.get(key),
        dtype,
        lambda actual: (
            f"{where}Key: {key}{index}.  Data types don't match. Expected type: {dtype.short_name}, Actual type:"
            f" {actual}"
        ),
    )
    return _array([], dtype) if value is None else value


def _ragged(columns: Sequence[Any], dtype: DType) -> tuple[Any, Any, Any]:
    """Return rows of values as the parts of a two-dimensional sparse tensor."""
    lengths = [len(column) for column in columns]
    rows = np.repeat(np.arange(len(columns), dtype=np.int64), lengths)
    places = [np.arange(length, dtype=np.int64) for length in lengths]
    indices = np.stack([rows, np.concatenate([*places, np.empty(0, np.int64)])], axis=1)
    values = np.concatenate([*columns, _array([], dtype)])
    return indices, values, np.array([len(columns), max(lengths, default=0)], np.int64)


def _in_lists(sparse: Sequence[tuple[Any, Any, Any]], dense: Sequence[Any]) -> list[Any]:
    """Return the outputs in the order of the signature."""
    return [
        *(part[0] for part in sparse),
        *(part[1] for part in sparse),
        *(part[2] for part in sparse),
        *dense,
    ]


def _texts(values: Sequence[Any]) -> list[str]:
    return [bytes(value.item()).decode() for value in values]


def parsed_examples(
    texts: Sequence[bytes],
    labels: Sequence[str],
    sparse_keys: Sequence[str],
    sparse_types: Sequence[DType],
    dense_keys: Sequence[str],
    dense_types: Sequence[DType],
    dense_shapes: Sequence[TensorShape],
    dense_defaults: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    """Parse the features of ``Example`` messages.

    Args:
        texts: the messages.
        labels: their names, for errors.
        sparse_keys: keys of the features of any length.
        sparse_types: their dtypes.
        dense_keys: keys of the features with known shapes.
        dense_types: their dtypes.
        dense_shapes: their shapes.
        dense_defaults: their default values.

    Returns:
        Indices, values and dense shape for each feature of any length; an array for each of the others.
    """
    examples = [_parsed(_example_class(), text).features.feature for text in texts]
    starts = [f"Name: {label}, " for label in labels]
    sparse, dense = [], []
    for key, dtype in zip(sparse_keys, sparse_types, strict=True):
        columns = [
            _sparse_of(key, dtype, features, start, f", Index: {number}")
            for number, (features, start) in enumerate(zip(examples, starts, strict=True))
        ]
        sparse.append(_ragged(columns, dtype))
    for arguments in zip(dense_keys, dense_types, dense_shapes, dense_defaults, strict=True):
        feature = _Dense(*arguments)
        values = [
            feature.of(features, start, f", Index: {number}")
            for number, (features, start) in enumerate(zip(examples, starts, strict=True))
        ]
        dense.append(feature.together(values))
    return sparse, dense


@compute("ParseExample")
def _parse_example(
    xp: Any, serialized: Any, names: Any, sparse_keys: list[Any], dense_keys: list[Any], dense_defaults: list[Any],
    *, sparse_types: Any, Tdense: Any, dense_shapes: Any,
) -> list[Any]:  # fmt: skip
    labels = [name.decode() for name in names.tolist()] or ["<unknown>"] * len(serialized)
    if len(labels) != len(serialized):
        raise InvalidArgumentError.of(
            f"Expected len(names) == len(serialized), but got: {len(labels)} vs. {len(serialized)}"
        )
    sparse, dense = parsed_examples(
        serialized.tolist(), labels, _texts(sparse_keys), sparse_types, _texts(dense_keys), Tdense, dense_shapes,
        dense_defaults,
    )  # fmt: skip
    return _in_lists(sparse, dense)


@compute("ParseSingleExample")
def _parse_single_example(
    xp: Any, serialized: Any, dense_defaults: list[Any], *, sparse_keys: Any, sparse_types: Any, dense_keys: Any,
    Tdense: Any, dense_shapes: Any,
) -> list[Any]:  # fmt: skip
    features = _parsed(_example_class(), serialized.item()).features.feature
    sparse, dense = [], []
    for key, dtype in zip(sparse_keys, sparse_types, strict=True):
        sparse.append(_column(_sparse_of(key.decode(), dtype, features, "", "")))
    for key, *arguments in zip(dense_keys, Tdense, dense_shapes, dense_defaults, strict=True):
        feature = _Dense(key.decode(), *arguments)
        dense.append(feature.alone(feature.of(features, "", "")))
    return _in_lists(sparse, dense)


def _column(values: Any) -> tuple[Any, Any, Any]:
    """Return values as the parts of a one-dimensional sparse tensor."""
    return (
        np.arange(len(values), dtype=np.int64)[:, None],
        values,
        np.array([len(values)], np.int64),
    )


@compute("ParseSingleSequenceExample")
def _parse_sequence(
    xp: ArrayModule, serialized: Array, feature_list_dense_missing_assumed_empty: Array, context_sparse_keys: list[Any],
    context_dense_keys: list[Any], feature_list_sparse_keys: list[Any], feature_list_dense_keys: list[Any],
    context_dense_defaults: list[Any], debug_name: Array, *, context_sparse_types: Any, Tcontext_dense: Any,
    context_dense_shapes: Any, feature_list_sparse_types: Any, feature_list_dense_types: Any,
    feature_list_dense_shapes: Any,
) -> list[Any]:  # fmt: skip
    example = _parsed(_sequence_example_class(), serialized.item())
    features, lists = example.context.feature, example.feature_lists.feature_list
    start = f"Name: {debug_name.item().decode() if debug_name.size else ''}, "
    context_sparse = [
        _column(_sparse_of(key, dtype, features, start, ""))
        for key, dtype in zip(_texts(context_sparse_keys), context_sparse_types, strict=True)
    ]
    context_dense = []
    for arguments in zip(
        _texts(context_dense_keys), Tcontext_dense, context_dense_shapes, context_dense_defaults, strict=True
    ):
        feature = _Dense(*arguments)
        kind = features.get(feature.key)
        if (kind is None or kind.WhichOneof("kind") is None) and not feature.default.size:
            raise InvalidArgumentError.of(
                f"{start}Context feature '{feature.key}' is required but could not be found."
            )
        context_dense.append(feature.alone(feature.of(features, start, ", Index: 0")))
    list_sparse = [
        _ragged(_steps(lists, key, dtype, start), dtype)
        for key, dtype in zip(_texts(feature_list_sparse_keys), feature_list_sparse_types, strict=True)
    ]
    may_be_missing = set(feature_list_dense_missing_assumed_empty.tolist())
    list_dense = []
    for key, dtype, shape in zip(
        _texts(feature_list_dense_keys), feature_list_dense_types, feature_list_dense_shapes, strict=True
    ):
        if key not in lists and key.encode() not in may_be_missing:
            raise InvalidArgumentError.of(
                f"{start}Feature list '{key}' is required but could not be found.  Did you mean to include it in"
                " feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?",
                hint="FixedLenSequenceFeature(..., allow_missing=True)",
            )
        steps = _steps(lists, key, dtype, start)
        for number, values in enumerate(steps):
            if len(values) != shape.num_elements():
                raise InvalidArgumentError.of(
                    f"{start}Key: {key}, Index: {number}.  Number of {dtype.short_name} values != expected.  values"
                    f" size: {len(values)} but output shape: {brackets(shape)}"
                )
        rows = [values.reshape(shape.sizes) for values in steps]
        empty = np.empty((0, *(shape.sizes or ())), _array([], dtype).dtype)
        list_dense.append(np.stack(rows) if rows else empty)
    return [*_in_lists(context_sparse, context_dense), *_in_lists(list_sparse, list_dense)]


@compute("ParseSequenceExample")
def _parse_sequences(
    xp: ArrayModule, serialized: Array, debug_name: Array, context_dense_defaults: list[Any], *,
    feature_list_dense_missing_assumed_empty: Any, context_sparse_keys: Any, context_dense_keys: Any,
    feature_list_sparse_keys: Any, feature_list_dense_keys: Any, context_sparse_types: Any, Tcontext_dense: Any,
    context_dense_shapes: Any, feature_list_sparse_types: Any, feature_list_dense_types: Any,
    feature_list_dense_shapes: Any,
) -> list[Any]:  # fmt: skip
    names = [name.decode() for name in debug_name.tolist()] or ["<unknown>"] * len(serialized)
    if len(names) != len(serialized):
        raise InvalidArgumentError.of("example_names must be empty or have the correct number of elements")
    examples = []
    for name, text in zip(names, serialized.tolist(), strict=True):
        try:
            message = _parsed(_sequence_example_class(), text)
        except InvalidArgumentError:
            raise InvalidArgumentError.of(f"Invalid protocol message input, example id: {name}") from None
        examples.append((name, message.context.feature, message.feature_lists.feature_list))

    def of_context(key: str, dtype: DType) -> list[Any]:
        """Return the values in each message; None if it has none."""
        columns = []
        for name, features, _ in examples:
            complaint = f"Error in context feature {key} in example {name}"
            columns.append(_values_of(features.get(key), dtype, functools.partial(_sentence, complaint)))
        return columns

    def of_steps(key: str, dtype: DType) -> list[list[Any] | None]:
        """Return the values of each step of each message; None if the message does not have the feature."""
        columns: list[list[Any] | None] = []
        for name, _, lists in examples:
            complaint = f"Error in sequence feature {key} in example {name}"
            steps = [
                _values_of(step, dtype, functools.partial(_sentence, complaint))
                for step in (lists[key].feature if key in lists else ())
            ]
            none = _array([], dtype)
            columns.append([none if step is None else step for step in steps] if key in lists else None)
        return columns

    context_sparse = [
        _ragged([_array([], dtype) if row is None else row for row in of_context(key.decode(), dtype)], dtype)
        for key, dtype in zip(context_sparse_keys, context_sparse_types, strict=True)
    ]
    context_dense = []
    for key, dtype, shape, default in zip(
        context_dense_keys, Tcontext_dense, context_dense_shapes, context_dense_defaults, strict=True
    ):
        dense = _Dense(key.decode(), dtype, shape, default)
        values = of_context(dense.key, dtype)
        for one in values:
            count = default.size if one is None else len(one)
            if count != shape.num_elements():
                raise InvalidArgumentError.of(
                    f"Inconsistent number of elements for feature {dense.key}: {count} vs {shape.num_elements()}"
                )
        context_dense.append(dense.together(values))
    list_sparse = [
        _ragged_steps([steps or [] for steps in of_steps(key.decode(), dtype)], dtype)
        for key, dtype in zip(feature_list_sparse_keys, feature_list_sparse_types, strict=True)
    ]
    list_dense, lengths = [], []
    for key, dtype, shape in zip(
        feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes, strict=True
    ):
        rows = of_steps(key.decode(), dtype)
        for (name, *_), row in zip(examples, rows, strict=True):
            if row is None and key not in feature_list_dense_missing_assumed_empty:
                raise InvalidArgumentError.of(
                    f"Missing feature {key.decode()} in example {name}",
                    hint="FixedLenSequenceFeature(..., allow_missing=True)",
                )
            if any(len(step) != shape.num_elements() for step in row or ()):
                raise InvalidArgumentError.of(f"Unexpected shape error in feature {key.decode()}")
        counts = [len(row or ()) for row in rows]
        filler: Any = b"" if dtype is string else 0
        sizes = (len(rows), max(counts, default=0), *(shape.sizes or ()))
        padded: Any = np.full(sizes, filler, object if dtype is string else dtype.as_numpy_dtype)
        for number, row in enumerate(rows):
            for step, step_values in enumerate(row or ()):
                padded[number, step] = step_values.reshape(shape.sizes)
        list_dense.append(padded)
        lengths.append(np.array(counts, np.int64))
    return [*_in_lists(context_sparse, context_dense), *_in_lists(list_sparse, list_dense), *lengths]


def _sentence(sentence: str, actual: str) -> str:
    return sentence


def _ragged_steps(messages: Sequence[Sequence[Any]], dtype: DType) -> tuple[Any, Any, Any]:
    """Return steps of messages as the parts of a sparse tensor ``[message, step, value]``."""
    places = [
        (message, step, place)
        for message, steps in enumerate(messages)
        for step, values in enumerate(steps)
        for place in range(len(values))
    ]
    values = np.concatenate([*(values for steps in messages for values in steps), _array([], dtype)])
    most_steps = max((len(steps) for steps in messages), default=0)
    most_values = max((len(values) for steps in messages for values in steps), default=0)
    indices = np.array(places, np.int64).reshape(-1, 3)
    return indices, values, np.array([len(messages), most_steps, most_values], np.int64)


def _steps(lists: Mapping[str, Any], key: str, dtype: DType, start: str) -> list[Any]:
    """Return the values of each step of a feature list."""
    steps = lists[key].feature if key in lists else ()
    values = []
    for number, feature in enumerate(steps):
        where = f"{start}Feature list: {key}, Index: {number}.  "
        sentence = f"{where}Data types don't match. Expected type: {dtype.short_name}  Feature is: "
        value = _values_of(feature, dtype, functools.partial(_with_feature, sentence, feature))
        values.append(_array([], dtype) if value is None else value)
    return values


def _with_feature(sentence: str, feature: Any, actual: str) -> str:
    return f"{sentence}{feature}"


@compute("DecodeJSONExample")
def _decode_json(xp: ArrayModule, json_examples: Array) -> Array:
    example_of = above("gpuplace.graphdef.own_messages", "example_of_json")
    texts = []
    for text in json_examples.reshape(-1).tolist():
        try:
            texts.append(example_of(text))
        except ValueError as error:
            raise InvalidArgumentError.of(f"Error while parsing JSON: {error}") from None
    result = np.empty(len(texts), object)
    result[:] = texts
    return result.reshape(json_examples.shape)


@compute("ParseTensor")
def _parse_tensor(xp: ArrayModule, serialized: Array, *, out_type: DType) -> Array:
    if serialized.ndim:
        raise InvalidArgumentError.of(
            f"Expected `serialized` to be a scalar, got shape: {brackets(serialized.shape)}"
        )
    read = above("gpuplace.graphdef.tensor_proto", "array_of_bytes")
    try:
        array, dtype = read(serialized.item())
    except ValueError:
        shown = serialized.item()[:80].decode("utf-8", "backslashreplace")
        raise InvalidArgumentError.of(f"Could not parse `serialized` as TensorProto: '{shown}'") from None
    if dtype is not out_type:
        raise InvalidArgumentError.of(
            f"Type mismatch between parsed tensor ({dtype.short_name}) and dtype ({out_type.short_name})"
        )
    return array


@compute("SerializeTensor")
def _serialize_tensor(xp: ArrayModule, tensor: Array, *, T: DType) -> Array:
    write = above("gpuplace.graphdef.tensor_proto", "bytes_of_array")
    return np.array(write(tensor, T), object)


# Shapes


def _matrix(rank: int) -> TensorShape:
    return TensorShape.of((None, rank))


_LIST = TensorShape.of((None,))


def _sparse_shapes(count: int, rank: int) -> list[TensorShape]:
    return [*[_matrix(rank)] * count, *[_LIST] * count, *[TensorShape.of((rank,))] * count]


def _sparse(op: Operation, count: str, types: str, rank: int) -> list[TensorShape]:
    """Return the shapes of indices, values and dense shapes of an op's sparse features.

    Raises:
        ValueError: the numbers of dtypes and features differ.
    """
    if op.attrs[count] != len(op.attrs[types]):
        raise ValueError("len(sparse_keys) != len(sparse_types)")
    return _sparse_shapes(len(op.attrs[types]), rank)


def _dense(op: Operation, shapes: str, types: str, rows: TensorShape = SCALAR_SHAPE) -> list[TensorShape]:
    """Return the shapes of an op's dense features.

    Raises:
        ValueError: the numbers of dtypes and shapes differ.
    """
    if len(op.attrs[shapes]) != len(op.attrs[types]):
        raise ValueError("len(dense_keys) != len(dense_shapes)")
    return [rows.concatenate(shape) for shape in op.attrs[shapes]]


@shape_function("ParseExample")
def _example_shapes(op: Operation) -> Any:
    rows = require_rank(op.inputs[0].shape, 1)
    return [*_sparse(op, "Nsparse", "sparse_types", 2), *_dense(op, "dense_shapes", "Tdense", rows)]


@shape_function("ParseSingleExample")
def _single_shapes(op: Operation) -> Any:
    require_rank(op.inputs[0].shape, 0)
    return [*_sparse(op, "num_sparse", "sparse_types", 1), *_dense(op, "dense_shapes", "Tdense")]


@shape_function("ParseSingleSequenceExample")
def _sequence_shapes(op: Operation) -> Any:
    require_rank(op.inputs[0].shape, 0)
    return [
        *_sparse(op, "Ncontext_sparse", "context_sparse_types", 1),
        *_dense(op, "context_dense_shapes", "Tcontext_dense"),
        *_sparse(op, "Nfeature_list_sparse", "feature_list_sparse_types", 2),
        *_dense(op, "feature_list_dense_shapes", "feature_list_dense_types", _LIST),
    ]


@shape_function("ParseSequenceExample")
def _sequences_shapes(op: Operation) -> Any:
    rows = require_rank(op.inputs[0].shape, 1)
    lists = op.attrs["feature_list_dense_shapes"]
    return [
        *_sparse_shapes(len(op.attrs["context_sparse_types"]), 2),
        *(rows.concatenate(shape) for shape in op.attrs["context_dense_shapes"]),
        *_sparse_shapes(len(op.attrs["feature_list_sparse_types"]), 3),
        *(rows.concatenate(_LIST).concatenate(shape) for shape in lists),
        *(rows for _ in lists),
    ]


shape_function("DecodeJSONExample")(same_shape)


@shape_function("ParseTensor")
def _unknown(op: Operation) -> Any:
    return (TensorShape(None),)


@shape_function("SerializeTensor")
def _scalar(op: Operation) -> Any:
    return (TensorShape.of(()),)


not_differentiable(
    "ParseExample", "ParseSingleExample", "ParseSingleSequenceExample", "DecodeJSONExample", "ParseTensor",
    "SerializeTensor",
)  # fmt: skip
