"""Model variables and their collections.

Source: tensorflow/contrib/framework/python/ops/variables.py, release 1.15.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.ops.variables.variable_scope import get_variable, get_variable_scope
from gpuplace.ops.variables.variables import Variable
from gpuplace.tf1.contrib.arg_scope import add_arg_scope
from gpuplace.typing import DeviceLike, DTypeLike, Function, InitializerLike, ShapeLike

__all__ = [
    "add_model_variable", "get_local_variables", "get_model_variables", "get_trainable_variables",
    "get_unique_variable", "get_variables", "get_variables_by_name", "get_variables_by_suffix",
    "get_variables_to_restore", "local_variable", "model_variable", "variable",
]  # fmt: skip


@add_arg_scope
def variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Function | None = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: DeviceLike = None,
    device: DeviceLike = None,
    partitioner: Function | None = None,
    custom_getter: Function | None = None,
    use_resource: bool | None = None,
) -> Any:
    """Return a variable from ``get_variable``, with a requested device.

    Args:
        name: name of the variable; ``get_variable`` describes all arguments but ``device`` and ``custom_getter``.
        shape: its shape.
        dtype: its dtype.
        initializer: initializer; None: the scope's.
        regularizer: returns a scalar loss for the variable.
        trainable: whether it is trainable.
        collections: its collections; None: the global variables.
        caching_device: device on which its value is cached for reads.
        device: its requested device, as for ``tf.device``.
        partitioner: as for ``get_variable``.
        custom_getter: called in place of ``get_variable``.
        use_resource: whether to create a resource variable.

    Returns:
        The variable.

    Raises:
        ValueError: as for ``get_variable``.
    """
    keys = list(collections if collections is not None else [GraphKeys.GLOBAL_VARIABLES])
    keys = list(dict.fromkeys([*keys, GraphKeys.GLOBAL_VARIABLES]))
    getter = custom_getter or get_variable
    with get_default_graph().device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=keys,
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
        )


@add_arg_scope
def model_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Function | None = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: DeviceLike = None,
    device: DeviceLike = None,
    partitioner: Function | None = None,
    custom_getter: Function | None = None,
    use_resource: bool | None = None,
) -> Any:
    """Return a variable that is also added to the collection of model variables.

    Args:
        name: name of the variable; the other arguments are those of ``variable``.
        shape: its shape.
        dtype: its dtype.
        initializer: initializer; None: the scope's.
        regularizer: returns a scalar loss for the variable.
        trainable: whether it is trainable.
        collections: its further collections.
        caching_device: device on which its value is cached for reads.
        device: its requested device, as for ``tf.device``.
        partitioner: as for ``get_variable``.
        custom_getter: called in place of ``get_variable``.
        use_resource: whether to create a resource variable.

    Returns:
        The variable.

    Raises:
        ValueError: as for ``get_variable``.
    """
    keys = [*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    create: Any = variable
    return create(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=keys,
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
    )


def renaming_getter(rename: dict[str, str] | None = None) -> Callable[..., Any]:
    """Return a custom getter for layers that creates model variables, some under another name.

    Args:
        rename: last part of a name -> its replacement.
    """

    def found(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        above, slash, last = name.rpartition("/")
        name = above + slash + (rename or {}).get(last, last)
        keys = [
            *(kwargs.pop("collections", None) or ()),
            GraphKeys.GLOBAL_VARIABLES,
            GraphKeys.MODEL_VARIABLES,
        ]
        return getter(name, *args, collections=list(dict.fromkeys(keys)), **kwargs)

    return found


def local_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Any:
    """Return a variable that is not saved, in the collection of local variables.

    Args:
        initial_value: the initial value.
        validate_shape: whether the variable's shape is fixed to that of the value.
        name: its name.
        use_resource: whether to create a resource variable.

    Returns:
        The variable.
    """
    from_scope = get_variable_scope().use_resource if use_resource is None else use_resource
    return Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        use_resource=from_scope,
        name=name,
    )


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Return the variables of a scope.

    Args:
        scope: a scope or a name prefix; None: all.
        suffix: suffix of the names; None: any.
        collection: the collection.
    """
    if hasattr(scope, "name"):
        scope = scope.name
    if suffix is not None:
        scope = f"{scope or ''}.*{re.escape(suffix) if ':' not in suffix else suffix}"
        if ":" not in suffix:
            scope += ":"
    variables: list[Any] = get_default_graph().get_collection(collection, scope)
    return variables


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the model's variables.

    Args:
        scope: as for ``get_variables``.
        suffix: as for ``get_variables``.
    """
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the local variables.

    Args:
        scope: as for ``get_variables``.
        suffix: as for ``get_variables``.
    """
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the trainable variables.

    Args:
        scope: as for ``get_variables``.
        suffix: as for ``get_variables``.
    """
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """Return the variables whose names have a suffix.

    Args:
        suffix: the suffix.
        scope: as for ``get_variables``.
    """
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """Return the variables with a name, in any scope.

    Args:
        given_name: the last part of their names.
        scope: as for ``get_variables``.
    """
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """Return the only variable with a name.

    Args:
        var_op_name: the full name.

    Raises:
        ValueError: no variable or several variables have this name.
    """
    matches = [variable for variable in get_variables(var_op_name) if variable.op.name == var_op_name]
    if not matches:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    if len(matches) > 1:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")
    return matches[0]


def get_variables_to_restore(
    include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
) -> list[Any]:
    """Return the global variables of some scopes, without those of others.

    Args:
        include: scopes to include; None: all.
        exclude: scopes to exclude.

    Raises:
        TypeError: an argument is not a list.
    """
    for argument, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, list | tuple):
            raise TypeError(f"{argument} must be a list or tuple. It is a {type(scopes)}")
    chosen = (
        get_variables() if include is None else [var for scope in include for var in get_variables(scope)]
    )
    left_out = {id(var) for scope in exclude or () for var in get_variables(scope)}
    return [var for var in chosen if id(var) not in left_out]


def add_model_variable(var: Any) -> None:
    """Add a variable to the collection of model variables.

    Args:
        var: the variable.
    """
    graph = get_default_graph()
    if all(var is not other for other in graph.get_collection(GraphKeys.MODEL_VARIABLES)):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)
