"""Random programs for the ops whose work is seen only beside others: queues, tables, readers, data sets, loops.

A function takes a ``Draw`` and gives a program: a function of the module (TensorFlow's or gpuplace) and a session that
returns values. What both return is compared; a program counts as a case of every op in its graph.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracle.random_cases import Draw

Program = Callable[[Any, Any], list[Any]]


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / "gpuplace_random_programs"
    folder.mkdir(exist_ok=True)
    return folder


def _rows(d: Draw, count: int, shape: list[int], kind: Any = np.float32) -> np.ndarray:
    return d.values(kind, [count, *shape])


# Queues


def queues(d: Draw) -> Program:
    """Elements put and taken, never more than there are or fit."""
    which, shape = ("fifo", "padding", "shuffle", "priority")[d.index % 4], d.shape(0, 2, 3, 0)
    capacity = d.int(4, 9)
    steps: list[tuple[str, Any]] = []
    held, closed = 0, False
    for _ in range(d.int(4, 10)):
        choices = ["size", "closed"]
        if not closed and held < capacity:
            choices += ["enqueue"] * 2
        if not closed and held + 3 <= capacity:
            choices += ["enqueue_many"] * 2
        if held >= 2:
            choices += ["dequeue", "dequeue_many"]
        if held >= 2 and which != "priority":
            choices.append("dequeue_up_to")
        what = d.pick(*choices)
        if what == "enqueue":
            steps.append((what, _rows(d, 1, shape)[0]))
            held += 1
        elif what == "enqueue_many":
            steps.append((what, _rows(d, 3, shape)))
            held += 3
        elif what in ("dequeue_many", "dequeue_up_to"):
            number = d.int(1, held)
            steps.append((what, number))
            held -= number
        else:
            held -= what == "dequeue"
            steps.append((what, None))
    steps.append(("close", d.chance(2)))
    steps += [("closed", None), ("enqueue", _rows(d, 1, shape)[0])]
    priorities = d.rng.permutation(200).astype(np.int64).tolist()

    def program(tf: Any, session: Any) -> list[Any]:
        if which == "fifo":
            queue = tf.FIFOQueue(capacity, [tf.float32], [shape])
        elif which == "padding":
            queue = tf.PaddingFIFOQueue(capacity, [tf.float32], [[None] * len(shape)])
        elif which == "shuffle":
            queue = tf.RandomShuffleQueue(capacity, 0, [tf.float32], [shape], seed=3)
        else:
            queue = tf.PriorityQueue(capacity, [tf.float32], [shape])
        left = iter(priorities)
        made: list[Any] = []
        for what, value in steps:
            if what in ("enqueue", "enqueue_many"):
                many = what == "enqueue_many"
                given: Any = [value]
                if which == "priority":
                    one = np.int64([next(left) for _ in value]) if many else np.int64(next(left))
                    given = [one, value]
                try:
                    session.run(queue.enqueue_many(given) if many else queue.enqueue(given))
                except tf.errors.OpError as error:
                    made.append(type(error).__name__)
            elif what == "close":
                session.run(queue.close(cancel_pending_enqueues=value))
            elif what == "closed":
                made.append(session.run(queue.is_closed()))
            elif what == "size":
                made.append(session.run(queue.size()))
            else:
                op = queue.dequeue() if what == "dequeue" else getattr(queue, what)(value)
                found = session.run(op)
                made += found if isinstance(found, list) else [found]
        if (
            which == "shuffle"
        ):  # the order is the random numbers', and how these are drawn is nobody's promise
            return [np.asarray(part) for part in made if not hasattr(part, "shape") or not part.shape]
        return made

    return program


# Tables


def tables(d: Draw) -> Program:
    """Tables that are initialised once, from tensors or a file."""
    number, text = d.int(1, 6), d.chance(3)
    words = [f"w{index}".encode() for index in d.rng.permutation(9)[:number]]
    values = d.rng.permutation(20)[:number].astype(np.int64)
    asked = np.array([*words, b"none", b""], object)[d.rng.integers(0, number + 2, d.shape(0, 2))]
    if d.chance(12):
        words[-1] = words[0]
    path = _folder() / f"words_{d.index}"
    path.write_bytes(b"".join(word + b"\n" for word in words))

    def program(tf: Any, session: Any) -> list[Any]:
        if text:
            initializer = tf.lookup.TextFileInitializer(
                str(path),
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            )
        else:
            initializer = tf.lookup.KeyValueTensorInitializer(
                tf.constant(words), tf.constant(values), tf.string, tf.int64
            )
        table = tf.lookup.StaticHashTable(initializer, -1)
        given = tf.placeholder(tf.string)
        found = table.lookup(given)
        try:
            session.run(tf.tables_initializer())
        except tf.errors.OpError as error:
            return [type(error).__name__]
        return session.run([found, table.size()], {given: np.array(asked, object)})

    return program


def mutable_tables(d: Draw) -> Program:
    """Tables that change, of scalars or vectors."""
    width = d.pick(0, 0, 2)
    rounds = []
    for _ in range(d.int(1, 4)):
        keys = d.rng.integers(0, 8, d.int(1, 5)).astype(np.int64)
        rounds.append(
            (
                d.pick("insert", "insert", "remove"),
                np.unique(keys),
                d.values(np.float32, [len(np.unique(keys)), *([width] if width else [])]),
            )
        )
    asked = d.rng.integers(0, 9, d.shape(1, 2)).astype(np.int64)

    def program(tf: Any, session: Any) -> list[Any]:
        default = np.zeros(width, np.float32) if width else np.float32(-1)
        lookup = (
            __import__("tensorflow.python.ops.lookup_ops", fromlist=["x"])
            if tf.__name__ != "gpuplace"
            else tf.contrib.lookup
        )
        table = lookup.MutableHashTable(tf.int64, tf.float32, default)
        made = []
        for what, keys, values in rounds:
            session.run(table.insert(keys, values) if what == "insert" else table.remove(tf.constant(keys)))
            made += session.run([table.size(), table.lookup(tf.constant(asked))])
        keys, values = session.run(table.export())
        order = np.argsort(keys)
        return [*made, keys[order], values[order]]

    return program


# Readers


def readers(d: Draw) -> Program:
    """Records of files, one by one or several."""
    which = ("text", "whole", "fixed", "records", "identity")[d.index % 5]
    folder = _folder()
    paths = []
    for index in range(d.int(1, 3)):
        path = folder / f"{which}_{d.index}_{index}"
        lines = [f"l{d.int(0, 999)}" for _ in range(d.int(0, 4))]
        if which == "records":
            import tensorflow

            with tensorflow.io.TFRecordWriter(str(path)) as writer:
                for line in lines:
                    writer.write(line.encode())
        else:
            path.write_text("\n".join(lines) + d.pick("", "\n"))
        paths.append(str(path))
    skipped, calls, several = d.int(0, 1), d.int(1, 4), d.chance(2)

    def program(tf: Any, session: Any) -> list[Any]:
        queue = tf.FIFOQueue(9, [tf.string], [[]])
        if which == "text":
            reader = tf.TextLineReader(skip_header_lines=skipped)
        elif which == "fixed":
            reader = tf.FixedLengthRecordReader(2, header_bytes=skipped)
        else:
            reader = {
                "whole": tf.WholeFileReader,
                "records": tf.TFRecordReader,
                "identity": tf.IdentityReader,
            }[which]()
        session.run([queue.enqueue_many([paths])])
        session.run(queue.close())
        read = reader.read_up_to(queue, 2) if several else reader.read(queue)
        made: list[Any] = []
        for _ in range(calls):
            try:
                made += session.run(list(read))
            except tf.errors.OpError as error:
                made.append(type(error).__name__)
                break
            made += session.run([reader.num_records_produced(), reader.num_work_units_completed()])
        if reader.supports_serialize and which == "identity":
            state = session.run(reader.serialize_state())
            session.run(reader.restore_state(state))
            made.append(state)
        session.run(reader.reset())
        made.append(session.run(reader.num_records_produced()))
        return made

    return program


# Data sets


def _source(d: Draw, tf: Any, which: int, values: np.ndarray, path: str) -> Any:
    data = tf.data
    if which == 0:
        return data.Dataset.from_tensor_slices(values)
    if which == 1:
        return data.Dataset.range(int(len(values)))
    if which == 2:
        return data.TextLineDataset(path).map(lambda line: tf.strings.length(line))
    if which == 3:
        return data.FixedLengthRecordDataset(path, 2).map(lambda word: tf.strings.length(word))
    if which == 4:
        return data.Dataset.from_tensors(values).flat_map(data.Dataset.from_tensor_slices)
    return data.Dataset.from_generator(lambda: iter(range(len(values))), tf.int64, [])


def _stages() -> dict[str, Callable[..., Any]]:
    def number(tf: Any, x: Any) -> Any:
        return tf.cast(x, tf.int64)

    return {
        "map": lambda tf, ds, n: ds.map(lambda x: number(tf, x) * 2 + n),
        "parallel_map": lambda tf, ds, n: ds.map(lambda x: number(tf, x) - n, num_parallel_calls=2),
        "filter": lambda tf, ds, n: ds.filter(lambda x: tf.not_equal(number(tf, x) % (n + 2), 0)),
        "batch": lambda tf, ds, n: ds.batch(n + 1, drop_remainder=n == 2).map(
            lambda x: tf.reduce_sum(number(tf, x))
        ),
        "padded_batch": lambda tf, ds, n: (
            ds.map(lambda x: tf.fill([tf.cast(number(tf, x) % 3, tf.int32)], number(tf, x)))
            .padded_batch(n + 1, [None])
            .map(lambda x: tf.reduce_sum(x) + tf.cast(tf.size(x), tf.int64))
        ),
        "repeat": lambda tf, ds, n: ds.repeat(n % 3),
        "take": lambda tf, ds, n: ds.take(n + 1),
        "skip": lambda tf, ds, n: ds.skip(n),
        "shard": lambda tf, ds, n: ds.shard(n + 1, n // 2),
        "prefetch": lambda tf, ds, n: ds.prefetch(n),
        "cache": lambda tf, ds, n: ds.cache(),
        "concatenate": lambda tf, ds, n: ds.map(lambda x: number(tf, x)).concatenate(
            tf.data.Dataset.range(n)
        ),
        "zip": lambda tf, ds, n: tf.data.Dataset.zip((ds, tf.data.Dataset.range(50))).map(
            lambda x, y: number(tf, x) * 3 + y
        ),
        "flat_map": lambda tf, ds, n: ds.flat_map(lambda x: tf.data.Dataset.range(number(tf, x) % (n + 2))),
        "interleave": lambda tf, ds, n: ds.interleave(
            lambda x: tf.data.Dataset.from_tensors(number(tf, x)).repeat(n + 1),
            cycle_length=2,
            block_length=n + 1,
        ),
        "parallel_interleave": lambda tf, ds, n: ds.interleave(
            lambda x: tf.data.Dataset.from_tensors(number(tf, x)).repeat(n + 1),
            cycle_length=2,
            block_length=n + 1,
            num_parallel_calls=2,
        ),
        "window": lambda tf, ds, n: ds.window(
            n + 1, shift=n or None, stride=1, drop_remainder=n == 1
        ).flat_map(lambda w: w.batch(n + 1).map(lambda x: tf.reduce_sum(number(tf, x)))),
        "enumerate": lambda tf, ds, n: ds.enumerate(n).map(lambda i, x: i * 7 + number(tf, x)),
        "unbatch": lambda tf, ds, n: ds.batch(n + 1).apply(tf.data.experimental.unbatch()),
        "scan": lambda tf, ds, n: ds.map(lambda x: number(tf, x)).apply(
            tf.data.experimental.scan(np.int64(n), lambda s, x: (s + x, s * 2 - x))
        ),
        "take_while": lambda tf, ds, n: ds.apply(
            tf.data.experimental.take_while(lambda x: tf.less(number(tf, x), 4 * (n + 1)))
        ),
        "unique": lambda tf, ds, n: ds.map(lambda x: number(tf, x) % 3).apply(tf.data.experimental.unique()),
        "map_and_batch": lambda tf, ds, n: ds.apply(
            tf.data.experimental.map_and_batch(lambda x: number(tf, x) + 1, n + 1, drop_remainder=n == 2)
        ).map(lambda x: tf.reduce_sum(x)),
        "shuffle_all": lambda tf, ds, n: (
            ds.shuffle(100, seed=n).batch(100).map(lambda x: tf.reduce_sum(number(tf, x)))
        ),
        "shuffle_and_repeat": lambda tf, ds, n: (
            ds.apply(tf.data.experimental.shuffle_and_repeat(100, 1, seed=n))
            .batch(100)
            .map(lambda x: tf.reduce_sum(number(tf, x)))
        ),
        "group_by_window": lambda tf, ds, n: ds.apply(
            tf.data.experimental.group_by_window(
                lambda x: number(tf, x) % 2, lambda key, w: w.batch(n + 1), window_size=n + 1
            )
        ).map(lambda x: tf.reduce_sum(number(tf, x))),
        "ignore_errors": lambda tf, ds, n: ds.map(
            lambda x: tf.cast(
                tf.check_numerics(10.0 / tf.cast(number(tf, x) % 3, tf.float32), "zero"), tf.int64
            )
        ).apply(tf.data.experimental.ignore_errors()),
        "group_by_reducer": lambda tf, ds, n: ds.apply(
            tf.data.experimental.group_by_reducer(
                lambda x: number(tf, x) % 2,
                tf.data.experimental.Reducer(
                    lambda key: np.int64(0), lambda s, x: s + number(tf, x), lambda s: s * 2
                ),
            )
        ),
        "choose": lambda tf, ds, n: tf.data.experimental.choose_from_datasets(
            [ds.map(lambda x: number(tf, x)), tf.data.Dataset.range(5)],
            tf.data.Dataset.range(2).repeat(3),
        ),
    }


STAGES = tuple(_stages())


def data_sets(d: Draw) -> Program:
    """Two or three stages after a source, all elements, and how many are known to come."""
    which, values = d.index % 6, d.rng.integers(0, 20, d.int(1, 7)).astype(np.int64)
    path = _folder() / f"lines_{d.index}"
    path.write_text("".join("x" * d.int(1, 3) + "\n" for _ in range(d.int(1, 5))))
    if which == 3:
        path.write_bytes(bytes(range(2 * d.int(1, 5))))
    first = STAGES[(d.index * 3) % len(STAGES)]
    stages = [(first, d.int(0, 3)), *[(d.pick(*STAGES), d.int(0, 3)) for _ in range(d.int(1, 2))]]
    once, reduced = d.chance(2), d.chance(3)

    def program(tf: Any, session: Any) -> list[Any]:
        known = _stages()
        dataset = _source(d, tf, which, values, str(path))
        for name, number in stages:
            dataset = known[name](tf, dataset, number)
        made: list[Any] = []
        session.run(tf.data.experimental.cardinality(dataset))  # which the releases know of different chains
        if reduced:
            total = dataset.reduce(np.int64(0), lambda s, x: s * 3 + tf.cast(x, tf.int64))
            return [*made, session.run(total)]
        if once and which != 5:
            item = tf.data.make_one_shot_iterator(dataset).get_next()
        else:
            iterator = tf.data.make_initializable_iterator(dataset)
            item = iterator.get_next()
            session.run(iterator.initializer)
        for _ in range(40):
            try:
                made.append(session.run(item))
            except tf.errors.OpError as error:
                made.append(type(error).__name__)
                break
        return made

    return program


def iterators(d: Draw) -> Program:
    """Iterators that are made again, or chosen by a handle."""
    sizes = [d.int(1, 4) for _ in range(2)]

    def program(tf: Any, session: Any) -> list[Any]:
        sets = [tf.data.Dataset.range(size).map(lambda x: x + 1) for size in sizes]
        kind = tf.data.Iterator.from_structure(tf.int64, [])
        item = kind.get_next()
        made = []
        for dataset in sets:
            session.run(kind.make_initializer(dataset))
            made.append(session.run(item))
        handles = [session.run(tf.data.make_one_shot_iterator(dataset).string_handle()) for dataset in sets]
        handle = tf.placeholder(tf.string, [])
        chosen = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
        for one in (0, 1, 0):
            try:
                made.append(session.run(chosen, {handle: handles[one]}))
            except tf.errors.OutOfRangeError:
                made.append("end")
        return [*made, session.run(tf.data.experimental.get_single_element(sets[0].take(1)))]

    return program


# Lists of tensors, loops, staging


def tensor_arrays(d: Draw) -> Program:
    """Written and read in every way; the gradient of what was read."""
    size, shape, kind = d.int(1, 4), d.shape(0, 2, 3, 0), ("float32", "float64")[d.index % 2]
    value = _rows(d, size, shape, kind)
    order = d.rng.integers(0, size, d.int(1, 4)).astype(np.int32)
    lengths = d.rng.integers(1, 3, size)
    flat = _rows(d, int(lengths.sum()), shape, kind)

    def program(tf: Any, session: Any) -> list[Any]:
        x, z = tf.constant(value), tf.constant(flat)
        array = tf.TensorArray(x.dtype, size=size, clear_after_read=False)
        if d.index % 3 == 0:
            array = array.unstack(x)
        elif d.index % 3 == 1:
            for at in range(size):
                array = array.write(at, x[at] * 2)
        else:
            array = array.scatter(list(range(size)), x)
        parts = tf.TensorArray(x.dtype, size=size, infer_shape=False).split(z, lengths.tolist())
        whole = parts.concat()
        gathered, stacked, one = array.gather(order.tolist()), array.stack(), array.read(size - 1)
        loss = (
            tf.reduce_sum(gathered**2)
            + tf.reduce_sum(stacked * 3)
            + tf.reduce_sum(one)
            + tf.reduce_sum(whole**2)
        )
        grads = tf.gradients(loss, [x, z])
        made = session.run([gathered, stacked, one, whole, array.size(), *grads])
        session.run(array.close())
        return made

    return program


def loops(d: Draw) -> Program:
    """Loops and branches, with gradients through them."""
    shape, times, kind = d.shape(0, 2, 3, 0), d.int(0, 5), ("float32", "float64")[d.index % 2]
    value, factor = d.values(kind, shape, -0.9, 0.9), float(d.rng.uniform(0.5, 1.2))
    parallel, branch = d.pick(1, 10), d.chance(2)

    def program(tf: Any, session: Any) -> list[Any]:
        x = tf.placeholder(kind, None if d.index % 3 else shape)

        def body(i: Any, y: Any) -> list[Any]:
            kept = tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(y * factor), lambda: y * x)
            return [i + 1, kept + 0.1]

        shapes = [tf.TensorShape([]), tf.TensorShape(None)]
        i, y = tf.while_loop(
            lambda i, y: i < times, body, [tf.constant(0), x * 1], shapes, parallel_iterations=parallel
        )
        if branch:
            y = tf.case([(tf.greater(tf.reduce_sum(y), 0), lambda: y * 2)], default=lambda: y - 1)
        total = tf.reduce_sum(y * y)
        (grad,) = tf.gradients(total, x)
        mapped = tf.map_fn(lambda v: v * v + 1, tf.reshape(x, [-1]))
        scanned = tf.scan(lambda a, v: a * 0.5 + v, tf.reshape(x, [-1])) if value.size else tf.zeros([])
        again = tf.gradients(tf.reduce_sum(mapped) + tf.reduce_sum(scanned), x)[0]
        return session.run([i, y, grad, mapped, scanned, again], {x: value})

    return program


def staging(d: Draw) -> Program:
    """What is put into an area and taken out of it; in order, or by key."""
    which, shape = ("area", "ordered", "map")[d.index % 3], d.shape(0, 2, 3, 0)
    values = _rows(d, d.int(2, 4), shape)
    keys = d.rng.permutation(9)[: len(values)].astype(np.int64)

    def program(tf: Any, session: Any) -> list[Any]:
        from tests.oracle.compare_random import staging_of

        areas = staging_of(tf)
        made: list[Any] = []
        if which == "area":
            area = areas.StagingArea([tf.float32], [shape])
            for value in values:
                session.run(area.put([tf.constant(value)]))
            made += session.run(
                [area.size(), area.peek(0)[0] if isinstance(area.peek(0), list) else area.peek(0)]
            )
            taken = area.get()
            made += session.run(taken if isinstance(taken, list) else [taken])
            session.run(area.clear())
            return [*made, session.run(area.size())]
        area = areas.MapStagingArea([tf.float32], [shape], ordered=which == "ordered")
        for key, value in zip(keys, values, strict=True):
            session.run(area.put(tf.constant(key), [tf.constant(value)], [0]))
        made += session.run([area.size(), area.incomplete_size()])
        made += session.run(tf.nest.flatten(area.peek(tf.constant(keys[0]))))
        made += session.run(tf.nest.flatten(area.get(tf.constant(keys[0]))))
        if which == "ordered":
            made += session.run(tf.nest.flatten(area.get()))
        else:
            session.run(tf.nest.flatten(area.get()))
        session.run(area.clear())
        return [*made, session.run(area.size())]

    return program


# Files, random numbers, Python


def checkpoints(d: Draw) -> Program:
    """Tensors that are saved and restored, whole and in slices."""
    shapes = [d.shape(0, 3, 4, 0), [4, 3]]
    kinds = [d.pick("float32", "int32", "float64", "int64", "bool"), "float32"]
    values = [d.values(kind, shape) for kind, shape in zip(kinds, shapes, strict=True)]

    def program(tf: Any, session: Any) -> list[Any]:
        raw, path = tf.raw_ops, str(_folder() / f"{tf.__name__.split('.')[0]}_{d.index}")
        tensors = [tf.constant(value) for value in values]
        names = tf.constant(["a", "b"])
        session.run(raw.SaveV2(prefix=path, tensor_names=names, shape_and_slices=["", ""], tensors=tensors))
        found = raw.RestoreV2(
            prefix=path,
            tensor_names=names,
            shape_and_slices=["", "4 3 1,2:-"],
            dtypes=[one.dtype for one in tensors],
        )
        made = session.run(list(found))
        session.run(
            raw.SaveV2(
                prefix=path + "x", tensor_names=["b"], shape_and_slices=["8 3 4,4:-"], tensors=tensors[1:]
            )
        )
        session.run(
            raw.MergeV2Checkpoints(
                checkpoint_prefixes=[path + "x"], destination_prefix=path + "y", delete_old_dirs=False
            )
        )
        part = raw.RestoreV2(
            prefix=path + "y", tensor_names=["b"], shape_and_slices=["8 3 5,2:0,1"], dtypes=[tf.float32]
        )
        made += session.run(list(part))
        old = path + ".old"
        session.run(raw.Save(filename=old, tensor_names=names, data=tensors))
        made.append(session.run(raw.Restore(file_pattern=old, tensor_name="a", dt=tensors[0].dtype)))
        session.run(
            raw.SaveSlices(
                filename=old, tensor_names=["b"], shapes_and_slices=["8 3 4,4:-"], data=tensors[1:]
            )
        )
        made.append(
            session.run(
                raw.RestoreSlice(
                    file_pattern=old, tensor_name="b", shape_and_slice="8 3 5,2:-", dt=tf.float32
                )
            )
        )
        return made

    return program


def vocabularies(d: Draw) -> Program:
    """The rows and columns of a checkpoint's matrix, by the words of a new vocabulary."""
    words = [f"word{number}" for number in range(9)]
    old, new = (list(d.rng.permutation(words)[: d.int(3, 8)]) for _ in range(2))
    columns = d.int(1, 4)
    matrix = d.values(np.float32, [len(old), columns])
    offset = d.int(0, len(new) - 1)
    count = d.int(1, len(new) - offset)
    known = d.pick(-1, len(old), d.int(1, len(old)))
    moved = (
        d.rng.permutation(columns).astype(np.int64)[:, None].ravel() if d.chance(2) else np.zeros(0, np.int64)
    )
    if moved.size and d.chance(2):
        moved[0] = -1
    seen = set(old[: len(old) if known < 0 else known])
    present = sum(word in seen for word in new[offset : offset + count])
    missing = count * columns - present * (columns - int((moved < 0).any()))
    values = d.values(np.float32, [missing, 1])

    def program(tf: Any, session: Any) -> list[Any]:
        raw, path = tf.raw_ops, _folder() / f"{tf.__name__.split('.')[0]}_vocabulary_{d.index}"
        files = [path.with_suffix(f".{name}") for name in ("new", "old")]
        for file, one in zip(files, (new, old), strict=True):
            file.write_text("".join(f"{word}\n" for word in one))
        session.run(
            raw.SaveV2(
                prefix=str(path), tensor_names=["m"], shape_and_slices=[""], tensors=[tf.constant(matrix)]
            )
        )
        found = raw.GenerateVocabRemapping(
            new_vocab_file=str(files[0]),
            old_vocab_file=str(files[1]),
            new_vocab_offset=offset,
            num_new_vocab=count,
            old_vocab_size=known,
        )
        made = raw.LoadAndRemapMatrix(
            ckpt_path=str(path),
            old_tensor_name="m",
            row_remapping=found[0],
            col_remapping=moved,
            initializing_values=values,
            num_rows=count,
            num_cols=columns,
        )
        return [*session.run(list(found)), session.run(made)]

    return program


