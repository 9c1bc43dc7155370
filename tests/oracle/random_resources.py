"""Random programs for each op of queues, barriers, accumulators, staging, tables, readers, lists, stacks, sessions.

A function takes a ``Draw``, whose ``op`` is the op that the program is about, and gives a program of raw ops as
`random_programs` does. Errors count: what an op refuses is tried now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from tests.oracle import random_programs
from tests.oracle.random_cases import Draw
from tests.oracle.random_programs import Program, _folder

KINDS = ("float32", "int64", "float64", "string", "int32", "bool", "float16", "complex64", "uint8", "int16")
REAL = ("float32", "float64")


def attempt(tf: Any, session: Any, fetched: Any) -> list[Any]:
    """What a step returns, flat, or the class of its error."""
    try:
        found = session.run(fetched)
    except tf.errors.OpError as error:
        return [type(error).__name__]
    return _flat(found)


def _flat(found: Any) -> list[Any]:
    if isinstance(found, (list, tuple)):
        return [part for one in found for part in _flat(one)]
    return [] if found is None else [found]


def _kind(d: Draw, kinds: tuple[str, ...] = KINDS) -> tuple[str, Any]:
    name = kinds[d.index % len(kinds)]
    return name, as_dtype(name).numpy_dtype


def _family(d: Draw, *kinds: str) -> str:
    """The kind that the op is, or one of them for ops that all share."""
    return d.op if d.op in kinds else kinds[d.index % len(kinds)]


# Queues and barriers


def queues(d: Draw) -> Program:
    """Elements put and taken; with time limits, so that nothing waits for ever."""
    which = _family(d, "FIFOQueueV2", "PaddingFIFOQueueV2", "RandomShuffleQueueV2", "PriorityQueueV2")
    name, dtype = _kind(d)
    shape, capacity = d.shape(0, 2, 3, 0), d.int(4, 9)
    sorted_only, wide = which == "RandomShuffleQueueV2", which == "PaddingFIFOQueueV2"
    steps: list[tuple[str, Any]] = []
    held = 0
    wanted = {
        "QueueDequeueManyV2": "many", "QueueDequeueUpToV2": "up_to", "QueueEnqueueV2": "put",
        "QueueEnqueueManyV2": "put_many", "QueueDequeueV2": "one",
    }.get(d.op)  # fmt: skip
    if which == "PriorityQueueV2" and wanted == "up_to":  # it has none
        which = "FIFOQueueV2"

    def put(what: str) -> None:
        nonlocal held
        number = 1 if what == "put" else d.int(0, 3)
        sizes = [size + d.int(0, 2) for size in shape] if wide else list(shape)
        if d.chance(14):
            sizes = [*sizes, 2]
        elif held + number <= capacity:
            held += number
        else:
            return
        rows = d.values(dtype, [number, *sizes])
        steps.append((what, (rows, d.rng.permutation(200)[:number].astype(np.int64))))

    for _ in range(d.int(3, 8)):
        what = wanted if wanted and d.chance(2) else d.pick("put", "put_many", "one", "many", "up_to", "size")
        if what in ("put", "put_many"):
            put(what)
        elif what == "size":
            steps.append((what, None))
        elif what == "up_to" and which == "PriorityQueueV2":
            continue
        else:
            number = 1 if what == "one" else d.int(0, max(held, 1))
            if held >= number:
                held -= number
                steps.append((what, number))
    last = d.values(dtype, [1, *shape])
    steps.append(("close", d.chance(2)))
    steps.append((wanted, (last, np.int64([1]))) if wanted in ("put", "put_many") else (wanted or "one", 1))
    steps += [("closed", None), ("size", None)]

    def program(tf: Any, session: Any) -> list[Any]:
        raw, types = tf.raw_ops, [getattr(tf, name)]
        common = {"capacity": capacity, "shared_name": f"{d.op}{d.index}"}
        if which == "RandomShuffleQueueV2":
            queue = raw.RandomShuffleQueueV2(component_types=types, shapes=[shape], seed=3, seed2=5, **common)
        elif which == "PriorityQueueV2":
            queue = raw.PriorityQueueV2(component_types=types, shapes=[shape], **common)
        elif wide:
            queue = raw.PaddingFIFOQueueV2(component_types=types, shapes=[[None] * len(shape)], **common)
        else:
            queue = raw.FIFOQueueV2(component_types=types, shapes=[shape], **common)
        given = [tf.int64, *types] if which == "PriorityQueueV2" else types
        made: list[Any] = []
        for what, value in steps:
            if what in ("put", "put_many"):
                rows, priorities = value
                one = what == "put"
                parts = [rows[0] if one else rows]
                if which == "PriorityQueueV2":
                    parts = [priorities[0] if one else priorities, *parts]
                op = raw.QueueEnqueueV2 if one else raw.QueueEnqueueManyV2
                try:
                    step = op(
                        handle=queue,
                        components=[tf.constant(part, kind) for part, kind in zip(parts, given, strict=True)],
                    )
                    made += attempt(tf, session, step)
                except ValueError:
                    made.append("ValueError")
            elif what == "size":
                made += attempt(tf, session, raw.QueueSizeV2(handle=queue))
            elif what == "closed":
                made += attempt(tf, session, raw.QueueIsClosedV2(handle=queue))
            elif what == "close":
                made += attempt(tf, session, raw.QueueCloseV2(handle=queue, cancel_pending_enqueues=value))
            elif what == "one":
                made += attempt(tf, session, raw.QueueDequeueV2(handle=queue, component_types=given))
            else:
                op = raw.QueueDequeueManyV2 if what == "many" else raw.QueueDequeueUpToV2
                made += attempt(tf, session, op(handle=queue, n=value, component_types=given))
        if (
            sorted_only
        ):  # which of them comes is the random numbers', and how these are drawn is nobody's promise
            return [str(np.asarray(one).dtype) + str(np.shape(one)) for one in made]
        return made

    return program


def barriers(d: Draw) -> Program:
    """Keys whose parts come one by one. Which of several that came in one step is first is nobody's promise."""
    name, dtype = _kind(d, ("float32", "int64", "string", "float64", "int32"))
    shapes = [d.shape(0, 2, 3, 0), d.shape(0, 1, 3, 0)]
    keys = [f"k{number}".encode() for number in range(d.int(2, 5))]
    steps = []
    left = [list(d.rng.permutation(keys)) for _ in shapes]
    for _ in range(d.int(2, 5)):
        part = d.int(0, 1) if left[0] and left[1] else int(not left[0])
        some, left[part] = left[part][: (number := d.int(1, 3))], left[part][number:]
        if not some:
            break
        steps.append((part, np.array(list(some), object), d.values(dtype, [len(some), *shapes[part]])))
    whole = [d.values(dtype, [1, *shape]) for shape in shapes]
    small, cancelled = d.chance(2), d.chance(2)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, kind = tf.raw_ops, getattr(tf, name)
        barrier = raw.Barrier(component_types=[kind, kind], shapes=shapes, shared_name=f"{d.op}{d.index}")
        made: list[Any] = []

        def sizes() -> int:
            (ready,) = attempt(tf, session, raw.BarrierReadySize(handle=barrier))
            made.extend([ready, *attempt(tf, session, raw.BarrierIncompleteSize(handle=barrier))])
            return int(ready)

        def take(number: int) -> None:
            taken = raw.BarrierTakeMany(
                handle=barrier, num_elements=number, component_types=[kind, kind], allow_small_batch=small,
            )  # fmt: skip
            found = attempt(tf, session, list(taken))
            order = np.argsort(found[1]) if len(found) > 1 else None
            made.extend(found if order is None else [one[order] for one in found])

        for part, some, values in steps:
            insert = raw.BarrierInsertMany(
                handle=barrier, keys=some, values=tf.constant(values, kind), component_index=part
            )
            made.extend(attempt(tf, session, insert))
            sizes()
        if ready := sizes():
            take(ready)
        else:  # a key that has all its parts
            for part in (0, 1):
                insert = raw.BarrierInsertMany(
                    handle=barrier,
                    keys=[b"both"],
                    values=tf.constant(whole[part], kind),
                    component_index=part,
                )
                made.extend(attempt(tf, session, insert))
            take(1)
        made.extend(attempt(tf, session, raw.BarrierClose(handle=barrier, cancel_pending_enqueues=cancelled)))
        if cancelled:
            take(1)
        some, values = (one[:1] for one in steps[0][1:])
        insert = raw.BarrierInsertMany(
            handle=barrier, keys=some, values=tf.constant(values, kind), component_index=steps[0][0]
        )
        made.extend(attempt(tf, session, insert))
        sizes()
        return made

    return program


