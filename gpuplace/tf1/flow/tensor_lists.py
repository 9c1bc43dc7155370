"""Lists of tensors, ``tensorflow.python.ops.list_ops``, and their gradients.

A list is a scalar ``variant``; every op that changes it returns a new one::

    empty_tensor_list ──> push_back(x) ──> push_back(y) ──> stack      the gradient of push_back is pop_back

>>> import gpuplace as tf
>>> handle = tensor_list_from_tensor([1.0, 2.0], element_shape=[])
>>> handle = tensor_list_push_back(handle, 3.0)
>>> tf.Session().run(tensor_list_stack(handle, tf.float32)).tolist()
[1.0, 2.0, 3.0]

Source: tensorflow/python/ops/list_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int32, int64
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import zeros_like
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import shape as shape_tensor
from gpuplace.ops.array.slicing import slice as slice_tensor
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.support import new, new_list
from gpuplace.shapes import Dimension, TensorShape
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "empty_tensor_list",
    "tensor_list_concat",
    "tensor_list_from_tensor",
    "tensor_list_gather",
    "tensor_list_get_item",
    "tensor_list_pop_back",
    "tensor_list_reserve",
    "tensor_list_scatter",
    "tensor_list_set_item",
    "tensor_list_split",
    "tensor_list_stack",
]


def build_element_shape(shape: Any) -> Any:
    """Convert an element shape to the form that the ops take: -1 for an unknown shape or size.

    Args:
        shape: a shape, a tensor, or sizes, some of which may be tensors; None: unknown.
    """
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, TensorShape):
        shape = None if shape.ndims is None else shape.as_list()
    if shape is None:
        return -1
    if not shape:
        return convert_to_tensor([], dtype=int32)
    sizes = [size.value if isinstance(size, Dimension) else size for size in shape]
    return [-1 if size is None else size for size in sizes]


_build_element_shape = build_element_shape


def empty_tensor_list(
    element_shape: Any,
    element_dtype: DTypeLike,
    max_num_elements: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return an empty list.

    Args:
        element_shape: the known element shape; None: unknown.
        element_dtype: dtype of the elements.
        max_num_elements: the maximum number of elements; None: any number.
        name: name of the op.
    """
    return new(
        "EmptyTensorList",
        name,
        element_shape=build_element_shape(element_shape),
        max_num_elements=-1 if max_num_elements is None else max_num_elements,
        element_dtype=element_dtype,
    )


def tensor_list_reserve(
    element_shape: Any, num_elements: TensorLike, element_dtype: DTypeLike, name: str | None = None
) -> Tensor:
    """Return a list of unset elements; they read as zeros.

    Args:
        element_shape: the known element shape; None: unknown.
        num_elements: the number of elements.
        element_dtype: dtype of the elements.
        name: name of the op.
    """
    return new(
        "TensorListReserve",
        name,
        element_shape=build_element_shape(element_shape),
        num_elements=num_elements,
        element_dtype=element_dtype,
    )


def tensor_list_from_tensor(tensor: TensorLike, element_shape: Any, name: str | None = None) -> Tensor:
    """Return the rows of a tensor as a list.

    Args:
        tensor: of rank 1 or more.
        element_shape: the declared element shape; None: unknown.
        name: name of the op.
    """
    return new("TensorListFromTensor", name, tensor=tensor, element_shape=build_element_shape(element_shape))


