"""The position of an iterator, as a value in checkpoints.

The position is the number of elements taken. Restoring skips that many elements, so a pipeline whose order differs from
run to run, such as a shuffle without a seed, continues in another order.

Source: tensorflow/core/kernels/data/iterator_ops.cc, release 1.15 (operations, messages; TensorFlow keeps the state of
every dataset of the pipeline).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.errors import FailedPreconditionError, InvalidArgumentError
from gpuplace.files.checkpoints.variants import EncodedVariant
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import no_outputs, scalar_shape
from gpuplace.tf1.data.runtime.iterators import iterator_of
from gpuplace.tf1.data.runtime.stages import Run
from gpuplace.typing import Array, ArrayModule

_TYPE_NAME = "gpuplace::Iterator"


@compute("SerializeIterator")
def _serialize(xp: ArrayModule, resource_handle: ResourceHandle) -> Any:
    position = iterator_of(resource_handle).taken
    if position is None:
        raise FailedPreconditionError.of(
            "Save() failed because the iterator has not been initialized. Ensure that you have run the initializer"
            " operation for this iterator before saving it.",
            hint="session.run(iterator.initializer)",
        )
    return EncodedVariant(_TYPE_NAME, str(position).encode())


@compute("DeserializeIterator")
def _deserialize(
    xp: ArrayModule, resource_handle: ResourceHandle, serialized: Array, *, ctx: KernelContext
) -> tuple[()]:
    state = serialized.item() if isinstance(serialized, np.ndarray) else serialized
    if not isinstance(state, EncodedVariant) or state.type_name != _TYPE_NAME:
        kind = state.type_name if isinstance(state, EncodedVariant) else type(state).__name__
        raise InvalidArgumentError.of(
            f"The state of an iterator cannot be restored from a value of type {kind}",
            hint="states saved by TensorFlow cannot be used here; run the iterator's initializer instead",
        )
    if not iterator_of(resource_handle).go_to(int(state.metadata), Run(ctx.session, ctx.device)):
        raise FailedPreconditionError.of(
            "Restore() failed because the iterator has not been initialized. Ensure that you have run the initializer"
            " operation for this iterator before restoring it.",
            hint="session.run(iterator.initializer)",
        )
    return ()


shape_function("SerializeIterator")(scalar_shape)
shape_function("DeserializeIterator")(no_outputs)
not_differentiable("SerializeIterator", "DeserializeIterator")