# Accumulators


def accumulators(d: Draw) -> Program:
    """Gradients that are gathered, some of them too old."""
    sparse, resource = "Sparse" in d.op, d.op.startswith("Resource")
    name, dtype = _kind(d, REAL if resource or sparse else ("float32", "float64", "float16"))
    shape = [d.int(1, 4), *d.shape(0, 2, 3, 0)] if sparse else d.shape(0, 3, 3, 0)
    reduction = d.pick("MEAN", "SUM")
    steps: list[tuple[str, Any]] = []
    for _ in range(d.int(3, 7)):
        what = d.pick("apply", "apply", "apply", "step", "take")
        if what == "apply":
            sizes = shape if not d.chance(12) else [*shape, 2]
            rows = d.rng.permutation(shape[0])[: d.int(1, shape[0])] if sparse else None
            values = d.values(dtype, sizes if rows is None else [len(rows), *sizes[1:]])
            local = d.int(0, 2)
            steps.append((what, (local, None if rows is None else np.sort(rows).astype(np.int64), values)))
        elif what == "step":
            steps.append((what, d.int(0, 2)))
        else:
            steps.append(("take", 1))

    last = (np.int64([0]), d.values(dtype, [1, *shape[1:]])) if sparse else (None, d.values(dtype, shape))

    def program(tf: Any, session: Any) -> list[Any]:
        raw, kind = tf.raw_ops, getattr(tf, name)
        start = "Resource" if resource else ""
        maker = raw.SparseConditionalAccumulator if sparse else getattr(raw, f"{start}ConditionalAccumulator")
        handle = maker(dtype=kind, shape=shape, reduction_type=reduction, shared_name=f"{d.op}{d.index}")
        made: list[Any] = []

        def there() -> int:
            (number,) = attempt(tf, session, getattr(raw, f"{start}AccumulatorNumAccumulated")(handle=handle))
            made.append(number)
            return int(number)

        def apply(local: int, rows: Any, values: np.ndarray) -> None:
            given = np.int64(local)
            if sparse:
                step = raw.SparseAccumulatorApplyGradient(
                    handle=handle, local_step=given, gradient_indices=rows, gradient_values=tf.constant(values),
                    gradient_shape=np.int64([shape[0], *values.shape[1:]]), has_known_shape=True,
                )  # fmt: skip
            else:
                step = getattr(raw, f"{start}AccumulatorApplyGradient")(
                    handle=handle, local_step=given, gradient=tf.constant(values)
                )
            made.extend(attempt(tf, session, step))

        def take(number: int) -> None:
            op = (
                raw.SparseAccumulatorTakeGradient
                if sparse
                else getattr(raw, f"{start}AccumulatorTakeGradient")
            )
            taken = op(handle=handle, num_required=number, dtype=kind)
            made.extend(attempt(tf, session, list(taken) if sparse else taken))

        def advance(number: int) -> None:
            op = getattr(raw, f"{start}AccumulatorSetGlobalStep")
            made.extend(attempt(tf, session, op(handle=handle, new_global_step=np.int64(number))))

        for what, value in steps:
            number = there()
            if what == "apply":
                apply(*value)
            elif what == "step":
                advance(value)
            elif number:
                take(min(number, 2))
        advance(9)
        apply(9, *last)
        take(there())
        return made

    return program


