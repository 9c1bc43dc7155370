"""``tf.contrib.staging.StagingArea``: where a step leaves tensors for the next one, also in a GPU's memory.

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
    """What both kinds of areas have.

    Args:
        dtypes: the types of the components of an element.
        shapes: their shapes; None: they are not known.
        names: their names; elements are then dicts.
        shared_name: areas of the same one, in a session and on a device, are one area; None: a name of its own.
        capacity: the most elements it holds; 0: any number.
        memory_limit: the most bytes it holds; 0: any number.

    Raises:
        ValueError: there are names or shapes, and not one for each type, or ``shared_name`` is no text.
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
        """Its name."""
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        """The types of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """Their shapes."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """Their names, if they have some."""
        return self._names

    @property
    def capacity(self) -> int:
        """The most elements it holds; 0: any number."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The most bytes it holds; 0: any number."""
        return self._memory_limit

    def _checked(self, vals: Any, indices: Sequence[int] | None) -> tuple[list[Tensor], list[int]]:
        """The tensors of an element, and which components they are."""
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
        """Tensors on the device where they are asked for."""
        if no_op().device == self._root.device:
            return list(tensors)
        return [identity(tensor) for tensor in tensors]

    def _given(self, tensors: Sequence[Tensor], indices: Sequence[int]) -> Any:
        """Tensors in the form of an element, on the device where they are asked for."""
        found = self._moved(tensors)
        for tensor, number in zip(found, indices, strict=True):
            tensor.set_shape(self._shapes[number])
        if self._names:
            return {self._names[number]: tensor for tensor, number in zip(found, indices, strict=True)}
        return found

    def _apply(self, op_type: str, name: str | None, **arguments: Any) -> Operation:
        """An operation on the device of the area."""
        with get_default_graph().colocate_with(self._root):
            return self._apply_anywhere(op_type, name, **arguments)

    def _apply_anywhere(self, op_type: str, name: str | None, **arguments: Any) -> Operation:
        return apply_op(
            op_type, name, shared_name=self._name, capacity=self._capacity, memory_limit=self._memory_limit,
            **arguments,
        )  # fmt: skip


def _values(given: Any) -> list[Any]:
    if isinstance(given, Mapping):
        return list(given.values())
    return list(given) if isinstance(given, list | tuple) else [given]


