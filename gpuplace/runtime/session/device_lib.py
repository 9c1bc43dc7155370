"""``tensorflow.python.client.device_lib`` and the GPU queries of ``tf.test``.

>>> from gpuplace.runtime.memory.process_state import use_machine
>>> machine = use_machine("1x Tesla K40c")
>>> print(list_local_devices()[1])
name: "/device:GPU:0"
device_type: "GPU"
memory_limit: 11320092263
locality {
  bus_id: 1
  links {
  }
}
incarnation: 12818373192545533261
physical_device_desc: "device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5"
<BLANKLINE>
>>> gpu_device_name(), is_gpu_available(min_cuda_compute_capability=(6, 0))
('/device:GPU:0', False)
>>> use_machine(None)

Source: tensorflow/python/client/device_lib.py, tensorflow/python/framework/test_util.py, release 1.15.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpuplace.device.device_set import DeviceAttributes, DeviceLocality
from gpuplace.runtime.memory.process_state import session_devices

__all__ = ["LocalDevice", "gpu_device_name", "is_gpu_available", "list_local_devices"]


@dataclass(frozen=True, slots=True, repr=False)
class LocalDevice:
    """Device of the process; printed like TensorFlow's protobuf message."""

    device: DeviceAttributes
    """Underlying device."""

    @property
    def name(self) -> str:
        """``/device:GPU:0``."""
        return self.device.parsed.local_name

    @property
    def device_type(self) -> str:
        """``CPU``, ``GPU``, ..."""
        return self.device.device_type

    @property
    def memory_limit(self) -> int:
        """Memory limit in bytes."""
        return self.device.memory_limit

    @property
    def locality(self) -> DeviceLocality:
        """Socket and links."""
        return self.device.locality

    @property
    def incarnation(self) -> int:
        """Number that distinguishes this device from earlier devices of the same name."""
        return self.device.incarnation

    @property
    def physical_device_desc(self) -> str:
        """Description of a GPU's hardware; ``""`` for other devices."""
        return self.device.physical_device_desc

    def __repr__(self) -> str:
        lines = [
            f'name: "{self.name}"',
            f'device_type: "{self.device_type}"',
            f"memory_limit: {self.memory_limit}",
            *_locality_lines(self.locality),
            f"incarnation: {self.incarnation}",
        ]
        if self.physical_device_desc:
            lines.append(f'physical_device_desc: "{self.physical_device_desc}"')
        return "\n".join(lines) + "\n"


def _locality_lines(locality: DeviceLocality) -> list[str]:
    if not locality.bus_id:
        return ["locality {", "}"]
    lines = ["locality {", f"  bus_id: {locality.bus_id}"]
    if locality.numa_node:
        lines.append(f"  numa_node: {locality.numa_node}")
    lines.append("  links {")
    for link in locality.links:
        lines += ["    link {", f"      device_id: {link.device_id}"] if link.device_id else ["    link {"]
        lines += [f'      type: "{link.type}"', f"      strength: {link.strength}", "    }"]
    return [*lines, "  }", "}"]


def list_local_devices(session_config: Any = None) -> list[LocalDevice]:
    """Return the devices that a session gets; creates the process's devices.

    Args:
        session_config: a ``ConfigProto``, or an object with its attributes; None: its defaults.

    Returns:
        A list of ``LocalDevice``.

    Raises:
        OpError: as in ``session_devices``.
    """
    return [LocalDevice(device) for device in session_devices(session_config)]


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Whether a session has a GPU, with a minimum compute capability if one is given.

    Args:
        cuda_only: ignored, because all GPUs here are CUDA GPUs.
        min_cuda_compute_capability: major and minor number; None: any.

    Returns:
        A Python bool.

    Raises:
        OpError: as in ``session_devices``.
    """
    gpus = (device for device in list_local_devices() if device.device_type == "GPU")
    if min_cuda_compute_capability is None:
        return any(gpus)
    return any(_compute_capability(device) >= tuple(min_cuda_compute_capability) for device in gpus)


def gpu_device_name() -> str:
    """Return ``/device:GPU:0`` if a session has a GPU, otherwise ``""``.

    Raises:
        OpError: as in ``session_devices``.
    """
    return next((device.name for device in list_local_devices() if device.device_type == "GPU"), "")


def _compute_capability(device: LocalDevice) -> tuple[int, ...]:
    """Return the compute capability from a GPU's description, such as ``(3, 5)``; ``(0, 0)`` if it has none."""
    _, _, text = device.physical_device_desc.partition("compute capability: ")
    return tuple(int(number) for number in text.split(".")) if text else (0, 0)
