"""``MirroredStrategy``: a copy of the model on each GPU of a machine; ``OneDeviceStrategy``: on one device.

Source: tensorflow/python/distribute/mirrored_strategy.py and one_device_strategy.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.graph.convert import get_default_graph
from gpuplace.tf1.distribute.cross_device import CrossDeviceOps, NcclAllReduce, ReductionToOneDevice
from gpuplace.tf1.distribute.strategy import CPU, Strategy, StrategyExtended, full_device

__all__ = ["MirroredStrategy", "OneDeviceStrategy"]


class MirroredStrategy(Strategy):
    """A strategy that trains synchronized copies of a model on several GPUs of one machine.

    Each variable has a copy on each GPU: ``w`` on the first, ``w/replica_1`` on the second. Each replica
    computes the gradients of its part of a batch; their sum, computed by NCCL if all devices are GPUs of the
    machine, updates every copy.

    >>> import gpuplace as tf
    >>> _ = tf.use_machine("2x V100")
    >>> with tf.Graph().as_default():
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     with strategy.scope():
    ...         w = tf.get_variable("w", [])
    ...     [copy.name for copy in strategy.experimental_local_results(w)]
    ['w:0', 'w/replica_1:0']
    >>> _ = tf.use_machine(None)

    Args:
        devices: names of devices; None for all GPUs of the machine, or its CPU without GPUs.
        cross_device_ops: how gradients are reduced; None: by NCCL if all devices are GPUs of the machine,
            otherwise on one device.

    Raises:
        ValueError: the list is empty, names a device twice, or contains an invalid device name.
    """

    def __init__(
        self, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None
    ) -> None:
        present = _gpus()
        names = (
            [full_device(device) for device in (present or [CPU]) if devices is None]
            if devices is None
            else []
        )
        if devices is not None:
            names = [full_device(device) for device in devices]
        if not names:
            raise ValueError("Got an empty `devices` list")
        if len(set(names)) < len(names):
            raise ValueError(f"No duplicates allowed in `devices` argument: {list(names)}")
        if cross_device_ops is None:
            cross_device_ops = _default_cross_device_ops(names, present)
        super().__init__(StrategyExtended(names, cross_device_ops))
        tf_logging.info("Using MirroredStrategy with devices %r", tuple(names))


def _gpus() -> list[str]:
    """Return the GPUs of the current machine."""
    from gpuplace.runtime.memory.process_state import current_machine

    count = len(current_machine().gpus)
    return [full_device(f"/gpu:{number}") for number in range(count)]


def _default_cross_device_ops(names: Sequence[str], present: Sequence[str]) -> CrossDeviceOps:
    """Return TensorFlow's reduction method for such devices."""
    if any("GPU" not in name for name in names):
        tf_logging.warning("There is non-GPU devices in `tf.distribute.Strategy`, not using nccl allreduce.")
        return ReductionToOneDevice()
    if not set(names) <= set(present):
        tf_logging.warning(
            "Some requested devices in `tf.distribute.Strategy` are not visible to TensorFlow: %s",
            ",".join(name for name in names if name not in present),
        )
        return ReductionToOneDevice()
    return NcclAllReduce(num_packs=1)


class OneDeviceStrategy(Strategy):
    """A strategy with one device, to try out a program that is written for strategies.

    Args:
        device: the name of the device.

    Raises:
        ValueError: this is not the name of a device.
    """

    def __init__(self, device: str) -> None:
        super().__init__(_OneDevice([full_device(device)]))


class _OneDevice(StrategyExtended):
    """Device context with plain variables."""

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        with get_default_graph().device(self._devices[0]):
            return next_creator(**kwargs)
