"""Objects whose assigned attributes become dependencies.

>>> import gpuplace as tf
>>> class Line(AutoTrackable):
...     def __init__(self):
...         self.slope = tf.Variable(1.0)
...         self.note = "not in checkpoints"
>>> [name for name, _ in Line()._checkpoint_dependencies]
['slope']

Source: tensorflow/python/training/tracking/tracking.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops.tracking import wrappers as _wrappers  # noqa: F401 - says what stands for lists and dicts
from gpuplace.ops.tracking.base import Trackable, no_automatic_dependency_tracking
from gpuplace.ops.tracking.data_structures import NoDependency, sticky_attribute_assignment

__all__ = ["AutoTrackable", "NotTrackable", "delete_tracking", "no_automatic_dependency_tracking"]


class NotTrackable:
    """Base class of objects that look trackable but cannot be saved; saving them is an error."""


class AutoTrackable(Trackable):
    """A trackable object whose assigned attributes become dependencies."""

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if name in attributes and attributes[name] is value:
            return
        if self._setattr_tracking:
            value = sticky_attribute_assignment(trackable=self, value=value, name=name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        delete_tracking(self, name)
        super().__delattr__(name)

    def _no_dependency(self, value: Any) -> Any:
        return NoDependency(value)


def delete_tracking(obj: Trackable, name: str) -> None:
    """Remove a dependency, if there is one of that name.

    Args:
        obj: the object with the dependency.
        name: the dependency's name.
    """
    if obj._unconditional_dependency_names.pop(name, None) is not None:
        references = obj._unconditional_checkpoint_dependencies
        references[:] = [reference for reference in references if reference.name != name]
