"""The structure of a dataset's elements: nested tuples, named tuples and dicts of tensors and the like.

Unlike elsewhere, a list is not a structure but a value: it becomes one tensor. A ``TypeSpec`` describes each leaf (a
tensor, sparse tensor, dataset or optional value) and the tensors that represent it in the graph.

>>> flatten(({"b": 2, "a": 1}, [3, 4]))
[1, 2, [3, 4]]
>>> pack((0, {"x": 0}), ["first", "second"])
('first', {'x': 'second'})

Source: tensorflow/python/data/util/nest.py and structure.py, release 1.15 (order, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import DType, as_dtype
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.sparse.sparse_spec import SparseTensorSpec
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.type_spec import TensorSpec, TypeSpec, known_type_spec, type_spec_from_value
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.flow.tensor_array_spec import TensorArraySpec
from gpuplace.typing import TensorLike

# Structures


def is_nested(value: Any) -> bool:
    """Return whether a value has components."""
    return nest.is_nested(value, opens_lists=False)


def flatten(value: Any) -> list[Any]:
    """Return the leaves of a structure; dicts in the order of their keys."""
    return nest.flatten(value, opens_lists=False)


def pack(form: Any, flat: Sequence[Any]) -> Any:
    """Return the same structure with other leaves.

    Raises:
        ValueError: the number of leaves is wrong.
    """
    return nest.pack_sequence_as(form, flat, opens_lists=False)


def map_structure(function: Callable[..., Any], form: Any, *others: Any) -> Any:
    """Apply a function to the corresponding leaves of structures."""
    return pack(form, [function(*leaves) for leaves in zip(*map(flatten, (form, *others)), strict=True)])


def flatten_up_to(form: Any, value: Any, check_types: bool = True) -> list[Any]:
    """Return the parts of a value at the leaves of a structure; the parts may have components themselves.

    Args:
        form: the structure.
        value: the value.
        check_types: whether classes and dict keys have to be equal.

    Raises:
        TypeError: a part is not a structure where ``form`` is, or has another class.
        ValueError: a part has other keys, or another number of components.
    """
    parts = nest.items(form, opens_lists=False)
    if parts is None:
        return [value]
    value_items = nest.items(value, opens_lists=False)
    if value_items is None:
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(value)}."
        )
    if check_types and not isinstance(value, type(form)):
        raise TypeError(
            f"The two structures don't have the same sequence type. Input structure has type {type(value)}, while"
            f" shallow structure has type {type(form)}."
        )
    if len(parts) != len(value_items):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length"
            f" {len(value_items)}, while shallow structure has length {len(parts)}."
        )
    if check_types and isinstance(form, Mapping) and set(form) != set(value):
        raise ValueError(
            f"The two structures don't have the same keys. Input structure has keys {list(value)}, while"
            f" shallow structure has keys {list(form)}."
        )
    pairs = zip(parts, value_items, strict=True)
    return [leaf for (_, spec), (_, part) in pairs for leaf in flatten_up_to(spec, part, check_types)]


def assert_same_structure(first: Any, second: Any, check_types: bool = True) -> None:
    """Check that two structures are the same.

    Args:
        first: a structure.
        second: another structure.
        check_types: whether their classes have to be equal.

    Raises:
        TypeError: only the classes differ.
        ValueError: the structures differ.
    """
    nest.assert_same_structure(first, second, check_types, opens_lists=False)


# Specs


def flat_specs(spec: Any) -> list[TensorSpec]:
    """Return the specs of an element's tensors."""
    return [tensor_spec for leaf in flatten(spec) for tensor_spec in leaf._flat_tensor_specs]


def flat_types(spec: Any) -> list[DType]:
    """Return the dtypes of an element's tensors."""
    return [tensor_spec.dtype for tensor_spec in flat_specs(spec)]


def flat_shapes(spec: Any) -> list[TensorShape]:
    """Return the shapes of an element's tensors."""
    return [tensor_spec.shape for tensor_spec in flat_specs(spec)]


def output_types(spec: Any) -> Any:
    """Return the types of an element, in its structure; for a dataset its spec."""
    return map_structure(lambda leaf: leaf._to_legacy_output_types(), spec)


def output_shapes(spec: Any) -> Any:
    """Return the shapes of an element, in its structure; for a dataset its spec."""
    return map_structure(lambda leaf: leaf._to_legacy_output_shapes(), spec)


def output_classes(spec: Any) -> Any:
    """Return the class of each leaf, in the element's structure; for a dataset its spec."""
    return map_structure(lambda leaf: leaf._to_legacy_output_classes(), spec)


