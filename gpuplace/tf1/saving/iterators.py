"""Iterators in checkpoints: their positions are saved and restored.

>>> import gpuplace as tf
>>> iterator = tf.data.Dataset.range(5).make_initializable_iterator()
>>> saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])

Source: tensorflow/python/data/experimental/ops/iterator_ops.py, release 1.15 (names, operations).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.saving.saveables import SaveableObject, SaveSpec

__all__ = ["make_saveable_from_iterator"]


class IteratorSaveable(SaveableObject):
    """A saveable object for the position of an iterator.

    Args:
        iterator_resource: the resource tensor of the iterator.
        name: its name.
        state_name: the name to save it under; None for that of an object-based checkpoint.
    """

    def __init__(self, iterator_resource: Tensor, name: str, state_name: str | None = None) -> None:
        state = apply_op("SerializeIterator", resource_handle=iterator_resource).outputs[0]
        super().__init__(iterator_resource, [SaveSpec(state, "", state_name or f"{name}_STATE")], name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """Return an operation that restores the position of an iterator, which must be initialized.

        Args:
            restored_tensors: the saved values.
            restored_shapes: ignored.
        """
        with get_default_graph().colocate_with(self.op):
            return apply_op("DeserializeIterator", resource_handle=self.op, serialized=restored_tensors[0])


def make_saveable_from_iterator(iterator: Any) -> SaveableObject:
    """Return an object with which a ``tf.train.Saver`` saves and restores the position of an iterator.

    The position is restored by repeating the consumed elements, so their order must be the same in every run.

    Args:
        iterator: a ``tf.data.Iterator``.

    Returns:
        A saveable object, for ``var_list`` or for the collection ``tf.GraphKeys.SAVEABLE_OBJECTS``.
    """
    resource = iterator._iterator_resource
    return IteratorSaveable(resource, resource.name, f"{resource.name}-state")
