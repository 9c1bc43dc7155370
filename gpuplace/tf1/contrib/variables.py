"""Variables of models and where they are collected.

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
    """``get_variable`` with a device of its own.

    Args:
        name: as for ``get_variable``, as are the others but for ``device`` and ``custom_getter``.
        shape: its sizes.
        dtype: its type.
        initializer: its initial value; None: the scope's initializer.
        regularizer: from the variable to a scalar loss.
        trainable: collect it among the trainable variables.
        collections: where to collect it; None: among the global variables.
        caching_device: where it is read for its consumers.
        device: where it is requested, as for ``tf.device``.
        partitioner: as for ``get_variable``.
        custom_getter: what gets it instead of ``get_variable``.
        use_resource: make a resource variable.

    Returns:
        The variable.

    Raises:
        ValueError: as ``get_variable``.
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
    """A variable that is also collected among the model's variables.

    Args:
        name: as for ``variable``, as are the others.
        shape: its sizes.
        dtype: its type.
        initializer: its initial value; None: the scope's initializer.
        regularizer: from the variable to a scalar loss.
        trainable: collect it among the trainable variables.
        collections: where else to collect it.
        caching_device: where it is read for its consumers.
        device: where it is requested, as for ``tf.device``.
        partitioner: as for ``get_variable``.
        custom_getter: what gets it instead of ``get_variable``.
        use_resource: make a resource variable.

    Returns:
        The variable.

    Raises:
        ValueError: as ``get_variable``.
    """
    keys = [*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    made: Any = variable
    return made(
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
    """A custom getter for layers: variables become the model's, and some are called something else.

    Args:
        rename: last part of a name to the name instead.
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
    """A variable that is not saved, collected among the local ones.

    Args:
        initial_value: its initial value.
        validate_shape: whether the value's shape is that of the variable for good.
        name: its name.
        use_resource: make a resource variable.

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
    """Variables of a scope.

    Args:
        scope: a scope or the beginning of names; None: all.
        suffix: the end of their names; None: any.
        collection: where they are collected.
    """
    if hasattr(scope, "name"):
        scope = scope.name
    if suffix is not None:
        scope = f"{scope or ''}.*{re.escape(suffix) if ':' not in suffix else suffix}"
        if ":" not in suffix:
            scope += ":"
    found: list[Any] = get_default_graph().get_collection(collection, scope)
    return found


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The model's variables.

    Args:
        scope: as for ``get_variables``.
        suffix: as for ``get_variables``.
    """
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The local variables.

    Args:
        scope: as for ``get_variables``.
        suffix: as for ``get_variables``.
    """
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The trainable variables.

    Args:
        scope: as for ``get_variables``.
        suffix: as for ``get_variables``.
    """
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The variables whose names end so.

    Args:
        suffix: the end.
        scope: as for ``get_variables``.
    """
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The variables of that name, in whatever scopes.

    Args:
        given_name: the last part of their names.
        scope: as for ``get_variables``.
    """
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The one variable of that name.

    Args:
        var_op_name: the whole name.

    Raises:
        ValueError: there is none, or several.
    """
    found = [one for one in get_variables(var_op_name) if one.op.name == var_op_name]
    if not found:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    if len(found) > 1:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")
    return found[0]


def get_variables_to_restore(
    include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
) -> list[Any]:
    """The global variables of some scopes and not of others.

    Args:
        include: scopes; None: all.
        exclude: scopes that are left out.

    Raises:
        TypeError: something else than lists.
    """
    for argument, given in (("include", include), ("exclude", exclude)):
        if given is not None and not isinstance(given, list | tuple):
            raise TypeError(f"{argument} must be a list or tuple. It is a {type(given)}")
    chosen = (
        get_variables() if include is None else [one for scope in include for one in get_variables(scope)]
    )
    left_out = {id(one) for scope in exclude or () for one in get_variables(scope)}
    return [one for one in chosen if id(one) not in left_out]


def add_model_variable(var: Any) -> None:
    """Collects a variable among the model's.

    Args:
        var: the variable.
    """
    graph = get_default_graph()
    if all(var is not one for one in graph.get_collection(GraphKeys.MODEL_VARIABLES)):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)
