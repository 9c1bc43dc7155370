"""The result of ``tf.train.Checkpoint.restore``: checks of the match, and the restore operations.

Source: tensorflow/python/training/tracking/util.py, release 1.15.
"""

from __future__ import annotations

import abc
from typing import Any

from gpuplace import tf_logging
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.stacks import get_default_session
from gpuplace.ops.tracking.data_structures import TrackableDataStructure
from gpuplace.runtime.session.session import Session
from gpuplace.saving.saver import Saver
from gpuplace.tf1.saving.tracking.graph_view import ObjectGraphView
from gpuplace.tf1.saving.tracking.identity import ObjectIdentitySet
from gpuplace.tf1.saving.tracking.restoring import (
    CheckpointRestoreCoordinator,
    NameBasedRestoreCoordinator,
    object_names,
)

__all__ = [
    "CheckpointLoadStatus",
    "InitializationOnlyStatus",
    "NameBasedSaverStatus",
    "get_session",
    "streaming_restore",
]


def get_session(session: Any = None) -> Any:
    """Return the given session, or the default one, or a session that is kept for the graph.

    Args:
        session: a session or None.
    """
    session = get_default_session() if session is None else session
    if session is not None:
        return session
    graph = get_default_graph()
    own: Session | None = graph.attached.get("session of restores")
    if own is None:
        own = graph.attached["session of restores"] = Session(graph=graph)
    return own


class _LoadStatus(abc.ABC):
    """The status of a restore."""

    _graph_view: ObjectGraphView

    @abc.abstractmethod
    def assert_consumed(self) -> Any:
        """Check that the whole checkpoint is restored into all of the program's objects; return the status."""

    @abc.abstractmethod
    def assert_existing_objects_matched(self) -> Any:
        """Check that all of the program's objects have a value in the checkpoint; return the status."""

    @abc.abstractmethod
    def assert_nontrivial_match(self) -> Any:
        """Check that the checkpoint has more than the root object; return the status."""

    @abc.abstractmethod
    def run_restore_ops(self, session: Any = None) -> None:
        """Run the restore operations.

        Args:
            session: the session; None for the default session, or one created for the graph.
        """

    @abc.abstractmethod
    def initialize_or_restore(self, session: Any = None) -> None:
        """Run the restore operations, and the initializers of values that are not in the checkpoint.

        Args:
            session: the session; None for the default session, or one created for the graph.
        """

    def expect_partial(self) -> Any:
        """Suppress warnings about unused values; return the status."""
        return self

    def _initializers(self, restored: ObjectIdentitySet, restore_uid: int) -> list[Any]:
        """Return the initializers of objects that get no value from this restore or a later one."""
        return [
            one.initializer
            for one in self._graph_view.list_objects()
            if getattr(one, "initializer", None) is not None
            and one not in restored
            and getattr(one, "_update_uid", restore_uid - 1) < restore_uid
        ]