# Staging areas


def staging(d: Draw) -> Program:
    """Tensors put into an area and taken from it, in order or by key."""
    name, dtype = _kind(d)
    values = [d.values(dtype, d.shape(0, 3)) for _ in range(d.int(2, 4))]
    keys = d.rng.permutation(9)[: len(values)].astype(np.int64)
    mapped = "Map" in d.op
    start = "OrderedMap" if d.op.startswith("Ordered") else "Map"
    at = d.int(0, len(values) - 1)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, types = tf.raw_ops, [getattr(tf, name), tf.int32]
        same = {"shared_name": f"{d.op}{d.index}", "dtypes": types}
        made: list[Any] = []
        if not mapped:
            for number, value in enumerate(values):
                session.run(
                    raw.Stage(values=[tf.constant(value, types[0]), number], shared_name=same["shared_name"])
                )
            made += attempt(tf, session, raw.StageSize(**same))
            made += attempt(tf, session, list(raw.StagePeek(index=at, **same)))
            made += attempt(tf, session, list(raw.Unstage(**same)))
            made += attempt(tf, session, raw.StageSize(**same))
            made += attempt(tf, session, raw.StageClear(**same))
            return [*made, *attempt(tf, session, raw.StageSize(**same))]
        op = {one: getattr(raw, f"{start}{one}") for one in (
            "Stage", "Peek", "Unstage", "UnstageNoKey", "Size", "IncompleteSize", "Clear"
        )}  # fmt: skip
        for key, value in zip(keys, values, strict=True):
            whole = bool(key % 2)
            parts = [tf.constant(value, types[0]), tf.constant(int(key))]
            for indices in [[0, 1]] if whole else [[1], [0]]:
                step = op["Stage"](
                    key=key, indices=np.int32(indices), values=[parts[one] for one in indices], **same
                )
                session.run(step)
                made += attempt(tf, session, [op["Size"](**same), op["IncompleteSize"](**same)])
        made += attempt(tf, session, list(op["Peek"](key=keys[at], indices=np.int32([0, 1]), **same)))
        made += attempt(tf, session, list(op["Unstage"](key=keys[at], indices=np.int32([0, 1]), **same)))
        taken = op["UnstageNoKey"](indices=np.int32([0, 1]), **same)
        found = session.run([taken[0], *taken[1]])
        made += found if start == "OrderedMap" else [np.asarray(found[0]).dtype.name]
        made += attempt(tf, session, op["Size"](**same))
        made += attempt(tf, session, op["Clear"](**same))
        return [*made, *attempt(tf, session, op["Size"](**same))]

    return program


