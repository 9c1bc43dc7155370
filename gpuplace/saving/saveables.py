"""Objects that a saver can save: variables, and objects that list their tensors.

    names -> variables     {"w": v}  or a list, whose variables are saved under their own names
    saveables              sorted by name: for each the tensors to write, and how to restore the values

Source: tensorflow/python/training/saving/saveable_object.py and saveable_object_util.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpuplace.device.spec import DeviceSpec
from gpuplace.dtypes import DType
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array import reshaping
from gpuplace.ops.distribute.variables import DistributedVariable, MirroredVariable
from gpuplace.ops.flow import control
from gpuplace.ops.tracking.base import VARIABLE_VALUE_KEY, Trackable
from gpuplace.ops.variables import state
from gpuplace.ops.variables.resource_state import assign_variable_op
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variables.variables import Variable, slice_info_of
from gpuplace.shapes import TensorShape

__all__ = [
    "ReferenceVariableSaveable",
    "ResourceVariableSaveable",
    "SaveSpec",
    "SaveableObject",
    "TableSaveable",
    "by_name",
    "saveables_for",
    "saveables_of",
    "set_cpu0",
]

_REFERENCES = ("Variable", "VariableV2", "AutoReloadVariable")
_VARIABLE_OPS = (*_REFERENCES, "VarHandleOp", "ReadVariableOp")


def set_cpu0(device_string: str) -> str:
    """Return a device name with its device replaced by the first CPU.

    Args:
        device_string: name such as ``"/job:ps/task:1/device:GPU:0"``, or ``""``.
    """
    return DeviceSpec.from_string(device_string).replace(device_type="CPU", device_index=0).to_string()


class SaveSpec:
    """A tensor to save.

    Args:
        tensor: the tensor, or a function without arguments that creates it.
        slice_spec: slice of a whole tensor, ``"4 6 0,2:-"``; empty: all of it.
        name: name in the checkpoint.
        dtype: element type, if ``tensor`` is a function.
        device: device for the function and for restoring, if ``tensor`` is a function.

    Raises:
        AssertionError: ``tensor`` is a function, and the dtype or device is missing.
    """

    def __init__(
        self,
        tensor: Tensor | Callable[[], Tensor],
        slice_spec: str,
        name: str,
        dtype: DType | None = None,
        device: str | None = None,
    ) -> None:
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        if isinstance(tensor, Tensor | Variable):
            self.dtype: DType = tensor.dtype
            self.device: str = tensor.device
        elif dtype is None or device is None:
            raise AssertionError(
                "When passing a callable `tensor` to a SaveSpec, an explicit dtype and device must be provided."
            )
        else:
            self.dtype, self.device = dtype, device

    @property
    def tensor(self) -> Any:
        """The tensor; if a function creates it, each access calls the function."""
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """An object that is saved as tensors; subclasses implement ``restore``.

    Args:
        op: the saved object; a saver accepts each object only once.
        specs: list of `SaveSpec`, all on one device.
        name: name in the checkpoint.
    """

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = list(specs)
        self.name = name

    @property
    def optional_restore(self) -> bool:
        """Whether a checkpoint may lack it: always False."""
        return False

    @property
    def device(self) -> str:
        """The device of its tensors."""
        return self.specs[0].device

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """Return an operation that restores the values.

        Args:
            restored_tensors: a value for each of ``specs``.
            restored_shapes: shapes to reshape to; None: unchanged.

        Raises:
            ValueError: the object cannot be restored.
        """
        raise ValueError("Calling an abstract method.")


class ReferenceVariableSaveable(SaveableObject):
    """A reference variable or a slice of one.

    Args:
        var: the variable or its reference.
        slice_spec: slice of the variable; empty: all of it.
        name: name in the checkpoint.
    """

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        super().__init__(var, [SaveSpec(var, slice_spec, name, var.dtype)], name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Tensor:
        """Return an operation that assigns the value.

        Args:
            restored_tensors: list with one tensor.
            restored_shapes: list with the new shape; None: unchanged.
        """
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshaping.reshape(value, restored_shapes[0])
        validate = restored_shapes is None and self.op.get_shape().is_fully_defined()
        return state.assign(convert_to_tensor(self.op, as_ref=True), value, validate_shape=validate)


class ResourceVariableSaveable(SaveableObject):
    """A resource variable or a slice of one.

    Args:
        var: the variable, or a tensor that reads it.
        slice_spec: slice of the variable; empty: all of it.
        name: name in the checkpoint.

    Raises:
        ValueError: ``var`` is neither.
    """

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        self._var_device: str = var.device
        self._var_shape: TensorShape = var.shape
        tensor: Any = var
        if isinstance(var, Tensor):
            self.handle_op = var.op.inputs[0]
        elif isinstance(var, ResourceVariable):
            self.handle_op = var.handle

            def tensor() -> Tensor:
                graph = get_default_graph()
                with graph.device(var.device):
                    value = (var.primary if isinstance(var, MirroredVariable) else var).read_value()
                    with graph.device("/device:CPU:0"):
                        return reshaping.identity(value)

        else:
            raise ValueError(f"Saveable is neither a resource variable nor a read operation. Got: {var!r}")
        super().__init__(var, [SaveSpec(tensor, slice_spec, name, var.dtype, var.device)], name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        """Return an operation that assigns the value on the variable's device.

        Args:
            restored_tensors: list with one tensor.
            restored_shapes: list with the new shape; None: unchanged.
        """
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshaping.reshape(value, restored_shapes[0])
        if isinstance(self.op, DistributedVariable):
            return self._restored_copies(value)
        with get_default_graph().device(self._var_device):
            value = reshaping.identity(value)
            self._var_shape.assert_is_compatible_with(value.shape)
            return assign_variable_op(self.handle_op, value)

    def _restored_copies(self, value: Tensor) -> Operation:
        """Return an operation that assigns to all copies of a strategy's variable."""
        made = []
        for copy in self.op.values:
            with get_default_graph().device(copy.device):
                made.append(copy.assign(value))
        return control.group(*made)


