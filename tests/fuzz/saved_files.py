"""Damaged checkpoints and meta graphs: an error of TensorFlow's classes, or an answer, soon.

    python -m tests.fuzz.saved_files checkpoints --executions 100000 [--processes 2] [--seed 0] [--save FOLDER]
    python -m tests.fuzz.saved_files meta_graphs --seed 0 --case 4711      # one case again, with its traceback

`checkpoints` are files of both formats: bytes of them are damaged, or entries of their tables, with the right checksums
around them, so that what is wrong is not noticed before it is used. `meta_graphs` are damaged as bytes, or in their
graph, their collections or their saver. How a campaign runs is said in `graph_defs`.
"""

from __future__ import annotations

import functools
import shutil
import struct
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import gpuplace as tf
from gpuplace.dtypes import as_dtype, variant
from gpuplace.errors import OpError
from gpuplace.files.checkpoints.bundle import SavedTensor, write_bundle
from gpuplace.files.checkpoints.messages import BundleEntry, BundleHeader, SavedTensorSlices
from gpuplace.files.checkpoints.table import read_table, write_table
from gpuplace.files.checkpoints.tensor_slices import write_tensor_slices
from gpuplace.files.checkpoints.variants import EncodedVariant
from gpuplace.files.crc32c import crc32c, mask
from gpuplace.graphdef.messages import DecodeError, EncodeError, MetaGraphDef
from tests.fuzz.graph_defs import ANSWER, Inputs, _folder, command_line, run
from tests.fuzz.mutations import damaged_bytes, mutant

_NUMBERS = (0, 1, 2, -1, 7, 100, 2**31, 2**32, 2**53, 2**60, 2**62, 2**63 - 1, -(2**63))


# Checkpoints


def _tensors(extents: bool = True) -> list[SavedTensor]:
    made = [
        SavedTensor("a", np.arange(6, dtype=np.float32).reshape(2, 3), as_dtype("float32")),
        SavedTensor("b/scalar", np.array(7, np.int64), as_dtype("int64")),
        SavedTensor("c/texts", np.array([b"one", b"", b"three" * 9], object), as_dtype("string")),
        SavedTensor("d/empty", np.zeros((0, 4), np.float64), as_dtype("float64")),
    ]
    if extents:
        rows = np.arange(12, dtype=np.int32).reshape(4, 3)
        for start in (0, 2):
            place = ((start, 2), (0, -1))
            made.append(SavedTensor("p", rows[start : start + 2], as_dtype("int32"), (4, 3), place))
    return made


@functools.cache
def checkpoints() -> tuple[dict[str, bytes], ...]:
    """The files of some checkpoints, by the ends of their names."""
    folder = _folder() / "seeds"
    folder.mkdir(exist_ok=True)
    values = np.array([EncodedVariant("a kind", b"12"), EncodedVariant("", b"")], object)
    half = SavedTensor("h", np.ones(5, as_dtype("bfloat16").numpy_dtype), as_dtype("bfloat16"))
    write_bundle(str(folder / "many"), [*_tensors(), half, SavedTensor("v", values, variant)])
    write_bundle(str(folder / "one"), _tensors(extents=False)[:1])
    write_tensor_slices(str(folder / "first"), _tensors())
    found = []
    for name in ("many", "one", "first"):
        paths = sorted(folder.glob(f"{name}*"))
        found.append({path.name.removeprefix(name): path.read_bytes() for path in paths})
    shutil.rmtree(folder)
    return tuple(found)


def _checkpoint_case(seed: int, number: int) -> tuple[Any, Random]:
    random = Random(f"checkpoints:{seed}:{number}")
    files = dict(random.choice(checkpoints()))
    table = ".index" if ".index" in files else ""
    for _ in range(random.choice((1, 1, 2, 3))):
        match random.randrange(8):
            case 0:
                ending = random.choice(sorted(files))
                files[ending] = damaged_bytes(files[ending], (files[ending] or b"\0",), random)
            case 1:
                files[table] = _with_a_block(files[table], random)
            case _:
                files[table] = _with_other_entries(files[table], random)
    if random.random() < 0.03:
        del files[random.choice(sorted(files))]
    return files, random


