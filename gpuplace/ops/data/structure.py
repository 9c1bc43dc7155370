"""The form of a dataset's elements: tuples, named tuples and dicts of tensors and datasets, in any depth.

Unlike elsewhere, a list is no form but a value: it becomes one tensor.

>>> flatten(({"b": 2, "a": 1}, [3, 4]))
[1, 2, [3, 4]]
>>> pack((0, {"x": 0}), ["first", "second"])
('first', {'x': 'second'})

Source: tensorflow/python/data/util/nest.py and structure.py, release 1.15 (order, sentences).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuplace.dtypes import DType, as_dtype, variant
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.sparse.sparse_spec import SparseTensorSpec
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape, as_shape

# Forms


def is_nested(value: Any) -> bool:
    """Whether a value has parts."""
    return isinstance(value, (tuple, Mapping))


def _parts(value: Any) -> list[Any]:
    return [value[key] for key in sorted(value)] if isinstance(value, Mapping) else list(value)


def flatten(value: Any) -> list[Any]:
    """The leaves of a form; dicts in the order of their keys."""
    return nest.flatten(value, opens_lists=False)


def pack(form: Any, flat: Sequence[Any]) -> Any:
    """The same form with other leaves.

    Raises:
        ValueError: there are more or fewer of them.
    """
    return nest.pack_sequence_as(form, flat, opens_lists=False)


def map_form(function: Callable[..., Any], form: Any, *others: Any) -> Any:
    """The form of what a function makes of leaves that stand at the same place in forms alike."""
    return pack(form, [function(*leaves) for leaves in zip(*map(flatten, (form, *others)), strict=True)])


def flatten_up_to(form: Any, value: Any) -> list[Any]:
    """The parts of a value at the places of the leaves of a form, which may have parts themselves.

    Raises:
        TypeError: a part that the form has parts for has none, or is of another type.
        ValueError: it has other keys, or more or fewer parts.
    """
    if not is_nested(form):
        return [value]
    if not is_nested(value):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type:"
            f" '{type(value).__name__}'."
        )
    if isinstance(form, Mapping) is not isinstance(value, Mapping):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type"
            f" '{type(value).__name__}', while shallow structure has type '{type(form).__name__}'."
        )
    if len(form) != len(value):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length"
            f" {len(value)}, while shallow structure has length {len(form)}."
        )
    if isinstance(form, Mapping) and set(form) != set(value):
        raise ValueError(
            f"The two structures don't have the same keys. Input structure has keys {sorted(value)}, while"
            f" shallow structure has keys {sorted(form)}."
        )
    return [
        leaf
        for one, part in zip(_parts(form), _parts(value), strict=True)
        for leaf in flatten_up_to(one, part)
    ]


def assert_same_form(first: Any, second: Any) -> None:
    """Checks that two forms have the same parts; TypeError or ValueError, as ``flatten_up_to``, if not."""
    for one, other in ((first, second), (second, first)):
        for leaf in flatten_up_to(one, other):
            if is_nested(leaf):
                raise ValueError(
                    "The two structures don't have the same nested structure. First structure:"
                    f" {first}. Second structure: {second}."
                )


# What the leaves are


@dataclass(frozen=True)
class DatasetSpec:
    """A leaf that is a dataset itself."""

    element_spec: Any
    """The form of its elements."""


Spec = TensorSpec | SparseTensorSpec | DatasetSpec


def batched(spec: Spec, size: int | None) -> Spec:
    """What a batch of such leaves is; ``size`` is None where it may differ.

    Raises:
        TypeError: datasets cannot be put together.
    """
    if isinstance(spec, DatasetSpec):
        raise TypeError("Datasets cannot be batched: use flat_map to batch the elements of each of them.")
    return spec._batch(size)


def unbatched(spec: Spec) -> Spec:
    """What a row of such a leaf is.

    Raises:
        ValueError: it is a scalar.
    """
    if isinstance(spec, DatasetSpec):
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    return spec._unbatch()


def flat_types(spec: Any) -> list[DType]:
    """The types of the tensors that an element consists of."""
    return [one.dtype if isinstance(one, TensorSpec) else variant for one in flatten(spec)]


def flat_shapes(spec: Any) -> list[TensorShape]:
    """The shapes of the tensors that an element consists of."""
    return [_flat_shape(one) for one in flatten(spec)]


def _flat_shape(spec: Spec) -> TensorShape:
    if isinstance(spec, TensorSpec):
        return spec.shape
    return UNKNOWN_SHAPE if isinstance(spec, SparseTensorSpec) else SCALAR_SHAPE


def output_types(spec: Any) -> Any:
    """The types of an element, in its form; of a leaf that is a dataset its spec."""
    return map_form(lambda one: one if isinstance(one, DatasetSpec) else one.dtype, spec)


def output_shapes(spec: Any) -> Any:
    """The shapes of an element, in its form; of a leaf that is a dataset its spec."""
    return map_form(lambda one: one if isinstance(one, DatasetSpec) else one.shape, spec)


def output_classes(spec: Any) -> Any:
    """The class of each leaf, in the element's form; of a leaf that is a dataset its spec."""
    return map_form(lambda one: one if isinstance(one, DatasetSpec) else one.value_type, spec)


