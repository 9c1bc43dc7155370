"""``tf.data.Dataset``: an input pipeline as operations of the graph.

Each transformation adds an operation that returns a dataset as a ``variant``; nothing runs before an iterator requests
elements. Functions of elements are added to the graph's library::

    range(4).map(square).batch(2)

    start, stop, step ─> RangeDataset ─> MapDataset (f: square) ─> BatchDatasetV2 <─ batch_size, drop_remainder

>>> import gpuplace as tf
>>> dataset = tf.data.Dataset.range(4).map(lambda x: x * x).batch(2)
>>> batch = dataset.make_one_shot_iterator().get_next()
>>> tf.Session().run(batch)
array([0, 1])

Source: tensorflow/python/data/ops/dataset_ops.py, release 1.15 (operations, names, messages).
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import string, variant
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import reshaping
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.math.comparison import equal, greater, logical_and
from gpuplace.ops.math.elementwise import add, maximum
from gpuplace.ops.random.random_ops import get_seed
from gpuplace.ops.sparse.sparse_spec import SparseTensorSpec
from gpuplace.ops.sparse.sparse_tensor import to_sparse
from gpuplace.ops.support import new, new_list
from gpuplace.ops.text.strings import reduce_join
from gpuplace.ops.type_spec import TensorSpec, TypeSpec, register_type_spec_from_value_converter
from gpuplace.shapes import SCALAR_SHAPE, Dimension, TensorShape, as_shape
from gpuplace.tf1.data import iterators, structure
from gpuplace.tf1.data.generators import generator_functions
from gpuplace.tf1.data.options import Options
from gpuplace.tf1.data.padding import default_padding, padded_shape, padding_value, shape_in
from gpuplace.tf1.data.tracing import Traced, trace
from gpuplace.typing import ShapeLike, TensorLike

AUTOTUNE = -1
"""Lets TensorFlow choose a number; here a pipeline always runs sequentially."""


def int64_tensor(value: Any, name: str) -> Tensor:
    """Return a number of a pipeline as an int64 tensor."""
    return convert_to_tensor(value, "int64", name=name)


def seed_tensors(seed: int | None) -> tuple[Tensor, Tensor]:
    """Return the two seeds of a dataset; 0 and 0 for an order that differs from run to run."""
    first, second = get_seed(seed)
    seed1 = int64_tensor(0 if first is None else first, "seed")
    if second is None:
        return seed1, int64_tensor(0, "seed2")
    with name_scope(None, "seed2") as scope:
        seed2 = convert_to_tensor(second, "int64")
        both = logical_and(equal(seed1, 0), equal(seed2, 0))
        seed2 = new("Select", scope, condition=both, t=convert_to_tensor(2**31 - 1, "int64"), e=seed2)
    return seed1, seed2


def build(
    op_type: str,
    spec: Any,
    inputs: Sequence[Dataset] = (),
    functions: Sequence[Traced] = (),
    has_types: bool = True,
    has_shapes: bool = True,
    **arguments: Any,
) -> Dataset:
    """Return a dataset from a new operation.

    Args:
        op_type: type of the operation.
        spec: spec of the elements.
        inputs: the input datasets.
        functions: the functions that it calls.
        has_types: whether the operation has an attribute for the types of the elements.
        has_shapes: whether it has an attribute for their shapes.
        **arguments: its inputs and other attributes.
    """
    if has_types:
        arguments["output_types"] = structure.flat_types(spec)
    if has_shapes:
        arguments["output_shapes"] = structure.flat_shapes(spec)
    tensor = new(op_type, **arguments)
    tensor.set_shape(SCALAR_SHAPE)
    return Dataset(tensor, spec, inputs, functions)


def unary(
    dataset: Dataset, op_type: str, spec: Any = None, functions: Sequence[Traced] = (), **arguments: Any
) -> Dataset:
    """Return a dataset that reads another dataset.

    Args:
        dataset: the other dataset.
        op_type: the type of its operation.
        spec: spec of its elements; None: the same as for ``dataset``.
        functions: the functions that it calls.
        **arguments: the operation's other inputs and attributes.
    """
    spec = dataset.element_spec if spec is None else spec
    return build(op_type, spec, (dataset,), functions, input_dataset=to_variant(dataset), **arguments)


def to_variant(dataset: Dataset) -> Tensor:
    """Return the tensor that stands for a dataset.

    Args:
        dataset: the dataset.

    Returns:
        A ``variant`` scalar.
    """
    return dataset._variant_tensor


def parts_of(dataset: Dataset) -> tuple[Tensor, Any, tuple[Dataset, ...], tuple[Traced, ...]]:
    """Return the arguments with which ``Dataset`` makes a dataset again: tensor, spec, inputs and functions.

    Args:
        dataset: the dataset.
    """
    return dataset._variant_tensor, dataset._spec, tuple(dataset._inputs()), tuple(dataset._functions())


class Dataset:
    """A pipeline of elements: tensors and datasets in tuples and dicts, all with the same structure.

    Created by ``from_tensor_slices``, ``range`` and the like and by the methods, not by calling the class.

    Args:
        variant_tensor: the tensor that represents it.
        element_spec: spec of the elements.
        inputs: the input datasets.
        functions: the functions that it calls.
        options: its own options; None: those of its inputs.
    """

    def __init__(
        self,
        variant_tensor: Tensor,
        element_spec: Any,
        inputs: Sequence[Dataset] = (),
        functions: Sequence[Traced] = (),
        options: Options | None = None,
    ) -> None:
        self._variant_tensor = variant_tensor
        self._spec = element_spec
        self._takes_from = tuple(inputs)
        self._calls = tuple(functions)
        self._options = options

    def _inputs(self) -> list[Dataset]:
        """Return the input datasets."""
        return list(self._takes_from)

    def _functions(self) -> list[Traced]:
        """Return the functions that it calls."""
        return list(self._calls)

    @property
    def _flat_structure(self) -> dict[str, Any]:
        """Attributes that describe the elements to an operation."""
        spec = self.element_spec
        return {"output_types": structure.flat_types(spec), "output_shapes": structure.flat_shapes(spec)}

    @property
    def element_spec(self) -> Any:
        """Spec of an element: ``TensorSpec`` and the like, in the element's structure."""
        return self._spec

    @property
    def output_types(self) -> Any:
        """Types of an element, in its structure."""
        return structure.output_types(self._spec)

    @property
    def output_shapes(self) -> Any:
        """Shapes of an element, in its structure."""
        return structure.output_shapes(self._spec)

    @property
    def output_classes(self) -> Any:
        """Classes of the components of an element, in its structure."""
        return structure.output_classes(self._spec)

    def __repr__(self) -> str:
        shapes = str(structure.map_structure(str, self.output_shapes)).replace("'", "")
        types = str(structure.map_structure(repr, self.output_types)).replace("'", "")
        return f"<DatasetV1Adapter shapes: {shapes}, types: {types}>"

    def __iter__(self) -> Any:
        raise RuntimeError(
            "__iter__() is only supported inside of tf.function or when eager execution is enabled."
        )

    # Options

    def options(self) -> Options:
        """Return the options of this dataset and its inputs.

        Returns:
            An ``Options``.

        Raises:
            ValueError: the options conflict.
        """
        if self._options is not None:
            return self._options
        merged = Options()
        for source in self._takes_from:
            merged = merged.merge(source.options())
        return merged

    def with_options(self, options: Options) -> Dataset:
        """Return the same dataset with options.

        Args:
            options: an ``Options``, merged with those it has.

        Returns:
            A dataset.

        Raises:
            ValueError: the options conflict with those it has.
        """
        return Dataset(self._variant_tensor, self._spec, (self,), (), self.options().merge(options))

    def _captures_references(self) -> bool:
        """Return whether a function of this dataset or of its inputs captures a reference variable."""
        seen: set[Any] = set()
        pending = [tensor for function in self._functions() for tensor in function.captured]
        while pending:
            tensor = pending.pop()
            if tensor.dtype.is_ref_dtype:
                return True
            if tensor.op not in seen:
                seen.add(tensor.op)
                pending.extend(tensor.op.inputs)
        return any(dataset._captures_references() for dataset in self._takes_from)

    def _with_options_applied(self) -> Dataset:
        """Return the dataset for an iterator: with the nodes that its options require."""
        dataset, options = self, self.options()
        threading = options.experimental_threading
        if threading.max_intra_op_parallelism is not None:
            count = int64_tensor(threading.max_intra_op_parallelism, "max_intra_op_parallelism")
            dataset = unary(dataset, "MaxIntraOpParallelismDataset", max_intra_op_parallelism=count)
        if threading.private_threadpool_size is not None:
            count = int64_tensor(threading.private_threadpool_size, "num_threads")
            dataset = unary(dataset, "PrivateThreadPoolDataset", num_threads=count)
        names = options.static_optimizations()
        if names and self._captures_references():
            warnings.warn(
                "tf.data static optimizations are not compatible with tf.Variable. The following optimizations will be"
                f" disabled: {', '.join(names)}. To enable optimizations, use resource variables instead by calling"
                " `tf.enable_resource_variables()` at the start of the program.",
                stacklevel=4,
            )
        elif names:
            dataset = unary(
                dataset,
                "OptimizeDataset",
                optimizations=convert_to_tensor(names, string, name="optimizations"),
                optimization_configs=options.static_optimization_configs(),
            )
        tuning = options.experimental_optimization
        if tuning.autotune is not False:
            settings = {"cpu_budget": tuning.autotune_cpu_budget, "algorithm": tuning.autotune_algorithm}
            set_options = {name: value for name, value in settings.items() if value is not None}
            dataset = unary(dataset, "ModelDataset", **set_options)
        return dataset

    # Iterators

    def make_one_shot_iterator(self) -> iterators.Iterator:
        """Return an iterator over the elements that needs no initialization and ends after one pass.

        Returns:
            An ``Iterator``.

        Raises:
            ValueError: the pipeline uses a placeholder, a variable or other state of the graph.
        """
        return iterators.one_shot(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> iterators.Iterator:
        """Return an iterator that starts over whenever its ``initializer`` is run.

        Args:
            shared_name: a name under which sessions share it; None: unshared.

        Returns:
            An ``Iterator``.
        """
        return iterators.initializable(self, shared_name)

    # Sources

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """Return a dataset with one element.

        Args:
            tensors: the element: values convertible to tensors, in tuples and dicts.

        Returns:
            A dataset.
        """
        element = structure.normalized(tensors)
        spec = structure.spec_of_value(element)
        return build("TensorDataset", spec, has_types=False, components=structure.to_tensors(element))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """Return a dataset of the rows of tensors.

        Args:
            tensors: values convertible to tensors ``[rows, ...]``, in tuples and dicts, all with the same number of
                rows.

        Returns:
            A dataset with one element per row.

        Raises:
            ValueError: a tensor is a scalar, or the numbers of rows differ.
        """
        element = structure.normalized(tensors)
        spec = structure.map_structure(lambda leaf: leaf._unbatch(), structure.spec_of_value(element))
        row_tensors = structure.to_rows(element)
        rows = Dimension(row_tensors[0].shape[0].value if row_tensors[0].shape.ndims else None)
        for tensor in row_tensors[1:]:
            rows.assert_is_compatible_with(Dimension(tensor.shape[0].value if tensor.shape.ndims else None))
        return build("TensorSliceDataset", spec, has_types=False, components=row_tensors)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """Return a dataset of the rows of a sparse tensor.

        Args:
            sparse_tensor: the sparse tensor, its indices in row-major order.

        Returns:
            A dataset of triples: the indices, values and dense shape of a row.

        Raises:
            TypeError: it is not a sparse tensor.
        """
        sparse = to_sparse(sparse_tensor)
        rank = sparse.dense_shape.shape.merge_with([sparse.indices.shape.with_rank(2)[1]])[0].value
        inner = None if rank is None else rank - 1
        spec = (
            TensorSpec([None, inner], "int64"),
            TensorSpec([None], sparse.dtype),
            TensorSpec([inner], "int64"),
        )
        return build(
            "SparseTensorSliceDataset",
            spec,
            has_types=False,
            has_shapes=False,
            indices=sparse.indices,
            values=sparse.values,
            dense_shape=sparse.dense_shape,
        )

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any, output_shapes: Any = None, args: Any = None
    ) -> Dataset:
        """Return a dataset of the elements of a Python generator, which is called for every iterator and repetition.

        Args:
            generator: a function that returns an iterable; takes ``args`` as arrays.
            output_types: types of an element, in its structure.
            output_shapes: the known shapes of an element, in the same structure; None: unknown.
            args: arguments of the generator, a tuple of tensors, or None.

        Returns:
            A dataset.

        Raises:
            TypeError: ``generator`` is not callable; at run time (InvalidArgumentError) it yields another type.
        """
        functions = generator_functions(generator, output_types, output_shapes, args)

        def one_generator(dummy: Tensor) -> Dataset:
            return generator_dataset(TensorSpec([], dummy.dtype), [dummy], *functions)

        return Dataset.from_tensors(0).flat_map(one_generator)

    @staticmethod
    def range(*args: Any) -> Dataset:
        """Return a dataset of a range of numbers, int64 scalars.

        Args:
            *args: stop; start and stop; or start, stop and step, as in Python.

        Returns:
            A dataset.

        Raises:
            ValueError: there are no arguments, or more than three.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to RangeDataset: {args}")
        bounds = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) == 3 else 1
        return build(
            "RangeDataset",
            TensorSpec([], "int64"),
            start=int64_tensor(bounds[0], "start"),
            stop=int64_tensor(bounds[1], "stop"),
            step=int64_tensor(step, "step"),
        )

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Return a dataset of tuples or dicts with an element of each dataset; it ends with the shortest.

        Args:
            datasets: datasets in tuples and dicts.

        Returns:
            A dataset of elements in the same structure.

        Raises:
            TypeError: ``datasets`` contains something else.
        """
        flat = structure.flatten(datasets)
        for one in flat:
            if not isinstance(one, Dataset):
                message = "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects."
                if isinstance(one, list):
                    message += " Nested structures do not support Python lists; please use a tuple instead."
                raise TypeError(message)
        spec = structure.pack(datasets, [ds.element_spec for ds in flat])
        return build("ZipDataset", spec, flat, input_datasets=[ds._variant_tensor for ds in flat])

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None, seed: int | None = None) -> Dataset:
        """Return a dataset of the file names that match a pattern.

        Args:
            file_pattern: one or more glob patterns.
            shuffle: whether to shuffle the names; None: yes.
            seed: the op's seed, as for ``shuffle``.

        Returns:
            A dataset of strings.

        Raises:
            InvalidArgumentError: at run time, no file matches.
        """
        with name_scope("list_files"):
            pattern = convert_to_tensor(file_pattern, string, name="file_pattern")
            matching = new("MatchingFiles", pattern=pattern)
            condition = greater(reshaping.shape(matching)[0], 0, name="match_not_empty")
            message = add("No files matched pattern: ", reduce_join(pattern, separator=", "), name="message")
            check = Assert(condition, [message], summarize=1, name="assert_not_empty")
            with get_default_graph().control_dependencies([check]):
                matching = reshaping.identity(matching)
            dataset = Dataset.from_tensor_slices_of(matching)
            if shuffle is None or shuffle:
                count = reshaping.shape(matching, out_type="int64")[0]
                dataset = dataset.shuffle(maximum(count, 1), seed=seed)
            return dataset

    @staticmethod
    def from_tensor_slices_of(tensor: Tensor) -> Dataset:
        """Return a dataset of the rows of one tensor, without conversion.

        Args:
            tensor: ``[rows, ...]``.

        Returns:
            A dataset.
        """
        spec = TensorSpec(tensor.shape[1:], tensor.dtype)
        return build("TensorSliceDataset", spec, has_types=False, components=[tensor])

    # Transformations

    def concatenate(self, dataset: Dataset) -> Dataset:
        """Return the elements of this dataset, then those of another.

        Args:
            dataset: a dataset with elements of the same structure and types.

        Returns:
            A dataset.

        Raises:
            TypeError: its elements have other types or classes.
        """
        for what, own, other in (
            ("types", self.output_types, dataset.output_types),
            ("classes", self.output_classes, dataset.output_classes),
        ):
            if own != other:
                raise TypeError(f"Two datasets to concatenate have different {what} {own} and {other}")
        spec = common_spec(self._spec, dataset._spec)
        return build(
            "ConcatenateDataset",
            spec,
            (self, dataset),
            input_dataset=self._variant_tensor,
            another_dataset=dataset._variant_tensor,
        )

    def prefetch(self, buffer_size: TensorLike | None) -> Dataset:
        """Return the same elements, computed before they are requested.

        Args:
            buffer_size: maximum number of prefetched elements; -1 or None: chosen automatically.

        Returns:
            A dataset.
        """
        return unary(
            self,
            "PrefetchDataset",
            buffer_size=int64_tensor(-1 if buffer_size is None else buffer_size, "buffer_size"),
        )

    def repeat(self, count: TensorLike | None = None) -> Dataset:
        """Repeat the elements.

        Args:
            count: number of repetitions; -1 or None: unlimited.

        Returns:
            A dataset.
        """
        return unary(self, "RepeatDataset", count=int64_tensor(-1 if count is None else count, "count"))

    def enumerate(self, start: TensorLike = 0) -> Dataset:
        """Return pairs of an index and an element.

        Args:
            start: the first index.

        Returns:
            A dataset of pairs; the index is an int64 scalar.
        """
        return Dataset.zip((Dataset.range(start, np.iinfo(np.int64).max), self))

    def shuffle(
        self, buffer_size: TensorLike, seed: int | None = None, reshuffle_each_iteration: bool | None = None
    ) -> Dataset:
        """Return the elements in random order, each drawn from a buffer, by TensorFlow's generator.

        Args:
            buffer_size: size of the buffer in elements; a uniform shuffle needs room for all elements.
            seed: the op's seed, an integer. None: see ``set_random_seed``.
            reshuffle_each_iteration: whether each repetition has a new order; None: yes.

        Returns:
            A dataset.
        """
        size = int64_tensor(buffer_size, "buffer_size")
        first, second = seed_tensors(seed)
        reshuffles = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return unary(
            self,
            "ShuffleDataset",
            buffer_size=size,
            seed=first,
            seed2=second,
            reshuffle_each_iteration=reshuffles,
        )

    def cache(self, filename: TensorLike = "") -> Dataset:
        """Return the same elements, computed once and cached.

        Args:
            filename: cache file; empty: cache in memory, for the lifetime of the iterator.

        Returns:
            A dataset.
        """
        return unary(self, "CacheDataset", filename=convert_to_tensor(filename, string, name="filename"))

    def take(self, count: TensorLike) -> Dataset:
        """Return the first elements.

        Args:
            count: maximum number of elements; -1: all.

        Returns:
            A dataset.
        """
        return unary(self, "TakeDataset", count=int64_tensor(count, "count"))

    def skip(self, count: TensorLike) -> Dataset:
        """Return all but the first elements.

        Args:
            count: number of elements to skip; -1: all.

        Returns:
            A dataset.
        """
        return unary(self, "SkipDataset", count=int64_tensor(count, "count"))

    def shard(self, num_shards: TensorLike, index: TensorLike) -> Dataset:
        """Return every ``num_shards``-th element.

        Args:
            num_shards: the number of shards.
            index: index of the shard, from 0.

        Returns:
            A dataset.

        Raises:
            InvalidArgumentError: at run time, ``index`` is out of range.
        """
        return unary(
            self,
            "ShardDataset",
            num_shards=int64_tensor(num_shards, "num_shards"),
            index=int64_tensor(index, "index"),
        )

    def batch(self, batch_size: TensorLike, drop_remainder: Any = False) -> Dataset:
        """Batch the elements along a new first axis.

        Args:
            batch_size: number of elements in a batch.
            drop_remainder: whether to drop a last batch with fewer elements.

        Returns:
            A dataset.

        Raises:
            InvalidArgumentError: at run time, elements of a batch differ in shape.
        """
        size = int64_tensor(batch_size, "batch_size")
        drops = convert_to_tensor(drop_remainder, "bool", name="drop_remainder")
        rows = fixed_rows(size, drops)
        spec = structure.map_structure(lambda leaf_spec: leaf_spec._batch(rows), self._spec)
        return unary(self, "BatchDatasetV2", spec, batch_size=size, drop_remainder=drops)

    def padded_batch(
        self,
        batch_size: TensorLike,
        padded_shapes: Any,
        padding_values: Any = None,
        drop_remainder: Any = False,
    ) -> Dataset:
        """Batch the elements after padding them to a common shape.

        Args:
            batch_size: number of elements in a batch.
            padded_shapes: the shape of each tensor of an element, in its structure; None or -1 for a size: that of the
                longest in the batch.
            padding_values: scalars to pad with, in the same structure; None: zeros and empty strings.
            drop_remainder: whether to drop a last batch with fewer elements.

        Returns:
            A dataset.

        Raises:
            ValueError: a shape does not fit the elements, or a value is not a scalar.
            TypeError: a value has another dtype than the tensor, or a tensor is sparse.
            InvalidArgumentError: at run time, an element is larger than the shape.
        """
        size = int64_tensor(batch_size, "batch_size")
        specs = structure.flatten(self._spec)
        if any(isinstance(spec, SparseTensorSpec) for spec in specs):
            raise TypeError(
                "Batching of padded sparse tensors is not currently supported: batch() batches them without"
                " padding"
            )
        values = default_padding(self._spec) if padding_values is None else padding_values
        shapes = [
            padded_shape(shape, spec.shape)
            for shape, spec in builtins.zip(
                structure.flatten_up_to(self._spec, padded_shapes), specs, strict=True
            )
        ]
        padding = [
            padding_value(value, spec.dtype)
            for value, spec in builtins.zip(structure.flatten_up_to(self._spec, values), specs, strict=True)
        ]
        drops = convert_to_tensor(drop_remainder, "bool", name="drop_remainder")
        rows = fixed_rows(size, drops)
        static_shapes = [shape_in(shape) for shape in shapes]
        leaves = [
            TensorSpec(TensorShape([rows]).concatenate(shape), spec.dtype)
            for shape, spec in builtins.zip(static_shapes, specs, strict=True)
        ]
        return build(
            "PaddedBatchDatasetV2",
            structure.pack(self._spec, leaves),
            (self,),
            has_types=False,
            input_dataset=self._variant_tensor,
            batch_size=size,
            padded_shapes=shapes,
            padding_values=padding,
            drop_remainder=drops,
        )

    def map(self, map_func: Callable[..., Any], num_parallel_calls: TensorLike | None = None) -> Dataset:
        """Apply a function to each element.

        Args:
            map_func: takes an element, with the components of a tuple as separate arguments, and returns one. It is
                called once, with tensors; the operations that it adds run for every element.
            num_parallel_calls: number of elements that TensorFlow would process in parallel; None: one. The order is
                the same.

        Returns:
            A dataset.

        Raises:
            TypeError: the function returns something that is not an element.
        """
        function = trace(map_func, "Dataset.map()", self._spec)
        arguments = {"other_arguments": list(function.captured), "f": function.ref}
        if num_parallel_calls is None:
            return unary(self, "MapDataset", function.spec, (function,), **arguments)
        count = convert_to_tensor(num_parallel_calls, "int32", name="num_parallel_calls")
        return unary(
            self, "ParallelMapDataset", function.spec, (function,), **arguments, num_parallel_calls=count
        )

    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: TensorLike | None = None
    ) -> Dataset:
        """Equivalent of ``map``.

        Args:
            map_func: as for ``map``.
            num_parallel_calls: as for ``map``.

        Returns:
            A dataset.
        """
        return self.map(map_func, num_parallel_calls)

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """Return the elements of the datasets that a function returns, one dataset after the other.

        Args:
            map_func: takes an element and returns a dataset.

        Returns:
            A dataset.

        Raises:
            TypeError: the function returns something else.
        """
        function = trace(map_func, "Dataset.flat_map()", self._spec)
        spec = inner_spec(function)
        return unary(
            self, "FlatMapDataset", spec, (function,), other_arguments=list(function.captured), f=function.ref
        )

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: TensorLike = AUTOTUNE,
        block_length: TensorLike = 1,
        num_parallel_calls: TensorLike | None = None,
    ) -> Dataset:
        """Interleave the elements of the datasets that a function returns.

        Args:
            map_func: takes an element and returns a dataset.
            cycle_length: number of datasets to interleave; -1: the number of processors.
            block_length: number of consecutive elements from each dataset.
            num_parallel_calls: number of datasets that TensorFlow would read in parallel; None: one. The order is the
                same.

        Returns:
            A dataset.

        Raises:
            TypeError: the function returns something else.
        """
        function = trace(map_func, "Dataset.interleave()", self._spec)
        spec = inner_spec(function)
        arguments: dict[str, Any] = {
            "other_arguments": list(function.captured),
            "cycle_length": int64_tensor(cycle_length, "cycle_length"),
            "block_length": int64_tensor(block_length, "block_length"),
            "f": function.ref,
        }
        if num_parallel_calls is None:
            return unary(self, "InterleaveDataset", spec, (function,), **arguments)
        arguments["num_parallel_calls"] = int64_tensor(num_parallel_calls, "num_parallel_calls")
        return unary(self, "ParallelInterleaveDatasetV2", spec, (function,), **arguments)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """Return the elements for which a function is true.

        Args:
            predicate: takes an element and returns a bool scalar.

        Returns:
            A dataset.

        Raises:
            ValueError: it returns something else.
        """
        function = trace(predicate, "Dataset.filter()", self._spec)
        if not function.is_scalar_of("bool"):
            raise ValueError(
                f"`predicate` return type must be convertible to a scalar boolean tensor. Was {function.spec}."
            )
        return unary(
            self,
            "FilterDataset",
            functions=(function,),
            other_arguments=list(function.captured),
            predicate=function.ref,
        )

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Dataset:
        """Equivalent of ``filter``.

        Args:
            predicate: as for ``filter``.

        Returns:
            A dataset.
        """
        return self.filter(predicate)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Apply a function to this dataset.

        Args:
            transformation_func: takes a dataset and returns one, such as those of ``tf.data.experimental``.

        Returns:
            The result of the function.

        Raises:
            TypeError: it returns something else.
        """
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {dataset}.")
        return dataset

    def window(
        self,
        size: TensorLike,
        shift: TensorLike | None = None,
        stride: TensorLike = 1,
        drop_remainder: Any = False,
    ) -> Dataset:
        """Return datasets of consecutive elements.

        Args:
            size: number of elements in a window.
            shift: distance in elements between the starts of two windows; None: ``size``.
            stride: distance in elements between two elements of a window.
            drop_remainder: whether to drop last windows with fewer elements.

        Returns:
            A dataset of datasets, in the structure of the elements.

        Raises:
            InvalidArgumentError: at run time, a number is not positive.
        """
        numbers: dict[str, Any] = {
            "size": int64_tensor(size, "size"),
            "shift": int64_tensor(size if shift is None else shift, "shift"),
            "stride": int64_tensor(stride, "stride"),
            "drop_remainder": convert_to_tensor(drop_remainder, "bool", name="drop_remainder"),
        }
        return unary(self, "WindowDataset", structure.map_structure(DatasetSpec, self._spec), **numbers)

    def unbatch(self) -> Dataset:
        """Return the rows of the elements.

        Returns:
            A dataset.

        Raises:
            ValueError: a tensor is a scalar, or the numbers of rows differ.
        """
        spec = structure.map_structure(lambda leaf_spec: leaf_spec._unbatch(), self._spec)
        rows = Dimension(None)
        for shape in structure.flat_shapes(self._spec):
            try:
                rows = rows.merge_with(shape[0] if shape.ndims is not None else Dimension(None))
            except ValueError:
                raise ValueError(
                    "Cannot unbatch an input whose components have different batch sizes."
                ) from None
        normal = self.map(lambda *parts: tuple(structure.to_rows(parts)))
        return unary(
            Dataset(normal._variant_tensor, self._spec, (self,), normal._calls), "UnbatchDataset", spec
        )

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """Reduce all elements to one with a function.

        Args:
            initial_state: the initial state, an element.
            reduce_func: takes a state and an element and returns the next state.

        Returns:
            The last state.

        Raises:
            TypeError: the function returns a state of another type.
            InvalidArgumentError: at run time, the function returns a state with another number of components.
        """
        with name_scope("initial_state"):
            state = structure.normalized(initial_state)
        state_spec = structure.spec_of_value(state)
        function, spec = trace_with_state(reduce_func, "reduce()", state_spec, self._spec, is_counted=False)
        tensors = new_list(
            "ReduceDataset",
            input_dataset=self._variant_tensor,
            initial_state=structure.to_tensors(state),
            other_arguments=list(function.captured),
            f=function.ref,
            output_types=structure.flat_types(spec),
            output_shapes=structure.flat_shapes(spec),
        )
        return structure.from_tensors(spec, tensors)


class NestedDatasets:
    """An array of datasets, such as a batch of datasets.

    Args:
        variant_tensor: the tensor that represents them.
        element_spec: spec of the elements of each dataset.
        dataset_shape: the shape of the array.
    """

    def __init__(self, variant_tensor: Tensor, element_spec: Any, dataset_shape: TensorShape) -> None:
        self._variant_tensor = variant_tensor
        self.element_spec = element_spec
        self.dataset_shape = dataset_shape


class DatasetSpec(TypeSpec):
    """Type of a dataset that is a component of an element.

    >>> DatasetSpec(TensorSpec([], "int64"))
    DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))

    Args:
        element_spec: spec of its elements.
        dataset_shape: the shape of an array of such datasets; a scalar shape for a single dataset.
    """

    def __init__(self, element_spec: Any, dataset_shape: ShapeLike = ()) -> None:
        self._element_spec = element_spec
        self._dataset_shape = as_shape(dataset_shape)

    @classmethod
    def from_value(cls, value: Dataset | NestedDatasets) -> DatasetSpec:
        """Return the spec of a dataset.

        Args:
            value: the dataset, or an array of datasets.
        """
        return cls(value.element_spec, value.dataset_shape if isinstance(value, NestedDatasets) else ())

    @property
    def value_type(self) -> type:
        """``Dataset``."""
        return Dataset

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._dataset_shape

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec(self._dataset_shape, variant)

    def _to_components(self, value: Dataset | NestedDatasets | list[Any]) -> Tensor:
        if isinstance(value, list):
            return convert_to_tensor([self._to_components(leaf_spec) for leaf_spec in value])
        return value._variant_tensor

    def _from_components(self, components: Tensor) -> Dataset | NestedDatasets:
        if self._dataset_shape.ndims == 0:
            return Dataset(components, self._element_spec)
        return NestedDatasets(components, self._element_spec, self._dataset_shape)

    def _batch(self, batch_size: int | None) -> DatasetSpec:
        return DatasetSpec(self._element_spec, TensorShape([batch_size]).concatenate(self._dataset_shape))

    def _unbatch(self) -> DatasetSpec:
        if self._dataset_shape.ndims == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return DatasetSpec(self._element_spec, self._dataset_shape[1:])

    def _to_batched_tensor_list(self, value: Dataset | NestedDatasets | list[Any]) -> list[Tensor]:
        if self._dataset_shape.ndims == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return self._to_tensor_list(value)


register_type_spec_from_value_converter(Dataset, DatasetSpec.from_value, allow_subclass=True)
register_type_spec_from_value_converter(NestedDatasets, DatasetSpec.from_value)


def generator_dataset(
    spec: Any,
    arguments: Sequence[Tensor],
    init_func: Callable[..., Any],
    next_func: Callable[..., Any],
    finalize_func: Callable[..., Any],
) -> Dataset:
    """Return elements that functions of the graph generate one after the other.

    Args:
        spec: spec of the argument of ``init_func``.
        arguments: the tensors of this argument.
        init_func: returns the argument of the other functions.
        next_func: returns the next element.
        finalize_func: is called at the end.
    """
    name = "Dataset.from_generator()"
    init = trace(init_func, name, spec)
    get_next, finalize = trace(next_func, name, init.spec), trace(finalize_func, name, init.spec)
    return build(
        "GeneratorDataset",
        get_next.spec,
        functions=(init, get_next, finalize),
        init_func_other_args=[*arguments, *init.captured],
        next_func_other_args=list(get_next.captured),
        finalize_func_other_args=list(finalize.captured),
        init_func=init.ref,
        next_func=get_next.ref,
        finalize_func=finalize.ref,
    )


def fixed_rows(size: Tensor, drops: Tensor) -> int | None:
    """Return the number of rows of every batch; None if unknown or if batches differ."""
    static_size, drop = constant_value(size), constant_value(drops)
    return int(static_size) if drop is not None and bool(drop) and static_size is not None else None


def inner_spec(function: Traced) -> Any:
    """Return the element spec of the datasets that a function returns; TypeError if it returns something else."""
    if not isinstance(function.spec, DatasetSpec):
        raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(function.spec)}")
    return function.spec._element_spec


def common_spec(first: Any, second: Any) -> Any:
    """Return the spec that includes the elements of both."""
    return structure.map_structure(lambda x, y: x.most_specific_compatible_type(y), first, second)


def trace_with_state(
    function: Callable[..., Any],
    transformation: str,
    state: Any,
    element: Any,
    pick: Callable[[Any], Any] = lambda x: x,
    is_counted: bool = True,
) -> tuple[Traced, Any]:
    """Trace a function of a state and an element that returns a state.

    Shapes of the state that change from call to call become unknown.

    Args:
        function: the function.
        transformation: name of the caller, for messages.
        state: spec of the initial state.
        element: spec of an element.
        pick: extracts the state from the function's result.
        is_counted: whether to check the number of the new state's components now, and not only at run time.

    Returns:
        The function, and the spec of all states.

    Raises:
        TypeError: the new state has other types.
    """
    while True:
        traced = trace(function, transformation, (state, element))
        new_state = pick(traced.spec)
        expected, actual = structure.output_types(state), structure.output_types(new_state)
        before, after = structure.flatten(expected), structure.flatten(actual)
        if not is_counted and len(before) != len(after):
            return traced, state
        if before != after:
            raise TypeError(
                f"The element types for the new state must match the initial state. Expected {expected}; got {actual}."
            )
        weaker = common_spec(state, structure.pack(state, structure.flatten(new_state)))
        state_sizes = [shape.sizes for shape in structure.flat_shapes(state)]
        if [shape.sizes for shape in structure.flat_shapes(weaker)] == state_sizes:
            return traced, state
        library = get_default_graph()
        for table in (library.functions, library.function_bodies, library.function_op_defs):
            table.pop(traced.ref.name, None)
        state = weaker