def spec_of(types: Any, shapes: Any = None, classes: TensorLike | None = None) -> Any:
    """Return the spec of elements with these types, shapes and classes.

    Args:
        types: a structure of types.
        shapes: shapes in the same structure; None: unknown.
        classes: classes in the same structure, ``Tensor`` or ``SparseTensor``; None: all are tensors.

    Raises:
        TypeError: a leaf is not a type, or its class is unknown; or as for ``flatten_up_to``.
        ValueError: as for ``flatten_up_to``.
    """
    kinds = [item if isinstance(item, TypeSpec) else as_dtype(item) for item in flatten(types)]
    sizes = [None] * len(kinds) if shapes is None else flatten_up_to(types, shapes)
    values = [Tensor] * len(kinds) if classes is None else flatten(classes)
    leaves = [
        kind if isinstance(kind, TypeSpec) else _leaf_of_class(value, as_shape(size), kind)
        for kind, size, value in zip(kinds, sizes, values, strict=True)
    ]
    return pack(types, leaves)


def _leaf_of_class(value: Any, shape: TensorShape, dtype: DType) -> TypeSpec:
    if isinstance(value, TypeSpec):
        return value
    if value is SparseTensor:
        return SparseTensorSpec(shape, dtype)
    if value is TensorArray:
        return TensorArraySpec.of_legacy(dtype, shape)
    if value is not Tensor:
        raise TypeError(f"Could not build a structure for output class {value!r}")
    return TensorSpec(shape, dtype)


def are_compatible(first: Any, second: Any) -> bool:
    """Return whether two specs are compatible in both directions.

    Args:
        first: a spec.
        second: another structure.
    """
    try:
        assert_same_structure(first, second)
    except (TypeError, ValueError):
        return False
    pairs = zip(flatten(first), flatten(second), strict=True)
    return all(spec.is_compatible_with(other) and other.is_compatible_with(spec) for spec, other in pairs)


# Values


def normalized(element: Any) -> Any:
    """Return an element with its values converted to tensors.

    Raises:
        TypeError: a value cannot be converted to a tensor.
    """
    leaves: list[Any] = []
    with name_scope("normalize_element"):
        for number, value in enumerate(flatten(element)):
            spec = known_type_spec(value)
            if isinstance(spec, SparseTensorSpec):
                leaves.append(SparseTensor.from_value(value))
            elif spec is None or isinstance(spec, TensorSpec):
                leaves.append(convert_to_tensor(value, name=f"component_{number}"))
            else:
                leaves.append(value)
    return pack(element, leaves)


def spec_of_value(value: Any) -> Any:
    """Return the spec of an element or of a function's result.

    Raises:
        TypeError: a leaf is not a dataset component and cannot be converted to a tensor.
    """
    return map_structure(_spec_of_leaf, value)


def _spec_of_leaf(value: Any) -> TypeSpec:
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype.base_dtype)
    spec: TypeSpec = type_spec_from_value(value)
    return spec


def to_tensors(value: Any) -> list[Tensor]:
    """Return the tensors of an element; sparse tensors are packed."""
    return to_tensors_of(spec_of_value(value), value)


def to_tensors_of(spec: Any, value: Any) -> list[Tensor]:
    """Return the tensors of an element with a given spec.

    Args:
        spec: the spec of the element.
        value: the element.

    Raises:
        ValueError: the element has another structure.
        TypeError: a sparse tensor is expected but missing.
    """
    assert_same_structure(spec, value)
    pairs = zip(flatten(spec), flatten(value), strict=True)
    return [tensor for leaf, part in pairs for tensor in leaf._to_tensor_list(part)]


def to_rows(value: Any) -> list[Tensor]:
    """Return the tensors whose rows represent the rows of an element.

    Raises:
        ValueError: a sparse tensor is a scalar.
    """
    pairs = [(_spec_of_leaf(item), item) for item in flatten(value)]
    return [tensor for leaf, part in pairs for tensor in leaf._to_batched_tensor_list(part)]


def from_tensors(spec: Any, tensors: Sequence[Tensor]) -> Any:
    """Return the element that these tensors represent.

    Args:
        spec: the spec of the element.
        tensors: the tensors, known to have the right types and shapes.

    Raises:
        ValueError: the number of tensors is wrong.
    """
    return _from_tensors(spec, tensors, lambda leaf, flat: leaf._from_compatible_tensor_list(flat))


def _from_tensors(spec: Any, tensors: Sequence[Tensor], make: Callable[[TypeSpec, list[Tensor]], Any]) -> Any:
    leaves = flatten(spec)
    counts = [len(leaf._flat_tensor_specs) for leaf in leaves]
    if sum(counts) != len(tensors):
        raise ValueError(f"Expected {sum(counts)} tensors but got {len(tensors)}.")
    left = iter(tensors)
    values = [
        make(leaf, [next(left) for _ in range(count)]) for leaf, count in zip(leaves, counts, strict=True)
    ]
    return pack(spec, values)
