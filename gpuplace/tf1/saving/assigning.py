"""Assignment of checkpoint values or arrays to variables: ``tf.contrib.framework.assign_from_*``.

Source: tensorflow/contrib/framework/python/ops/variables.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuplace import tf_logging
from gpuplace.files.checkpoints.reader import NewCheckpointReader
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graphdef.messages import SaverDef
from gpuplace.ops.array.constant import placeholder
from gpuplace.ops.flow.control import group
from gpuplace.runtime.session.session import Session
from gpuplace.saving.saver import Saver
from gpuplace.tf1.contrib.arg_scope import add_arg_scope

__all__ = [
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
]

Assignment = tuple[Operation, dict[Tensor, Any]]
"""The op that assigns, and its feeds."""


def _assign(pairs: list[tuple[Any, Any]]) -> Assignment:
    """Assign an array to each variable."""
    ops, feeds = [], {}
    for variable, value in pairs:
        fed = placeholder(
            dtype=variable.dtype.base_dtype,
            shape=variable.get_shape(),
            name=f"placeholder/{variable.op.name}",
        )
        ops.append(variable.assign(fed))
        feeds[fed] = value
    return group(*ops), feeds


def _find_variable(name: str) -> Any:
    variables = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, name)
    if not variables:
        raise ValueError(f"Variable {name} wasn't found")
    if len(variables) == 1:
        return variables[0]
    for variable in variables:
        if variable.op.name == name:
            return variable
    raise ValueError(f"Variable {name} doesn't uniquely identify a variable")


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> Assignment:
    """Return an op that assigns arrays to variables.

    Args:
        var_names_to_values: dict from the name of a global variable to an array with the same number of
            elements.

    Returns:
        The op and its feeds.

    Raises:
        ValueError: there is no such variable, or several, or the number of elements differs.
    """
    pairs = [(_find_variable(name), value) for name, value in var_names_to_values.items()]
    return _assign([(variable, value.reshape(variable.get_shape().as_list())) for variable, value in pairs])


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Session], Any]:
    """Return a function that runs the op of ``assign_from_values`` in a session.

    Args:
        var_names_to_values: as for ``assign_from_values``.

    Returns:
        A function of a session.
    """
    op, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(op, feeds)


def _full_name(variable: Any) -> str:
    info = getattr(variable, "_save_slice_info", None)
    name: str = info.full_name if info else variable.op.name
    return name


def _slice_value(variable: Any, value: Any) -> Any:
    """Return a variable's part of a tensor in the checkpoint: the whole tensor, or its slice."""
    info = getattr(variable, "_save_slice_info", None)
    if info:
        return value[tuple(slice(at, at + n) for at, n in zip(info.var_offset, info.var_shape, strict=True))]
    return value


@add_arg_scope
def assign_from_checkpoint(model_path: str, var_list: Any, ignore_missing_vars: bool = False) -> Assignment:
    """Return an op that assigns the values of a checkpoint to variables.

    Args:
        model_path: the checkpoint, as ``tf.train.latest_checkpoint`` returns it.
        var_list: variables, or a dict from the name in the checkpoint to a variable or a list of variables.
        ignore_missing_vars: whether to skip variables that are not in the checkpoint.

    Returns:
        The op and its feeds.

    Raises:
        ValueError: a variable is not in the checkpoint, or has another shape there.
    """
    variables: list[tuple[str, Any]] = []
    if isinstance(var_list, dict):
        for name, part in var_list.items():
            variables += [(name, one) for one in (part if isinstance(part, list | tuple) else [part])]
    else:
        variables = [(_full_name(one), one) for one in var_list]
    reader = NewCheckpointReader(model_path)
    pairs = []
    for name, variable in variables:
        if not reader.has_tensor(name):
            missing = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(missing)
            tf_logging.warning(missing)
            continue
        value = _slice_value(variable, reader.get_tensor(name))
        if tuple(variable.get_shape().as_list()) != value.shape:
            raise ValueError(
                f"Total size of new array must be unchanged for {name} lh_shape: [{value.shape}], rh_shape: "
                f"[{variable.get_shape()}]"
            )
        pairs.append((variable, value))
    return _assign(pairs)


@add_arg_scope
def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Session], None] | None:
    """Return a function that assigns the values of a checkpoint, for use as ``init_fn`` of ``slim.learning.train``.

    Args:
        model_path: the checkpoint.
        var_list: variables, or a dict from the name in the checkpoint to the variable.
        ignore_missing_vars: whether to skip variables that are not in the checkpoint.
        reshape_variables: whether to accept values of another shape with the same number of elements.

    Returns:
        A function of a session; None if the checkpoint has none of the variables.

    Raises:
        ValueError: there are no variables.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = NewCheckpointReader(model_path)
        variables = var_list if isinstance(var_list, dict) else {one.op.name: one for one in var_list}
        for name in variables:
            if not reader.has_tensor(name):
                tf_logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: variable for name, variable in variables.items() if reader.has_tensor(name)}
    if not var_list:
        tf_logging.warning("No Variables to restore")
        return None
    saver = Saver(var_list, reshape=reshape_variables, write_version=SaverDef.V1)
    return lambda session: saver.restore(session, model_path)
