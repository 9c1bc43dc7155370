"""The form of a dataset's elements: tuples, named tuples and dicts of tensors and the like, in any depth.

Unlike elsewhere, a list is no form but a value: it becomes one tensor. What a leaf is, a ``TypeSpec`` says: a tensor, a
sparse tensor, a dataset, an optional value; it also says which tensors stand for it in the graph.

>>> flatten(({"b": 2, "a": 1}, [3, 4]))
[1, 2, [3, 4]]
>>> pack((0, {"x": 0}), ["first", "second"])
('first', {'x': 'second'})

Source: tensorflow/python/data/util/nest.py and structure.py, release 1.15 (order, sentences).
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

# Forms


def is_nested(value: Any) -> bool:
    """Whether a value has parts."""
    return nest.is_nested(value, opens_lists=False)


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


def flatten_up_to(form: Any, value: Any, check_types: bool = True) -> list[Any]:
    """The parts of a value at the places of the leaves of a form, which may have parts themselves.

    Args:
        form: the form.
        value: the value.
        check_types: whether a part has to be of the same class as that of the form, and dicts have the same keys.

    Raises:
        TypeError: a part that the form has parts for has none, or is of another type.
        ValueError: it has other keys, or more or fewer parts.
    """
    parts = nest.items(form, opens_lists=False)
    if parts is None:
        return [value]
    others = nest.items(value, opens_lists=False)
    if others is None:
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(value)}."
        )
    if check_types and not isinstance(value, type(form)):
        raise TypeError(
            f"The two structures don't have the same sequence type. Input structure has type {type(value)}, while"
            f" shallow structure has type {type(form)}."
        )
    if len(parts) != len(others):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length"
            f" {len(others)}, while shallow structure has length {len(parts)}."
        )
    if check_types and isinstance(form, Mapping) and set(form) != set(value):
        raise ValueError(
            f"The two structures don't have the same keys. Input structure has keys {list(value)}, while"
            f" shallow structure has keys {list(form)}."
        )
    pairs = zip(parts, others, strict=True)
    return [leaf for (_, one), (_, part) in pairs for leaf in flatten_up_to(one, part, check_types)]


def assert_same_form(first: Any, second: Any, check_types: bool = True) -> None:
    """Checks that two forms have the same parts.

    Args:
        first: one.
        second: the other.
        check_types: whether their parts have to be of the same classes.

    Raises:
        TypeError: only the classes differ.
        ValueError: they have not.
    """
    nest.assert_same_structure(first, second, check_types, opens_lists=False)


# What the leaves are


def flat_specs(spec: Any) -> list[TensorSpec]:
    """What the tensors are that an element consists of."""
    return [one for leaf in flatten(spec) for one in leaf._flat_tensor_specs]


def flat_types(spec: Any) -> list[DType]:
    """The types of the tensors that an element consists of."""
    return [one.dtype for one in flat_specs(spec)]


def flat_shapes(spec: Any) -> list[TensorShape]:
    """The shapes of the tensors that an element consists of."""
    return [one.shape for one in flat_specs(spec)]


def output_types(spec: Any) -> Any:
    """The types of an element, in its form; of a leaf that is a dataset its spec."""
    return map_form(lambda one: one._to_legacy_output_types(), spec)


def output_shapes(spec: Any) -> Any:
    """The shapes of an element, in its form; of a leaf that is a dataset its spec."""
    return map_form(lambda one: one._to_legacy_output_shapes(), spec)


def output_classes(spec: Any) -> Any:
    """The class of each leaf, in the element's form; of a leaf that is a dataset its spec."""
    return map_form(lambda one: one._to_legacy_output_classes(), spec)


def spec_of(types: Any, shapes: Any = None, classes: TensorLike | None = None) -> Any:
    """The spec of elements of these types, shapes and classes.

    Args:
        types: a form of types.
        shapes: shapes at the same places; None: nothing is known of them.
        classes: classes at the same places, ``Tensor`` or ``SparseTensor``; None: all are tensors.

    Raises:
        TypeError: a leaf is no type, or of a class that is not known; or as ``flatten_up_to``.
        ValueError: as ``flatten_up_to``.
    """
    kinds = [one if isinstance(one, TypeSpec) else as_dtype(one) for one in flatten(types)]
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
    """Whether elements of one kind may stand where those of another are asked for, and the reverse.

    Args:
        first: what the ones are.
        second: what the others are.
    """
    try:
        assert_same_form(first, second)
    except (TypeError, ValueError):
        return False
    pairs = zip(flatten(first), flatten(second), strict=True)
    return all(one.is_compatible_with(other) and other.is_compatible_with(one) for one, other in pairs)


# Values


def normalised(element: Any) -> Any:
    """An element with tensors for the values in it.

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
    """What an element, or what a function returned, is.

    Raises:
        TypeError: a leaf is nothing that datasets have and cannot be converted to a tensor.
    """
    return map_form(_spec_of_leaf, value)


def _spec_of_leaf(value: Any) -> TypeSpec:
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype.base_dtype)
    spec: TypeSpec = type_spec_from_value(value)
    return spec


def to_tensors(value: Any) -> list[Tensor]:
    """The tensors that an element consists of; a sparse one is packed."""
    return to_tensors_of(spec_of_value(value), value)


def to_tensors_of(spec: Any, value: Any) -> list[Tensor]:
    """The tensors that an element of some kind consists of.

    Args:
        spec: what it is.
        value: the element.

    Raises:
        ValueError: it is something else.
        TypeError: a sparse tensor is expected where there is none.
    """
    assert_same_form(spec, value)
    pairs = zip(flatten(spec), flatten(value), strict=True)
    return [tensor for leaf, one in pairs for tensor in leaf._to_tensor_list(one)]


def to_rows(value: Any) -> list[Tensor]:
    """The tensors whose rows the rows of an element consist of.

    Raises:
        ValueError: a sparse tensor is a scalar.
    """
    pairs = [(_spec_of_leaf(one), one) for one in flatten(value)]
    return [tensor for leaf, one in pairs for tensor in leaf._to_batched_tensor_list(one)]


def from_tensors(spec: Any, tensors: Sequence[Tensor]) -> Any:
    """The element that consists of these tensors.

    Args:
        spec: what it is.
        tensors: the tensors, which are known to be of the right types and shapes.

    Raises:
        ValueError: they are too many or too few.
    """
    return _from_tensors(spec, tensors, lambda leaf, given: leaf._from_compatible_tensor_list(given))


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
