"""Variables that objects depend on: made for one, or noted while a function makes them.

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
from gpuplace.typing import DTypeLike, ShapeLike

__all__ = ["add_variable", "capture_dependencies"]


def _default_getter(
    name: str,
    shape: ShapeLike,
    dtype: DTypeLike,
    initializer: Any = None,
    partition_info: Any = None,
    **kwargs: Any,
) -> Any:
    """A resource variable that no variable scope has a say in."""
    wanted = as_dtype(dtype)
    sizes = as_shape(shape)
    if initializer is None:
        initializer = default_initializer(name, wanted)
    if not callable(initializer):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        value = initializer
    else:
        if isinstance(initializer, type):
            initializer = initializer(dtype=wanted)
        given = {} if partition_info is None else {"partition_info": partition_info}

        def value() -> Any:
            return initializer(sizes.as_list(), dtype=wanted, **given)

    return Variable(initial_value=value, name=name, dtype=wanted.base_dtype, use_resource=True, **kwargs)


def add_variable(
    trackable: Any,
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike = float32,
    initializer: Any = None,
    trainable: bool = True,
) -> Any:
    """A resource variable that an object depends on; no variable scope has a say in it.

    Args:
        trackable: the object.
        name: the variable's name, there and in the graph.
        shape: its sizes; None: those of the initial value.
        dtype: its element type.
        initializer: its initial value, or a function from sizes and type to it; None: Glorot's uniform one.
        trainable: collect it among the trainable variables.

    Returns:
        The variable.

    Raises:
        ValueError: the object depends on another one of that name, or a shape beside an initial value.
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
    """What makes variables in this context, under the names of a template's scope, the template depends on.

    Of a template within it, it depends on that and not on its variables.

    Args:
        template: a ``Template`` whose variable scope is open.
    """
    prefix = template.variable_scope.name

    def creator(
        next_creator: Any, name: Any, initial_value: Any, trackable_parent: Any = None, **kwargs: Any
    ) -> Any:
        def make(initializer: Any, **inner: Any) -> Any:
            del inner["name"]  # the one within the template; variables have their own
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