class TableSaveable(SaveableObject):
    """A mutable table, saved as keys and values.

    Args:
        table: the table.
        keys: all its keys, a vector.
        values: their values.
        name: prefix of the names in the checkpoint.
    """

    def __init__(self, table: Any, keys: Tensor, values: Tensor, name: str) -> None:
        super().__init__(
            table, [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")], name
        )

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """Return an operation that replaces the table's keys and values.

        Args:
            restored_tensors: keys and values.
            restored_shapes: ignored, since a table can have any number of keys.
        """
        keys, values = restored_tensors
        handle = self.op.resource_handle
        with name_scope(f"{self.op.name}_table_restore"), get_default_graph().colocate_with(handle):
            return apply_op("LookupTableImportV2", table_handle=handle, keys=keys, values=values)


def saveables_of(names_to_saveables: Any) -> list[SaveableObject]:
    """Return the objects to save, sorted by name.

    Args:
        names_to_saveables: a dict from name to variable, list of slices of a variable, or `SaveableObject`; or a list
            of variables and such objects.

    Raises:
        TypeError: a name is not a string, or an object cannot be saved.
        ValueError: a name occurs twice, or an object has two names.
    """
    if not isinstance(names_to_saveables, Mapping):
        names_to_saveables = by_name(names_to_saveables)
    result: list[SaveableObject] = []
    seen: set[int] = set()
    for name, wanted in sorted(names_to_saveables.items(), key=lambda item: str(item[0])):
        for saveable in saveables_for(wanted, name):
            if id(saveable.op) in seen:
                raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
            seen.add(id(saveable.op))
            result.append(saveable)
    return result


def by_name(things: Any) -> dict[str, Any]:
    """Return a list's objects by the names in the checkpoint; slices of one variable are grouped.

    Args:
        things: variables, `SaveableObject`, and objects with their own values that object-based checkpoints contain.

    Raises:
        TypeError: the argument is not a list, or an object cannot be saved.
        ValueError: a name occurs twice.
    """
    if not isinstance(things, list | tuple | set | frozenset):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {things}")
    named: dict[str, Any] = {}
    for thing in sorted(things, key=lambda one: one.name):
        if isinstance(thing, SaveableObject):
            named[thing.name] = thing
            continue
        if isinstance(thing, Trackable) and not isinstance(thing, Variable):
            values = thing._gather_saveables_for_checkpoint().values()
            named.update(by_name([value() if callable(value) else value for value in values]))
            continue
        info = getattr(thing, "_save_slice_info", None)
        if info is not None:
            slices = named.setdefault(info.full_name, [])
            if not isinstance(slices, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {info.full_name}")
            slices.append(thing)
            continue
        if _is_partitioned(thing):
            name: str = thing.name
            tensor: Any = thing
        elif isinstance(thing, DistributedVariable):
            name, tensor = thing.primary.op.name, thing
        else:
            tensor = _tensor_of(thing)
            if not _comes_from_variable(tensor):
                raise TypeError(f"Variable to save is not a Variable: {tensor}")
            is_read = tensor.op.type == "ReadVariableOp"
            name = tensor.op.inputs[0].op.name if is_read else tensor.op.name
        if name in named:
            raise ValueError(f"At least two variables have the same name: {name}")
        named[name] = tensor
    return named


def _is_partitioned(thing: object) -> bool:
    """Return whether an object is a partitioned variable."""
    return not isinstance(thing, Variable | Tensor | Operation) and hasattr(thing, "_get_variable_list")


def _tensor_of(thing: Any) -> Tensor:
    """Return the reference to a variable, or the tensor that reads a resource variable."""
    if isinstance(thing, ResourceVariable):
        return thing._graph_element
    return convert_to_tensor(thing, as_ref=True)


def _comes_from_variable(tensor: Any) -> bool:
    return isinstance(tensor, Tensor) and tensor.op.type in _VARIABLE_OPS


def saveables_for(wanted: Any, name: Any) -> Iterator[SaveableObject]:
    """Yield the saveable objects for a name.

    Args:
        wanted: a variable, list of slices of a variable, `SaveableObject`, or an object of object-based checkpoints.
        name: name in the checkpoint.

    Raises:
        TypeError: the name is not a string, or the object cannot be saved.
        ValueError: slices belong to several variables, or are mixed with other objects.
    """
    if not isinstance(name, str):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to trackable operations. Name is not a string: "
            f"{name}"
        )
    if isinstance(wanted, SaveableObject):
        yield wanted
    elif isinstance(wanted, Trackable) and not isinstance(wanted, Variable):
        for value_name, value in wanted._gather_saveables_for_checkpoint().items():
            full_name = name if value_name == VARIABLE_VALUE_KEY else f"{name}_{value_name}"
            saveable = value(full_name) if callable(value) else value
            yield from saveables_for(saveable, saveable.name)
    elif _is_partitioned(wanted):
        yield from _slices(wanted._get_variable_list(), name)
    elif isinstance(wanted, list | tuple):
        yield from _slices(wanted, name)
    elif isinstance(wanted, DistributedVariable):
        yield ResourceVariableSaveable(wanted, "", name)
    else:
        tensor = _tensor_of(wanted)
        if not _comes_from_variable(tensor):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: "
                f"{tensor}"
            )
        is_reference = tensor.op.type in _REFERENCES
        yield (ReferenceVariableSaveable if is_reference else ResourceVariableSaveable)(tensor, "", name)


def _slices(variables: Sequence[Any], name: str) -> Iterator[SaveableObject]:
    whole = None
    for variable in variables:
        if not isinstance(variable, Variable):
            raise ValueError(f"Slices must all be Variables: {variable}")
        info = slice_info_of(variable)
        if not info:
            raise ValueError(f"Slices must all be slices: {variable}")
        if whole is None:
            whole = info.full_name
        elif whole != info.full_name:
            raise ValueError(f"Slices must all be from the same tensor: {whole} != {info.full_name}")
        is_reference = variable.op.type in _REFERENCES
        yield (ReferenceVariableSaveable if is_reference else ResourceVariableSaveable)(
            variable, info.spec, name
        )
