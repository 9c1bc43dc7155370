"""Functions of the graph's library that run on a device which is named when they are called.

Source: tensorflow/core/kernels/function_ops.cc (RemoteCallOp) and data/dataset_ops.cc, release 1.15 (sentences).
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
    made = call(args)
    return made[0] if len(made) == 1 else tuple(made)


def _full_name(target: str, caller: str) -> str:
    """The device that a name means to an op on another one."""
    wanted = DeviceSpec.from_string(target)
    if wanted.device_type is not None and wanted.device_index is None:
        wanted = wanted.make_merged_spec(DeviceSpec(device_index=0))
    return DeviceSpec.from_string(caller).make_merged_spec(wanted).to_string()
