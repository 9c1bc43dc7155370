"""``tensorflow.python.data.util.sparse``: sparse tensors in a form, packed and unpacked.

Source: tensorflow/python/data/util/sparse.py, release 1.15 (names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import variant
from gpuplace.graph.operation import Tensor
from gpuplace.ops.sparse.sparse_spec import deserialize_sparse, serialize_many_sparse, serialize_sparse
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from gpuplace.shapes import TensorShape
from gpuplace.tf1.data import structure

__all__ = [
    "any_sparse", "as_dense_shapes", "as_dense_types", "deserialize_sparse_tensors", "get_classes",
    "serialize_many_sparse_tensors", "serialize_sparse_tensors",
]  # fmt: skip


def any_sparse(classes: Any) -> bool:
    """Whether a sparse tensor is among the classes of an element.

    Args:
        classes: the classes, in the element's form.
    """
    return SparseTensor in structure.flatten(classes)


def as_dense_shapes(shapes: Any, classes: Any) -> Any:
    """The shapes of an element whose sparse tensors are packed: nothing is known of those.

    Args:
        shapes: its shapes, in its form.
        classes: its classes, in the same form.
    """
    return _where_sparse(lambda shape: TensorShape(None), shapes, classes)


def as_dense_types(types: Any, classes: Any) -> Any:
    """The types of an element whose sparse tensors are packed.

    Args:
        types: its types, in its form.
        classes: its classes, in the same form.
    """
    return _where_sparse(lambda dtype: variant, types, classes)


def _where_sparse(change: Any, form: Any, classes: Any) -> Any:
    pairs = zip(structure.flatten(form), structure.flatten(classes), strict=True)
    return structure.pack(form, [change(one) if kind is SparseTensor else one for one, kind in pairs])


def deserialize_sparse_tensors(tensors: Any, types: Any, shapes: Any, classes: Any) -> Any:
    """An element with its packed sparse tensors unpacked.

    Args:
        tensors: the element.
        types: its types, in its form.
        shapes: its shapes, in the same form.
        classes: its classes, in the same form.
    """
    leaves = zip(*map(structure.flatten, (tensors, types, shapes, classes)), strict=True)
    return structure.pack(
        types,
        [
            deserialize_sparse(one, dtype, shape.ndims) if kind is SparseTensor else one
            for one, dtype, shape, kind in leaves
        ],
    )


def get_classes(tensors: Any) -> Any:
    """The classes of an element, ``SparseTensor`` or ``Tensor``, in its form.

    Args:
        tensors: the element.
    """
    return structure.map_form(lambda one: SparseTensor if isinstance(one, SparseTensor) else Tensor, tensors)


def serialize_many_sparse_tensors(tensors: Any) -> Any:
    """An element whose sparse tensors are packed row by row.

    Args:
        tensors: the element.
    """
    return structure.map_form(
        lambda one: serialize_many_sparse(one, out_type=variant) if _is_sparse(one) else one, tensors
    )


def serialize_sparse_tensors(tensors: Any) -> Any:
    """An element whose sparse tensors are packed, each into three elements.

    Args:
        tensors: the element.
    """
    return structure.map_form(
        lambda one: serialize_sparse(one, out_type=variant) if _is_sparse(one) else one, tensors
    )


def _is_sparse(one: Any) -> bool:
    return isinstance(one, (SparseTensor, SparseTensorValue))