def random_numbers(d: Draw) -> Program:
    """The same seeds give the same numbers."""
    shape, seeds = [d.int(1, 5), d.int(1, 40)], [d.int(0, 99), d.int(1, 99)]
    kind = ("float32", "float64", "float16")[d.index % 3]
    logits = d.values(np.float32, [d.int(1, 3), d.int(1, 5)])
    rows = d.values(np.float32, [d.int(1, 7), 2])

    def program(tf: Any, session: Any) -> list[Any]:
        tf.set_random_seed(seeds[0])
        random = tf.random
        made = [
            random.uniform(shape, dtype=kind, seed=seeds[1]),
            random.normal(shape, dtype=kind, seed=seeds[1]),
            random.truncated_normal(shape, dtype=kind, seed=seeds[1]),
            random.uniform(shape, 3, 90, dtype=("int32", "int64")[d.index % 2], seed=seeds[1]),
            tf.multinomial(logits, 6, seed=seeds[1]),
            tf.random_shuffle(rows, seed=seeds[1]),
        ]
        return [*session.run(made), *session.run(made)]

    return program


def python_functions(d: Draw) -> Program:
    """Functions of Python, printing and checks within a graph."""
    value, holds = d.values(np.float32, d.shape(0, 2)), not d.chance(4)

    def program(tf: Any, session: Any) -> list[Any]:
        x = tf.constant(value)
        doubled = tf.py_func(
            lambda v: (v * 2).astype(np.float32), [x], tf.float32, stateful=bool(d.index % 2)
        )
        printed = tf.Print(doubled, [x], "x:", summarize=1)
        with tf.control_dependencies([tf.Assert(holds, [x]), tf.print("x", x)]):
            whole = tf.identity(printed)
        try:
            return [session.run(whole)]
        except tf.errors.OpError as error:
            return [type(error).__name__]

    return program


