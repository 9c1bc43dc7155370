"""Variables as dependencies of objects: made for an object, or recorded while a function makes them.

Source: tensorflow/python/training/tracking/util.py, release 1.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from gpuplace.dtypes import as_dtype, float32
from gpuplace.ops.variables.variable_scope import variable_creator_scope
from gpuplace.ops.variables.variable_store import default_initializer
from gpuplace.ops.variables.variables import Variable
from gpuplace.shapes import as_shape
from gpuplace.typing import DTypeLike, InitializerLike, ShapeLike

__all__ = ["add_variable", "capture_dependencies"]


def _default_getter(
    name: str,
    shape: ShapeLike,
    dtype: DTypeLike,
    initializer: Any = None,
    partition_info: Any = None,
    **kwargs: Any,
) -> Any:
    """Return a resource variable, ignoring variable scopes."""
    kind = as_dtype(dtype)
    sizes = as_shape(shape)
    if initializer is None:
        initializer = default_initializer(name, kind)
    if not callable(initializer):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        value = initializer
    else:
        if isinstance(initializer, type):
            initializer = initializer(dtype=kind)
        partition_args = {} if partition_info is None else {"partition_info": partition_info}

        def value() -> Any:
            return initializer(sizes.as_list(), dtype=kind, **partition_args)

    return Variable(initial_value=value, name=name, dtype=kind.base_dtype, use_resource=True, **kwargs)


def add_variable(
    trackable: Any,
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike = float32,
    initializer: InitializerLike | None = None,
    trainable: bool = True,
) -> Any:
    """Return a resource variable as a dependency of an object, ignoring variable scopes.

    Args:
        trackable: the object.
        name: the variable's name, in the object and in the graph.
        shape: its sizes; None: those of the initial value.
        dtype: its dtype.
        initializer: its initial value, or a function from sizes and dtype to it; None: Glorot uniform.
        trainable: whether to add the variable to the trainable variables.

    Returns:
        The variable.

    Raises:
        ValueError: the object has another dependency of that name, or both a shape and an initial value are given.
    """
    return trackable._add_variable_with_custom_getter(
        name=name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        getter=_default_getter,
        trainable=trainable,
    )


@contextlib.contextmanager
def capture_dependencies(template: Any) -> Iterator[None]:
    """Make variables created in this context, under a template's scope, dependencies of the template.

    A nested template becomes a dependency itself, instead of its variables.

    Args:
        template: a ``Template`` whose variable scope is open.
    """
    prefix = template.variable_scope.name

    def creator(
        next_creator: Any, name: Any, initial_value: Any, trackable_parent: Any = None, **kwargs: Any
    ) -> Any:
        def make(initializer: Any, **inner: Any) -> Any:
            del inner["name"]  # the name within the template; variables have their own
            return next_creator(initial_value=initializer, name=name, **inner)

        here = (template, prefix)
        if name is not None and name.startswith(prefix):
            if trackable_parent is None:
                return template._add_variable_with_custom_getter(
                    initializer=initial_value,
                    name=name[len(prefix) + 1 :],
                    getter=make,
                    overwrite=True,
                    trackable_parent=here,
                    **kwargs,
                )
            parent, parent_prefix = trackable_parent
            template._track_trackable(parent, name=parent_prefix[len(prefix) + 1 :], overwrite=True)
        return next_creator(name=name, initial_value=initial_value, trackable_parent=here, **kwargs)

    with variable_creator_scope(creator):
        yield