class CheckpointLoadStatus(_LoadStatus):
    """The status of restoring an object-based checkpoint.

    Args:
        checkpoint: the restore.
        feed_dict: the feeds for running it.
        graph_view: the program's objects.
    """

    def __init__(
        self, checkpoint: CheckpointRestoreCoordinator, feed_dict: dict[Any, Any], graph_view: ObjectGraphView
    ) -> None:
        self._checkpoint = checkpoint
        self._feed_dict = feed_dict
        self._graph_view = graph_view
        self._root = graph_view.root

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Check that the whole checkpoint is restored into all of the program's objects.

        Returns:
            The status.

        Raises:
            AssertionError: an object or value has no match.
        """
        checkpoint = self._checkpoint
        self.assert_existing_objects_matched()
        names = object_names(checkpoint.object_graph_proto)
        for number, node in enumerate(checkpoint.object_graph_proto.nodes):
            if checkpoint.object_by_proto_id.get(number) is None:
                raise AssertionError(f"Unresolved object in checkpoint {names[number]}: {node}")
        if checkpoint.slot_restorations:
            raise AssertionError(f"Unresolved slot restorations: {checkpoint.slot_restorations}")
        if checkpoint.unused_attributes:
            lines = [
                f"{names[number]} ({checkpoint.object_by_proto_id[number]}): {attributes}"
                for number, attributes in checkpoint.unused_attributes.items()
            ]
            raise AssertionError(
                "Unused attributes in these objects (the attributes exist in the checkpoint but were not restored):\n"
                + "\n".join(lines)
            )
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Check that all of the program's objects have a value in the checkpoint.

        Returns:
            The status.

        Raises:
            AssertionError: an object has no value.
        """
        checkpoint = self._checkpoint
        for number, node in enumerate(checkpoint.object_graph_proto.nodes):
            obj = checkpoint.object_by_proto_id.get(number)
            if obj is not None and obj._update_uid < checkpoint.restore_uid:
                raise AssertionError(f"Object not assigned a value from checkpoint: {node}")
        for one in self._graph_view.list_objects():
            if not isinstance(one, TrackableDataStructure) or one._checkpoint_dependencies:
                checkpoint.all_python_objects.add(one)
        unmatched = self._unmatched()
        if unmatched:
            raise AssertionError(
                "Some Python objects were not bound to checkpointed values, likely due to changes in the Python "
                f"program: {unmatched}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Check that the checkpoint has more than the root object.

        Returns:
            The status.

        Raises:
            AssertionError: only the root matches.
        """
        checkpoint = self._checkpoint
        for one in self._graph_view.list_objects():
            checkpoint.all_python_objects.add(one)
        if len(checkpoint.object_by_proto_id) <= 1:
            unmatched = self._unmatched()
            if unmatched:
                raise AssertionError(
                    "Nothing except the root object matched a checkpointed value. Typically this means that the "
                    "checkpoint does not match the Python program. The following objects have no matching checkpointed "
                    f"value: {unmatched}"
                )
            raise AssertionError(
                f"Nothing to load. No dependencies have been added to {self._graph_view.root} yet."
            )
        return self

    def _matched(self) -> ObjectIdentitySet:
        return ObjectIdentitySet(self._checkpoint.object_by_proto_id.values())

    def _unmatched(self) -> list[Any]:
        matched = self._matched()
        return [obj for obj in self._checkpoint.all_python_objects if obj not in matched]

    def run_restore_ops(self, session: Any = None) -> None:
        """Run the restore operations of all objects that exist so far.

        Args:
            session: the session; None for the default session, or one created for the graph.

        """
        get_session(session).run(self._checkpoint.restore_ops, feed_dict=self._feed_dict)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Run the restore operations, then the initializers of values that are not in the checkpoint.

        Args:
            session: the session; None for the default session, or one created for the graph.

        """
        session = get_session(session)
        initializers = self._initializers(self._matched(), self._checkpoint.restore_uid)
        self.run_restore_ops(session=session)
        session.run(initializers)

    def expect_partial(self) -> CheckpointLoadStatus:
        """Suppress warnings about unused values; return the status."""
        self._checkpoint.expect_partial = True
        return self


class InitializationOnlyStatus(_LoadStatus):
    """The status without a checkpoint: objects can be initialized.

    Args:
        graph_view: the program's objects.
        restore_uid: the number of the restore.
    """

    def __init__(self, graph_view: ObjectGraphView, restore_uid: int) -> None:
        self._graph_view = graph_view
        self._restore_uid = restore_uid
        self._root = graph_view.root

    def _no_checkpoint(self) -> Any:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    def assert_consumed(self) -> Any:
        """Raise an error, because there is no checkpoint.

        Raises:
            AssertionError: always.
        """
        return self._no_checkpoint()

    def assert_existing_objects_matched(self) -> Any:
        """Raise an error, because there is no checkpoint.

        Raises:
            AssertionError: always.
        """
        return self._no_checkpoint()

    def assert_nontrivial_match(self) -> Any:
        """Raise an error, because there is no checkpoint.

        Raises:
            AssertionError: always.
        """
        return self._no_checkpoint()

    def run_restore_ops(self, session: Any = None) -> None:
        """Raise an error, because there is no checkpoint.

        Args:
            session: ignored.

        Raises:
            AssertionError: always.
        """
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore)."
        )

    def initialize_or_restore(self, session: Any = None) -> None:
        """Run the initializers of objects that get no value from a later restore.

        Args:
            session: the session; None for the default session, or one created for the graph.

        """
        get_session(session).run(self._initializers(ObjectIdentitySet(), self._restore_uid))