# Tables

_PAIRS = (
    ("string", "int64"), ("int64", "string"), ("int64", "float32"), ("string", "float32"), ("int64", "int64"),
    ("string", "string"),
)  # fmt: skip
_PAIRS_DENSE = (
    ("int64", "int64"),
    ("int64", "float32"),
    ("string", "int64"),
    ("string", "float32"),
    ("int64", "bool"),
)


def tables(d: Draw) -> Program:
    """Keys put in, looked up, taken out and listed, in the kind of table that the op is for."""
    once = d.op in ("HashTableV2", "InitializeTableV2", "InitializeTableFromTextFileV2")
    which = (
        d.op if "Hash" in d.op else d.pick("MutableHashTableV2", "MutableHashTableOfTensorsV2", "HashTableV2")
    )
    if once or (d.op in ("LookupTableFindV2", "LookupTableSizeV2", "LookupTableExportV2") and d.chance(3)):
        which, once = "HashTableV2", True
    elif which == "HashTableV2":
        which = "MutableHashTableV2"
    dense, vector = which == "MutableDenseHashTableV2", which == "MutableHashTableOfTensorsV2"
    pairs = _PAIRS_DENSE if dense else _PAIRS
    key_name, value_name = pairs[d.index % len(pairs)]
    shape = [d.int(1, 3)] if vector or (dense and d.chance(2)) else []
    pool = d.values(as_dtype(value_name).numpy_dtype, [12, *shape])

    def keys_of(numbers: Any) -> np.ndarray:
        if key_name == "int64":
            return np.asarray(numbers, np.int64)
        return np.array([f"w{number}".encode() for number in np.ravel(numbers)], object).reshape(
            np.shape(numbers)
        )

    steps: list[tuple[str, Any, Any]] = []
    for _ in range(d.int(2, 5)):
        some = d.rng.permutation(12)[: d.int(1, 6)]
        steps.append((d.pick("insert", "insert", "remove", "find"), keys_of(some), pool[some]))
    steps.append(({"LookupTableInsertV2": "insert", "LookupTableRemoveV2": "remove"}.get(d.op, "import"),
                  keys_of(d.rng.permutation(12)[:3]), pool[:3]))  # fmt: skip
    asked = keys_of(d.rng.integers(0, 14, d.shape(1 if shape or dense else 0, 2)))
    path = str(_folder() / f"{d.op}_{d.index}")
    lines = [f"w{number}\t{d.int(0, 99)}" for number in range(d.int(1, 5))]
    with open(path, "w") as stream:
        stream.write("".join(f"{line}\n" for line in lines))
    of_file, wrong = d.op == "InitializeTableFromTextFileV2", d.chance(10)
    if of_file:
        key_name, value_name = "string", "int64"
    default = d.values(as_dtype(value_name).numpy_dtype, [1, *shape])[0]
    columns = ((-2, -1), (0, 1))[d.index % 2]

    def program(tf: Any, session: Any) -> list[Any]:
        raw, kinds = tf.raw_ops, {"key_dtype": getattr(tf, key_name), "value_dtype": getattr(tf, value_name)}
        if dense:
            empty, gone = (tf.constant(one, kinds["key_dtype"]) for one in keys_of([98, 99]))
            table = raw.MutableDenseHashTableV2(
                empty_key=empty, deleted_key=gone, value_shape=shape, initial_num_buckets=4, shared_name=path,
                value_dtype=kinds["value_dtype"],
            )  # fmt: skip
        elif vector:
            table = raw.MutableHashTableOfTensorsV2(value_shape=shape, shared_name=path, **kinds)
        else:
            table = getattr(raw, which)(shared_name=path, **kinds)
        value_type = kinds["value_dtype"]
        found = raw.LookupTableFindV2(
            table_handle=table,
            keys=tf.constant(keys_of([0, 1, 2]) if of_file else asked, kinds["key_dtype"]),
            default_value=tf.constant(default, value_type),
        )
        size = raw.LookupTableSizeV2(table_handle=table)
        made: list[Any] = []

        def listed() -> list[Any]:
            exported = raw.LookupTableExportV2(
                table_handle=table, Tkeys=kinds["key_dtype"], Tvalues=value_type
            )
            keys, values = session.run(list(exported))
            order = np.argsort(keys)
            return [keys[order], values[order]]

        if of_file:
            start = raw.InitializeTableFromTextFileV2(
                table_handle=table, filename=path, key_index=columns[0], value_index=columns[1],
                vocab_size=-1, delimiter="\t",
            )  # fmt: skip
            made += attempt(tf, session, start)
            return [*made, *attempt(tf, session, [found, size]), *listed()]
        if once:
            keys, values = steps[0][1:]
            if wrong:
                keys = np.concatenate([keys, keys])
                values = np.concatenate([values, values[::-1]])
            made += attempt(tf, session, found)
            start = raw.InitializeTableV2(
                table_handle=table, keys=tf.constant(keys), values=tf.constant(values, value_type)
            )
            made += attempt(tf, session, start)
            return [*made, *attempt(tf, session, [found, size]), *(listed() if not wrong else [])]
        for what, keys, values in steps:
            given = tf.constant(keys, kinds["key_dtype"])
            if what == "remove":
                step = raw.LookupTableRemoveV2(table_handle=table, keys=given)
            elif what == "find":
                step = found
            else:  # a dense table imports buckets, not keys
                op = raw.LookupTableInsertV2 if dense or what == "insert" else raw.LookupTableImportV2
                step = op(table_handle=table, keys=given, values=tf.constant(values, value_type))
            made += attempt(tf, session, step)
            made += attempt(tf, session, [size, found])
        if dense:
            exported = raw.LookupTableExportV2(
                table_handle=table, Tkeys=kinds["key_dtype"], Tvalues=value_type
            )
            keys, values = session.run(list(exported))
            kept = ~np.isin(keys.astype(str), keys_of([98, 99]).astype(str))
            order = np.argsort(keys[kept])
            return [*made, keys[kept][order], values[kept][order]]
        return [*made, *listed()]

    return program


