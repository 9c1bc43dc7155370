"""Random programs for each op of data sets and iterators, built of raw ops on both sides.

A function takes a ``Draw``, whose ``op`` is the op that the program is about, and gives a program as `random_programs`
does. The op has a source of random element type and shape before it and an iterator after it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from tests.oracle.random_cases import Draw
from tests.oracle.random_programs import Program, _folder

KINDS = ("int64", "float32", "float64", "int32", "float16", "string", "bool", "complex64", "uint8", "int16")
_numbered = itertools.count()
"""For names of functions, which live as long as the process in TensorFlow."""

SUCCESSORS = {
    "BatchDataset": "BatchDatasetV2",
    "PaddedBatchDataset": "PaddedBatchDatasetV2",
    "ExperimentalRandomDataset": "RandomDataset",
}
"""Ops that TensorFlow 2.21 has and cannot run any more, and those that took their place, which are asked instead."""

NUMERIC = ("int64", "float32", "float64", "int32")


@dataclass
class Rows:
    """A data set's handle while a program is built."""

    handle: Any
    kinds: list[str]
    shapes: list[Any]

    def typed(self) -> dict[str, Any]:
        return {"output_types": [as_dtype(kind).as_datatype_enum for kind in self.kinds]}

    def said(self) -> dict[str, Any]:
        return {**self.typed(), "output_shapes": self.shapes}


def function_of(tf: Any, body: Callable[..., Any], rows: Rows) -> Any:
    """A Python function of an element as the value of an attribute."""
    if tf.__name__ != "gpuplace":
        from tensorflow.python.framework import function

        def shaped(*given: Any) -> Any:
            for one, shape in zip(given, rows.shapes, strict=True):
                if one.dtype != tf.variant:
                    one.set_shape(shape)
            return body(*given)

        name = f"f{next(_numbered)}"
        return function.Defun(*[getattr(tf, kind) for kind in rows.kinds], func_name=name)(shaped)
    from gpuplace.tf1.data.structure import TensorSpec
    from gpuplace.tf1.data.tracing import trace

    specs = [TensorSpec(shape, kind) for shape, kind in zip(rows.shapes, rows.kinds, strict=True)]
    return trace(body, "a function", tuple(specs) if len(specs) > 1 else specs[0]).ref


def _number(value: int) -> np.ndarray:
    return np.asarray(value, np.int64)


@dataclass
class Plan:
    """What is drawn for a program, once for both sides."""

    kind: str
    values: np.ndarray
    other: np.ndarray
    words: list[bytes]
    a: int
    b: int
    c: int
    flag: bool
    path: str


def _plan(d: Draw, kinds: tuple[str, ...] = KINDS) -> Plan:
    kind = kinds[d.index % len(kinds)]
    shape = d.shape(0, 2, 3, 0)
    dtype = as_dtype(kind).numpy_dtype
    values, other = (d.values(dtype, [d.int(1, 7), *shape]) for _ in range(2))
    words = [f"w{d.int(0, 99)}".encode() for _ in range(d.int(1, 6))]
    path = str(_folder() / f"{d.op}_{d.index}")
    return Plan(kind, values, other, words, d.int(1, 3), d.int(0, 3), d.int(1, 4), d.chance(2), path)


def _source(tf: Any, p: Plan, values: np.ndarray | None = None) -> Rows:
    values = p.values if values is None else values
    handle = tf.raw_ops.TensorSliceDataset(
        components=[tf.constant(values, getattr(tf, p.kind))], output_shapes=[list(values.shape[1:])]
    )
    return Rows(handle, [p.kind], [list(values.shape[1:])])


def _numbers(tf: Any, count: int) -> Rows:
    handle = tf.raw_ops.RangeDataset(
        start=_number(0), stop=_number(count), step=_number(1), output_types=[tf.int64], output_shapes=[[]]
    )
    return Rows(handle, ["int64"], [[]])


def elements(tf: Any, session: Any, rows: Rows, most: int = 40) -> list[Any]:
    """The elements of a data set, and how it ends."""
    raw = tf.raw_ops
    iterator = raw.IteratorV2(shared_name="", container="", **rows.said())
    session.run(raw.MakeIterator(dataset=rows.handle, iterator=iterator))
    return _drawn(tf, session, raw.IteratorGetNext(iterator=iterator, **rows.said()), most)


def _drawn(tf: Any, session: Any, item: Any, most: int = 40) -> list[Any]:
    made: list[Any] = []
    for _ in range(most):
        try:
            found = session.run(item)
        except tf.errors.OpError as error:
            made.append(type(error).__name__)
            break
        made += found if isinstance(found, list) else [found]
    return made


