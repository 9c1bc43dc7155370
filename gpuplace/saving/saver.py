"""``tf.train.Saver``: variables written to checkpoints, and read from them.

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
"""The tensor by which a checkpoint of TensorFlow 2's objects says which variable is under which key."""


class Saver:
    """Saves variables to checkpoints, and gives them the values of one.

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
        var_list: a list of variables, or a dict of the names to save them under to variables; None: all of the graph.
        reshape: allow a checkpoint in which they have other shapes, with as many elements.
        sharded: files of its own for each device.
        max_to_keep: how many checkpoints stay, older ones are removed; None or 0: all.
        keep_checkpoint_every_n_hours: how often one stays for ever, in hours.
        name: of the name scope of the operations; None: ``save``.
        restore_sequentially: kept: what a shard holds is read in order anyway.
        saver_def: a ``SaverDef`` of operations that are in the graph already; None: they are added.
        builder: a `BaseSaverBuilder` that adds them; None: a ``BulkSaverBuilder``.
        defer_build: do not add them before ``build()`` is called.
        allow_empty: allow a graph without variables.
        write_version: ``SaverDef.V2`` or ``SaverDef.V1``, the format to write.
        pad_step_number: write steps with eight digits.
        save_relative_paths: write relative paths to the file that names the last checkpoints.
        filename: what a checkpoint is called where no name is fed.

    Raises:
        TypeError: something in ``var_list`` can not be saved.
        ValueError: there are no variables, a name is there twice, or the ``saver_def`` names no operations.
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
        """Adds the operations to the default graph, where that is still to be done.

        Raises:
            TypeError: something can not be saved.
            ValueError: there are no variables, or a name is there twice.
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

    # Which checkpoints there are

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of checkpoints that are still there, the oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Says which checkpoints there are; deprecated.

        Args:
            last_checkpoints: list of their paths, the oldest first.
        """
        self.set_last_checkpoints_with_time([(path, math.inf) for path in last_checkpoints])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Says which checkpoints there are, and when they were written.

        Args:
            last_checkpoints_with_time: list of paths and times, in seconds since 1970, the oldest first.

        Raises:
            AssertionError: it is no list.
        """
        if not isinstance(last_checkpoints_with_time, list):
            raise AssertionError(f"Expected a list of checkpoints, not {last_checkpoints_with_time!r}")
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Finds checkpoints of an earlier run again, so that old ones are removed as if it went on.

        Args:
            checkpoint_paths: the paths; those that do not exist are left out.
        """
        found = []
        for path in checkpoint_paths:
            times = get_checkpoint_mtimes([path])
            if times:
                found.append((path, times[0]))
        self.set_last_checkpoints_with_time(found)

    def _record(self, path: str) -> None:
        """Notes a new checkpoint, and which one is now too many."""
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
        """The ``SaverDef`` that names its operations."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The ``SaverDef``, with names outside of a scope.

        Args:
            export_scope: the scope to leave out; None: the names as they are.

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
        """The saver of operations that are in the graph.

        Args:
            saver_def: a ``SaverDef``.
            import_scope: the scope that they are in; None: they have the names that the message says.
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
        """Writes a checkpoint, and the meta graph beside it.

        Args:
            sess: the session whose variables are written.
            save_path: what the names of the files begin with.
            global_step: a number, or a tensor or its name, that the names have at the end; None: none.
            latest_filename: the file that names the last checkpoints; None: ``checkpoint``.
            meta_graph_suffix: the ending of the meta graph's file.
            write_meta_graph: write it.
            write_state: write the file that names the last checkpoints, and remove old ones.
            strip_default_attrs: leave attributes out of the meta graph that have their default values.
            save_debug_info: kept; where operations were made is not written.

        Returns:
            The path to restore from; None where there are no variables.

        Raises:
            TypeError: ``sess`` is no session.
            ValueError: ``latest_filename`` has a folder in it, or is ``save_path``; the folder does not exist.
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
        """Writes the values, and the file that names the last checkpoints; returns the path to restore from."""
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
        """The default graph and what belongs to it, with this saver, also written to a file.

        Args:
            filename: the file; None: none is written.
            collection_list: names of the collections; None: all.
            as_text: write protobuf's text format.
            export_scope: only what is in this scope, which its names then lack; None: everything.
            clear_devices: leave the devices out.
            clear_extraneous_savers: leave out what other savers added.
            strip_default_attrs: leave attributes out that have their default values.
            save_debug_info: kept; where operations were made is not written.

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
        """Gives the variables of a session the values of a checkpoint.

        Args:
            sess: the session. Its variables need no values before.
            save_path: what ``save`` or ``latest_checkpoint`` returned.

        Raises:
            ValueError: ``save_path`` is None, or there is no such checkpoint.
            NotFoundError: a variable is not in the checkpoint.
            InvalidArgumentError: one is of another type or shape there.
            DataLossError, OutOfRangeError: the checkpoint is damaged, or cut off.
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
        """Restores from a checkpoint of TensorFlow 2's objects, which has the variables under other names."""
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
    """Whether there is nothing to save; a single variable, which is no list, is something."""
    return var_list is None or (isinstance(var_list, Collection) and not len(var_list))


def _keys_of_objects(path: str) -> dict[str, str] | None:
    """Name of a variable -> its key in a checkpoint of TensorFlow 2's objects; None for another checkpoint."""
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
    """An error of a restore, with what it most likely comes from."""
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
    """The saver that a graph has collected; a new one, sharded, where there is none.

    Raises:
        RuntimeError: there are several.
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