# Readers


def readers(d: Draw) -> Program:
    """Records of files, and what a reader counts and keeps."""
    which = _family(
        d,
        "TextLineReaderV2",
        "WholeFileReaderV2",
        "FixedLengthRecordReaderV2",
        "TFRecordReaderV2",
        "IdentityReaderV2",
    )
    if d.op in ("ReaderSerializeStateV2", "ReaderRestoreStateV2") and d.chance(2):
        which = "IdentityReaderV2"
    paths = []
    for number in range(d.int(1, 3)):
        path = str(_folder() / f"{d.op}_{d.index}_{number}")
        lines = [f"l{d.int(0, 999)}" for _ in range(d.int(0, 4))]
        if which == "TFRecordReaderV2":
            import tensorflow

            with tensorflow.io.TFRecordWriter(path) as writer:
                for line in lines:
                    writer.write(line.encode())
        else:
            with open(path, "w") as stream:
                stream.write("\n".join(lines) + d.pick("", "\n"))
        paths.append(path)
    skipped, calls, size = d.int(0, 1), d.int(1, 5), d.int(1, 3)
    several = d.op == "ReaderReadUpToV2" or (d.op != "ReaderReadV2" and d.chance(2))
    footer, hop = d.int(0, 1), d.pick(0, 0, 1)

    def program(tf: Any, session: Any) -> list[Any]:
        raw = tf.raw_ops
        queue = raw.FIFOQueueV2(
            component_types=[tf.string], shapes=[[]], capacity=9, shared_name=f"q{d.op}{d.index}"
        )
        attrs: dict[str, Any] = {"shared_name": f"{d.op}{d.index}"}
        if which == "TextLineReaderV2":
            attrs["skip_header_lines"] = skipped
        elif which == "FixedLengthRecordReaderV2":
            attrs |= {"record_bytes": size, "header_bytes": skipped, "footer_bytes": footer, "hop_bytes": hop}
        reader = getattr(raw, which)(**attrs)
        session.run(raw.QueueEnqueueManyV2(handle=queue, components=[tf.constant(paths)]))
        session.run(raw.QueueCloseV2(handle=queue))
        if several:
            read = raw.ReaderReadUpToV2(reader_handle=reader, queue_handle=queue, num_records=np.int64(size))
        else:
            read = raw.ReaderReadV2(reader_handle=reader, queue_handle=queue)
        counts = [
            raw.ReaderNumRecordsProducedV2(reader_handle=reader),
            raw.ReaderNumWorkUnitsCompletedV2(reader_handle=reader),
        ]
        made: list[Any] = []
        for _ in range(calls):
            made += attempt(tf, session, list(read))
            made += attempt(tf, session, counts)
        try:
            state = session.run(raw.ReaderSerializeStateV2(reader_handle=reader))
        except tf.errors.OpError as error:
            made.append(type(error).__name__)
            state = b"x"
        made += attempt(tf, session, raw.ReaderRestoreStateV2(reader_handle=reader, state=tf.constant(state)))
        made += attempt(tf, session, counts)
        made += attempt(tf, session, raw.ReaderResetV2(reader_handle=reader))
        return [*made, *attempt(tf, session, counts)]

    return program


