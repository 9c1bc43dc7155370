"""``tf.Module``: a named object that finds the variables and modules among its attributes.

Source: tensorflow/python/module/module.py, release 1.15.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.ops.nest_paths import flatten_with_tuple_paths
from gpuplace.ops.tracking.tracking import AutoTrackable
from gpuplace.ops.variables.variables import Variable

__all__ = ["Module", "camel_to_snake", "valid_identifier"]

Method = TypeVar("Method", bound=Callable[..., Any])

_CAPITAL = re.compile("(?<=[a-z0-9])[A-Z]|(?<!^)[A-Z](?=[a-z])")


def valid_identifier(name: str) -> bool:
    """Return whether a string is a valid module name: letters, digits and underscores, not starting with a digit.

    Args:
        name: the string.
    """
    return re.match("[a-zA-Z_][a-zA-Z0-9_]*$", name) is not None


def camel_to_snake(value: str) -> str:
    """Convert a class name from camel case to snake case.

    >>> camel_to_snake("AReallyLongName"), camel_to_snake("MLPBlock")
    ('a_really_long_name', 'mlp_block')

    Args:
        value: the name.
    """
    return _CAPITAL.sub(lambda match: f"_{match[0]}", value).lower()


class Module(AutoTrackable):
    """A named part of a model, which owns the variables and modules in its attributes.

    >>> import gpuplace as tf
    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         with self.name_scope:
    ...             self.slope = tf.Variable(1.0, name="slope")
    >>> [variable.name for variable in Line().variables]
    ['line/slope:0']

    Args:
        name: its name; None: the class name in snake case.

    Raises:
        ValueError: the name is not a Python identifier.
    """

    _TF_MODULE_IGNORED_PROPERTIES = frozenset({"_self_tracking"})

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = camel_to_snake(type(self).__name__)
        elif not valid_identifier(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid "
                "class name)."
            )
        self._name = name
        with name_scope(name) as scope_name:
            self._scope_name = scope_name

    @property
    def name(self) -> str:
        """The name, without those of outer modules."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """A context for operations in the module's name scope."""
        return get_default_graph().name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """Its variables, sorted by attribute, then those of its submodules."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable ones of ``variables``."""
        return tuple(self._flatten(predicate=lambda leaf: _is_variable(leaf) and leaf.trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All nested modules, nearest first."""
        return tuple(self._flatten(predicate=_is_module))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """Iterate over the values in the attributes and in nested structures, in the order of their names.

        Args:
            recursive: whether to descend into modules.
            predicate: a filter for values; None: all.
            attribute_traversal_key: sort key for the names; None: the names themselves.
            with_path: whether to return pairs of path and value, including repeated values with other paths.

        Returns:
            An iterator.
        """
        waiting: list[tuple[tuple[Any, ...], Module]] = [((), self)]
        seen = {id(self)}
        while waiting:
            path, module = waiting.pop(0)
            below: list[tuple[tuple[Any, ...], Module]] = []
            for leaf_path, leaf in module._leaves(attribute_traversal_key):
                if not with_path:
                    if id(leaf) in seen:
                        continue
                    seen.add(id(leaf))
                if predicate is None or predicate(leaf):
                    yield (path + leaf_path, leaf) if with_path else leaf
                if recursive and _is_module(leaf):
                    below.append((path + leaf_path, leaf))
            waiting = below + waiting

    def _leaves(self, key: Callable[[str], Any] | None) -> Iterator[tuple[tuple[Any, ...], Any]]:
        attributes = vars(self)
        for name in sorted(attributes, key=key):
            if name not in self._TF_MODULE_IGNORED_PROPERTIES:
                for path, leaf in flatten_with_tuple_paths(attributes[name]):
                    yield (name, *path), leaf

    @classmethod
    def with_name_scope(cls, method: Method) -> Method:
        """Decorate a method so that its operations are in the module's name scope.

        Args:
            method: a method of the class.
        """

        @functools.wraps(method)
        def within(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return within  # type: ignore[return-value]


def _is_variable(leaf: Any) -> bool:
    return isinstance(leaf, Variable)


def _is_module(leaf: Any) -> bool:
    return isinstance(leaf, Module)
