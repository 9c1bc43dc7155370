"""Classes of ``tensorflow.python.data.ops.dataset_ops`` that programs make datasets with, or build their own upon.

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
    """A dataset that takes from none; a subclass says what its elements are by ``element_spec``.

    Args:
        variant_tensor: the tensor that stands for it.
    """

    def __init__(self, variant_tensor: Tensor) -> None:
        super().__init__(variant_tensor, self.element_spec)


class UnaryDataset(Dataset):
    """A dataset that takes from one other; a subclass says what its elements are by ``element_spec``.

    Args:
        input_dataset: the other.
        variant_tensor: the tensor that stands for it.
        functions: the functions that it calls.
    """

    def __init__(
        self, input_dataset: Dataset, variant_tensor: Tensor, functions: tuple[Traced, ...] = ()
    ) -> None:
        self._input_dataset = input_dataset
        super().__init__(variant_tensor, self.element_spec, (input_dataset,), functions)


class UnaryUnchangedStructureDataset(UnaryDataset):
    """A dataset that takes from one other and whose elements are as those.

    Args:
        input_dataset: the other.
        variant_tensor: the tensor that stands for it.
    """

    @property
    def element_spec(self) -> Any:
        """What an element is."""
        return self._input_dataset.element_spec


class MapDataset(UnaryDataset):
    """What a function makes of each element.

    Args:
        input_dataset: gives the elements.
        map_func: the function.
        use_inter_op_parallelism: whether TensorFlow may run it in other threads; here it does not.
        preserve_cardinality: whether an error of ``tf.errors.OutOfRangeError`` is one, and not the end.
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
        made = unary(
            input_dataset,
            self._op_type,
            function.spec,
            other_arguments=list(function.captured),
            f=function.ref,
            use_inter_op_parallelism=use_inter_op_parallelism,
            preserve_cardinality=preserve_cardinality,
            **kwargs,
        )
        self._spec = made.element_spec
        super().__init__(input_dataset, to_variant(made), (function,))

    _op_type = "MapDataset"


class ParallelMapDataset(MapDataset):
    """The same, of which TensorFlow makes several elements at a time.

    Args:
        input_dataset: gives the elements.
        map_func: the function.
        num_parallel_calls: how many.
        use_inter_op_parallelism: as for `MapDataset`.
        preserve_cardinality: the same.
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
    """Elements that TensorFlow makes ahead.

    Args:
        input_dataset: gives the elements.
        buffer_size: how many; None: as many as seem good.
        slack_period: of how many elements one may come later; None: none.
    """

    def __init__(
        self, input_dataset: Dataset, buffer_size: TensorLike | None, slack_period: int | None = None
    ) -> None:
        size = int64_tensor(-1 if buffer_size is None else buffer_size, "buffer_size")
        made = unary(input_dataset, "PrefetchDataset", buffer_size=size, slack_period=slack_period or 0)
        super().__init__(input_dataset, to_variant(made))


def _GeneratorDataset(  # noqa: N802 - TensorFlow's name
    init_args: Any,
    init_func: Callable[..., Any],
    next_func: Callable[..., Any],
    finalize_func: Callable[..., Any],
) -> Dataset:
    """Elements that functions of the graph make, one after the other.

    Args:
        init_args: what the first function takes.
        init_func: gives what the others take.
        next_func: gives the next element.
        finalize_func: is called at the end.
    """
    element = structure.normalised(init_args)
    functions = (init_func, next_func, finalize_func)
    return generator_dataset(structure.spec_of_value(element), structure.to_tensors(element), *functions)