# Lists of tensors and stacks


def tensor_arrays(d: Draw) -> Program:
    """Written by the ops of lists, read again, and the gradient of what was read."""
    trainable = d.op == "TensorArrayGradV3" or d.chance(2)
    name, dtype = _kind(d, REAL if trainable else KINDS)
    size, shape = d.int(1, 4), d.shape(0, 2, 3, 0)
    value, order = d.values(dtype, [size, *shape]), d.rng.permutation(size).astype(np.int32)
    lengths = d.rng.integers(0, 3, size).astype(np.int64)
    flat = d.values(dtype, [int(lengths.sum()), *shape])
    wrong = d.chance(10) and not trainable
    how = {
        "TensorArrayWriteV3": 0,
        "TensorArrayScatterV3": 1,
        "TensorArraySplitV3": 2,
        "TensorArrayConcatV3": 2,
    }.get(d.op, d.int(0, 2))

    def program(tf: Any, session: Any) -> list[Any]:
        raw, kind = tf.raw_ops, getattr(tf, name)
        x, z = tf.constant(value, kind), tf.constant(flat, kind)
        made = raw.TensorArrayV3(
            size=size, dtype=kind, clear_after_read=False, tensor_array_name=f"a{d.index}",
            element_shape=None if how == 2 else shape,
        )  # fmt: skip
        handle, flow = made[0], made[1]
        if how == 0:
            for at in range(size):
                index = at + 1 if wrong else at
                flow = raw.TensorArrayWriteV3(handle=handle, index=index, value=x[at], flow_in=flow)
        elif how == 1:
            flow = raw.TensorArrayScatterV3(handle=handle, indices=order + int(wrong), value=x, flow_in=flow)
        else:
            flow = raw.TensorArraySplitV3(handle=handle, value=z, lengths=lengths + int(wrong), flow_in=flow)
        results: list[Any] = [raw.TensorArraySizeV3(handle=handle, flow_in=flow)]
        at = int(order[0])
        results.append(raw.TensorArrayReadV3(handle=handle, index=at, flow_in=flow, dtype=kind))
        if how != 2:
            gathered = raw.TensorArrayGatherV3(
                handle=handle, indices=order, flow_in=flow, dtype=kind, element_shape=shape
            )
            results.append(gathered)
        if how == 2:
            joined = raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=kind)
            results += [joined[0], joined[1]]
        if trainable:
            read = [one for one in results if one.dtype == kind]
            loss = tf.add_n([tf.reduce_sum(one * one * (number + 1)) for number, one in enumerate(read)])
            results += [one for one in tf.gradients(loss, [x, z]) if one is not None]
        found = attempt(tf, session, results)
        with tf.control_dependencies([flow]):
            closed = raw.TensorArrayCloseV3(handle=handle)
        return [*found, *attempt(tf, session, closed)]

    return program


