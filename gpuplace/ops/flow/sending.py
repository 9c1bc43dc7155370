"""``_Send`` and ``_Recv``: the two ends of an edge from one task to another.

They are added where a session's graph is partitioned by task, and meet at the step's rendezvous.

Source: tensorflow/core/kernels/sendrecv_ops.cc, release 1.15.
"""

from __future__ import annotations

from gpuplace.errors import InternalError
from gpuplace.kernels.cancellation import StepRendezvous, step_limits
from gpuplace.kernels.compute import compute
from gpuplace.typing import Array, ArrayModule


def _rendezvous() -> StepRendezvous:
    rendezvous = step_limits().rendezvous
    if rendezvous is None:
        raise InternalError.of("Op kernel context needs to provide a rendezvous.")
    return rendezvous


def _name(tensor_name: str | bytes) -> str:
    return tensor_name.decode() if isinstance(tensor_name, bytes) else tensor_name


@compute("_Send", own_state=True)
def send(xp: ArrayModule, tensor: Array, *, tensor_name: str | bytes, recv_device: str | bytes) -> tuple[()]:
    """Send a value; ``None`` means that its branch was not taken."""
    _rendezvous().send(_name(tensor_name), _name(recv_device), tensor)
    return ()


@compute("_Recv", fresh=True, own_state=True)
def receive(xp: ArrayModule, *, tensor_name: str | bytes) -> Array:
    """Wait for a value, which has no other receiver."""
    return _rendezvous().receive(_name(tensor_name))