class StagingArea(BaseStagingArea):
    """Elements that one step puts in and another takes out, first in first out, on the device where it was made.

    With it a step can compute with what the step before copied to the GPU, while it copies for the next one.

    >>> import gpuplace as tf
    >>> area = tf.contrib.staging.StagingArea([tf.float32])
    >>> put, (got,) = area.put([tf.constant(3.0)]), area.get()
    >>> with tf.Session() as session:
    ...     session.run(put)
    ...     float(session.run([got, put])[0])
    3.0

    Args:
        dtypes: the types of the components of an element.
        shapes: their shapes; None: they are not known.
        names: their names; elements are then dicts.
        shared_name: areas of the same one, in a session and on a device, are one area; None: a name of its own.
        capacity: the most elements it holds; 0: any number.
        memory_limit: the most bytes it holds; 0: any number.

    Raises:
        ValueError: there are names or shapes, and not one for each type.
    """

    def put(self, values: TensorLike, name: str | None = None) -> Operation:
        """Returns an operation that puts an element in, waiting until there is room.

        Args:
            values: a tensor, a list of tensors, or a dict of them where the components have names.
            name: name of the operation.

        Raises:
            ValueError: they are not as many as the types, or a shape does not fit.
        """
        with name_scope(name, f"{self._name}_put", _values(values)) as scope:
            vals = values if isinstance(values, Mapping | list | tuple) else [values]
            tensors, _ = self._checked(vals, range(len(vals)))
            return self._apply("Stage", scope, values=tensors)

    def get(self, name: str | None = None) -> Any:
        """Returns the first element, taken out when there is one.

        Args:
            name: name of the operation.

        Returns:
            A list of tensors, or a dict of them where the components have names.
        """
        op = self._apply("Unstage", name or f"{self._name}_get", dtypes=self._dtypes)
        return self._given(op.outputs, range(len(self._dtypes)))

    def peek(self, index: TensorLike, name: str | None = None) -> Any:
        """Returns an element, which stays in, when there is one.

        Args:
            index: its number, an int32 scalar.
            name: name of the operation.

        Returns:
            As ``get``.
        """
        op = self._apply("StagePeek", name or f"{self._name}_peek", index=index, dtypes=self._dtypes)
        return self._given(op.outputs, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        return self._apply_anywhere("StageSize", name or f"{self._name}_size", dtypes=self._dtypes).outputs[0]

    def clear(self, name: str | None = None) -> Operation:
        """Returns an operation that drops all elements.

        Args:
            name: name of the operation.
        """
        return self._apply_anywhere("StageClear", name or f"{self._name}_clear", dtypes=self._dtypes)


class MapStagingArea(BaseStagingArea):
    """Elements by key that one step puts in, as a whole or in parts, and another takes out.

    Args:
        dtypes: as of ``StagingArea``.
        shapes: as of ``StagingArea``.
        names: as of ``StagingArea``.
        shared_name: as of ``StagingArea``.
        ordered: whether the element of the lowest key is taken where no key is named.
        capacity: as of ``StagingArea``.
        memory_limit: as of ``StagingArea``.
    """

    def __init__(
        self, dtypes: Any, shapes: Any = None, names: Sequence[str] | None = None, shared_name: str | None = None,
        ordered: bool = False, capacity: int = 0, memory_limit: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "OrderedMap" if ordered else "Map"

    def _chosen(self, indices: Any) -> list[int]:
        """The numbers of components that are named by number or name; of all where None."""
        if indices is None:
            return list(range(len(self._dtypes)))
        found = []
        for index in indices:
            if isinstance(index, str):
                if not self._names or index not in self._names:
                    raise ValueError(
                        f"String indices provided '{indices}' for a Staging Area without such names."
                    )
                index = self._names.index(index)
            if not 0 <= index < len(self._dtypes):
                raise ValueError(f"Indices [{index}] out of range for {len(self._dtypes)} components")
            found.append(index)
        return found

    def put(self, key: TensorLike, vals: Any, indices: Any = None, name: str | None = None) -> Operation:
        """Returns an operation that puts components of an element in, waiting until there is room.

        Args:
            key: an int64 scalar.
            vals: a list of tensors, or a dict of them where the components have names.
            indices: the numbers of the components; None: all.
            name: name of the operation.

        Raises:
            ValueError: they are not as many as the numbers, or a shape does not fit.
        """
        with name_scope(name, f"{self._name}_put", _values(vals)) as scope:
            given = vals if isinstance(vals, Mapping | list | tuple) else [vals]
            if indices is None and not isinstance(given, Mapping):
                indices = range(len(given))
            tensors, numbers = self._checked(given, indices)
            return self._apply(
                f"{self._prefix}Stage", scope, key=key,
                indices=numbers, values=tensors, dtypes=self._dtypes,
            )  # fmt: skip

    def get(self, key: TensorLike | None = None, indices: Any = None, name: str | None = None) -> Any:
        """Returns an element, or some of its components, taken out when it is complete.

        Args:
            key: an int64 scalar; None: any element, or that of the lowest key in an ordered area.
            indices: the numbers or names of components; None: all.
            name: name of the operation.

        Returns:
            The key, and a list of tensors or a dict of them where the components have names.
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
        given = convert_to_tensor(key, "int64")
        op = self._apply(
            f"{self._prefix}Unstage",
            name or f"{self._name}_get",
            key=given,
            indices=numbers,
            dtypes=types,
        )
        return given, self._given(op.outputs, numbers)

    def peek(self, key: TensorLike, indices: Any = None, name: str | None = None) -> Any:
        """Returns an element, or some of its components, which stay in, when it is complete.

        Args:
            key: an int64 scalar.
            indices: the numbers or names of components; None: all.
            name: name of the operation.

        Returns:
            A list of tensors, or a dict of them where the components have names.
        """
        numbers = self._chosen(indices)
        op = self._apply(
            f"{self._prefix}Peek", name or f"{self._name}_pop", key=key,
            indices=numbers, dtypes=[self._dtypes[number] for number in numbers],
        )  # fmt: skip
        return self._given(op.outputs, numbers)

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of complete elements.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        return self._apply_anywhere(
            f"{self._prefix}Size", name or f"{self._name}_size", dtypes=self._dtypes
        ).outputs[0]

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements of which components are missing.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        return self._apply_anywhere(
            f"{self._prefix}IncompleteSize", name or f"{self._name}_incomplete_size", dtypes=self._dtypes
        ).outputs[0]

    def clear(self, name: str | None = None) -> Operation:
        """Returns an operation that drops all elements.

        Args:
            name: name of the operation.
        """
        return self._apply_anywhere(
            f"{self._prefix}Clear", name or f"{self._name}_clear", dtypes=self._dtypes
        )


# Kernels


def _area(ctx: KernelContext) -> Any:
    """The area of an operation, made at its first use."""
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
