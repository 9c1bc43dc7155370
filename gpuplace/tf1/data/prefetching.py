"""Datasets whose elements are copied to another device before they are requested.

The copied dataset stays on its device. A ``GeneratorDataset`` on the other device calls functions there, which in turn
call functions on the dataset's device::

    target (GPU)    GeneratorDataset   init             next                  finalize
                                        |                |                     |         RemoteCall
    source (CPU)    the dataset        new iterator     its next element      deletes the iterator

Source: tensorflow/python/data/experimental/ops/prefetching_ops.py, release 1.15 (graphs, names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int64, string
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.support import new, new_list
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.tf1.data import structure
from gpuplace.tf1.data.dataset import Dataset, build, to_variant
from gpuplace.tf1.data.experimental import Transformation
from gpuplace.tf1.data.iterators import Iterator
from gpuplace.tf1.data.options import Options
from gpuplace.tf1.data.tracing import Traced, trace

__all__ = ["copy_to_device", "prefetch_to_device"]

_WHO = "copy_to_device()"


def prefetch_to_device(device: str, buffer_size: int | None = None) -> Transformation:
    """Prefetch elements to a device; this has to be the last transformation of a pipeline.

    Args:
        device: the device, as in ``tf.device``.
        buffer_size: maximum number of prefetched elements; None: chosen automatically.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset.apply(copy_to_device(device)).prefetch(buffer_size)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Copy elements to a device.

    Args:
        target_device: the device, as in ``tf.device``.
        source_device: the device of the dataset.

    Returns:
        A function for ``Dataset.apply``.
    """

    def apply(dataset: Dataset) -> Dataset:
        options = Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.experimental_optimization.autotune = False
        return _copied(dataset, target_device, source_device).with_options(options)

    return apply


def _copied(dataset: Dataset, target_device: str, source_device: str) -> Dataset:
    graph, spec = get_default_graph(), dataset.element_spec
    attrs: dict[str, Any] = {
        "output_types": structure.flat_types(spec),
        "output_shapes": structure.flat_shapes(spec),
    }
    forms = dataset.output_types, dataset.output_shapes, dataset.output_classes
    source = convert_to_tensor(source_device)
    wrapped = new("WrapDatasetVariant", input_handle=to_variant(dataset))
    handle = TensorSpec([], string)

    def init_func() -> Tensor:
        stage = new("UnwrapDatasetVariant", input_handle=wrapped)
        resource = new("AnonymousIterator", **attrs)
        started = apply_op("MakeIterator", dataset=stage, iterator=resource)
        with get_default_graph().control_dependencies([started]):
            return new("IteratorToStringHandle", resource_handle=resource)

    def next_func(string_handle: Tensor) -> Any:
        with get_default_graph().device(source_device):
            iterator = Iterator.from_string_handle(string_handle, *forms)
        return tuple(structure.to_tensors(iterator.get_next()))

    def finalize_func(string_handle: Tensor) -> Tensor:
        resource = new("IteratorFromStringHandleV2", string_handle=string_handle, **attrs)
        forgotten = apply_op("DestroyResourceOp", resource=resource, ignore_lookup_error=True)
        with get_default_graph().control_dependencies([forgotten]):
            return constant(0, int64)

    def remote(function: Traced, types: Any) -> Any:
        def called(*args: Tensor) -> Any:
            arguments = [*args, *function.captured]
            return tuple(new_list("RemoteCall", target=source, args=arguments, Tout=types, f=function.ref))

        return called

    init = trace(remote(trace(init_func, _WHO, ()), [string]), _WHO, ())
    get_next = trace(remote(trace(next_func, _WHO, handle), attrs["output_types"]), _WHO, handle)
    finalize = trace(remote(trace(finalize_func, _WHO, handle), [int64]), _WHO, handle)
    with graph.device(target_device):
        return build(
            "GeneratorDataset",
            spec,
            (dataset,),
            (init, get_next, finalize),
            init_func_other_args=list(init.captured),
            next_func_other_args=list(get_next.captured),
            finalize_func_other_args=list(finalize.captured),
            init_func=init.ref,
            next_func=get_next.ref,
            finalize_func=finalize.ref,
        )