class NameBasedSaverStatus(_LoadStatus):
    """The status of restoring a checkpoint of ``tf.train.Saver``.

    Args:
        checkpoint: the restore.
        graph_view: the program's objects.
    """

    def __init__(self, checkpoint: NameBasedRestoreCoordinator, graph_view: ObjectGraphView) -> None:
        tf_logging.warning(
            "Restoring a name-based tf.train.Saver checkpoint using the object-based restore API. This mode uses "
            "global names to match variables, and so is somewhat fragile. It also adds new restore ops to the graph "
            "each time it is called when graph building. Prefer re-encoding training checkpoints in the object-based "
            "format: run save() on the object-based saver (the same one this message is coming from) and use that "
            "checkpoint in the future."
        )
        self._checkpoint = checkpoint
        self._graph_view = graph_view
        self._root = graph_view.root

    def assert_consumed(self) -> NameBasedSaverStatus:
        """Check that all of the program's objects were restored.

        Returns:
            The status.

        Raises:
            AssertionError: an object was not restored.
        """
        unused = list(self._checkpoint.unused_attributes.items())
        if unused:
            lines = "".join(f"\n    {one}: {attributes}" for one, attributes in unused)
            raise AssertionError(f"Some objects had attributes which were not restored:{lines}")
        for one in self._graph_view.list_objects():
            if one._update_uid < self._checkpoint.restore_uid:
                raise AssertionError(f"Object not restored: {one}")
        return self

    def assert_existing_objects_matched(self) -> NameBasedSaverStatus:
        """Check the same as ``assert_consumed``.

        Raises:
            AssertionError: an object was not restored.
        """
        return self.assert_consumed()

    def assert_nontrivial_match(self) -> NameBasedSaverStatus:
        """Check the same as ``assert_consumed``.

        Raises:
            AssertionError: an object was not restored.
        """
        return self.assert_consumed()

    def run_restore_ops(self, session: Any = None) -> None:
        """Restore the objects from the values under their variables' names.

        Args:
            session: the session; None for the default session, or one created for the graph.

        Raises:
            NotFoundError: the checkpoint has no value of that name.
        """
        session = get_session(session)
        saveables: list[Any] = []
        with get_default_graph().device("/cpu:0"):
            for one in self._graph_view.list_objects():
                if one._update_uid < self._checkpoint.restore_uid:
                    one._update_uid = self._checkpoint.restore_uid
                    saveables += self._checkpoint.globally_named_object_attributes(one)
            Saver(saveables).restore(sess=session, save_path=self._checkpoint.save_path)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Equivalent of ``run_restore_ops``.

        Args:
            session: the session; None for the default session, or one created for the graph.
        """
        self.run_restore_ops(session=session)


def streaming_restore(status: _LoadStatus, session: Any = None) -> None:
    """Run the existing restore operations now, and later ones when they are created.

    Args:
        status: the result of a restore.
        session: the session; None for the default session, or one created for the graph.

    Raises:
        NotImplementedError: the checkpoint is from ``tf.train.Saver``.
    """
    session = get_session(session)
    if isinstance(status, NameBasedSaverStatus):
        raise NotImplementedError(
            "Streaming restore not supported from name-based checkpoints when graph building. File a feature request "
            "if this limitation bothers you. As a workaround, consider either using tf.train.Checkpoint to load "
            "name-based checkpoints or enabling eager execution."
        )
    status.run_restore_ops(session=session)
    if isinstance(status, CheckpointLoadStatus):
        feeds = status._feed_dict
        status._checkpoint.new_restore_ops_callback = lambda new_ops: session.run(new_ops, feed_dict=feeds)