def gathered_lists(d: Draw) -> Program:
    """Rows gathered from a list, some of them twice; and joined."""
    name, dtype = _kind(d, REAL)
    size, shape = d.int(1, 5), d.shape(0, 2, 3, 0)
    value, order = d.values(dtype, [size, *shape]), d.rng.integers(0, size, d.int(0, 6)).astype(np.int32)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, x = tf.raw_ops, tf.constant(value)
        made = raw.TensorArrayV3(size=size, dtype=x.dtype, clear_after_read=False, element_shape=shape)
        flow = raw.TensorArrayScatterV3(
            handle=made[0], indices=np.arange(size, dtype=np.int32), value=x, flow_in=made[1]
        )
        found = raw.TensorArrayGatherV3(
            handle=made[0], indices=order, flow_in=flow, dtype=x.dtype, element_shape=shape
        )
        (slope,) = tf.gradients(tf.reduce_sum(found * found), [x])
        return attempt(tf, session, [found, slope])

    return program


def stacks(d: Draw) -> Program:
    """Values pushed and popped within one step."""
    name, dtype = _kind(d)
    values = [d.values(dtype, d.shape(0, 3)) for _ in range(d.int(1, 4))]
    limit, swap = d.pick(-1, -1, 2), d.chance(2)
    pops = len(values) + d.chance(5)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, kind = tf.raw_ops, getattr(tf, name)
        new = d.op.endswith("V2")
        if new:
            stack = raw.StackV2(max_size=limit, elem_type=kind, stack_name=f"s{d.op}{d.index}")
        else:
            stack = raw.Stack(elem_type=kind, stack_name=f"s{d.op}{d.index}")
        end = "V2" if new else ""
        last: Any = None
        made: list[Any] = []
        for value in values:
            with tf.control_dependencies([] if last is None else [last]):
                last = getattr(raw, f"StackPush{end}")(
                    handle=stack, elem=tf.constant(value, kind), swap_memory=swap
                )
            made.append(last)
        for _ in range(pops):
            with tf.control_dependencies([last]):
                last = getattr(raw, f"StackPop{end}")(handle=stack, elem_type=kind)
            made.append(last)
        with tf.control_dependencies([last]):
            last = getattr(raw, f"StackClose{end}")(handle=stack)
        with tf.control_dependencies([last]):
            made.append(tf.constant(1))
        return attempt(tf, session, made)

    return program


# What a session keeps


