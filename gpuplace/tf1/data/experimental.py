"""``tf.data.experimental``: transformations for ``Dataset.apply``, and what stands beside them.

Source: tensorflow/python/data/experimental/ops, release 1.15 (operations, names, defaults, sentences).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import gather
from gpuplace.ops.math.check_ops import assert_less
from gpuplace.ops.math.comparison import less, less_equal, logical_and
from gpuplace.ops.math.reduction import reduce_min
from gpuplace.ops.support import new, new_list
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.shapes import as_shape
from gpuplace.tf1.data import structure
from gpuplace.tf1.data.dataset import (
    AUTOTUNE,
    Dataset,
    DatasetSpec,
    common_spec,
    fixed_rows,
    inner_spec,
    int64_tensor,
    made,
    seed_tensors,
    to_variant,
    trace_with_state,
    unary,
)
from gpuplace.tf1.data.options import (
    DistributeOptions,
    MapVectorizationOptions,
    OptimizationOptions,
    StatsOptions,
    ThreadingOptions,
)
from gpuplace.tf1.data.readers import parallel_interleaved
from gpuplace.tf1.data.tracing import trace
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Counter",
    "DistributeOptions",
    "MapVectorizationOptions",
    "OptimizationOptions",
    "RandomDataset",
    "Reducer",
    "StatsOptions",
    "ThreadingOptions",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "enumerate_dataset",
    "from_variant",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "map_and_batch",
    "parallel_interleave",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]

INFINITE_CARDINALITY = -1
"""What ``cardinality`` gives for a dataset without end."""
UNKNOWN_CARDINALITY = -2
"""What ``cardinality`` gives where nobody knows."""

Transformation = Callable[[Dataset], Dataset]
"""What ``Dataset.apply`` takes."""


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: TensorLike,
    num_parallel_batches: int | None = None,
    drop_remainder: Any = False,
    num_parallel_calls: TensorLike | None = None,
) -> Transformation:
    """``map`` and ``batch`` as one operation.

    Args:
        map_func: as for ``Dataset.map``.
        batch_size: elements of a batch.
        num_parallel_batches: batches that TensorFlow would work on at a time; None: see ``num_parallel_calls``.
        drop_remainder: whether a last batch with fewer elements is left out.
        num_parallel_calls: elements that it would work on at a time; None: a batch.

    Returns:
        A function for ``Dataset.apply``.

    Raises:
        ValueError: both numbers are given.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        )
    calls: Any = num_parallel_calls
    if calls is None:
        calls = batch_size if num_parallel_batches is None else batch_size * num_parallel_batches  # type: ignore[operator]

    def apply(dataset: Dataset) -> Dataset:
        function = trace(map_func, "tf.data.experimental.map_and_batch()", dataset.element_spec)
        size = int64_tensor(batch_size, "batch_size")
        parallel = int64_tensor(calls, "num_parallel_calls")
        drops = convert_to_tensor(drop_remainder, "bool", name="drop_remainder")
        rows = fixed_rows(size, drops)
        return unary(
            dataset,
            "MapAndBatchDataset",
            structure.map_form(lambda one: one._batch(rows), function.spec),
            (function,),
            other_arguments=list(function.captured),
            batch_size=size,
            num_parallel_calls=parallel,
            drop_remainder=drops,
            f=function.ref,
            preserve_cardinality=True,
        )

    return apply


def shuffle_and_repeat(
    buffer_size: TensorLike, count: TensorLike | None = None, seed: int | None = None
) -> Transformation:
    """``shuffle`` and ``repeat`` as one operation.

    Args:
        buffer_size: as for ``Dataset.shuffle``.
        count: as for ``Dataset.repeat``.
        seed: as for ``Dataset.shuffle``.

    Returns:
        A function for ``Dataset.apply``.
    """

    def apply(dataset: Dataset) -> Dataset:
        size = int64_tensor(buffer_size, "buffer_size")
        times = int64_tensor(-1 if count is None else count, "count")
        first, second = seed_tensors(seed)
        return unary(
            dataset, "ShuffleAndRepeatDataset", buffer_size=size, count=times, seed=first, seed2=second
        )

    return apply


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: int,
    block_length: int = 1,
    sloppy: Any = False,
    buffer_output_elements: TensorLike | None = None,
    prefetch_input_elements: TensorLike | None = None,
) -> Transformation:
    """The elements of the datasets that a function makes, in turn.

    As for TensorFlow, a block goes on with the next dataset where one ends within it.

    Args:
        map_func: takes an element and returns a dataset.
        cycle_length: datasets that take turns.
        block_length: elements that each gives at its turn.
        sloppy: whether TensorFlow may take another turn; here the order is always the same.
        buffer_output_elements: elements that TensorFlow would make ahead; None: two blocks.
        prefetch_input_elements: datasets that it would make ahead; None: two cycles.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: parallel_interleaved(
        dataset, map_func, cycle_length, block_length, sloppy, buffer_output_elements, prefetch_input_elements
    )


def ignore_errors() -> Transformation:
    """Leaves out the elements that cannot be made.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: unary(dataset, "IgnoreErrorsDataset")


