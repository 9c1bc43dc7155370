"""Library functions that run on a device given at call time.

Source: tensorflow/core/kernels/function_ops.cc (RemoteCallOp) and data/dataset_ops.cc, release 1.15 (messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace.device.spec import DeviceSpec
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import scalar_shape
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule

not_differentiable("RemoteCall", "UnwrapDatasetVariant", "WrapDatasetVariant")
shape_function("UnwrapDatasetVariant", "WrapDatasetVariant")(scalar_shape)


@shape_function("RemoteCall")
def _not_known(op: Operation) -> Any:
    return (TensorShape(None),) * len(op.attrs["Tout"])


@compute("UnwrapDatasetVariant", "WrapDatasetVariant")
def _same(xp: ArrayModule, input_handle: Array) -> Array:
    return input_handle


@compute("RemoteCall")
def _remote_call(xp: ArrayModule, target: Array, args: list[Any], *, f: Any, ctx: KernelContext) -> Any:
    device = _full_name(bytes(target[()]).decode(), ctx.device)
    call = ctx.session.kernel_state(
        f"{f.name}/RemoteCall/{device}",
        lambda: ctx.session.functions.callable_of(ctx.op.graph, f.name, device, ctx.session),
    )
    results = call(args)
    return results[0] if len(results) == 1 else tuple(results)


def _full_name(target: str, caller: str) -> str:
    """Return the full name of a device, relative to the calling op's device."""
    spec = DeviceSpec.from_string(target)
    if spec.device_type is not None and spec.device_index is None:
        spec = spec.make_merged_spec(DeviceSpec(device_index=0))
    return DeviceSpec.from_string(caller).make_merged_spec(spec).to_string()
