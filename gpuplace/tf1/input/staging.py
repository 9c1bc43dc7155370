"""``tf.contrib.staging.StagingArea``: a step leaves tensors there for the next one, also in GPU memory.

Source: tensorflow/python/ops/data_flow_ops.py and core/kernels/stage_op.cc, map_stage_op.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels import staging
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.numerics.arguments import int_of
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.flow.control import no_op
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import no_outputs, scalar_shape
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.tf1.input.queue_kernels import own_resource
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["MapStagingArea", "StagingArea"]


class BaseStagingArea:
    """Base class of staging areas.

    Args:
        dtypes: dtypes of the components of an element.
        shapes: their shapes; None: unknown.
        names: their names; elements are then dicts.
        shared_name: areas that share a name, in a session and on a device, are one area; None: unshared.
        capacity: maximum number of elements; 0: unlimited.
        memory_limit: maximum number of bytes; 0: unlimited.

    Raises:
        ValueError: the number of names or shapes is wrong, or ``shared_name`` is not a string.
    """

    def __init__(
        self, dtypes: Any, shapes: Any = None, names: Sequence[str] | None = None, shared_name: str | None = None,
        capacity: int = 0, memory_limit: int = 0,
    ) -> None:  # fmt: skip
        if shared_name is None:
            self._name = get_default_graph().unique_name(type(self).__name__)
        elif isinstance(shared_name, str):
            self._name = shared_name
        else:
            raise ValueError("shared_name must be a string")
        self._dtypes = [as_dtype(dtype) for dtype in dtypes]
        if shapes is not None:
            if len(shapes) != len(self._dtypes):
                raise ValueError("StagingArea shapes must be the same length as dtypes")
            self._shapes = [TensorShape(shape) for shape in shapes]
        else:
            self._shapes = [TensorShape(None) for _ in self._dtypes]
        if names is not None:
            if len(names) != len(self._dtypes):
                raise ValueError("StagingArea names must be the same length as dtypes")
            self._names: list[str] | None = list(names)
        else:
            self._names = None
        self._capacity = capacity
        self._memory_limit = memory_limit
        with name_scope(f"{self._name}_root"):
            self._root = no_op()

    @property
    def name(self) -> str:
        """Name of the area."""
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        """Dtypes of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """Shapes of the components."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """Names of the components, if any."""
        return self._names

    @property
    def capacity(self) -> int:
        """Maximum number of elements; 0: unlimited."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """Maximum number of bytes; 0: unlimited."""
        return self._memory_limit

    def _checked(self, vals: Any, indices: Sequence[int] | None) -> tuple[list[Tensor], list[int]]:
        """Return the tensors of an element, and the indices of its components."""
        if isinstance(vals, Mapping):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals).issubset(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. Dictionary:"
                    f" ({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            pairs = [(number, vals[name]) for number, name in enumerate(self._names) if name in vals]
            indices, values = [number for number, _ in pairs], [value for _, value in pairs]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if len(indices) != len(vals):
                raise ValueError(
                    f"Number of indices '{len(indices)}' doesn't match number of values '{len(vals)}'"
                )
            values, indices = list(vals), list(indices)
        if not values or len(values) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs '{len(values)}' vs '{len(self._dtypes)}'")
        tensors = []
        for value, number in zip(values, indices, strict=True):
            tensor = convert_to_tensor(value, dtype=self._dtypes[number], name=f"component_{number}")
            if not tensor.shape.is_compatible_with(self._shapes[number]):
                raise ValueError(f"Shapes {tensor.shape} and {self._shapes[number]} are incompatible")
            tensors.append(tensor)
        return tensors, list(indices)

    def _moved(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return tensors on the current device."""
        if no_op().device == self._root.device:
            return list(tensors)
        return [identity(tensor) for tensor in tensors]

    def _given(self, tensors: Sequence[Tensor], indices: Sequence[int]) -> Any:
        """Return tensors in the structure of an element, on the current device."""
        moved = self._moved(tensors)
        for tensor, number in zip(moved, indices, strict=True):
            tensor.set_shape(self._shapes[number])
        if self._names:
            return {self._names[number]: tensor for tensor, number in zip(moved, indices, strict=True)}
        return moved

    def _apply(self, op_type: str, name: str | None, **arguments: Any) -> Operation:
        """Return an operation on the device of the area."""
        with get_default_graph().colocate_with(self._root):
            return self._apply_anywhere(op_type, name, **arguments)

    def _apply_anywhere(self, op_type: str, name: str | None, **arguments: Any) -> Operation:
        return apply_op(
            op_type, name, shared_name=self._name, capacity=self._capacity, memory_limit=self._memory_limit,
            **arguments,
        )  # fmt: skip