def enumerate_dataset(start: TensorLike = 0) -> Transformation:
    """Pairs of a number and an element, as ``Dataset.enumerate``.

    Args:
        start: the first number.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset.enumerate(start)


def unbatch() -> Transformation:
    """The rows of the elements, as ``Dataset.unbatch``.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset.unbatch()


def unique() -> Transformation:
    """Each element once.

    Returns:
        A function for ``Dataset.apply``, for elements that are one int32, int64 or string tensor.
    """

    def apply(dataset: Dataset) -> Dataset:
        if dataset.output_types not in [as_dtype(name) for name in ("int32", "int64", "string")]:
            raise TypeError(
                "`tf.data.experimental.unique()` only supports inputs with a single `tf.int32`, `tf.int64`, or"
                " `tf.string` component."
            )
        return unary(dataset, "UniqueDataset")

    return apply


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements before the first one for which a function is false.

    Args:
        predicate: takes an element and returns a bool scalar.

    Returns:
        A function for ``Dataset.apply``.
    """

    def apply(dataset: Dataset) -> Dataset:
        function = trace(predicate, "tf.data.experimental.take_while()", dataset.element_spec)
        if not function.is_scalar_of("bool"):
            raise ValueError("`predicate` must return a scalar boolean tensor.")
        return unary(
            dataset,
            "TakeWhileDataset",
            functions=(function,),
            other_arguments=list(function.captured),
            predicate=function.ref,
        )

    return apply


def scan(initial_state: Any, scan_func: Callable[[Any, Any], Any]) -> Transformation:
    """What a function makes of a state and each element, one after the other.

    Args:
        initial_state: the first state, an element.
        scan_func: takes a state and an element; returns the next state and an element.

    Returns:
        A function for ``Dataset.apply``.
    """

    def apply(dataset: Dataset) -> Dataset:
        state = structure.normalised(initial_state)

        def new_state(returned: Any) -> Any:
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise TypeError(
                    "The scan function must return a pair comprising the new state and the output value."
                )
            return returned[0]

        function, _ = trace_with_state(
            scan_func,
            "tf.data.experimental.scan()",
            structure.spec_of_value(state),
            dataset.element_spec,
            new_state,
        )
        return unary(
            dataset,
            "ScanDataset",
            function.spec[1],
            (function,),
            initial_state=structure.to_tensors(state),
            other_arguments=list(function.captured),
            f=function.ref,
            preserve_cardinality=True,
        )

    return apply


def Counter(  # noqa: N802 - TensorFlow's name
    start: TensorLike = 0, step: TensorLike = 1, dtype: DTypeLike = "int64"
) -> Dataset:
    """Numbers without end.

    Args:
        start: the first.
        step: from one to the next.
        dtype: their type.

    Returns:
        A dataset of scalars.
    """
    with name_scope("counter"):
        first = convert_to_tensor(start, dtype, name="start")
        further = convert_to_tensor(step, dtype, name="step")
        counted = scan(first, lambda state, _: (state + further, state))
        return Dataset.from_tensors(0).repeat(None).apply(counted)


class RandomDataset(Dataset):
    """Random numbers without end, int64 scalars from 0 below 2**32.

    Args:
        seed: the op's seed, an integer. None: see ``set_random_seed``.
    """

    def __init__(self, seed: int | None = None) -> None:
        first, second = seed_tensors(seed)
        one = made("RandomDataset", TensorSpec([], "int64"), seed=first, seed2=second)
        super().__init__(to_variant(one), one.element_spec)


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Elements of several datasets, as the numbers of another one say.

    Args:
        datasets: datasets of elements of the same types.
        choice_dataset: gives their positions, int64 scalars.

    Returns:
        A dataset.

    Raises:
        TypeError: the numbers are of another type, or the datasets differ.
    """
    spec = choice_dataset.element_spec
    if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(TensorSpec([], "int64")):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return directed(choice_dataset, datasets)