def _with_other_entries(data: bytes, random: Random) -> bytes:
    """A table in which an entry is damaged, and its checksums are right."""
    try:
        entries = read_table(data, "")
    except OpError:
        return data
    if not entries:
        return data
    key = random.choice(sorted(entries))
    match random.randrange(8):
        case 0:
            entries[key] = damaged_bytes(entries[key] or b"\0", (entries[key] or b"\0",), random)
        case 1:
            del entries[key]
        case 2:
            entries[damaged_bytes(key or b"k", (b"\0a\xff",), random)] = entries[key]
        case 3:
            entries[key] = entries[random.choice(sorted(entries))]
        case _:
            entries[key] = _edited(key, entries[key], random)
    return write_table(entries)


def _edited(key: bytes, value: bytes, random: Random) -> bytes:
    """An entry with another number somewhere in its message."""
    kind: Any = random.choice(
        (BundleEntry, BundleEntry, SavedTensorSlices) if key else (BundleHeader, SavedTensorSlices)
    )
    try:
        message = kind.FromString(value)
        _edit_message(message, random)
        return bytes(message.SerializeToString())
    except (DecodeError, EncodeError):  # it is another message, or nested too deeply
        return value


def _edit_message(message: Any, random: Random) -> None:
    """Sets a number of a message, or of one within it, or adds one."""
    field = random.choice(message.DESCRIPTOR.fields)
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
    if field.message_type is not None:
        if not repeated:
            _edit_message(getattr(message, field.name), random)
        elif not field.message_type.GetOptions().map_entry:
            items = getattr(message, field.name)
            _edit_message(random.choice(items) if items and random.random() < 0.7 else items.add(), random)
        return
    number = random.choice(_NUMBERS)
    if field.cpp_type == field.CPPTYPE_STRING:
        value: Any = b"x" * random.choice((0, 1, 300)) if field.type == field.TYPE_BYTES else "x"
    elif field.cpp_type == field.CPPTYPE_BOOL:
        value = bool(number % 2)
    elif field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        value = float(number)
    elif field.cpp_type == field.CPPTYPE_ENUM:
        value = random.choice((0, 1, 2, 7, 9, 20, 21, 22, 23, 24, 26, 100, 107, 999))
    else:
        bits = 64 if field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64) else 32
        value = number % 2**bits
        if field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_INT32) and value >= 2 ** (bits - 1):
            value -= 2**bits
    if repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


def _with_a_block(data: bytes, random: Random) -> bytes:
    """A file whose first block is damaged or said to be compressed, with the right checksum."""
    block = random.choice((b"", b"\0\0\0\0", b"\xff" * 9, random.randbytes(40), data[:60]))
    content = damaged_bytes(block + struct.pack("<I", random.choice((0, 1, 2**31))), (data or b"\0",), random)
    content += bytes([random.choice((0, 1, 1, 2))])
    stored = content + struct.pack("<I", mask(crc32c(content)))
    handle = bytes([0, len(content) - 1]) if len(content) < 128 else bytes([0, 100])
    at = random.choice((0, 1))
    footer = (handle * 2 if at else bytes([0, 8]) + handle).ljust(40, b"\0") + data[-8:]
    return stored + footer


def _attempt_checkpoint(source: dict[str, bytes], random: Random) -> tuple[str, ...]:
    folder = _folder() / "case"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    prefix = folder / "model"
    for ending, content in source.items():
        Path(f"{prefix}{ending}").write_bytes(content)
    ends = []
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        reader.debug_string()
        reader.get_variable_to_dtype_map()
        names = list(reader.get_variable_to_shape_map())
        if random.random() < 0.1:
            tf.train.list_variables(str(prefix))
    except OpError as error:
        return (f"open: {_class_of(error)}",)
    except ValueError as error:
        if type(error) is not ValueError or "Couldn't find" not in str(error):
            raise
        return ("open: ValueError",)
    for name in [*names[:20], "a", "none"]:
        try:
            reader.get_tensor(name)
            ends.append(f"tensor: {ANSWER}")
        except OpError as error:
            ends.append(f"tensor: {_class_of(error)}")
    return tuple(ends)


def _class_of(error: OpError) -> str:
    assert str(error)
    assert error.hint or not isinstance(error, tf.errors.DataLossError), error.message
    if "Out of memory" in error.message:
        raise MemoryError(str(error)) from error
    return type(error).__name__


# Meta graphs


@functools.cache
def meta_graphs() -> tuple[bytes, ...]:
    """Meta graphs with collections of all kinds."""
    return tuple(_meta_graph(use_resource).SerializeToString() for use_resource in (False, True))


