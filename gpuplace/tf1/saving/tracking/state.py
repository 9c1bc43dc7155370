"""Contents of object-based checkpoints besides variables: write-only tensors, and Python state.

Source: tensorflow/python/training/tracking/base.py and python_state.py, release 1.15.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import string
from gpuplace.graph.convert import get_default_graph
from gpuplace.ops.array.constant import constant
from gpuplace.ops.flow.control import no_op
from gpuplace.ops.tracking.base import Trackable
from gpuplace.saving.saveables import SaveableObject, SaveSpec

__all__ = ["NoRestoreSaveable", "PythonState", "PythonStateSaveable", "PythonStringStateSaveable"]


class NoRestoreSaveable(SaveableObject):
    """A tensor that is written to checkpoints, but not restored.

    Args:
        tensor: the tensor, or a function that creates it.
        name: the name to save it under.
        dtype: its dtype, for a function.
        device: its device, for a function.
    """

    def __init__(self, tensor: Any, name: str, dtype: Any = None, device: str | None = None) -> None:
        super().__init__(tensor, [SaveSpec(tensor, "", name, dtype=dtype, device=device)], name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Sequence[Any] | None) -> Any:
        """Return an operation that does nothing.

        Args:
            restored_tensors: ignored.
            restored_shapes: ignored.
        """
        return no_op()


class PythonStateSaveable(SaveableObject, abc.ABC):
    """Python state, which is read again for each checkpoint."""

    @abc.abstractmethod
    def feed_dict_additions(self) -> dict[Any, Any]:
        """Return the feeds for writing a checkpoint."""

    @abc.abstractmethod
    def freeze(self) -> SaveableObject:
        """Return the same object with its current value."""


class PythonStringStateSaveable(PythonStateSaveable):
    """Python state as a string.

    Args:
        name: the name to save it under.
        state_callback: returns the string, for each checkpoint.
        restore_callback: receives the string from a checkpoint; None: it is ignored, and may be missing.
    """

    def __init__(
        self,
        name: str,
        state_callback: Callable[[], Any],
        restore_callback: Callable[[Any], Any] | None = None,
    ) -> None:
        self._state_callback = state_callback
        self._restore_callback = restore_callback
        with get_default_graph().device("/cpu:0"):
            self._save_string = constant("", dtype=string)
        super().__init__(
            self._save_string, [SaveSpec(self._save_string, "", name, dtype=self._save_string.dtype)], name
        )

    @property
    def optional_restore(self) -> bool:
        """Whether a checkpoint may lack it: it may if nothing uses the value."""
        return self._restore_callback is None

    def feed_dict_additions(self) -> dict[Any, Any]:
        """Return the string as a feed."""
        return {self._save_string: self._state_callback()}

    def freeze(self) -> SaveableObject:
        """Return a saveable object with the current string."""
        return NoRestoreSaveable(
            tensor=lambda: constant(self._state_callback(), dtype=string),
            dtype=string,
            name=self.name,
            device="cpu:0",
        )

    def python_restore(self, restored_strings: Sequence[Any]) -> None:
        """Pass a restored string to the program.

        Args:
            restored_strings: a list of the one string.
        """
        if self._restore_callback is not None:
            (text,) = restored_strings
            self._restore_callback(text)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Sequence[Any] | None) -> Any:
        """Return an operation that does nothing, because the graph does not have this state.

        Args:
            restored_tensors: ignored.
            restored_shapes: ignored.
        """
        return no_op()


class PythonState(Trackable, abc.ABC):
    """Base of Python state in object-based checkpoints: ``tf.train.experimental.PythonState``.

    >>> import gpuplace as tf
    >>> class Note(tf.train.experimental.PythonState):
    ...     text = b"first"
    ...     def serialize(self):
    ...         return self.text
    ...     def deserialize(self, string_value):
    ...         self.text = string_value
    """

    @abc.abstractmethod
    def serialize(self) -> Any:
        """Return the value as a string."""

    @abc.abstractmethod
    def deserialize(self, string_value: Any) -> None:
        """Set the value from a restored checkpoint.

        Args:
            string_value: the string, as bytes.
        """

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {
            "py_state": functools.partial(
                PythonStringStateSaveable,
                state_callback=self.serialize,
                restore_callback=self.deserialize,
            )
        }
