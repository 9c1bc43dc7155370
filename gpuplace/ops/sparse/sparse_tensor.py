"""``SparseTensor``: the positions and values of a tensor's non-zero elements.

    indices      [n, rank]  int64   positions
    values       [n]                elements
    dense_shape  [rank]     int64   shape of the dense tensor

Most ops need the positions in row-major order; ``sparse_reorder`` sorts them.

Source: tensorflow/python/framework/sparse_tensor.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

from gpuplace.display import above
from gpuplace.dtypes import DType, as_dtype, int64
from gpuplace.graph.constant_value import constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.stacks import get_default_session
from gpuplace.ops.composite import CompositeTensor
from gpuplace.shapes import TensorShape
from gpuplace.typing import DTypeLike, FeedDict, TensorLike

__all__ = ["SparseTensor", "SparseTensorValue", "convert_to_tensor_or_sparse_tensor"]

Unary = TypeVar("Unary", bound=Callable[..., Any])


class SparseTensorValue(NamedTuple):
    """The value of a sparse tensor in fetches and feeds."""

    indices: Any
    """[n, rank], int64: the positions of the values."""
    values: Any
    """[n]: the values."""
    dense_shape: Any
    """[rank], int64: shape of the dense tensor."""


class SparseTensor(CompositeTensor):
    """A tensor of which only some elements are stored; the others are zero.

    >>> import gpuplace as tf
    >>> sparse = tf.SparseTensor(indices=[[0, 1], [1, 2]], values=[5, 7], dense_shape=[2, 3])
    >>> tf.Session().run(tf.sparse_tensor_to_dense(sparse)).tolist()
    [[0, 5, 0], [0, 0, 7]]

    Args:
        indices: positions, ``[n, rank]``, int64.
        values: the elements there, ``[n]``, of any type.
        dense_shape: shape of the dense tensor, ``[rank]``, int64.

    Raises:
        ValueError: the shapes of the three do not match.
    """

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, int64, name="indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, int64, name="dense_shape")
        positions = self._indices.shape.with_rank(2)
        positions[0].merge_with(self._values.shape.with_rank(1)[0])
        positions[1].merge_with(self._dense_shape.shape.with_rank(1)[0])

    @classmethod
    def from_value(cls, sparse_tensor_value: SparseTensor | SparseTensorValue) -> SparseTensor:
        """Return a sparse tensor of constants.

        Args:
            sparse_tensor_value: the value, for example from a fetch.

        Raises:
            TypeError: the argument is not a sparse value.
        """
        if not isinstance(sparse_tensor_value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(*parts_of(sparse_tensor_value))

    @property
    def _type_spec(self) -> Any:
        return above("gpuplace.ops.sparse.sparse_spec", "spec_of")(self)

    def _to_components(self) -> list[Tensor]:
        return [self._indices, self._values, self._dense_shape]

    def _with_components(self, components: Any) -> SparseTensor:
        return SparseTensor(*components)

    @property
    def indices(self) -> Tensor:
        """The positions, ``[n, rank]``."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The elements at these positions, ``[n]``."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the dense tensor, a tensor."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor, possibly partial."""
        return constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> TensorShape:
        """Return the static shape of the dense tensor, possibly partial."""
        return self.shape

    @property
    def op(self) -> Operation:
        """The operation that computes the values."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph of the three tensors."""
        return self._indices.graph

    def consumers(self) -> list[Operation]:
        """Return the operations that consume one of the three tensors."""
        operations = [op for tensor in parts_of(self) for op in tensor.consumers()]
        return list(dict.fromkeys(operations))

    def eval(self, feed_dict: FeedDict | None = None, session: Any = None) -> SparseTensorValue:
        """Return the value in a session.

        Args:
            feed_dict: the feeds.
            session: the session; None: the default one.

        Raises:
            ValueError: there is no session.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Cannot evaluate tensor using `eval()`: No default session is registered. Use "
                "`with sess.as_default()` or pass an explicit session to `eval(session=sess)`"
            )
        value: SparseTensorValue = session.run(self, feed_dict)
        return value

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"
        )

    __repr__ = __str__

    @staticmethod
    def _override_operator(operator: str, function: Callable[..., Any]) -> None:
        setattr(SparseTensor, operator, function)


def is_sparse(x: TensorLike) -> bool:
    """Return whether an object is a sparse tensor or the value of one.

    Args:
        x: any object.
    """
    return isinstance(x, SparseTensor | SparseTensorValue)


def convert_to_tensor_or_sparse_tensor(
    value: TensorLike | SparseTensor | SparseTensorValue,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor | SparseTensor:
    """Return ``value`` as a sparse tensor if it is sparse, otherwise as a tensor.

    Args:
        value: a sparse tensor, the value of one, or anything that ``convert_to_tensor`` accepts.
        dtype: required dtype; None: any.
        name: name of a new constant.

    Raises:
        RuntimeError: a sparse tensor has another dtype.
        TypeError: the value cannot be converted.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise RuntimeError(f"Sparse dtype: requested = {as_dtype(dtype).name}, actual = {value.dtype.name}")
    return value


def parts_of(sparse: SparseTensor | SparseTensorValue) -> tuple[Any, Any, Any]:
    """Return positions, values and shape."""
    return sparse.indices, sparse.values, sparse.dense_shape


def to_sparse(value: object) -> SparseTensor:
    """Return a sparse tensor, of constants for a ``SparseTensorValue``.

    Raises:
        TypeError: the value is neither.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError(
            "Input must be a SparseTensor. Create one with tf.SparseTensor(indices, values, dense_shape)"
        )
    return value


def of_sparse_values(function: Unary) -> Unary:
    """Extend a function of one tensor to sparse tensors: it applies to the values.

    Args:
        function: an elementwise function that maps 0 to 0; its first argument is the tensor.
    """

    @wraps(function)
    def run(x: TensorLike, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, function(x.values, *args, **kwargs), x.dense_shape)
        return function(x, *args, **kwargs)

    return cast(Unary, run)
