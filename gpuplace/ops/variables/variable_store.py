"""Store of a graph's variables made by ``get_variable``, by full name, so that they can be shared.

Source: tensorflow/python/ops/variable_scope.py (_VariableStore), release 1.15 (messages).
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from traceback import format_list
from typing import Any

from gpuplace.callers import is_own
from gpuplace.dtypes import DType, as_dtype, float32
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Frame, Tensor
from gpuplace.ops.array import slicing
from gpuplace.ops.variables.init_ops import GlorotUniform, Initializer, Zeros
from gpuplace.ops.variables.partitioned import (
    PartitionedVariable,
    Partitioner,
    PartitionInfo,
    partitions_of,
    slices_of,
)
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variables.variables import (
    SaveSliceInfo,
    Variable,
    VariableAggregation,
    VariableSynchronization,
    set_slice_info,
    trainable_with,
)
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, ShapeLike


class ReuseMode(enum.Enum):
    """``AUTO_REUSE``: share an existing variable, or make a new one."""

    AUTO_REUSE = 1

    def __repr__(self) -> str:
        return "<_ReuseMode.AUTO_REUSE: 1>"


class VariableStore:
    """The variables of one graph by full name."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}
        """The partitioned variables whose parts are among ``variables``."""

    @property
    def _vars(self) -> dict[str, Any]:
        """Alias with TensorFlow's name for the variables."""
        return self.variables

    def get_variable(
        self,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        initializer: Any = None,
        reuse: Any = None,
        custom_getter: Callable[..., Any] | None = None,
        **arguments: Any,
    ) -> Any:
        """Return an existing variable or a new one, depending on ``reuse``; ``custom_getter`` takes precedence.

        Args:
            name: its full name.
            shape: its shape, or None.
            dtype: its dtype.
            initializer: a function from shape and dtype to a tensor, or a value; None: Glorot uniform, or zeros.
            reuse: True, False, None or ``AUTO_REUSE``.
            custom_getter: a function to call instead of the default getter, or None.
            **arguments: the other arguments of ``get_variable``.

        Returns:
            The variable, or the result of ``custom_getter``.

        Raises:
            ValueError: the variable exists but must not be shared, does not exist but must be shared, or differs from
                the request.
        """
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        if arguments.get("trainable") is None:
            synchronization = arguments.get("synchronization", VariableSynchronization.AUTO)
            arguments["trainable"] = trainable_with(synchronization, None)
        keywords = {
            "shape": shape,
            "dtype": as_dtype(dtype).base_dtype,
            "initializer": initializer,
            "reuse": reuse,
            **arguments,
        }
        if custom_getter is None:
            return self._get(name=name, **keywords)
        if not _takes(custom_getter, "constraint"):
            del keywords["constraint"]
        return custom_getter(getter=self._get, name=name, **keywords)

    def _get(
        self,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike = "float32",
        initializer: Any = None,
        regularizer: Callable[[Any], Any] | None = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        arguments: dict[str, Any] = {
            "dtype": as_dtype(dtype),
            "regularizer": regularizer,
            "reuse": reuse,
            "trainable": trainable,
            "collections": collections,
            "caching_device": caching_device,
            "validate_shape": validate_shape,
            "use_resource": use_resource,
            "constraint": constraint,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        is_scalar = isinstance(shape, (list, tuple)) and not shape
        if partitioner is not None and not is_scalar and not callable(partitioner):
            raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
        cut = partitioner is not None and not is_scalar
        if cut or partitioner is None and reuse is True and name in self.partitioned:
            with get_default_graph().name_scope(None):
                return self.get_partitioned(name, as_shape(shape), initializer, partitioner, **arguments)
        if f"{name}/part_0" in self.variables:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was found: "
                f"{name}/part_0. Perhaps a variable of the same name was already created with partitioning?"
            )
        return self._get_single(name, shape, initializer, None, **arguments)

    def get_partitioned(
        self,
        name: str,
        shape: TensorShape,
        initializer: Any,
        partitioner: Partitioner | None,
        *,
        dtype: DType,
        reuse: Any,
        **arguments: Any,
    ) -> PartitionedVariable:
        """Return an existing variable of several slices or a new one, depending on ``reuse``.

        Args:
            name: the full name of the whole variable; the slices are ``part_0``, ``part_1``, ... below it.
            shape: the shape of the whole variable.
            initializer: a function from shape and dtype to a tensor, or the whole value; None: as for other variables.
            partitioner: a function that returns the number of parts in each dimension; None: as for the existing
                variable.
            dtype: its dtype.
            reuse: True, False, None or ``AUTO_REUSE``.
            **arguments: the other arguments of ``get_variable``.

        Raises:
            ValueError: as for other variables, or the partitioner's result does not match.
        """
        if name in self.variables:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was found: "
                f"{name}.  Perhaps a variable of the same name was already created without partitioning?"
            )
        if isinstance(initializer, Tensor):
            shape = shape.merge_with(initializer.shape)
        partitions = None if reuse and partitioner is None else partitions_of(partitioner, shape, dtype)
        existing = self.partitioned.get(name)
        if existing is not None:
            self._check_partitioned(existing, shape, dtype, reuse, partitions)
            return existing
        if reuse is True or partitions is None:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
            )
        sizes = [int(size) for size in shape]
        slices = slices_of(sizes, partitions)
        self._check_parts(name, len(slices))
        if initializer is None:
            initializer = default_initializer(name, dtype)
        parts = []
        for index, (offset, part_sizes) in enumerate(slices):
            full_name = f"{name}/part_{index}"
            part_initializer, part_shape = initializer, None
            if callable(initializer):
                part_shape = part_sizes
            else:
                with get_default_graph().name_scope(f"{full_name}/PartitionedInitializer"):
                    whole = convert_to_tensor(initializer, None if isinstance(initializer, Tensor) else dtype)
                    part_initializer = slicing.slice(whole, offset, part_sizes)
                dtype = part_initializer.dtype.base_dtype
            part = self._get_single(
                full_name,
                part_shape,
                part_initializer,
                PartitionInfo(sizes, offset),
                dtype=dtype,
                reuse=reuse,
                **arguments,
            )
            set_slice_info(part, SaveSliceInfo(name, sizes, offset, part_sizes))
            parts.append(part)
        variable = PartitionedVariable(name, shape, dtype, parts, partitions)
        self.partitioned[name] = variable
        return variable

    def _check_partitioned(
        self,
        existing: PartitionedVariable,
        shape: TensorShape,
        dtype: DType,
        reuse: Any,
        partitions: list[int] | None,
    ) -> None:
        """Raise ValueError unless an existing partitioned variable may be shared and matches the request."""
        name = existing.name
        if reuse is False:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        start = f"Trying to reuse partitioned variable {name}, but specified"
        if not shape.is_compatible_with(existing.get_shape()):
            raise ValueError(f"{start} shape {shape} and found shape {existing.get_shape()}.")
        if not dtype.is_compatible_with(existing.dtype):
            raise ValueError(f"{start} dtype {dtype.name} and found dtype {existing.dtype.name}.")
        if partitions is not None and existing._get_partitions() != partitions:
            raise ValueError(
                f"{start} partitions {partitions} and found partitions {existing._get_partitions()}."
            )

    def _check_parts(self, name: str, count: int) -> None:
        """Raise ValueError if existing variables are named like parts but their number is not ``count``."""
        if f"{name}/part_0" not in self.variables:
            return
        start = (
            "Partitioner returned a different partitioning than what was already found.  Partitioner returned "
            f"{count} shards, and shard {name}/part_0 was found, but"
        )
        if f"{name}/part_{count - 1}" not in self.variables:
            raise ValueError(f"{start} {name}/part_{count - 1} was not.")
        if f"{name}/part_{count}" in self.variables:
            raise ValueError(f"{start} so was the extra shard {name}/part_{count}.")

    def _get_single(
        self,
        name: str,
        shape: ShapeLike,
        initializer: Any,
        partition_info: PartitionInfo | None,
        *,
        dtype: DType,
        regularizer: Callable[[Any], Any] | None = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        from_value = initializer is not None and not callable(initializer)
        if shape is not None and from_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        static = as_shape(shape)
        if name in self.variables:
            return self._existing(name, static, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            initializer = default_initializer(name, dtype)
        initial_value, variable_dtype = _initial_value(initializer, from_value, static, dtype, partition_info)
        variable = Variable(
            initial_value,
            name=name,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device,
            dtype=variable_dtype,
            validate_shape=validate_shape,
            constraint=constraint,
            use_resource=bool(use_resource) if use_resource is not None else None,
            synchronization=synchronization,
            aggregation=aggregation,
        )
        self.variables[name] = variable
        if regularizer:
            _add_regularization(name, variable, regularizer)
        return variable

    def _existing(self, name: str, shape: TensorShape, dtype: DType, reuse: Any) -> Any:
        variable = self.variables[name]
        if reuse is False:
            message = (
                f"Variable {name} already exists, disallowed. "
                "Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
            )
            if isinstance(variable, ResourceVariable):
                raise ValueError(message)
            frames: list[Frame] = [f for f in variable.op.traceback[::-1] if not is_own(f.filename)][:5]
            lines = "".join(format_list(frames))
            raise ValueError(f"{message} Originally defined at:\n\n{lines}")
        if not shape.is_compatible_with(variable.get_shape()):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape {variable.get_shape()}."
            )
        if not dtype.is_compatible_with(variable.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                f"{variable.dtype.name}."
            )
        return variable


def _initial_value(
    initializer: Any, from_value: bool, shape: TensorShape, dtype: DType, partition_info: PartitionInfo | None
) -> tuple[Any, Any]:
    """Return the initial value and the dtype for ``Variable``."""
    if from_value:
        return initializer, None
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():
        return _Call(initializer, shape, dtype, partition_info), dtype.base_dtype
    if not _required_arguments(initializer):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the shape should not be "
        "provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."
    )


