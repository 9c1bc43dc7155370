"""What checkpoints of objects have beside variables: tensors that are only written, and values of Python.

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
    """A tensor that is written to checkpoints, and not read from them.

    Args:
        tensor: the tensor, or a function that makes it.
        name: the name to save it under.
        dtype: its element type, for a function.
        device: where it is made, for a function.
    """

    def __init__(self, tensor: Any, name: str, dtype: Any = None, device: str | None = None) -> None:
        super().__init__(tensor, [SaveSpec(tensor, "", name, dtype=dtype, device=device)], name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Sequence[Any] | None) -> Any:
        """An operation that does nothing.

        Args:
            restored_tensors: ignored.
            restored_shapes: ignored.
        """
        return no_op()


class PythonStateSaveable(SaveableObject, abc.ABC):
    """A value of Python, asked for whenever a checkpoint is written."""

    @abc.abstractmethod
    def feed_dict_additions(self) -> dict[Any, Any]:
        """What is to be fed when a checkpoint is written."""

    @abc.abstractmethod
    def freeze(self) -> SaveableObject:
        """The same with the value that it has now."""


class PythonStringStateSaveable(PythonStateSaveable):
    """A text of Python.

    Args:
        name: the name to save it under.
        state_callback: gives the text, whenever a checkpoint is written.
        restore_callback: takes the text of a checkpoint; None: nothing is done with it, nor missed.
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
        """Whether a checkpoint may be without it: where nothing is done with what is read."""
        return self._restore_callback is None

    def feed_dict_additions(self) -> dict[Any, Any]:
        """The text that is to be written."""
        return {self._save_string: self._state_callback()}

    def freeze(self) -> SaveableObject:
        """The text that it is now."""
        return NoRestoreSaveable(
            tensor=lambda: constant(self._state_callback(), dtype=string),
            dtype=string,
            name=self.name,
            device="cpu:0",
        )

    def python_restore(self, restored_strings: Sequence[Any]) -> None:
        """Gives the program a text that was read.

        Args:
            restored_strings: the text alone.
        """
        if self._restore_callback is not None:
            (text,) = restored_strings
            self._restore_callback(text)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Sequence[Any] | None) -> Any:
        """An operation that does nothing: the graph has nothing of it.

        Args:
            restored_tensors: ignored.
            restored_shapes: ignored.
        """
        return no_op()


class PythonState(Trackable, abc.ABC):
    """A base for values of Python that checkpoints of objects have: ``tf.train.experimental.PythonState``.

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
        """The value as a text."""

    @abc.abstractmethod
    def deserialize(self, string_value: Any) -> None:
        """Takes the value of a checkpoint, when that is restored.

        Args:
            string_value: the text, as bytes.
        """

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {
            "py_state": functools.partial(
                PythonStringStateSaveable,
                state_callback=self.serialize,
                restore_callback=self.deserialize,
            )
        }
