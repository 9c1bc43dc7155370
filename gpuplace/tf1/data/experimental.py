"""``tf.data.experimental``: transformations for ``Dataset.apply``, and related functions.

Source: tensorflow/python/data/experimental/ops, release 1.15 (operations, names, defaults, messages).
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
    build,
    common_spec,
    fixed_rows,
    inner_spec,
    int64_tensor,
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
"""Result of ``cardinality`` for an infinite dataset."""
UNKNOWN_CARDINALITY = -2
"""Result of ``cardinality`` if it is unknown."""

Transformation = Callable[[Dataset], Dataset]
"""Argument of ``Dataset.apply``."""


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
        batch_size: number of elements in a batch.
        num_parallel_batches: number of batches that TensorFlow would process in parallel; None: see
            ``num_parallel_calls``.
        drop_remainder: whether to drop a last batch with fewer elements.
        num_parallel_calls: number of elements that TensorFlow would process in parallel; None: a batch.

    Returns:
        A function for ``Dataset.apply``.

    Raises:
        ValueError: both ``num_parallel_batches`` and ``num_parallel_calls`` are given.
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
            structure.map_structure(lambda leaf_spec: leaf_spec._batch(rows), function.spec),
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
    """Interleave the elements of the datasets that a function returns.

    As in TensorFlow, if a dataset ends within a block, the next dataset completes the block.

    Args:
        map_func: takes an element and returns a dataset.
        cycle_length: number of datasets to interleave.
        block_length: number of consecutive elements from each dataset.
        sloppy: whether TensorFlow may change the order; here it is always deterministic.
        buffer_output_elements: number of elements that TensorFlow would prefetch; None: two blocks.
        prefetch_input_elements: number of datasets that it would prefetch; None: two cycles.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: parallel_interleaved(
        dataset, map_func, cycle_length, block_length, sloppy, buffer_output_elements, prefetch_input_elements
    )


def ignore_errors() -> Transformation:
    """Skip elements whose computation fails.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: unary(dataset, "IgnoreErrorsDataset")


def enumerate_dataset(start: TensorLike = 0) -> Transformation:
    """Return pairs of an index and an element, as ``Dataset.enumerate`` does.

    Args:
        start: the first index.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset.enumerate(start)


def unbatch() -> Transformation:
    """Return the rows of the elements, as ``Dataset.unbatch`` does.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset.unbatch()


def unique() -> Transformation:
    """Remove duplicate elements.

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
    """Return the elements before the first one for which a function is false.

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
    """Apply a function to each element and a state, which it passes to the next call.

    Args:
        initial_state: the initial state, an element.
        scan_func: takes a state and an element; returns the next state and an element.

    Returns:
        A function for ``Dataset.apply``.
    """

    def apply(dataset: Dataset) -> Dataset:
        state = structure.normalized(initial_state)

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
    """Return an infinite sequence of numbers.

    Args:
        start: the first number.
        step: the step between two numbers.
        dtype: their dtype.

    Returns:
        A dataset of scalars.
    """
    with name_scope("counter"):
        first = convert_to_tensor(start, dtype, name="start")
        further = convert_to_tensor(step, dtype, name="step")
        counted = scan(first, lambda state, _: (state + further, state))
        return Dataset.from_tensors(0).repeat(None).apply(counted)


class RandomDataset(Dataset):
    """Infinite random numbers, int64 scalars from 0 to below 2**32.

    Args:
        seed: the op's seed, an integer. None: see ``set_random_seed``.
    """

    def __init__(self, seed: int | None = None) -> None:
        first, second = seed_tensors(seed)
        dataset = build("RandomDataset", TensorSpec([], "int64"), seed=first, seed2=second)
        super().__init__(to_variant(dataset), dataset.element_spec)


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Return elements of several datasets, in the order of the indices in another dataset.

    Args:
        datasets: datasets with elements of the same types.
        choice_dataset: indices of datasets, int64 scalars.

    Returns:
        A dataset.

    Raises:
        TypeError: the indices have another dtype, or the datasets differ.
    """
    spec = choice_dataset.element_spec
    if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(TensorSpec([], "int64")):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return select_from(choice_dataset, datasets)