def _values(values: Any) -> list[Any]:
    if isinstance(values, Mapping):
        return list(values.values())
    return list(values) if isinstance(values, list | tuple) else [values]


class StagingArea(BaseStagingArea):
    """Elements that one step puts in and another takes out, first in, first out, on the device of the area.

    With it, a step can compute with what the previous step copied to the GPU while it copies data for the next one.

    >>> import gpuplace as tf
    >>> area = tf.contrib.staging.StagingArea([tf.float32])
    >>> put, (got,) = area.put([tf.constant(3.0)]), area.get()
    >>> with tf.Session() as session:
    ...     session.run(put)
    ...     float(session.run([got, put])[0])
    3.0

    Args:
        dtypes: dtypes of the components of an element.
        shapes: their shapes; None: unknown.
        names: their names; elements are then dicts.
        shared_name: areas that share a name, in a session and on a device, are one area; None: unshared.
        capacity: maximum number of elements; 0: unlimited.
        memory_limit: maximum number of bytes; 0: unlimited.

    Raises:
        ValueError: the number of names or shapes is wrong.
    """

    def put(self, values: TensorLike, name: str | None = None) -> Operation:
        """Return an operation that puts an element in, and waits until there is room.

        Args:
            values: a tensor, a list of tensors, or a dict of them if the components have names.
            name: name of the operation.

        Raises:
            ValueError: the number of values is wrong, or a shape does not fit.
        """
        with name_scope(name, f"{self._name}_put", _values(values)) as scope:
            vals = values if isinstance(values, Mapping | list | tuple) else [values]
            tensors, _ = self._checked(vals, range(len(vals)))
            return self._apply("Stage", scope, values=tensors)

    def get(self, name: str | None = None) -> Any:
        """Remove and return the first element; wait until there is one.

        Args:
            name: name of the operation.

        Returns:
            A list of tensors, or a dict of them if the components have names.
        """
        op = self._apply("Unstage", name or f"{self._name}_get", dtypes=self._dtypes)
        return self._given(op.outputs, range(len(self._dtypes)))

    def peek(self, index: TensorLike, name: str | None = None) -> Any:
        """Return an element without taking it out, and wait until there is one.

        Args:
            index: its index, an int32 scalar.
            name: name of the operation.

        Returns:
            As for ``get``.
        """
        op = self._apply("StagePeek", name or f"{self._name}_peek", index=index, dtypes=self._dtypes)
        return self._given(op.outputs, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        return self._apply_anywhere("StageSize", name or f"{self._name}_size", dtypes=self._dtypes).outputs[0]

    def clear(self, name: str | None = None) -> Operation:
        """Return an operation that drops all elements.

        Args:
            name: name of the operation.
        """
        return self._apply_anywhere("StageClear", name or f"{self._name}_clear", dtypes=self._dtypes)


class MapStagingArea(BaseStagingArea):
    """Elements by key that one step puts in, as a whole or in parts, and another takes out.

    Args:
        dtypes: as for ``StagingArea``.
        shapes: as for ``StagingArea``.
        names: as for ``StagingArea``.
        shared_name: as for ``StagingArea``.
        ordered: whether the element with the lowest key is taken if no key is given.
        capacity: as for ``StagingArea``.
        memory_limit: as for ``StagingArea``.
    """

    def __init__(
        self, dtypes: Any, shapes: Any = None, names: Sequence[str] | None = None, shared_name: str | None = None,
        ordered: bool = False, capacity: int = 0, memory_limit: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "OrderedMap" if ordered else "Map"

    def _chosen(self, indices: Any) -> list[int]:
        """Return the indices of components given by index or name; all of them for None."""
        if indices is None:
            return list(range(len(self._dtypes)))
        numbers = []
        for index in indices:
            if isinstance(index, str):
                if not self._names or index not in self._names:
                    raise ValueError(
                        f"String indices provided '{indices}' for a Staging Area without such names."
                    )
                index = self._names.index(index)
            if not 0 <= index < len(self._dtypes):
                raise ValueError(f"Indices [{index}] out of range for {len(self._dtypes)} components")
            numbers.append(index)
        return numbers

    def put(self, key: TensorLike, vals: Any, indices: Any = None, name: str | None = None) -> Operation:
        """Return an operation that puts components of an element in, and waits until there is room.

        Args:
            key: an int64 scalar.
            vals: a list of tensors, or a dict of them if the components have names.
            indices: indices of the components; None: all.
            name: name of the operation.

        Raises:
            ValueError: the numbers of values and indices differ, or a shape does not fit.
        """
        with name_scope(name, f"{self._name}_put", _values(vals)) as scope:
            values_list = vals if isinstance(vals, Mapping | list | tuple) else [vals]
            if indices is None and not isinstance(values_list, Mapping):
                indices = range(len(values_list))
            tensors, numbers = self._checked(values_list, indices)
            return self._apply(
                f"{self._prefix}Stage", scope, key=key,
                indices=numbers, values=tensors, dtypes=self._dtypes,
            )  # fmt: skip

    def get(self, key: TensorLike | None = None, indices: Any = None, name: str | None = None) -> Any:
        """Take an element, or some of its components, out, and wait until it is complete.

        Args:
            key: an int64 scalar; None: any element, or the one with the lowest key in an ordered area.
            indices: indices or names of components; None: all.
            name: name of the operation.

        Returns:
            The key, and a list of tensors or a dict of them if the components have names.
        """
        numbers = self._chosen(indices)
        types = [self._dtypes[number] for number in numbers]
        if key is None:
            op = self._apply(
                f"{self._prefix}UnstageNoKey",
                name or f"{self._name}_get_nokey",
                indices=numbers,
                dtypes=types,
            )
            return self._moved(op.outputs[:1])[0], self._given(op.outputs[1:], numbers)
        key_tensor = convert_to_tensor(key, "int64")
        op = self._apply(
            f"{self._prefix}Unstage",
            name or f"{self._name}_get",
            key=key_tensor,
            indices=numbers,
            dtypes=types,
        )
        return key_tensor, self._given(op.outputs, numbers)

    def peek(self, key: TensorLike, indices: Any = None, name: str | None = None) -> Any:
        """Return an element, or some of its components, without taking it out, and wait until it is complete.

        Args:
            key: an int64 scalar.
            indices: indices or names of components; None: all.
            name: name of the operation.

        Returns:
            A list of tensors, or a dict of them if the components have names.
        """
        numbers = self._chosen(indices)
        op = self._apply(
            f"{self._prefix}Peek", name or f"{self._name}_pop", key=key,
            indices=numbers, dtypes=[self._dtypes[number] for number in numbers],
        )  # fmt: skip
        return self._given(op.outputs, numbers)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of complete elements.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        return self._apply_anywhere(
            f"{self._prefix}Size", name or f"{self._name}_size", dtypes=self._dtypes
        ).outputs[0]

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Return the number of elements with missing components.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        return self._apply_anywhere(
            f"{self._prefix}IncompleteSize", name or f"{self._name}_incomplete_size", dtypes=self._dtypes
        ).outputs[0]

    def clear(self, name: str | None = None) -> Operation:
        """Return an operation that drops all elements.

        Args:
            name: name of the operation.
        """
        return self._apply_anywhere(
            f"{self._prefix}Clear", name or f"{self._name}_clear", dtypes=self._dtypes
        )


# Kernels


def _area(ctx: KernelContext) -> Any:
    """Return the area of an operation, created on first use."""
    attrs = ctx.op.attrs
    capacity, limit = attrs["capacity"], attrs["memory_limit"]
    if "Map" not in ctx.op.type:
        return own_resource(ctx, attrs, lambda name: staging.StagingArea(capacity, limit), True)[0]
    count, is_ordered = len(attrs["dtypes"]), ctx.op.type.startswith("Ordered")
    return own_resource(
        ctx, attrs, lambda name: staging.MapStagingArea(capacity, limit, count, is_ordered), True
    )[0]


def _number(value: Any) -> Any:
    return np.asarray(value, np.int32)


@compute("Stage", waits=True)
def _stage(xp: ArrayModule, values: list[Any], *, ctx: KernelContext) -> tuple[()]:
    _area(ctx).put(tuple(values), ctx.session.cancellation)
    return ()


@compute("Unstage", waits=True)
def _unstage(xp: ArrayModule, *, ctx: KernelContext) -> list[Any]:
    return list(_area(ctx).get(ctx.session.cancellation))


@compute("StagePeek", waits=True)
def _peek(xp: ArrayModule, index: Array, *, ctx: KernelContext) -> list[Any]:
    return list(_area(ctx).peek(int(index), ctx.session.cancellation))


@compute("StageSize", "MapSize", "OrderedMapSize")
def _size(xp: ArrayModule, *, ctx: KernelContext) -> Array:
    return _number(_area(ctx).size)


@compute("StageClear", "MapClear", "OrderedMapClear")
def _clear(xp: ArrayModule, *, ctx: KernelContext) -> tuple[()]:
    _area(ctx).clear()
    return ()


def _key(key: Any) -> int:
    return int_of(key, "key must be an int64 scalar, not of shape")


@compute("MapStage", "OrderedMapStage", waits=True)
def _map_stage(
    xp: ArrayModule, key: Array, indices: Array, values: list[Any], *, ctx: KernelContext
) -> tuple[()]:
    _area(ctx).put(_key(key), indices.tolist(), values, ctx.session.cancellation)
    return ()


@compute("MapUnstage", "OrderedMapUnstage", waits=True)
def _map_unstage(xp: ArrayModule, key: Array, indices: Array, *, ctx: KernelContext) -> list[Any]:
    return list(_area(ctx).get(_key(key), indices.tolist(), ctx.session.cancellation)[1])


@compute("MapUnstageNoKey", "OrderedMapUnstageNoKey", waits=True)
def _map_unstage_any(xp: ArrayModule, indices: Array, *, ctx: KernelContext) -> list[Any]:
    key, values = _area(ctx).get(None, indices.tolist(), ctx.session.cancellation)
    return [np.asarray(key, np.int64), *values]


@compute("MapPeek", "OrderedMapPeek", waits=True)
def _map_peek(xp: ArrayModule, key: Array, indices: Array, *, ctx: KernelContext) -> list[Any]:
    return list(_area(ctx).peek(_key(key), indices.tolist(), ctx.session.cancellation))


@compute("MapIncompleteSize", "OrderedMapIncompleteSize")
def _incomplete_size(xp: ArrayModule, *, ctx: KernelContext) -> Array:
    return _number(_area(ctx).incomplete_size)


_BOTH = ("Map", "OrderedMap")


shape_function("StageSize", *(f"{kind}{what}" for kind in _BOTH for what in ("Size", "IncompleteSize")))(
    scalar_shape
)


shape_function("Stage", "StageClear", *(f"{kind}{what}" for kind in _BOTH for what in ("Stage", "Clear")))(
    no_outputs
)


@shape_function("Unstage", "StagePeek", *(f"{kind}{what}" for kind in _BOTH for what in ("Unstage", "Peek")))
def _unknown(op: Operation) -> Any:
    return (UNKNOWN_SHAPE,) * len(op.attrs["dtypes"])


@shape_function(*(f"{kind}UnstageNoKey" for kind in _BOTH))
def _key_and_unknown(op: Operation) -> Any:
    return (UNKNOWN_SHAPE,) * (1 + len(op.attrs["dtypes"]))


not_differentiable("Stage", "Unstage", "StagePeek", "MapStage", "MapUnstage", "MapUnstageNoKey", "MapPeek")