def in_turn(dataset: Dataset, function: Callable[..., Any]) -> Dataset:
    """What a function makes of each element, in the thread that asks for it.

    Args:
        dataset: gives the elements.
        function: the function, as for ``Dataset.map``.
    """
    traced = trace(function, "Dataset.map()", dataset.element_spec)
    return unary(
        dataset,
        "MapDataset",
        traced.spec,
        (traced,),
        other_arguments=list(traced.captured),
        f=traced.ref,
        use_inter_op_parallelism=False,
    )


def directed(selector: Dataset, datasets: Sequence[Dataset]) -> Dataset:
    """Elements of several datasets, as the numbers of another one say.

    Args:
        selector: gives the positions of datasets, int64 scalars.
        datasets: the datasets.

    Raises:
        TypeError: they differ in the types of their elements.
    """
    common = datasets[0]
    for one in datasets[1:]:
        if one.output_types != common.output_types or one.output_classes != common.output_classes:
            raise TypeError("All datasets must have the same type and class.")
    return made(
        "DirectedInterleaveDataset",
        _weakest([one.element_spec for one in datasets]),
        (selector, *datasets),
        selector_input_dataset=to_variant(selector),
        data_input_datasets=[to_variant(one) for one in datasets],
    )


def _weakest(specs: Sequence[Any]) -> Any:
    spec = specs[0]
    for other in specs[1:]:
        spec = common_spec(spec, other)
    return spec


