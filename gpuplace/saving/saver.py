"""``tf.train.Saver``: write variables to checkpoints and read them back.

Source: tensorflow/python/training/saver.py, release 1.15.
"""

from __future__ import annotations

import math
import numbers
import os
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.callers import OwnFramesHidden
from gpuplace.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OpError
from gpuplace.files.checkpoints.reader import CheckpointReader
from gpuplace.files.file_system import text_of
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graphdef.messages import SaverDef, TrackableObjectGraph
from gpuplace.ops.train.global_step import global_step as current_step
from gpuplace.ops.variables.initialization import saveable_objects
from gpuplace.runtime.session.base_session import BaseSession
from gpuplace.saving import protos as _registered  # noqa: F401 - says how collections are written
from gpuplace.saving.builder import BulkSaverBuilder
from gpuplace.saving.checkpoint_state import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    meta_graph_filename,
    remove_checkpoint,
    write_checkpoint_state,
)
from gpuplace.saving.meta_graph import export_meta_graph, register_proto_functions
from gpuplace.saving.names import prepend_name_scope, strip_name_scope
from gpuplace.saving.saveables import SaveSpec, saveables_of

__all__ = ["Saver", "saver_or_default"]

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The tensor in an object-based checkpoint that maps variables to keys."""


class Saver:
    """Saves variables to checkpoints and restores them.

    >>> import gpuplace as tf, os, tempfile
    >>> count = tf.Variable(3, name="count")
    >>> saver = tf.train.Saver()
    >>> with tf.Session() as session:
    ...     session.run(count.initializer)
    ...     path = saver.save(session, os.path.join(tempfile.mkdtemp(), "model"), global_step=100)
    >>> with tf.Session() as session:
    ...     saver.restore(session, path)
    ...     os.path.basename(path), int(session.run(count))
    ('model-100', 3)

    Args:
        var_list: list of variables, or dict from name to variable; None: all variables of the graph.
        reshape: accept checkpoints with other shapes of the same number of elements.
        sharded: write separate files for each device.
        max_to_keep: number of checkpoints to keep; older ones are removed. None or 0: all.
        keep_checkpoint_every_n_hours: interval of checkpoints that are never removed, in hours.
        name: name of the operations' name scope; None: ``save``.
        restore_sequentially: ignored: a shard is always read in order.
        saver_def: a ``SaverDef`` whose operations are in the graph already; None: the operations are added.
        builder: a `BaseSaverBuilder` to add the operations; None: a ``BulkSaverBuilder``.
        defer_build: add the operations only when ``build()`` is called.
        allow_empty: allow a graph without variables.
        write_version: format to write, ``SaverDef.V2`` or ``SaverDef.V1``.
        pad_step_number: write steps with eight digits.
        save_relative_paths: write relative paths to the file that lists the last checkpoints.
        filename: name of a checkpoint if no name is fed.

    Raises:
        TypeError: an object in ``var_list`` cannot be saved.
        ValueError: there are no variables, a name occurs twice, or the ``saver_def`` names no operations.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = SaverDef.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and not _is_nothing(var_list):
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or"
                " var_list=None."
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._builder = builder
        self._is_built = False
        self._allow_empty = allow_empty
        self._is_empty: bool | None = None
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._filename = filename
        self._last_checkpoints: list[tuple[str, float]] = []
        self._to_be_deleted: list[tuple[str, float]] = []
        self._next_checkpoint_time = math.inf
        self._object_restore_saver: Saver | None = None
        self._save_relative_paths = save_relative_paths
        if not defer_build:
            self.build()
        if self.saver_def:
            self._check_saver_def()
            self._write_version = self.saver_def.version

    def build(self) -> None:
        """Add the operations to the default graph, unless they were added already.

        Raises:
            TypeError: an object cannot be saved.
            ValueError: there are no variables, or a name occurs twice.
        """
        if self._is_built:
            return
        self._is_built = True
        if not self.saver_def:
            if self._builder is None:
                self._builder = BulkSaverBuilder(self._write_version)
            if self._var_list is None:
                self._var_list = saveable_objects()
            self._is_empty = _is_nothing(self._var_list)
            if self._is_empty:
                if self._allow_empty:
                    return
                raise ValueError("No variables to save")
            self.saver_def = self._builder.build(
                self._var_list,
                reshape=self._reshape,
                sharded=self._sharded,
                max_to_keep=self._max_to_keep,
                keep_checkpoint_every_n_hours=self._keep_every_n_hours,
                name=self._name,
                restore_sequentially=self._restore_sequentially,
                filename=self._filename,
            )
        elif self._name:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(self.saver_def, field, prepend_name_scope(getattr(self.saver_def, field), self._name))
        self._check_saver_def()
        self._next_checkpoint_time = time.time() + self.saver_def.keep_checkpoint_every_n_hours * 3600

    def _check_saver_def(self) -> None:
        if not isinstance(self.saver_def, SaverDef):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    # The list of checkpoints

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of existing checkpoints, oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Set the list of checkpoints; deprecated.

        Args:
            last_checkpoints: list of paths, oldest first.
        """
        self.set_last_checkpoints_with_time([(path, math.inf) for path in last_checkpoints])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Set the list of checkpoints with the times when they were written.

        Args:
            last_checkpoints_with_time: list of (path, seconds since 1970), oldest first.

        Raises:
            AssertionError: the argument is not a list.
        """
        if not isinstance(last_checkpoints_with_time, list):
            raise AssertionError(f"Expected a list of checkpoints, not {last_checkpoints_with_time!r}")
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Adopt the checkpoints of an earlier run, so that old ones are removed as if it had continued.

        Args:
            checkpoint_paths: paths; missing ones are ignored.
        """
        found = []
        for path in checkpoint_paths:
            times = get_checkpoint_mtimes([path])
            if times:
                found.append((path, times[0]))
        self.set_last_checkpoints_with_time(found)

    def _record(self, path: str) -> None:
        """Record a new checkpoint, and which old one to remove."""
        if not self.saver_def.max_to_keep:
            return
        self._last_checkpoints = [known for known in self._last_checkpoints if known[0] != path]
        self._last_checkpoints.append((path, time.time()))
        if len(self._last_checkpoints) > self.saver_def.max_to_keep:
            self._to_be_deleted.append(self._last_checkpoints.pop(0))

    def _delete_old(self, meta_graph_suffix: str) -> None:
        if not self._to_be_deleted:
            return
        path, written = self._to_be_deleted.pop(0)
        if written > self._next_checkpoint_time:
            self._next_checkpoint_time += self.saver_def.keep_checkpoint_every_n_hours * 3600
            return
        try:
            remove_checkpoint(path, self.saver_def.version, meta_graph_suffix)
        except OpError as error:
            tf_logging.warning("Ignoring: %s", error)

    # As messages

    def as_saver_def(self) -> Any:
        """Return the ``SaverDef`` with the names of its operations."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the ``SaverDef``, with names relative to a scope.

        Args:
            export_scope: scope to remove from names, or None.

        Returns:
            The message; None if its operations are not in the scope.
        """
        if export_scope is None:
            return self.saver_def
        made = SaverDef()
        made.CopyFrom(self.saver_def)
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            name = getattr(made, field)
            if not name.startswith(export_scope):
                return None
            setattr(made, field, strip_name_scope(name, export_scope))
        return made

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """Return the saver for operations that are in the graph.

        Args:
            saver_def: a ``SaverDef``.
            import_scope: scope that contains them; None: the names are those in the message.
        """
        return Saver(saver_def=saver_def, name=import_scope)

    # Saving and restoring

    def save(
        self,
        sess: Any,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Write a checkpoint and its meta graph.

        Args:
            sess: session with the variables.
            save_path: prefix of the file names.
            global_step: number to append to the names, or a tensor or the name of one, or None.
            latest_filename: name of the file that lists the last checkpoints; None: ``checkpoint``.
            meta_graph_suffix: suffix of the meta graph's file.
            write_meta_graph: write the meta graph.
            write_state: write the file that lists the last checkpoints, and remove old ones.
            strip_default_attrs: omit attributes with default values from the meta graph.
            save_debug_info: ignored; stack traces are not written.

        Returns:
            The path to restore from; None if there are no variables.

        Raises:
            TypeError: ``sess`` is not a session.
            ValueError: ``latest_filename`` contains a folder, or equals ``save_path``; or the folder does not exist.
            RuntimeError: the operations were not added.
            FailedPreconditionError: a variable has no value.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest_filename = "checkpoint" if latest_filename is None else latest_filename
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        path = prefix = text_of(save_path)
        if global_step is not None:
            if not isinstance(global_step, numbers.Integral):
                global_step = current_step(sess, global_step)
            path = (
                f"{prefix}-{int(global_step):08d}"
                if self._pad_step_number
                else f"{prefix}-{int(global_step)}"
            )
        elif os.path.basename(prefix) == latest_filename and not self._sharded:
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{prefix}'"
            )
        if not isinstance(sess, BaseSession):
            raise TypeError(f"'sess' must be a Session; {sess}")
        saved = None if self._is_empty else self._save(sess, prefix, path, latest_filename, write_state)
        if saved is not None and write_state:
            self._delete_old(meta_graph_suffix)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(
                    meta_graph_filename(path, meta_graph_suffix),
                    strip_default_attrs=strip_default_attrs,
                    save_debug_info=save_debug_info,
                )
        return saved

    def _save(self, sess: Any, prefix: str, path: str, latest_filename: str, write_state: bool) -> str:
        """Write the values and the file that lists the last checkpoints; return the path to restore from."""
        folder = os.path.dirname(prefix)
        try:
            saved: str = sess.run(
                self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: path}
            ).decode(errors="surrogateescape")
            if write_state:
                self._record(saved)
                write_checkpoint_state(
                    folder, saved, self.last_checkpoints, latest_filename, self._save_relative_paths
                )
        except (FailedPreconditionError, NotFoundError):
            if not os.path.isdir(folder or "."):
                raise ValueError(f"Parent directory of {prefix} doesn't exist, can't save.") from None
            raise
        return saved

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Return the default graph with its collections and this saver, and optionally write it to a file.

        Args:
            filename: path of the file; None: do not write a file.
            collection_list: names of the collections; None: all.
            as_text: write protobuf's text format.
            export_scope: export only this scope, without its prefix in names; None: everything.
            clear_devices: remove device requests.
            clear_extraneous_savers: remove the operations of other savers.
            strip_default_attrs: omit attributes that have their default values.
            save_debug_info: ignored; stack traces are not written.

        Returns:
            A ``MetaGraphDef``.
        """
        return export_meta_graph(
            filename=filename,
            graph_def=get_default_graph().as_graph_def(add_shapes=True),
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )

    def restore(self, sess: Any, save_path: str | os.PathLike[str] | None) -> None:
        """Restore the variables of a session from a checkpoint.

        Args:
            sess: session; its variables may be uninitialized.
            save_path: result of ``save`` or ``latest_checkpoint``.

        Raises:
            ValueError: ``save_path`` is None, or there is no such checkpoint.
            NotFoundError: a variable is not in the checkpoint.
            InvalidArgumentError: a variable has another type or shape in the checkpoint.
            DataLossError, OutOfRangeError: the checkpoint is damaged or truncated.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = text_of(save_path)
        if not checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        tf_logging.info("Restoring parameters from %s", path)
        try:
            sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: path})
        except NotFoundError as error:
            keys = _keys_of_objects(path)
            if keys is None:
                with OwnFramesHidden(OpError):
                    raise _explained(error, "a Variable name or other graph key that is missing") from None
            self._restore_objects(sess, path, keys)
        except InvalidArgumentError as error:
            with OwnFramesHidden(OpError):
                raise _explained(error, "a mismatch between the current graph and the graph") from None

    def _restore_objects(self, sess: Any, path: str, keys: Mapping[str, str]) -> None:
        """Restore from an object-based checkpoint of TensorFlow 2, which has other names."""
        tf_logging.warning(
            "Restoring an object-based checkpoint using a name-based saver: the operations of another saver are added"
            " to the graph."
        )
        if self._object_restore_saver is None:
            with sess.graph.as_default():
                saveables = saveables_of(saveable_objects() if self._var_list is None else self._var_list)
                specs: list[SaveSpec] = [spec for saveable in saveables for spec in saveable.specs]
                names = {spec.name for spec in specs}
                if missing := names - keys.keys():
                    raise NotFoundError.of(
                        f"\n\nExisting variables not in the checkpoint: {', '.join(sorted(missing))}\n\nVariables names"
                        f" when this checkpoint was written which don't exist now: "
                        f"{', '.join(sorted(keys.keys() - names))}\n\n({len(names & keys.keys())} variable name(s) did"
                        " match)"
                    )
                for spec in specs:
                    spec.name = keys[spec.name]
                self._object_restore_saver = Saver(saveables)
        self._object_restore_saver.restore(sess, path)


def _is_nothing(var_list: Any) -> bool:
    """Return whether there is nothing to save; a single variable counts as something."""
    return var_list is None or (isinstance(var_list, Collection) and not len(var_list))


def _keys_of_objects(path: str) -> dict[str, str] | None:
    """Return variable name -> key of an object-based checkpoint of TensorFlow 2; None for another checkpoint."""
    reader = CheckpointReader(path)
    if not reader.has_tensor(_OBJECT_GRAPH):
        return None
    objects = TrackableObjectGraph.FromString(reader.get_tensor(_OBJECT_GRAPH))
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in objects.nodes
        for attribute in node.attributes
    }


def _explained(error: OpError, why: str) -> OpError:
    """Return a restore error with its most likely cause."""
    made = type(error)(
        error.node_def,
        error.op,
        f"Restoring from checkpoint failed. This is most likely due to {why} from the checkpoint. Please ensure that"
        f" you have not altered the graph expected based on the checkpoint. Original error:\n\n{error.message}",
        facts=error.facts,
        hint=error.hint,
    )  # type: ignore[call-arg]
    made.made_at = error.made_at
    return made


def saver_or_default() -> Saver:
    """Return the saver in the graph's collection, or a new sharded saver.

    Raises:
        RuntimeError: the collection contains several savers.
    """
    graph = get_default_graph()
    savers = graph.get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by passing it to"
            " the constructor."
        )
    if savers:
        found: Saver = savers[0]
        return found
    saver = Saver(sharded=True, allow_empty=True)
    graph.add_to_collection(GraphKeys.SAVERS, saver)
    return saver


register_proto_functions(GraphKeys.SAVERS, SaverDef, Saver.to_proto, Saver.from_proto)
