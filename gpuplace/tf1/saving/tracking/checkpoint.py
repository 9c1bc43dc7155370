"""``tf.train.Checkpoint``: objects, saved and restored by their paths.

Source: tensorflow/python/training/tracking/util.py, release 1.15.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

from gpuplace.dtypes import int64, string
from gpuplace.files.checkpoints.reader import NewCheckpointReader
from gpuplace.files.file_system import text_of
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.graphdef.messages import TrackableObjectGraph
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.tracking.base import (
    OBJECT_GRAPH_PROTO_KEY,
    CheckpointPosition,
    Trackable,
    uid,
)
from gpuplace.ops.tracking.tracking import AutoTrackable
from gpuplace.ops.tracking.variables import add_variable
from gpuplace.saving.checkpoint_state import write_checkpoint_state
from gpuplace.saving.saveables import SaveableObject
from gpuplace.tf1.saving.tracking.device_saver import MultiDeviceSaver
from gpuplace.tf1.saving.tracking.graph_view import ObjectGraphView
from gpuplace.tf1.saving.tracking.identity import ObjectIdentityWeakKeyDictionary
from gpuplace.tf1.saving.tracking.restoring import CheckpointRestoreCoordinator, NameBasedRestoreCoordinator
from gpuplace.tf1.saving.tracking.state import NoRestoreSaveable
from gpuplace.tf1.saving.tracking.status import (
    CheckpointLoadStatus,
    InitializationOnlyStatus,
    NameBasedSaverStatus,
    get_session,
)

__all__ = [
    "Checkpoint",
    "TrackableSaver",
    "frozen_saver",
    "gather_initializers",
    "list_objects",
    "object_metadata",
    "saver_with_op_caching",
]


def object_metadata(save_path: str) -> Any:
    """Return the object graph of a checkpoint.

    Args:
        save_path: the checkpoint.

    Returns:
        A ``TrackableObjectGraph``.

    Raises:
        ValueError: the checkpoint is not object-based.
        NotFoundError: there is no such checkpoint.
    """
    reader = NewCheckpointReader(save_path)
    if not reader.has_tensor(OBJECT_GRAPH_PROTO_KEY):
        raise ValueError(
            f'The specified checkpoint "{save_path}" does not appear to be object-based (it is missing the key '
            f'"{OBJECT_GRAPH_PROTO_KEY}"). Likely it was created with a name-based saver and does not contain an '
            "object dependency graph."
        )
    return TrackableObjectGraph.FromString(reader.get_tensor(OBJECT_GRAPH_PROTO_KEY))


def list_objects(root_trackable: Any) -> list[Any]:
    """Return an object and its dependencies, each once, in breadth-first order; slots come last.

    Args:
        root_trackable: the object.
    """
    return ObjectGraphView(root_trackable).list_objects()


def gather_initializers(root_trackable: Any) -> list[Any]:
    """Return the initializers of an object and its dependencies.

    Args:
        root_trackable: the object.
    """
    initializers = [getattr(one, "initializer", None) for one in list_objects(root_trackable)]
    return [initializer for initializer in initializers if initializer is not None]


def frozen_saver(root_trackable: Any) -> MultiDeviceSaver:
    """Return a saver for an object and its current dependencies.

    Args:
        root_trackable: the object.
    """
    return MultiDeviceSaver(ObjectGraphView(root_trackable).frozen_saveable_objects())


def saver_with_op_caching(obj: Any) -> TrackableSaver:
    """Return a saver that does not keep an object alive, and that creates operations only once.

    Args:
        obj: the object.
    """
    return TrackableSaver(ObjectGraphView(weakref.ref(obj), ObjectIdentityWeakKeyDictionary()))


class TrackableSaver:
    """Saver of an object with its dependencies.

    Args:
        graph_view: the objects.
    """

    def __init__(self, graph_view: ObjectGraphView) -> None:
        self._graph_view = graph_view
        self._saved_prefix: Tensor | None = None
        self._saved_graph: Tensor | None = None
        self._restored_prefix: Tensor | None = None
        self._last_save_object_graph: Any = None
        self._cached_save_operation: Tensor | None = None
        self._restore_op_cache: dict[str, Any] = {}

    def save(self, file_prefix: str, checkpoint_number: Any = None, session: Any = None) -> str:
        """Write a checkpoint.

        Args:
            file_prefix: prefix of the file names; missing folders are created.
            checkpoint_number: a number to append to the names; None or 0 for none.
            session: the session with the variables' values; None for the default session, or one created for
                the graph.

        Returns:
            The path of the checkpoint.

        Raises:
            NotImplementedError: an object cannot be saved.
            ValueError: an object has changed so that it could not be restored.
        """
        file_prefix = text_of(file_prefix)
        if checkpoint_number:
            file_prefix = f"{file_prefix}-{int(checkpoint_number)}"
        if self._saved_graph is None:
            with get_default_graph().device("/cpu:0"):
                self._saved_graph = constant("", dtype=string)
                self._saved_prefix = constant("", dtype=string)
        saveables, graph, feeds = self._graph_view.serialize_object_graph()
        if self._cached_save_operation is None or self._last_save_object_graph != graph:
            self._cached_save_operation = self._save_operation(saveables)
            self._last_save_object_graph = graph
        if os.path.dirname(file_prefix):
            os.makedirs(os.path.dirname(file_prefix), exist_ok=True)
        fed = {**(feeds or {}), self._saved_graph: graph.SerializeToString(), self._saved_prefix: file_prefix}
        path: bytes = get_session(session).run(self._cached_save_operation, feed_dict=fed)
        return text_of(path)

    def _save_operation(self, saveables: list[SaveableObject]) -> Tensor:
        assert self._saved_graph is not None and self._saved_prefix is not None
        graph = NoRestoreSaveable(tensor=self._saved_graph, name=OBJECT_GRAPH_PROTO_KEY)
        written = MultiDeviceSaver([*saveables, graph]).save(self._saved_prefix)
        with get_default_graph().device("/cpu:0"), get_default_graph().control_dependencies([written]):
            return identity(self._saved_prefix)

    def restore(self, save_path: str | None) -> Any:
        """Prepare the restore of a checkpoint and return its status, which has the operations.

        Args:
            save_path: the checkpoint, or None.

        Returns:
            A ``CheckpointLoadStatus``; an ``InitializationOnlyStatus`` without a checkpoint; a
            ``NameBasedSaverStatus`` for a checkpoint of ``tf.train.Saver``.

        Raises:
            NotFoundError: there is no such checkpoint.
            DataLossError: the checkpoint is damaged.
        """
        if save_path is None:
            return InitializationOnlyStatus(self._graph_view, uid())
        save_path = text_of(save_path)
        if not NewCheckpointReader(save_path).has_tensor(OBJECT_GRAPH_PROTO_KEY):
            return NameBasedSaverStatus(NameBasedRestoreCoordinator(save_path), self._graph_view)
        if self._restored_prefix is None:
            with get_default_graph().device("/cpu:0"):
                self._restored_prefix = constant("model")
        checkpoint = CheckpointRestoreCoordinator(
            object_graph_proto=object_metadata(save_path),
            save_path=save_path,
            save_path_tensor=self._restored_prefix,
            restore_op_cache=self._restore_op_cache,
            graph_view=self._graph_view,
        )
        CheckpointPosition(checkpoint, 0).restore(self._graph_view.root)
        return CheckpointLoadStatus(
            checkpoint, feed_dict={self._restored_prefix: save_path}, graph_view=self._graph_view
        )


class Checkpoint(AutoTrackable):
    """Objects that are saved and restored together.

    Each object is identified by its name here, and its dependencies by their names in the object: neither
    variable names nor the order of creation matter.

    >>> import gpuplace as tf, os, tempfile
    >>> count = tf.Variable(3, name="count")
    >>> checkpoint = tf.train.Checkpoint(count=count)
    >>> with tf.Session() as session:
    ...     session.run(count.initializer)
    ...     path = checkpoint.save(os.path.join(tempfile.mkdtemp(), "model"))
    >>> with tf.Session() as session:
    ...     checkpoint.restore(path).assert_consumed().run_restore_ops()
    ...     os.path.basename(path), int(session.run(count))
    ('model-1', 3)

    Args:
        **kwargs: the objects by name: variables, optimizers, layers, modules, tables, other checkpoints, and
            instances of their subclasses.

    Raises:
        ValueError: an object cannot be in an object-based checkpoint.
    """

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            if not isinstance(value, Trackable):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from `TrackableBase`), got "
                    f"{value}. If you believe this object should be trackable (i.e. it is part of the TensorFlow "
                    "Python API and manages state), please open an issue."
                )
            setattr(self, name, value)
        self._save_counter: Any = None
        self._save_assign_op: Any = None
        self._saver = saver_with_op_caching(self)

    def _maybe_create_save_counter(self) -> None:
        if self._save_counter is None:
            with get_default_graph().device("/cpu:0"):
                counter = add_variable(self, name="save_counter", initializer=0, dtype=int64, trainable=False)
            self._save_counter = self._no_dependency(counter)

    @property
    def save_counter(self) -> Any:
        """Number of calls of ``save``, an int64 variable that is saved too."""
        self._maybe_create_save_counter()
        return self._save_counter

    def write(self, file_prefix: str, session: Any = None) -> str:
        """Write a checkpoint without a number, and without recording it as the latest one.

        Args:
            file_prefix: prefix of the file names; missing folders are created.
            session: the session with the variables' values; None for the default session, or one created for
                the graph.

        Returns:
            The path of the checkpoint.

        Raises:
            NotImplementedError: an object cannot be saved.
            ValueError: an object has changed so that it could not be restored.
        """
        return self._saver.save(file_prefix=file_prefix, session=session)

    def save(self, file_prefix: str, session: Any = None) -> str:
        """Write a checkpoint with the next number, and record it as the latest one.

        Args:
            file_prefix: prefix of the file names, ``"folder/name"``; missing folders are created.
            session: the session with the variables' values; None for the default session, or one created for
                the graph.

        Returns:
            The path of the checkpoint: ``"folder/name-1"`` and so on.

        Raises:
            NotImplementedError: an object cannot be saved.
            ValueError: an object has changed so that it could not be restored.
        """
        session = get_session(session)
        file_prefix = text_of(file_prefix)
        if self._save_counter is None:
            session.run(self.save_counter.initializer)
        if self._save_assign_op is None:
            with get_default_graph().colocate_with(self.save_counter.op):
                counted = self.save_counter.assign_add(1, read_value=True)
            self._save_assign_op = self._no_dependency(counted)
        number = session.run(self._save_assign_op)
        path = self.write(f"{file_prefix}-{number}", session=session)
        write_checkpoint_state(os.path.dirname(file_prefix), path, [path], save_relative_paths=True)
        return path

    def restore(self, save_path: str | None) -> Any:
        """Restore existing objects now, and others when they are added.

        Values change only when the returned status runs the operations, by ``run_restore_ops`` or
        ``initialize_or_restore``. The status also checks whether all parts of the checkpoint and the program
        matched: ``assert_consumed``, ``assert_existing_objects_matched``, ``assert_nontrivial_match``.

        Args:
            save_path: the checkpoint, as ``tf.train.latest_checkpoint`` returns it, or None. In a checkpoint
                of ``tf.train.Saver``, variables are found by their names.

        Returns:
            The status of the restore.

        Raises:
            NotFoundError: there is no such checkpoint.
            DataLossError: the checkpoint is damaged.
        """
        status = self._saver.restore(save_path=save_path)
        self._maybe_create_save_counter()
        return status