def sparse_maps(d: Draw) -> Program:
    """Sparse tensors kept between steps."""
    shape = [d.int(1, 3), d.int(1, 4), d.int(1, 3)]
    parts = d.sparse(shape, np.float32)

    def program(tf: Any, session: Any) -> list[Any]:
        raw = tf.raw_ops
        given = dict(
            zip(("sparse_indices", "sparse_values", "sparse_shape"), map(tf.constant, parts), strict=True)
        )
        handles = raw.AddManySparseToTensorsMap(**given, container="", shared_name="many")
        one = raw.AddSparseToTensorsMap(**given, container="", shared_name="one")
        back = []
        for made, name in ((handles, "many"), (tf.reshape(one, [1]), "one")):
            back.append(
                raw.TakeManySparseFromTensorsMap(
                    sparse_handles=made, dtype=tf.float32, container="", shared_name=name
                )
            )
        return [array for part in back for array in session.run(list(part))]

    return program


def sparse_texts(d: Draw) -> Program:
    """Sparse tensors as texts and back, alone, in rows and damaged."""
    dtype = d.pick("float32", "int64", "string", "bool", "float64")
    parts = d.sparse([d.int(1, 4), *d.shape(1, 2, 4, 1)], object if dtype == "string" else dtype)
    kind = d.pick("string", "variant")
    is_damaged = d.chance(8)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, out = tf.raw_ops, getattr(tf, kind)
        given = dict(
            zip(("sparse_indices", "sparse_values", "sparse_shape"), map(tf.constant, parts), strict=True)
        )
        alone = raw.SerializeSparse(**given, out_type=out)
        rows = raw.SerializeManySparse(**given, out_type=out)
        back = [raw.DeserializeSparse(serialized_sparse=one, dtype=dtype) for one in (alone, rows)]
        texts = raw.SerializeManySparse(**given, out_type=tf.string)
        if is_damaged:
            texts = tf.strings.substr(texts, 1, 3)
        back.append(raw.DeserializeManySparse(serialized_sparse=texts, dtype=dtype))
        try:
            return [array for part in back for array in session.run(list(part))]
        except tf.errors.OpError as error:
            return [type(error).__name__]

    return program