def tensor_list_push_back(input_handle: TensorLike, tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return the list with one more element at its end.

    Args:
        input_handle: the list.
        tensor: the element.
        name: name of the op.
    """
    return new("TensorListPushBack", name, input_handle=input_handle, tensor=tensor)


def tensor_list_get_item(
    input_handle: TensorLike,
    index: TensorLike,
    element_dtype: DTypeLike,
    element_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return an element of a list.

    Args:
        input_handle: the list.
        index: its index.
        element_dtype: its dtype.
        element_shape: its known shape; None: unknown.
        name: name of the op.
    """
    return new(
        "TensorListGetItem",
        name,
        input_handle=input_handle,
        index=index,
        element_shape=build_element_shape(element_shape),
        element_dtype=element_dtype,
    )


def tensor_list_pop_back(
    input_handle: TensorLike, element_dtype: DTypeLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the list without its last element, and that element.

    Args:
        input_handle: the list.
        element_dtype: dtype of the elements.
        name: name of the op.
    """
    left, element = new_list(
        "TensorListPopBack", name, input_handle=input_handle, element_shape=-1, element_dtype=element_dtype
    )
    return left, element


def tensor_list_gather(
    input_handle: TensorLike,
    indices: TensorLike,
    element_dtype: DTypeLike,
    element_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return some elements of a list as the rows of a tensor.

    Args:
        input_handle: the list.
        indices: their indices.
        element_dtype: dtype of the elements.
        element_shape: the known element shape; None: unknown.
        name: name of the op.
    """
    return new(
        "TensorListGather",
        name,
        input_handle=input_handle,
        indices=indices,
        element_shape=build_element_shape(element_shape),
        element_dtype=element_dtype,
    )


def tensor_list_scatter(
    tensor: TensorLike,
    indices: TensorLike,
    element_shape: Any = None,
    input_handle: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return a list with the rows of a tensor at the given indices.

    Args:
        tensor: of rank 1 or more.
        indices: the index of each row.
        element_shape: the declared element shape; None: unknown.
        input_handle: the list whose elements the rows replace; None: a new list.
        name: name of the op.
    """
    if input_handle is not None:
        return new(
            "TensorListScatterIntoExistingList",
            name,
            input_handle=input_handle,
            tensor=tensor,
            indices=indices,
        )
    return new(
        "TensorListScatterV2",
        name,
        tensor=tensor,
        indices=indices,
        element_shape=build_element_shape(element_shape),
        num_elements=-1,
    )


def tensor_list_stack(
    input_handle: TensorLike,
    element_dtype: DTypeLike,
    num_elements: int = -1,
    element_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the elements of a list as the rows of a tensor.

    Args:
        input_handle: the list.
        element_dtype: dtype of the elements.
        num_elements: the required number of elements; -1: any number.
        element_shape: the known element shape; None: unknown.
        name: name of the op.
    """
    return new(
        "TensorListStack",
        name,
        input_handle=input_handle,
        element_shape=build_element_shape(element_shape),
        element_dtype=element_dtype,
        num_elements=num_elements,
    )


def tensor_list_concat(
    input_handle: TensorLike, element_dtype: DTypeLike, element_shape: Any = None, name: str | None = None
) -> Tensor:
    """Concatenate the elements of a list along their first axis.

    Args:
        input_handle: the list.
        element_dtype: dtype of the elements.
        element_shape: the known element shape; None: unknown.
        name: name of the op.
    """
    return new_list(
        "TensorListConcatV2",
        name,
        input_handle=input_handle,
        element_shape=build_element_shape(element_shape),
        leading_dims=convert_to_tensor([], dtype=int64),
        element_dtype=element_dtype,
    )[0]


def tensor_list_split(
    tensor: TensorLike, element_shape: Any, lengths: TensorLike, name: str | None = None
) -> Tensor:
    """Split a tensor along its first axis into a list.

    Args:
        tensor: of rank 1 or more.
        element_shape: the declared element shape; None: unknown.
        lengths: lengths of the pieces.
        name: name of the op.
    """
    return new(
        "TensorListSplit",
        name,
        tensor=tensor,
        element_shape=build_element_shape(element_shape),
        lengths=lengths,
    )


def tensor_list_set_item(
    input_handle: TensorLike,
    index: Any,
    item: TensorLike,
    resize_if_index_out_of_bounds: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the list with one element replaced.

    Args:
        input_handle: the list.
        index: the index of the element.
        item: the new element.
        resize_if_index_out_of_bounds: whether to extend the list if the index is past its end.
        name: name of the op.
    """
    if resize_if_index_out_of_bounds:
        short, size = input_handle, list_length(input_handle)
        input_handle = cond(
            index >= size,
            lambda: new("TensorListResize", input_handle=short, size=index + 1),
            lambda: short,
        )
    return new("TensorListSetItem", name, input_handle=input_handle, index=index, item=item)


def list_length(input_handle: TensorLike) -> Tensor:
    """Return the number of elements in a list.

    Args:
        input_handle: the list.
    """
    return new("TensorListLength", input_handle=input_handle)


# Gradients


not_differentiable(
    "TensorListConcatLists", "TensorListElementShape", "TensorListLength", "TensorListPushBackBatch"
)


def _declared_shape(handle: Tensor) -> Tensor:
    return new("TensorListElementShape", input_handle=handle, shape_type=int32)


def _row_shape(tensor: Tensor) -> Tensor:
    """Return the sizes of a row of a tensor."""
    return slice_tensor(shape_tensor(tensor), [1], [-1])


@gradient("TensorListPushBack")
def _push_back_gradient(op: Operation, dresult: Tensor) -> Any:
    return new_list(
        "TensorListPopBack",
        input_handle=dresult,
        element_shape=shape_tensor(op.inputs[1]),
        element_dtype=op.attrs["element_dtype"],
    )


@gradient("TensorListPopBack")
def _pop_back_gradient(op: Operation, dlist: Tensor | None, delement: Tensor) -> Any:
    if dlist is None:
        dlist = empty_tensor_list(_declared_shape(op.outputs[0]), delement.dtype)
    return tensor_list_push_back(dlist, delement), None


@gradient("TensorListStack")
def _stack_gradient(op: Operation, dtensor: Tensor) -> Any:
    rest = dtensor.shape[1:] if dtensor.shape.ndims is not None else None
    return tensor_list_from_tensor(dtensor, rest), None


@gradient("TensorListConcat", "TensorListConcatV2")
def _concat_gradient(op: Operation, dtensor: Tensor, dlengths: Any) -> Any:
    split = tensor_list_split(dtensor, _declared_shape(op.inputs[0]), op.outputs[1])
    return [split, *(None for _ in op.inputs[1:])]


@gradient("TensorListSplit")
def _split_gradient(op: Operation, dlist: Tensor) -> Any:
    tensor, _, lengths = op.inputs
    list_gradient = new_list(
        "TensorListConcatV2",
        input_handle=dlist,
        element_shape=concat([[-1], _row_shape(tensor)], 0),
        leading_dims=lengths,
        element_dtype=tensor.dtype.base_dtype,
    )
    return list_gradient[0], None, None


@gradient("TensorListFromTensor")
def _from_tensor_gradient(op: Operation, dlist: Tensor | None) -> Any:
    tensor = op.inputs[0]
    if dlist is None:
        dlist = empty_tensor_list(_declared_shape(op.outputs[0]), tensor.dtype.base_dtype)
    count = tensor.shape[0].value if tensor.shape.ndims else None
    stacked = tensor_list_stack(
        dlist, tensor.dtype.base_dtype, -1 if count is None else count, _row_shape(tensor)
    )
    return stacked, None


@gradient("TensorListGetItem")
def _get_item_gradient(op: Operation, ditem: Tensor) -> Any:
    length = list_length(op.inputs[0])
    empty = tensor_list_reserve(_declared_shape(op.inputs[0]), length, ditem.dtype)
    return tensor_list_set_item(empty, op.inputs[1], ditem), None, None


@gradient("TensorListSetItem")
def _set_item_gradient(op: Operation, dlist: Tensor) -> Any:
    _, index, item = op.inputs
    rest = tensor_list_set_item(dlist, index, zeros_like(item))
    return rest, None, tensor_list_get_item(dlist, index, item.dtype.base_dtype, shape_tensor(item))


@gradient("TensorListResize")
def _resize_gradient(op: Operation, dlist: Tensor) -> Any:
    return new("TensorListResize", input_handle=dlist, size=list_length(op.inputs[0])), None


@gradient("TensorListGather")
def _gather_gradient(op: Operation, dtensor: Tensor) -> Any:
    input_handle, indices = op.inputs[:2]
    shape = _declared_shape(input_handle)
    empty = tensor_list_reserve(shape, list_length(input_handle), dtensor.dtype)
    return tensor_list_scatter(dtensor, indices, input_handle=empty), None, None


def _scattered_gradient(dlist: Tensor, tensor: Tensor, indices: Tensor) -> Tensor:
    return tensor_list_gather(dlist, indices, tensor.dtype.base_dtype, _row_shape(tensor))


@gradient("TensorListScatter", "TensorListScatterV2")
def _scatter_gradient(op: Operation, dlist: Tensor) -> Any:
    return [_scattered_gradient(dlist, op.inputs[0], op.inputs[1]), *(None for _ in op.inputs[1:])]


@gradient("TensorListScatterIntoExistingList")
def _scatter_into_gradient(op: Operation, dlist: Tensor) -> Any:
    _, tensor, indices = op.inputs
    tensor_gradient = _scattered_gradient(dlist, tensor, indices)
    rest = tensor_list_scatter(zeros_like(tensor), indices, indices, input_handle=dlist)
    return rest, tensor_gradient, None