def session_tensors(d: Draw) -> Program:
    """Tensors that stay in the session and are named by handles."""
    name, dtype = _kind(d, ("float32", "int64", "float64", "int32", "float16", "complex64"))
    value = d.values(dtype, d.shape(0, 3))

    def program(tf: Any, session: Any) -> list[Any]:
        raw, kind = tf.raw_ops, getattr(tf, name)
        if d.op == "GetSessionHandleV2":
            handle = raw.GetSessionHandleV2(value=tf.constant(value))
            return [handle.dtype.name, handle.shape.as_list()]
        handle = session.run(raw.GetSessionHandle(value=tf.constant(value)))
        text = handle if isinstance(handle, bytes) else str(handle).encode()
        given = tf.placeholder(tf.string, [])
        back = raw.GetSessionTensor(handle=given, dtype=kind)
        gone = raw.DeleteSessionTensor(handle=given)
        made = [session.run(back, {given: text}), session.run(back * 2, {given: text})]
        session.run(gone, {given: text})
        for step in (back, gone):
            try:
                session.run(step, {given: text})
            except tf.errors.OpError as error:
                made.append(type(error).__name__)
        return made

    return program


PROGRAMS_OF: dict[str, Callable[[Draw], Program]] = {
    **dict.fromkeys(
        (
            "FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2", "QueueCloseV2",
            "QueueDequeueManyV2", "QueueDequeueUpToV2", "QueueDequeueV2", "QueueEnqueueManyV2", "QueueEnqueueV2",
            "QueueIsClosedV2", "QueueSizeV2",
        ),
        queues,
    ),
    **dict.fromkeys(
        (
            "Barrier", "BarrierClose", "BarrierIncompleteSize", "BarrierInsertMany", "BarrierReadySize",
            "BarrierTakeMany",
        ),
        barriers,
    ),
    **{
        f"{start}{what}": accumulators
        for start in ("", "Resource")
        for what in (
            "ConditionalAccumulator", "AccumulatorApplyGradient", "AccumulatorNumAccumulated",
            "AccumulatorSetGlobalStep", "AccumulatorTakeGradient",
        )
    },
    **dict.fromkeys(
        ("SparseConditionalAccumulator", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient"),
        accumulators,
    ),
    **dict.fromkeys(("Stage", "Unstage", "StageClear", "StagePeek", "StageSize"), staging),
    **{
        f"{start}Map{what}": staging
        for start in ("", "Ordered")
        for what in ("Stage", "Peek", "Unstage", "UnstageNoKey", "Size", "IncompleteSize", "Clear")
    },
    **dict.fromkeys(
        (
            "HashTableV2", "InitializeTableV2", "InitializeTableFromTextFileV2", "MutableHashTableV2",
            "MutableHashTableOfTensorsV2", "MutableDenseHashTableV2", "LookupTableExportV2", "LookupTableFindV2",
            "LookupTableImportV2", "LookupTableInsertV2", "LookupTableRemoveV2", "LookupTableSizeV2",
        ),
        tables,
    ),
    **dict.fromkeys(
        (
            "TextLineReaderV2", "WholeFileReaderV2", "FixedLengthRecordReaderV2", "TFRecordReaderV2",
            "IdentityReaderV2", "ReaderReadV2", "ReaderReadUpToV2", "ReaderNumRecordsProducedV2",
            "ReaderNumWorkUnitsCompletedV2", "ReaderResetV2", "ReaderRestoreStateV2", "ReaderSerializeStateV2",
        ),
        readers,
    ),
    **{
        f"TensorArray{what}V3": tensor_arrays
        for what in ("", "Write", "Scatter", "Split", "Concat", "Read", "Size", "Close", "Grad")
    },
    "TensorArrayGatherV3": gathered_lists,
    **{f"Stack{what}{end}": stacks for what in ("", "Push", "Pop", "Close") for end in ("", "V2")},
    **dict.fromkeys(
        ("GetSessionHandle", "GetSessionHandleV2", "GetSessionTensor", "DeleteSessionTensor"), session_tensors
    ),
    **dict.fromkeys(
        ("SaveV2", "RestoreV2", "MergeV2Checkpoints", "Save", "Restore", "SaveSlices", "RestoreSlice"),
        random_programs.checkpoints,
    ),
    **dict.fromkeys(("GenerateVocabRemapping", "LoadAndRemapMatrix"), random_programs.vocabularies),
    **dict.fromkeys(
        ("AddManySparseToTensorsMap", "AddSparseToTensorsMap", "TakeManySparseFromTensorsMap"),
        random_programs.sparse_maps,
    ),
    **{
        f"{what}{many}Sparse": random_programs.sparse_texts
        for what in ("Serialize", "Deserialize") for many in ("", "Many")
    },
}  # fmt: skip
"""Op type to what makes its programs."""