def spec_of(types: Any, shapes: Any = None, classes: Any = None) -> Any:
    """The spec of elements of these types, shapes and classes.

    Args:
        types: a form of types.
        shapes: shapes at the same places; None: nothing is known of them.
        classes: classes at the same places, ``Tensor`` or ``SparseTensor``; None: all are tensors.

    Raises:
        TypeError: a leaf is no type, or of a class that is not known; or as ``flatten_up_to``.
        ValueError: as ``flatten_up_to``.
    """
    kinds = [one if isinstance(one, DatasetSpec) else as_dtype(one) for one in flatten(types)]
    sizes = [None] * len(kinds) if shapes is None else flatten_up_to(types, shapes)
    values = [Tensor] * len(kinds) if classes is None else flatten(classes)
    leaves = [
        kind if isinstance(kind, DatasetSpec) else _leaf_of_class(value, as_shape(size), kind)
        for kind, size, value in zip(kinds, sizes, values, strict=True)
    ]
    return pack(types, leaves)


def _leaf_of_class(value: Any, shape: TensorShape, dtype: DType) -> Spec:
    if value is SparseTensor:
        return SparseTensorSpec(shape, dtype)
    if value is not Tensor:
        raise TypeError(f"Elements of class {value!r} are not supported: use tensors")
    return TensorSpec(shape, dtype)


# Values


def variant_of(value: Any) -> Tensor | None:
    """The tensor that stands for a dataset; None for everything else."""
    found = getattr(value, "_variant_tensor", None)
    return found if isinstance(found, Tensor) else None


def normalised(element: Any) -> Any:
    """An element with tensors for the values in it.

    Raises:
        TypeError: a value cannot be converted to a tensor.
    """
    leaves: list[Any] = []
    with name_scope("normalize_element"):
        element = _with_sparse_leaves(element)
        for number, value in enumerate(flatten(element)):
            if isinstance(value, _SparseLeaf):
                leaves.append(SparseTensor.from_value(value.value))
            elif variant_of(value) is not None:
                leaves.append(value)
            else:
                leaves.append(convert_to_tensor(value, name=f"component_{number}"))
    return pack(element, leaves)


@dataclass(frozen=True)
class _SparseLeaf:
    """A sparse tensor, or the value of one, which is a tuple otherwise, as a leaf of an element."""

    value: SparseTensor | SparseTensorValue


def _with_sparse_leaves(element: Any) -> Any:
    if isinstance(element, SparseTensor | SparseTensorValue):
        return _SparseLeaf(element)
    if not is_nested(element):
        return element
    return nest.like(element, [_with_sparse_leaves(part) for part in _parts(element)])


def spec_of_value(value: Any) -> Any:
    """What an element, or what a function returned, is.

    Raises:
        TypeError: a leaf is no dataset and cannot be converted to a tensor.
    """

    def leaf(one: Any) -> Spec:
        if variant_of(one) is not None:
            return DatasetSpec(one.element_spec)
        if isinstance(one, SparseTensor):
            return SparseTensorSpec.from_value(one)
        if one is None:
            raise TypeError("None is no tensor")
        tensor = one if isinstance(one, Tensor) else convert_to_tensor(one)
        return TensorSpec(tensor.shape, tensor.dtype.base_dtype)

    return map_form(leaf, value)


def to_tensors(value: Any) -> list[Tensor]:
    """The tensors that an element consists of; a sparse one is packed."""
    return [_to_tensor(one, batched=False) for one in flatten(value)]


def to_rows(value: Any) -> list[Tensor]:
    """The tensors whose rows the rows of an element consist of.

    Raises:
        ValueError: a sparse tensor is a scalar.
    """
    return [_to_tensor(one, batched=True) for one in flatten(value)]


def _to_tensor(value: Any, batched: bool) -> Tensor:
    if isinstance(value, SparseTensor):
        spec = SparseTensorSpec.from_value(value)
        (packed,) = spec._to_batched_tensor_list(value) if batched else spec._to_tensor_list(value)
        return packed
    handle = variant_of(value)
    return convert_to_tensor(value) if handle is None else handle


def from_tensor(spec: TensorSpec | SparseTensorSpec, tensor: Tensor) -> Any:
    """The leaf that a tensor stands for."""
    return tensor if isinstance(spec, TensorSpec) else spec._from_compatible_tensor_list([tensor])