def _batched(rows: Rows, size: int | None = None) -> list[Any]:
    return [[size, *shape] for shape in rows.shapes]


# What an op makes of a source. Each takes the module, the plan and the op's type.


def _batch(tf: Any, p: Plan, op: str) -> Rows:
    rows, more = _source(tf, p), {} if op == "BatchDataset" else {"drop_remainder": p.flag}
    if op in SUCCESSORS and tf.__name__ != "gpuplace":
        op, more = SUCCESSORS[op], {"drop_remainder": False}
    shapes = _batched(rows)
    handle = getattr(tf.raw_ops, op)(
        input_dataset=rows.handle, batch_size=_number(p.a), output_shapes=shapes, **rows.typed(), **more
    )
    return Rows(handle, rows.kinds, shapes)


def _padded(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    shape = list(p.values.shape[1:])
    wanted = [size + p.b if number % 2 else -1 for number, size in enumerate(shape)]
    more = {} if op == "PaddedBatchDataset" else {"drop_remainder": p.flag}
    if op in SUCCESSORS and tf.__name__ != "gpuplace":
        op, more = SUCCESSORS[op], {"drop_remainder": False}
    handle = getattr(tf.raw_ops, op)(
        input_dataset=rows.handle,
        batch_size=_number(p.a),
        padded_shapes=[np.asarray(wanted, np.int64)],
        padding_values=[tf.constant(p.values.reshape(-1)[0], getattr(tf, p.kind))],
        output_shapes=[[None] * (len(shape) + 1)],
        **more,
    )
    return Rows(handle, rows.kinds, [[None] * (len(shape) + 1)])


def _counted(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    number = {"RepeatDataset": p.b % 3, "PrefetchDataset": p.b}.get(op, p.b * 2 - (1 if p.flag else 0))
    name = "buffer_size" if op == "PrefetchDataset" else "count"
    handle = getattr(tf.raw_ops, op)(input_dataset=rows.handle, **{name: _number(number)}, **rows.said())
    return Rows(handle, rows.kinds, rows.shapes)


def _plain(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    name = op.removeprefix("Experimental")
    more = {
        "CacheDataset": {"filename": f"{p.path}_{tf.__name__[:3]}" if p.flag else ""},
        "MaxIntraOpParallelismDataset": {"max_intra_op_parallelism": _number(p.a)},
        "PrivateThreadPoolDataset": {"num_threads": _number(p.a)},
        "OptimizeDataset": {"optimizations": np.zeros(0, object)},
        "ShardDataset": {"num_shards": _number(p.a), "index": _number(p.b)},
    }.get(name, {})
    handle = getattr(tf.raw_ops, op)(input_dataset=rows.handle, **more, **rows.said())
    return Rows(handle, rows.kinds, rows.shapes)


def _concatenate(tf: Any, p: Plan, op: str) -> Rows:
    rows, other = _source(tf, p), _source(tf, p, p.other)
    handle = tf.raw_ops.ConcatenateDataset(
        input_dataset=rows.handle, another_dataset=other.handle, **rows.said()
    )
    return Rows(handle, rows.kinds, rows.shapes)


def _zip(tf: Any, p: Plan, op: str) -> Rows:
    rows, other = _source(tf, p), _numbers(tf, 4)
    both = Rows(None, rows.kinds + other.kinds, rows.shapes + other.shapes)
    both.handle = tf.raw_ops.ZipDataset(input_datasets=[rows.handle, other.handle], **both.said())
    return both


def _interleaved(tf: Any, p: Plan, op: str) -> Rows:
    chosen = np.asarray([(index * p.a) % (2 + (p.b == 3)) for index in range(6)], np.int64)
    selector = tf.raw_ops.TensorSliceDataset(components=[tf.constant(chosen)], output_shapes=[[]])
    rows, other = _source(tf, p), _source(tf, p, p.other)
    handle = getattr(tf.raw_ops, op)(
        selector_input_dataset=selector, data_input_datasets=[rows.handle, other.handle], **rows.said()
    )
    return Rows(handle, rows.kinds, rows.shapes)


def _unbatch(tf: Any, p: Plan, op: str) -> Rows:
    rows = _batch(tf, p, "BatchDatasetV2")
    shapes = [shape[1:] for shape in rows.shapes]
    handle = getattr(tf.raw_ops, op)(input_dataset=rows.handle, output_shapes=shapes, **rows.typed())
    return Rows(handle, rows.kinds, shapes)


def _window(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    windows = tf.raw_ops.WindowDataset(
        input_dataset=rows.handle, size=_number(p.a), shift=_number(p.b + 1), stride=_number(1 + p.c % 2),
        drop_remainder=p.flag, output_types=[tf.variant], output_shapes=[[]],
    )  # fmt: skip
    inner = Rows(windows, ["variant"], [[]])
    handle = tf.raw_ops.FlatMapDataset(
        input_dataset=windows,
        other_arguments=[],
        f=function_of(tf, lambda window: window, inner),
        **rows.said(),
    )
    return Rows(handle, rows.kinds, rows.shapes)


def _mapped(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    more: dict[str, Any] = {"other_arguments": []}
    if op == "ParallelMapDataset":
        more["num_parallel_calls"] = np.int32(p.a)
    shapes = rows.shapes
    if op.endswith("MapAndBatchDataset"):
        more |= {
            "batch_size": _number(p.a), "num_parallel_calls": _number(2), "drop_remainder": np.bool_(p.flag)
        }  # fmt: skip
        shapes = _batched(rows)
    handle = getattr(tf.raw_ops, op)(
        input_dataset=rows.handle, f=function_of(tf, lambda x: x * x + x, rows), output_shapes=shapes,
        **rows.typed(), **more,
    )  # fmt: skip
    return Rows(handle, rows.kinds, shapes)


def _ignored(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    checked = tf.raw_ops.MapDataset(
        input_dataset=rows.handle,
        other_arguments=[],
        f=function_of(tf, lambda x: tf.check_numerics(tf.log(x + 2), "a logarithm"), rows),
        **rows.said(),
    )
    handle = getattr(tf.raw_ops, op)(input_dataset=checked, **rows.said())
    return Rows(handle, rows.kinds, rows.shapes)


def _filtered(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)

    def keep(x: Any) -> Any:
        return tf.greater(tf.reduce_sum(x), tf.cast(p.b - 1, x.dtype))

    handle = getattr(tf.raw_ops, op)(
        input_dataset=rows.handle, other_arguments=[], predicate=function_of(tf, keep, rows), **rows.said()
    )
    return Rows(handle, rows.kinds, rows.shapes)


def _each_slice(tf: Any, rows: Rows, number: int) -> Any:
    """A function of an element that gives a data set: the element ``number`` times."""
    shape = rows.shapes[0]

    def body(x: Any) -> Any:
        many = tf.stack([x, *[x + tf.cast(k, x.dtype) for k in range(1, number)]])
        return tf.raw_ops.TensorSliceDataset(components=[many], output_shapes=[shape])

    return body


def _flat(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    more: dict[str, Any] = {"other_arguments": []}
    if "Interleave" in op:
        more |= {"cycle_length": _number(p.c), "block_length": _number(p.a)}
    if op.endswith("ParallelInterleaveDataset"):
        more |= {
            "sloppy": np.bool_(False), "buffer_output_elements": _number(2), "prefetch_input_elements": _number(1)
        }  # fmt: skip
    if op.endswith("InterleaveDatasetV2"):
        more["num_parallel_calls"] = _number(min(2, p.c))
    f = function_of(tf, _each_slice(tf, rows, p.a), rows)
    handle = getattr(tf.raw_ops, op)(input_dataset=rows.handle, f=f, **rows.said(), **more)
    return Rows(handle, rows.kinds, rows.shapes)


def _scan(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    zero = np.zeros(p.values.shape[1:], p.values.dtype)
    state = Rows(None, rows.kinds * 2, rows.shapes * 2)
    handle = getattr(tf.raw_ops, op)(
        input_dataset=rows.handle, initial_state=[tf.constant(zero)], other_arguments=[],
        f=function_of(tf, lambda s, x: (s + x, s * 2 - x), state), **rows.said(),
    )  # fmt: skip
    return Rows(handle, rows.kinds, rows.shapes)


def _key(tf: Any, number: int) -> Callable[..., Any]:
    return lambda x: tf.cast(tf.reduce_sum(x), tf.int64) % number


def _grouped(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    shapes = _batched(rows)
    inner = Rows(None, ["int64", "variant"], [[], []])

    def batch(key: Any, window: Any) -> Any:
        return tf.raw_ops.BatchDatasetV2(
            input_dataset=window, batch_size=_number(p.a), drop_remainder=False, output_shapes=shapes,
            **rows.typed(),
        )  # fmt: skip

    none: dict[str, Any] = {f"{name}_func_other_arguments": [] for name in ("key", "reduce", "window_size")}
    handle = getattr(tf.raw_ops, op)(
        input_dataset=rows.handle, key_func=function_of(tf, _key(tf, 2), rows),
        reduce_func=function_of(tf, batch, inner),
        window_size_func=function_of(tf, lambda key: key * 0 + p.c, Rows(None, ["int64"], [[]])),
        output_shapes=shapes, **rows.typed(), **none,
    )  # fmt: skip
    return Rows(handle, rows.kinds, shapes)


def _reduced(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    zero = np.zeros(p.values.shape[1:], p.values.dtype)
    none: dict[str, Any] = {
        f"{name}_func_other_arguments": [] for name in ("key", "init", "reduce", "finalize")
    }
    handle = getattr(tf.raw_ops, op)(
        input_dataset=rows.handle, key_func=function_of(tf, _key(tf, p.a), rows),
        init_func=function_of(tf, lambda key: tf.constant(zero), Rows(None, ["int64"], [[]])),
        reduce_func=function_of(tf, lambda s, x: s + x * 2, Rows(None, rows.kinds * 2, rows.shapes * 2)),
        finalize_func=function_of(tf, lambda s: s - 1, rows), **rows.said(), **none,
    )  # fmt: skip
    return Rows(handle, rows.kinds, rows.shapes)


def _wrapped(tf: Any, p: Plan, op: str) -> Rows:
    rows = _source(tf, p)
    wrapped = tf.raw_ops.WrapDatasetVariant(input_handle=rows.handle)
    return Rows(tf.raw_ops.UnwrapDatasetVariant(input_handle=wrapped), rows.kinds, rows.shapes)


def _made_of(tf: Any, p: Plan, op: str) -> Rows:
    if op == "RangeDataset":
        step = p.c if p.flag else -p.c
        handle = tf.raw_ops.RangeDataset(
            start=_number(p.b), stop=_number(p.b + 7 if p.flag else p.b - 7), step=_number(step),
            output_types=[tf.int64], output_shapes=[[]],
        )  # fmt: skip
        return Rows(handle, ["int64"], [[]])
    if op == "TensorDataset":
        shapes = [list(p.values.shape), list(p.other.shape)]
        handle = tf.raw_ops.TensorDataset(
            components=[
                tf.constant(p.values, getattr(tf, p.kind)),
                tf.constant(p.other, getattr(tf, p.kind)),
            ],
            output_shapes=shapes,
        )
        return Rows(handle, [p.kind] * 2, shapes)
    return _source(tf, p)


def _lines(tf: Any, p: Plan, op: str) -> Rows:
    import gzip
    import zlib

    kind = ("", "GZIP", "ZLIB")[p.c % 3]
    packed = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind]
    paths = [f"{p.path}_{number}" for number in range(p.a)]
    for number, path in enumerate(paths):
        words = p.words[number:]
        if op == "TFRecordDataset":
            import tensorflow

            with tensorflow.io.TFRecordWriter(path, kind) as writer:
                for word in words:
                    writer.write(word)
        elif op == "TextLineDataset":
            ending = b"\r\n" if p.b == 3 else b"\n"
            with open(path, "wb") as stream:
                stream.write(packed(ending.join(words) + (ending if p.flag else b"")))
        else:
            with open(path, "wb") as stream:
                stream.write(packed(b"h" * p.b + b"".join(words)[: p.c * 3] + b"f" * (p.c % 2)))
    given: dict[str, Any] = {
        "filenames": np.asarray(paths, object), "compression_type": kind, "buffer_size": _number(p.b * 16)
    }  # fmt: skip
    if op == "FixedLengthRecordDatasetV2":
        given |= {
            "header_bytes": _number(p.b), "record_bytes": _number(p.c), "footer_bytes": _number(p.c % 2)
        }  # fmt: skip
    return Rows(getattr(tf.raw_ops, op)(**given), ["string"], [[]])


STAGES: dict[str, tuple[Callable[[Any, Plan, str], Rows], tuple[str, ...]]] = {
    **dict.fromkeys(("BatchDataset", "BatchDatasetV2"), (_batch, KINDS)),
    **dict.fromkeys(("PaddedBatchDataset", "PaddedBatchDatasetV2"), (_padded, KINDS)),
    **dict.fromkeys(("RepeatDataset", "TakeDataset", "SkipDataset", "PrefetchDataset"), (_counted, KINDS)),
    **dict.fromkeys(
        (
            "CacheDataset", "ModelDataset", "OptimizeDataset", "ShardDataset", "MaxIntraOpParallelismDataset",
            "PrivateThreadPoolDataset", "ExperimentalMaxIntraOpParallelismDataset",
            "ExperimentalPrivateThreadPoolDataset",
        ),
        (_plain, KINDS),
    ),
    **dict.fromkeys(("UniqueDataset", "ExperimentalUniqueDataset"), (_plain, ("int64", "int32", "string"))),
    "ConcatenateDataset": (_concatenate, KINDS),
    "ZipDataset": (_zip, KINDS),
    **dict.fromkeys(("DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset"), (_interleaved, KINDS)),
    **dict.fromkeys(("UnbatchDataset", "ExperimentalUnbatchDataset"), (_unbatch, KINDS)),
    "WindowDataset": (_window, KINDS),
    **dict.fromkeys(
        ("MapDataset", "ParallelMapDataset", "MapAndBatchDataset", "ExperimentalMapAndBatchDataset"),
        (_mapped, (*NUMERIC, "complex64", "float16")),
    ),
    **dict.fromkeys(
        ("IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"), (_ignored, ("float32", "float64"))
    ),
    **dict.fromkeys(
        ("FilterDataset", "TakeWhileDataset", "ExperimentalTakeWhileDataset"), (_filtered, NUMERIC)
    ),
    **dict.fromkeys(
        (
            "FlatMapDataset", "InterleaveDataset", "ParallelInterleaveDataset", "ParallelInterleaveDatasetV2",
            "ExperimentalParallelInterleaveDataset",
        ),
        (_flat, NUMERIC),
    ),
    **dict.fromkeys(("ScanDataset", "ExperimentalScanDataset"), (_scan, NUMERIC)),
    **dict.fromkeys(("GroupByWindowDataset", "ExperimentalGroupByWindowDataset"), (_grouped, NUMERIC)),
    **dict.fromkeys(("GroupByReducerDataset", "ExperimentalGroupByReducerDataset"), (_reduced, NUMERIC)),
    **dict.fromkeys(("WrapDatasetVariant", "UnwrapDatasetVariant"), (_wrapped, KINDS)),
    **dict.fromkeys(("RangeDataset", "TensorDataset", "TensorSliceDataset"), (_made_of, KINDS)),
    **dict.fromkeys(("TFRecordDataset", "TextLineDataset", "FixedLengthRecordDatasetV2"), (_lines, KINDS)),
}  # fmt: skip
"""Op to what builds a data set with it, and the types of elements."""


def stages(d: Draw) -> Program:
    """All elements of a data set that the op makes."""
    build, kinds = STAGES[d.op]
    p = _plan(d, kinds)
    if d.op.endswith("UniqueDataset"):
        p.values = p.values.reshape(len(p.values), -1)[:, 0]

    def program(tf: Any, session: Any) -> list[Any]:
        return elements(tf, session, build(tf, p, d.op))

    return program


def shuffles(d: Draw) -> Program:
    """The elements of a shuffle; of one that also repeats, whose later rounds the releases order otherwise, sorted."""
    p = _plan(d, NUMERIC)
    size, seeds = d.int(1, 9), (d.int(0, 9), d.int(1, 9))

    def program(tf: Any, session: Any) -> list[Any]:
        rows = _source(tf, p)
        more: dict[str, Any] = {"count": _number(p.a)} if "Repeat" in d.op else {}
        if d.op == "ShuffleDataset":
            more = {"reshuffle_each_iteration": p.flag}
        handle = getattr(tf.raw_ops, d.op)(
            input_dataset=rows.handle, buffer_size=_number(size), seed=_number(seeds[0]), seed2=_number(seeds[1]),
            **rows.said(), **more,
        )  # fmt: skip
        found = elements(tf, session, Rows(handle, rows.kinds, rows.shapes))
        return (
            found
            if d.op == "ShuffleDataset"
            else sorted(found, key=lambda one: np.asarray(one).tolist().__repr__())
        )

    return program


def random_sets(d: Draw) -> Program:
    """The first numbers of a random data set."""
    seeds = (d.int(0, 99), d.int(1, 99))

    def program(tf: Any, session: Any) -> list[Any]:
        rows = Rows(None, ["int64"], [[]])
        op = SUCCESSORS.get(d.op, d.op) if tf.__name__ != "gpuplace" else d.op
        rows.handle = getattr(tf.raw_ops, op)(seed=_number(seeds[0]), seed2=_number(seeds[1]), **rows.said())
        return elements(tf, session, rows, 20)

    return program


def results(d: Draw) -> Program:
    """What an op tells of a data set, or makes of all its elements."""
    p = _plan(d, NUMERIC if d.op == "ReduceDataset" else KINDS)
    if d.op == "DatasetToSingleElement" and d.chance(2):
        p.values = p.values[:1]

    def program(tf: Any, session: Any) -> list[Any]:
        raw, rows = tf.raw_ops, _source(tf, p)
        if d.op == "DatasetToSingleElement":
            made = raw.DatasetToSingleElement(dataset=rows.handle, **rows.said())
        elif d.op == "ReduceDataset":
            both = Rows(None, rows.kinds * 2, rows.shapes * 2)
            made = raw.ReduceDataset(
                input_dataset=rows.handle, initial_state=[tf.constant(p.values[0])], other_arguments=[],
                f=function_of(tf, lambda s, x: s * 2 - x, both), **rows.said(),
            )  # fmt: skip
        else:
            repeated = _counted(tf, p, "RepeatDataset") if p.flag else rows
            made = getattr(raw, d.op)(input_dataset=repeated.handle)
        found = session.run(made)
        return found if isinstance(found, list) else [found]

    return program


def iterators(d: Draw) -> Program:
    """Elements through an iterator of the kind that the op makes, names or reads."""
    p = _plan(d)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, rows = tf.raw_ops, _source(tf, p)
        if d.op.startswith("Anonymous"):
            made = getattr(raw, d.op)(**rows.said())
            handle = made[0] if isinstance(made, (tuple, list)) else made
            with tf.control_dependencies([raw.MakeIterator(dataset=rows.handle, iterator=handle)]):
                first = raw.IteratorGetNext(iterator=handle, **rows.said())
            with tf.control_dependencies(first):
                second = raw.IteratorGetNext(iterator=handle, **rows.said())
            return _drawn(tf, session, [*first, *second], 1)
        if d.op == "OneShotIterator":
            dataset = tf.data.Dataset.from_tensor_slices(p.values).take(p.c)
            return _drawn(tf, session, tf.data.make_one_shot_iterator(dataset).get_next())
        if d.op == "GeneratorDataset":
            dataset = tf.data.Dataset.from_generator(lambda: iter(p.values), p.kind, p.values.shape[1:])
            iterator = tf.data.make_initializable_iterator(dataset)
            session.run(iterator.initializer)
            return _drawn(tf, session, iterator.get_next())
        made = raw.Iterator if d.op == "Iterator" else raw.IteratorV2
        iterator = made(shared_name=f"it{d.index}", container="", **rows.said())
        read = raw.IteratorGetNextSync if d.op == "IteratorGetNextSync" else raw.IteratorGetNext
        start = raw.MakeIterator(dataset=rows.handle, iterator=iterator)
        before = _drawn(tf, session, read(iterator=iterator, **rows.said()), 1)  # not initialised
        session.run(start)
        if "String" in d.op:
            text = raw.IteratorToStringHandle(resource_handle=iterator)
            back = (
                raw.IteratorFromStringHandle
                if d.op == "IteratorFromStringHandle"
                else raw.IteratorFromStringHandleV2
            )
            iterator = back(string_handle=text, **rows.said())
        found = _drawn(tf, session, read(iterator=iterator, **rows.said()), p.c)
        session.run(start)
        return [*before, *found, *_drawn(tf, session, read(iterator=iterator, **rows.said()))]

    return program


PROGRAMS_OF: dict[str, Callable[[Draw], Program]] = {
    **dict.fromkeys(STAGES, stages),
    **dict.fromkeys(("ShuffleDataset", "ShuffleAndRepeatDataset"), shuffles),
    **dict.fromkeys(("RandomDataset", "ExperimentalRandomDataset"), random_sets),
    **dict.fromkeys(
        ("DatasetCardinality", "ExperimentalDatasetCardinality", "DatasetToSingleElement", "ReduceDataset"), results
    ),
    **dict.fromkeys(
        (
            "AnonymousIterator", "AnonymousIteratorV2", "OneShotIterator", "GeneratorDataset", "Iterator",
            "IteratorV2", "IteratorGetNext", "IteratorGetNextSync", "MakeIterator", "IteratorToStringHandle",
            "IteratorFromStringHandle", "IteratorFromStringHandleV2",
        ),
        iterators,
    ),
}  # fmt: skip
"""Op type to what makes its programs."""