def map_serial(dataset: Dataset, function: Callable[..., Any]) -> Dataset:
    """Apply a function to each element, without inter-op parallelism.

    Args:
        dataset: the input dataset.
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


def select_from(selector: Dataset, datasets: Sequence[Dataset]) -> Dataset:
    """Return elements of several datasets, in the order of the indices in another dataset.

    Args:
        selector: indices of datasets, int64 scalars.
        datasets: the datasets.

    Raises:
        TypeError: the datasets have elements of different types.
    """
    common = datasets[0]
    for one in datasets[1:]:
        if one.output_types != common.output_types or one.output_classes != common.output_classes:
            raise TypeError("All datasets must have the same type and class.")
    return build(
        "DirectedInterleaveDataset",
        _weakest([dataset.element_spec for dataset in datasets]),
        (selector, *datasets),
        selector_input_dataset=to_variant(selector),
        data_input_datasets=[to_variant(dataset) for dataset in datasets],
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
    """Collect elements with equal keys into windows, and apply a function to each window.

    Args:
        key_func: takes an element and returns its key, an int64 scalar.
        reduce_func: takes a key and a dataset of elements, and returns a dataset.
        window_size: number of elements in a window; None: see ``window_size_func``.
        window_size_func: takes a key and returns the window size; None: see ``window_size``.

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
    """Functions that ``group_by_reducer`` applies to the elements of a key.

    Args:
        init_func: takes a key and returns the initial state.
        reduce_func: takes a state and an element and returns the next state.
        finalize_func: converts the last state to an element.
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
    """Reduce all elements with the same key to one element.

    Args:
        key_func: takes an element and returns its key, an int64 scalar.
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
    """Return batches of elements of similar length.

    Args:
        element_length_func: takes an element and returns its length, an int32 scalar.
        bucket_boundaries: the lengths that separate the buckets.
        bucket_batch_sizes: batch size of each bucket; one more than there are boundaries.
        padded_shapes: as for ``Dataset.padded_batch``; None: the shapes of the elements.
        padding_values: as for ``Dataset.padded_batch``.
        pad_to_bucket_boundary: whether to pad all elements of a bucket to its boundary.
        no_padding: whether to leave elements unpadded.
        drop_remainder: whether to drop batches with fewer elements.

    Returns:
        A function for ``Dataset.apply``.

    Raises:
        ValueError: the number of batch sizes is wrong.
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


# Functions of datasets


def cardinality(dataset: Dataset) -> Tensor:
    """Return the number of elements in a dataset.

    Args:
        dataset: the dataset.

    Returns:
        An int64 scalar; see ``INFINITE_CARDINALITY`` and ``UNKNOWN_CARDINALITY``.
    """
    return new("DatasetCardinality", input_dataset=to_variant(dataset))


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element of a dataset.

    Args:
        dataset: the dataset.

    Returns:
        The element.

    Raises:
        TypeError: ``dataset`` is not a dataset.
        InvalidArgumentError: at run time, the dataset does not have exactly one element.
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
    """Return the element spec of a dataset or an iterator.

    Args:
        dataset_or_iterator: a dataset or an iterator.

    Returns:
        ``TensorSpec`` and the like, in the elements' structure.

    Raises:
        TypeError: the argument is something else.
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            f"`dataset_or_iterator` must be a Dataset or Iterator object, but got {type(dataset_or_iterator)}."
        ) from None


def from_variant(variant: Tensor, structure: Any) -> Dataset:
    """Return the dataset that a tensor represents.

    Args:
        variant: a ``variant`` scalar.
        structure: the element spec, as ``get_structure`` returns it.

    Returns:
        A dataset.
    """
    return Dataset(variant, structure)
