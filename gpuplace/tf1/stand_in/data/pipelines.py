"""Classes of ``tensorflow.python.data.ops.dataset_ops`` that programs instantiate or derive their own datasets from.

Source: tensorflow/python/data/ops/dataset_ops.py, release 1.15 (names, arguments).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.tf1.data import structure
from gpuplace.tf1.data.dataset import Dataset, generator_dataset, int64_tensor, to_variant, unary
from gpuplace.tf1.data.tracing import Traced, trace
from gpuplace.typing import TensorLike

__all__ = [
    "DatasetSource", "MapDataset", "ParallelMapDataset", "PrefetchDataset", "UnaryDataset",
    "UnaryUnchangedStructureDataset", "_GeneratorDataset",
]  # fmt: skip


class DatasetSource(Dataset):
    """A dataset without input datasets; a subclass describes its elements in ``element_spec``.

    Args:
        variant_tensor: the variant tensor of the dataset.
    """

    def __init__(self, variant_tensor: Tensor) -> None:
        super().__init__(variant_tensor, self.element_spec)


class UnaryDataset(Dataset):
    """A dataset with one input dataset; a subclass describes its elements in ``element_spec``.

    Args:
        input_dataset: the input dataset.
        variant_tensor: the variant tensor of the dataset.
        functions: the functions that it calls.
    """

    def __init__(
        self, input_dataset: Dataset, variant_tensor: Tensor, functions: tuple[Traced, ...] = ()
    ) -> None:
        self._input_dataset = input_dataset
        super().__init__(variant_tensor, self.element_spec, (input_dataset,), functions)


class UnaryUnchangedStructureDataset(UnaryDataset):
    """A dataset with one input dataset, whose elements have the same structure.

    Args:
        input_dataset: the input dataset.
        variant_tensor: the variant tensor of the dataset.
    """

    @property
    def element_spec(self) -> Any:
        """The structure of an element."""
        return self._input_dataset.element_spec


class MapDataset(UnaryDataset):
    """The results of a function for each element.

    Args:
        input_dataset: the dataset with the elements.
        map_func: the function.
        use_inter_op_parallelism: whether TensorFlow may run the function in other threads; it does not here.
        preserve_cardinality: whether ``tf.errors.OutOfRangeError`` is an error rather than the end.
    """

    def __init__(
        self,
        input_dataset: Dataset,
        map_func: Callable[..., Any],
        use_inter_op_parallelism: bool = True,
        preserve_cardinality: bool = False,
        **kwargs: Any,
    ) -> None:
        function = trace(map_func, "Dataset.map()", input_dataset.element_spec)
        dataset = unary(
            input_dataset,
            self._op_type,
            function.spec,
            other_arguments=list(function.captured),
            f=function.ref,
            use_inter_op_parallelism=use_inter_op_parallelism,
            preserve_cardinality=preserve_cardinality,
            **kwargs,
        )
        self._spec = dataset.element_spec
        super().__init__(input_dataset, to_variant(dataset), (function,))

    _op_type = "MapDataset"


class ParallelMapDataset(MapDataset):
    """The results of a function for each element, several of which TensorFlow computes at a time.

    Args:
        input_dataset: the dataset with the elements.
        map_func: the function.
        num_parallel_calls: number of parallel calls.
        use_inter_op_parallelism: as for ``MapDataset``.
        preserve_cardinality: as for ``MapDataset``.
    """

    _op_type = "ParallelMapDataset"

    def __init__(
        self,
        input_dataset: Dataset,
        map_func: Callable[..., Any],
        num_parallel_calls: TensorLike,
        use_inter_op_parallelism: bool = True,
        preserve_cardinality: bool = False,
    ) -> None:
        calls = convert_to_tensor(num_parallel_calls, "int32", name="num_parallel_calls")
        super().__init__(
            input_dataset, map_func, use_inter_op_parallelism, preserve_cardinality, num_parallel_calls=calls
        )


class PrefetchDataset(UnaryUnchangedStructureDataset):
    """Elements that TensorFlow produces in advance.

    Args:
        input_dataset: the dataset with the elements.
        buffer_size: size of the buffer; None: chosen automatically.
        slack_period: number of elements of which one may be late, or None.
    """

    def __init__(
        self, input_dataset: Dataset, buffer_size: TensorLike | None, slack_period: int | None = None
    ) -> None:
        size = int64_tensor(-1 if buffer_size is None else buffer_size, "buffer_size")
        dataset = unary(input_dataset, "PrefetchDataset", buffer_size=size, slack_period=slack_period or 0)
        super().__init__(input_dataset, to_variant(dataset))


def _GeneratorDataset(  # noqa: N802 - TensorFlow's name
    init_args: Any,
    init_func: Callable[..., Any],
    next_func: Callable[..., Any],
    finalize_func: Callable[..., Any],
) -> Dataset:
    """Return a dataset whose elements functions of the graph produce one by one.

    Args:
        init_args: the arguments of the first function.
        init_func: returns the arguments of the other functions.
        next_func: returns the next element.
        finalize_func: called at the end.
    """
    element = structure.normalized(init_args)
    functions = (init_func, next_func, finalize_func)
    return generator_dataset(structure.spec_of_value(element), structure.to_tensors(element), *functions)