class _Call:
    """An initializer with the shape and dtype of one variable."""

    def __init__(
        self, initializer: Any, shape: TensorShape, dtype: DType, partition_info: PartitionInfo | None
    ) -> None:
        self.initializer, self.shape, self.dtype = initializer, shape, dtype
        self.partition_info = partition_info

    def __call__(self) -> Tensor:
        arguments: dict[str, Any] = {"dtype": self.dtype}
        if _takes(self.initializer, "partition_info"):
            arguments["partition_info"] = self.partition_info
        elif not _takes(self.initializer, "dtype") and not _required_arguments(self.initializer):
            return self.initializer()
        return self.initializer(self.shape.as_list(), **arguments)


def default_initializer(name: str, dtype: DType) -> Any:
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype.name == "string":
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _add_regularization(name: str, variable: Any, regularizer: Callable[[Any], Any]) -> None:
    graph = get_default_graph()
    with graph.colocate_with(variable.op), graph.name_scope(name + "/Regularizer/"):
        with graph.control_dependencies(None):
            loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def _parameters(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    if isinstance(function, Initializer):
        return _parameters_of_call(type(function).__call__)
    return list(inspect.signature(function).parameters.values())


@cache
def _parameters_of_call(method: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    return list(inspect.signature(method).parameters.values())[1:]


def _takes(function: Callable[..., Any], keyword: str) -> bool:
    """Return whether ``function`` accepts that keyword."""
    return any(
        p.kind is p.VAR_KEYWORD or p.name == keyword and p.kind is not p.POSITIONAL_ONLY
        for p in _parameters(function)
    )


def _required_arguments(function: Callable[..., Any]) -> list[str]:
    """Return the arguments without defaults."""
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [p.name for p in _parameters(function) if p.default is p.empty and p.kind not in kinds]