@functools.cache
def meta_graph_defs() -> tuple[bytes, ...]:
    """The graphs of the meta graphs."""
    return tuple(MetaGraphDef.FromString(data).graph_def.SerializeToString() for data in meta_graphs())


def _meta_graph(use_resource: bool) -> Any:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", [3, 2], use_resource=use_resource, partitioner=None)
        tf.get_variable("p", [4, 2], partitioner=tf.fixed_size_partitioner(2), use_resource=use_resource)
        tf.train.get_or_create_global_step()
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(x, w), lambda: tf.zeros([1, 2]))
        loop = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z + y), [0, y])
        queue = tf.FIFOQueue(3, [tf.float32])
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1.0)]))
        tf.add_to_collection("numbers", 3)
        tf.add_to_collection("nodes", y)
        tf.add_to_collection("texts", "x:0")
        tf.summary.scalar("loss", tf.reduce_sum(loop[1]))
        saver = tf.train.Saver()
        return tf.train.export_meta_graph(graph=graph, saver_def=saver.as_saver_def())


def _meta_graph_case(seed: int, number: int) -> tuple[Any, Random]:
    random = Random(f"meta_graphs:{seed}:{number}")
    data = random.choice(meta_graphs())
    if random.random() < 0.3:
        return damaged_bytes(data, meta_graphs(), random), random
    message = MetaGraphDef.FromString(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        _edit_meta_graph(message, random)
    try:
        return message.SerializeToString(), random
    except EncodeError:
        return data, random


def _edit_meta_graph(message: Any, random: Random) -> None:
    match random.randrange(6):
        case 0:
            graph = mutant(meta_graph_defs(), random)
            try:
                data = graph if isinstance(graph, bytes) else graph.SerializeToString()
                message.graph_def.MergeFromString(data) if random.random() < 0.1 else (
                    message.graph_def.ParseFromString(data)
                )
            except (DecodeError, EncodeError, RecursionError):  # no graph any more
                message.graph_def.Clear()
        case 1:
            _edit_message(message.saver_def, random)
            if random.random() < 0.3:
                message.saver_def.restore_op_name = random.choice(("", "x", "save/restore_all:0", "w/read"))
        case 2:
            _edit_message(message.meta_info_def, random)
        case _:
            key = random.choice(sorted(message.collection_def)) if message.collection_def else "x"
            _edit_collection(message.collection_def[key], message, random)


def _edit_collection(collection: Any, message: Any, random: Random) -> None:
    values = collection.bytes_list.value
    match random.randrange(6):
        case 0 if values:
            at = random.randrange(len(values))
            values[at] = damaged_bytes(values[at] or b"\0", [value or b"\0" for value in values], random)
        case 1 if values:
            del values[random.randrange(len(values)) :]
        case 2:
            collection.CopyFrom(message.collection_def[random.choice(sorted(message.collection_def))])
        case 3:
            collection.node_list.value.append(random.choice(("x:0", "w", "none", "", "x:9", "^x", "é")))
        case 4:
            collection.int64_list.value.append(random.choice(_NUMBERS[:-2]))
        case _:
            collection.bytes_list.value.append(random.choice((b"", b"\xff", b"\n\x01x", b"\n\x03w:0")))


def _attempt_meta_graph(source: bytes, random: Random) -> tuple[str, ...]:
    path = _folder() / "graph.meta"
    path.write_bytes(source)
    tf.logging.set_verbosity(tf.logging.FATAL)
    with tf.Graph().as_default():
        try:
            scope = random.choice((None, None, "outer"))
            saver = tf.train.import_meta_graph(
                str(path), clear_devices=random.random() < 0.2, import_scope=scope
            )
            tf.train.export_meta_graph()
        except OpError as error:
            return (f"import: {_class_of(error)}",)
        except (OSError, ValueError) as error:
            if type(error) not in (OSError, ValueError):
                raise
            return (f"import: {type(error).__name__}",)
    return (f"import: {ANSWER}{'' if saver else ', no saver'}",)


INPUTS = {
    "checkpoints": Inputs(_checkpoint_case, _attempt_checkpoint),
    "meta_graphs": Inputs(_meta_graph_case, _attempt_meta_graph),
}


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the number of findings."""
    parser = command_line("tests.fuzz.saved_files", str(__doc__))
    parser.add_argument("inputs", choices=sorted(INPUTS))
    arguments = parser.parse_args(argv)
    return run(arguments, INPUTS[arguments.inputs])


if __name__ == "__main__":
    sys.exit(main())