def references(d: Draw) -> Program:
    """Variables of both kinds: made, changed, read, destroyed."""
    value = d.values(("float32", "float64")[d.index % 2], d.shape(0, 2, 4, 0))
    resource = bool(d.index % 3)

    def program(tf: Any, session: Any) -> list[Any]:
        v = tf.Variable(value, use_resource=resource)
        made: list[Any] = []
        try:
            session.run(v)
        except tf.errors.OpError as error:
            made.append(type(error).__name__)
        made.append(session.run(tf.is_variable_initialized(v)))
        session.run(tf.global_variables_initializer())
        with tf.control_dependencies([v.assign_add(tf.ones_like(value))]):
            made.append(session.run(v.read_value() if resource else tf.identity(v)))
        made.append(session.run(v.assign_sub(value)))
        if resource:
            session.run(tf.raw_ops.DestroyResourceOp(resource=v.handle, ignore_lookup_error=False))
            made.append(session.run(tf.is_variable_initialized(v)))
        return made

    return program


def signals(d: Draw) -> Program:
    """Transforms of signals and their gradients."""
    shape, lengths = (
        [*d.shape(0, 1, 3, 0), d.int(1, 5), d.int(2, 6), d.int(2, 12)],
        [d.int(1, 5), d.int(1, 7), d.int(2, 14)],
    )
    x = d.values(np.float32, shape)
    z = d.values(np.complex64, shape)
    rank, kind, norm = d.index % 3 + 1, d.int(1, 3), d.pick(None, "ortho")
    frames, step, ends = d.int(2, 8), d.int(1, 5), d.chance(2)
    wave = d.values(np.float32, [*d.shape(0, 2, 3, 0), d.int(8, 40)])

    def program(tf: Any, session: Any) -> list[Any]:
        signal, end = tf.signal, ("", "2d", "3d")[rank - 1]
        real, complexes, samples = (tf.constant(one) for one in (x, z, wave))
        wanted, half = lengths[-rank:], max(1, frames // 2)
        made = [
            getattr(signal, f"fft{end}")(complexes),
            getattr(signal, f"ifft{end}")(complexes),
            getattr(signal, f"rfft{end}")(real),
            getattr(signal, f"rfft{end}")(real, wanted),
            getattr(signal, f"irfft{end}")(complexes, wanted),
            signal.dct(real, type=kind, norm=norm if kind > 1 else None),
            signal.idct(real, type=kind, norm=norm if kind > 1 else None),
            signal.frame(samples, frames, step, pad_end=ends, pad_value=0.5),
            signal.stft(samples, frames, step, pad_end=ends),
            signal.overlap_and_add(real, step),
            signal.hann_window(frames, periodic=ends),
            signal.hamming_window(tf.placeholder_with_default(frames, []), periodic=ends),
            signal.linear_to_mel_weight_matrix(frames, 20, 8000),
            signal.mfccs_from_log_mel_spectrograms(real),
            signal.inverse_stft(
                signal.stft(samples, frames, half),
                frames,
                half,
                window_fn=signal.inverse_stft_window_fn(half),
            ),
        ]
        losses = [tf.reduce_sum(tf.abs(one) ** 2) for one in made]
        slopes = [tf.gradients(losses[at], real)[0] for at in ((2, 5, 9, 13) if rank < 3 else (5, 9, 13))]
        slopes += [tf.gradients(losses[at], complexes)[0] for at in (0, 1)]
        if shape[-rank:] == [*wanted[:-1], wanted[-1] // 2 + 1] and rank < 3:  # TensorFlow knows no others
            slopes.append(tf.gradients(losses[4], complexes)[0])
        return session.run([*made, *slopes])

    return program


PROGRAMS: dict[str, Callable[[Draw], Program]] = {
    function.__name__: function
    for function in (
        queues, tables, mutable_tables, readers, data_sets, iterators, tensor_arrays, loops, staging, checkpoints,
        vocabularies, random_numbers, signals, python_functions, sparse_maps, sparse_texts, references,
    )
}  # fmt: skip
"""Name to what makes programs of that kind."""