# Groups


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Any, Dataset], Dataset],
    window_size: TensorLike | None = None,
    window_size_func: Callable[[Any], Any] | None = None,
) -> Transformation:
    """Elements of equal keys, as soon as there are enough of a key, put together by a function.

    Args:
        key_func: takes an element and gives its key, an int64 scalar.
        reduce_func: takes a key and a dataset of elements; makes a dataset.
        window_size: elements that are enough; None: see ``window_size_func``.
        window_size_func: takes a key and gives how many are enough; None: see ``window_size``.

    Returns:
        A function for ``Dataset.apply``.

    Raises:
        ValueError: not exactly one of the last two is given.
    """
    if (window_size is None) is (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")

    def apply(dataset: Dataset) -> Dataset:
        name, number = "tf.data.experimental.group_by_window()", TensorSpec([], "int64")

        def key_of(*element: Any) -> Any:
            return convert_to_tensor(key_func(*element), "int64")

        def size_of(key: Any) -> Any:
            size: Any = window_size if window_size_func is None else window_size_func(key)
            return convert_to_tensor(size, "int64")

        key = trace(key_of, name, dataset.element_spec)
        if not key.is_scalar_of("int64"):
            raise ValueError("`key_func` must return a single tf.int64 scalar tensor.")
        reduce = trace(reduce_func, name, (number, DatasetSpec(dataset.element_spec)))
        if not isinstance(reduce.spec, DatasetSpec):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        size = trace(size_of, name, number)
        if not size.is_scalar_of("int64"):
            raise ValueError("`window_size_func` must return a single tf.int64 scalar tensor.")
        return unary(
            dataset,
            "GroupByWindowDataset",
            inner_spec(reduce),
            (key, reduce, size),
            key_func_other_arguments=list(key.captured),
            reduce_func_other_arguments=list(reduce.captured),
            window_size_func_other_arguments=list(size.captured),
            key_func=key.ref,
            reduce_func=reduce.ref,
            window_size_func=size.ref,
        )

    return apply


class Reducer:
    """What ``group_by_reducer`` does with the elements of a key.

    Args:
        init_func: takes a key and gives the first state.
        reduce_func: takes a state and an element and gives the next state.
        finalize_func: makes an element of the last state.
    """

    def __init__(
        self,
        init_func: Callable[[Any], Any],
        reduce_func: Callable[[Any, Any], Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """What functions make of all elements of equal keys.

    Args:
        key_func: takes an element and gives its key, an int64 scalar.
        reducer: the functions.

    Returns:
        A function for ``Dataset.apply``.
    """

    def apply(dataset: Dataset) -> Dataset:
        name = "tf.data.experimental.group_by_reducer()"
        key = trace(key_func, name, dataset.element_spec)
        if not key.is_scalar_of("int64"):
            raise ValueError(f"`key_func` must return a single tf.int64 tensor. Got {key.spec}")
        init = trace(reducer.init_func, name, TensorSpec([], "int64"))
        reduce, state = trace_with_state(reducer.reduce_func, name, init.spec, dataset.element_spec)
        finalize = trace(reducer.finalize_func, name, state)
        functions = {"key": key, "init": init, "reduce": reduce, "finalize": finalize}
        arguments: dict[str, Any] = {}
        for which, function in functions.items():
            arguments[f"{which}_func"] = function.ref
            arguments[f"{which}_func_other_arguments"] = list(function.captured)
        return unary(
            dataset,
            "ExperimentalGroupByReducerDataset",
            finalize.spec,
            tuple(functions.values()),
            **arguments,
        )

    return apply


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Batches of elements of about the same length.

    Args:
        element_length_func: takes an element and gives its length, an int32 scalar.
        bucket_boundaries: lengths that divide the buckets.
        bucket_batch_sizes: elements of a batch of each bucket, one more than there are boundaries.
        padded_shapes: as for ``Dataset.padded_batch``; None: those of the elements.
        padding_values: as for ``Dataset.padded_batch``.
        pad_to_bucket_boundary: whether all elements of a bucket are filled up to its boundary.
        no_padding: whether none is filled up.
        drop_remainder: whether batches with fewer elements are left out.

    Returns:
        A function for ``Dataset.apply``.

    Raises:
        ValueError: there are not as many sizes as buckets.
    """
    with name_scope("bucket_by_seq_length"):
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
        sizes = convert_to_tensor(list(bucket_batch_sizes), "int64")

        def bucket_of(*element: Any) -> Any:
            length = element_length_func(*element)
            limits = np.iinfo(np.int32)
            lowest = [limits.min, *bucket_boundaries]
            highest = [*bucket_boundaries, limits.max]
            fits = logical_and(less_equal(lowest, length), less(length, highest))
            return reduce_min(gather.where(fits))

        def size_of(bucket: Any) -> Any:
            return sizes[bucket]

        def batch(bucket: Any, grouped: Dataset) -> Dataset:
            size = size_of(bucket)
            if no_padding:
                return grouped.batch(size, drop_remainder=drop_remainder)
            fill = None
            if pad_to_bucket_boundary:
                check = assert_less(
                    bucket,
                    convert_to_tensor(len(bucket_batch_sizes) - 1, "int64"),
                    message="When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries).",
                )
                with get_default_graph().control_dependencies([check]):
                    fill = convert_to_tensor(list(bucket_boundaries), "int64")[bucket] - 1
            shapes = padded_shapes or grouped.output_shapes
            filled = structure.pack(shapes, [_filled(shape, fill) for shape in structure.flatten(shapes)])
            return grouped.padded_batch(size, filled, padding_values, drop_remainder=drop_remainder)

        return group_by_window(bucket_of, batch, window_size_func=size_of)


def _filled(shape: Any, fill: Tensor | None) -> Any:
    sizes: list[Any] = [fill if size is None else size for size in as_shape(shape).sizes or ()]
    if any(isinstance(size, Tensor) for size in sizes):
        return new("Pack", values=[convert_to_tensor(size, "int64") for size in sizes])
    return sizes


# Beside the transformations


def cardinality(dataset: Dataset) -> Tensor:
    """How many elements a dataset has.

    Args:
        dataset: the dataset.

    Returns:
        An int64 scalar; see ``INFINITE_CARDINALITY`` and ``UNKNOWN_CARDINALITY``.
    """
    return new("DatasetCardinality", input_dataset=to_variant(dataset))


def get_single_element(dataset: Dataset) -> Any:
    """The one element of a dataset.

    Args:
        dataset: the dataset.

    Returns:
        The element.

    Raises:
        TypeError: it is no dataset.
        InvalidArgumentError: at run time, it has none, or more.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    spec = dataset.element_spec
    tensors = new_list(
        "DatasetToSingleElement",
        dataset=to_variant(dataset),
        output_types=structure.flat_types(spec),
        output_shapes=structure.flat_shapes(spec),
    )
    return structure.from_tensors(spec, tensors)


def get_structure(dataset_or_iterator: Any) -> Any:
    """What the elements of a dataset or an iterator are.

    Args:
        dataset_or_iterator: one of them.

    Returns:
        ``TensorSpec`` and the like, in the elements' form.

    Raises:
        TypeError: something else.
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            f"`dataset_or_iterator` must be a Dataset or Iterator object, but got {type(dataset_or_iterator)}."
        ) from None


def from_variant(variant: Tensor, structure: Any) -> Dataset:
    """The dataset that a tensor stands for.

    Args:
        variant: a ``variant`` scalar.
        structure: what its elements are, as ``get_structure`` gives it.

    Returns:
        A dataset.
    """
    return Dataset(variant, structure)
