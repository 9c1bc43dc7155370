"""Mapping from visible GPUs to TensorFlow devices: order, number, virtual devices, memory limits.

```
 GPUs of the machine          CUDA_VISIBLE_DEVICES="3,1"     visible_device_list="1,0"      devices
 0 1 2 3                ->    visible 0 = GPU 3        ->    1st = visible 1         ->     GPU:0 on GPU 1
                              visible 1 = GPU 1              2nd = visible 0                GPU:1 on GPU 3
```

Between the last two steps, GPUs that TensorFlow ignores are dropped (`gpuplace.device.ignored`).

>>> from gpuplace.device.machine import Machine
>>> rows = Machine.parse("2x Tesla K80").mapping(environ={"CUDA_VISIBLE_DEVICES": "1"})
>>> [(row.physical_id, row.visible_id, row.device, row.reason) for row in rows]
[(0, None, None, "not in CUDA_VISIBLE_DEVICES='1'"), (1, 0, '/device:GPU:0', '')]

Source: tensorflow/core/common_runtime/gpu/gpu_device.cc, release 1.15; memory limits also of 2.x.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuplace import release as releases
from gpuplace.device.device_set import DeviceAttributes, DeviceLink, DeviceLocality
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.device.ignored import IgnoredGPU, ignored_gpus
from gpuplace.device.limits import MAX_GPUS, check_count, number_of
from gpuplace.device.links import Links
from gpuplace.device.physical_gpu import PhysicalGPU
from gpuplace.device.visible import Visibility
from gpuplace.errors import InternalError, InvalidArgumentError, UnknownError

_MIB = 1 << 20
_INT32 = re.compile(r"\s*[+-]?([0-9]+)\s*")
_SAME_DEVICE_STRENGTH = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class VirtualGPU:
    """A TensorFlow GPU device to create."""

    tf_id: int
    """Index in ``/device:GPU:<n>``."""
    visible_id: int
    """Index of its GPU under CUDA_VISIBLE_DEVICES."""
    gpu: PhysicalGPU
    """Physical GPU."""
    memory_limit: int
    """Memory limit of its allocator, in bytes."""


@dataclass(frozen=True, slots=True)
class MappingRow:
    """One GPU of the machine, or one of several devices on it, with the outcome."""

    physical_id: int
    """Index in the machine, by PCI bus id."""
    name: str
    """Model name."""
    uuid: str
    """UUID of the GPU."""
    pci_bus_id: str
    """``0000:05:00.0``."""
    visible_id: int | None
    """Index under CUDA_VISIBLE_DEVICES; None if hidden."""
    device: str | None
    """``/device:GPU:0``; None if the GPU has no device."""
    memory_limit: int
    """Memory limit of the device in bytes; 0 without a device."""
    reason: str
    """Why there is no device; ``""`` if there is one."""


def default_memory_limit(gpu: PhysicalGPU, settings: GPUSettings, release: str | None = None) -> int:
    """Return the memory limit of the only device of a GPU, in bytes.

    Without a fraction it is the free memory minus a system reserve: 225 MiB if less than 2 GiB are free, otherwise the
    larger of 300 MiB and 5 %, and in 2.21 500 to 1800 MiB by compute capability. With a fraction it is that part of the
    *total* memory.

    Raises:
        InternalError: the fraction exceeds the memory of a GPU that does not support oversubscription.
        InvalidArgumentError: the fraction is not a finite number.
    """
    fraction = settings.per_process_gpu_memory_fraction
    if not math.isfinite(fraction):
        raise InvalidArgumentError.of(
            f"per_process_gpu_memory_fraction is {fraction}", hint="use a number from 0 to 1"
        )
    if (fraction > 1.0 or settings.use_unified_memory) and gpu.model.compute_capability < (6, 0):
        raise InternalError.of(
            "Unified memory on GPUs with compute capability lower than 6.0 (pre-Pascal class GPUs) does not support "
            "oversubscription.",
            facts={
                "GPU": f"{gpu.name}, compute capability {'.'.join(map(str, gpu.model.compute_capability))}"
            },
            hint="set per_process_gpu_memory_fraction to at most 1 and do not set use_unified_memory",
        )
    if fraction != 0:
        return int(gpu.total_bytes * fraction)
    free = gpu.free_bytes
    reserve = _system_reserve(gpu, releases.rules(release))
    return free - reserve if reserve < free else free


def _system_reserve(gpu: PhysicalGPU, rules: str) -> int:
    """Return the memory left to the CUDA libraries and other processes on the GPU, in bytes."""
    if gpu.free_bytes < 2 << 30:
        return 225 * _MIB
    if rules == "1.15":
        return max(300 * _MIB, int(gpu.free_bytes * 0.05))
    major, _ = gpu.model.compute_capability
    return (500 if major <= 6 else 1050 if major == 7 else 1536 if major == 8 else 1800) * _MIB


def map_gpus(
    visibility: Visibility,
    settings: GPUSettings,
    release: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[VirtualGPU]:
    """Return the GPU devices that a session with ``settings`` creates.

    Args:
        visibility: GPUs visible to the process.
        settings: settings of the session.
        release: TensorFlow release; None: the current release.
        environ: environment that contains TF_MIN_GPU_MULTIPROCESSOR_COUNT; None: this process's.

    Raises:
        InvalidArgumentError: visible_device_list or virtual_devices is invalid.
        UnknownError: virtual_devices has more entries than there are GPUs.
        ResourceExhaustedError: virtual_devices exceeds the size limit.
        InternalError: see ``default_memory_limit``.
    """
    visible = visibility.visible
    if not visible:
        return []
    bound = settings.device_count.get("GPU", -1)
    unused = {ignored.visible_id for ignored in ignored_by(visibility, settings, release, environ)}
    order = [number for number in _session_order(visibility, settings) if number not in unused]
    count = len(order) if bound < 0 else min(bound, len(order))
    virtual = settings.virtual_devices
    if virtual:
        _check_virtual(settings, count, len(order))
        count = len(virtual)
    devices: list[VirtualGPU] = []
    for position, visible_id in enumerate(order[:count]):
        gpu = visible[visible_id]
        limits = [_limit_bytes(megabytes) for megabytes in virtual[position]] if virtual else []
        check_count(len(devices) + max(len(limits), 1), "GPU", MAX_GPUS)
        for limit in limits or [default_memory_limit(gpu, settings, release)]:
            devices.append(VirtualGPU(len(devices), visible_id, gpu, limit))
    return devices


def ignored_by(
    visibility: Visibility,
    settings: GPUSettings,
    release: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[IgnoredGPU]:
    """Return the visible GPUs that TensorFlow does not use; arguments as for ``map_gpus``."""
    order = _session_order(visibility, settings)
    return ignored_gpus(visibility, order, release, os.environ if environ is None else environ)


def _session_order(visibility: Visibility, settings: GPUSettings) -> list[int]:
    """Return visible ids in the order in which a session considers them; empty if it uses no GPU."""
    if settings.device_count.get("GPU") == 0:
        return []
    return _visible_order(settings.visible_device_list, visibility)


def _limit_bytes(megabytes: float) -> int:
    if not math.isfinite(megabytes):
        raise InvalidArgumentError.of(
            f"memory_limit_mb of a virtual device is {megabytes}", hint="use a size in MiB"
        )
    return int(megabytes) * _MIB


def _visible_order(text: str, visibility: Visibility) -> list[int]:
    """Return visible ids in the order in which they become devices."""
    count = len(visibility.visible)
    if not text:
        return list(range(count))
    order = []
    for entry in text.split(","):
        digits = _INT32.fullmatch(entry)
        size = number_of(digits[1]) if digits else 1 << 64
        if digits is None or size > 1 << 31 or (size == 1 << 31 and "-" not in entry):
            raise InvalidArgumentError.of(
                f"Could not parse entry in 'visible_device_list': '{entry}'. visible_device_list = {text}",
                hint="write numbers separated by commas, for example '1,0'",
            )
        number = -size if "-" in entry else size
        if not 0 <= number < count:
            raise InvalidArgumentError.of(
                f"'visible_device_list' listed an invalid GPU id '{number}' but visible device count is {count}",
                facts=_visible_facts(visibility),
                hint="visible_device_list numbers the GPUs visible under CUDA_VISIBLE_DEVICES from 0",
            )
        order.append(number)
    if len(set(order)) < len(order):
        raise InvalidArgumentError.of(f"visible_device_list contained a duplicate entry: {text}")
    return order


def _visible_facts(visibility: Visibility) -> dict[str, str]:
    facts = {
        "visible GPUs": ", ".join(
            f"{i}: {gpu.name} {gpu.pci_bus_id}" for i, gpu in enumerate(visibility.visible)
        )
    }
    if visibility.setting is not None:
        facts["CUDA_VISIBLE_DEVICES"] = repr(visibility.setting)
    return facts


def _check_virtual(settings: GPUSettings, count: int, valid: int) -> None:
    """Perform TensorFlow's checks before it creates virtual devices, in its order."""
    entries = len(settings.virtual_devices)
    if settings.per_process_gpu_memory_fraction > 0:
        raise InvalidArgumentError.of(
            "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set."
        )
    if count < entries:
        raise UnknownError.of(
            f"Not enough GPUs to create virtual devices. num_gpus_to_use: {count} #virtual_devices: {entries}"
        )
    if settings.visible_device_list and valid != entries:
        raise InvalidArgumentError.of(
            "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices "
            f"list. #GPUs in visible_device_list: {valid} virtual_devices.size(): {entries}"
        )
    if valid != entries:
        raise UnknownError.of(
            "The number of valid GPUs doesn't match the number of elements in the virtual_devices list. "
            f"#valid GPUs: {valid} virtual_devices.size(): {entries}",
            hint="use one entry of virtual_devices per visible GPU, or a visible_device_list of the same length",
        )


def gpu_devices(
    devices: Sequence[VirtualGPU], links: Links, prefix: str = "/job:localhost/replica:0/task:0"
) -> list[DeviceAttributes]:
    """Return the devices as a session sees them; ``links`` are the links of the machine."""
    return [
        DeviceAttributes(
            name=f"{prefix}/device:GPU:{device.tf_id}",
            device_type="GPU",
            memory_limit=device.memory_limit,
            physical_device_desc=device.gpu.describe(device.visible_id),
            locality=DeviceLocality(
                bus_id=device.gpu.numa_node + 1,
                numa_node=device.gpu.numa_node,
                links=_links(device, devices, links),
            ),
            physical_id=device.gpu.index,
            visible_id=device.visible_id,
            uuid=device.gpu.uuid,
        )
        for device in devices
    ]


def _links(device: VirtualGPU, devices: Sequence[VirtualGPU], machine: Links) -> tuple[DeviceLink, ...]:
    links = []
    for other in devices:
        if other.tf_id == device.tf_id:
            continue
        if other.gpu.index == device.gpu.index:
            links.append(DeviceLink(other.tf_id, "SAME_DEVICE", _SAME_DEVICE_STRENGTH))
        elif machine.is_peer(device.gpu.index, other.gpu.index):
            links.append(DeviceLink(other.tf_id, "StreamExecutor", 1))
    return tuple(links)


def mapping_rows(
    gpus: Sequence[PhysicalGPU],
    visibility: Visibility,
    devices: Sequence[VirtualGPU],
    settings: GPUSettings,
    ignored: Sequence[IgnoredGPU] = (),
) -> tuple[MappingRow, ...]:
    """Return one row per device and one per GPU without a device, in order of the machine's GPUs."""
    rows = []
    reasons = {**visibility.hidden, **{unused.gpu.index: f"ignored: {unused.reason}" for unused in ignored}}
    for gpu in gpus:
        visible_id = visibility.visible_id(gpu)
        created = [device for device in devices if device.gpu.index == gpu.index]
        reason = "" if created else reasons.get(gpu.index) or _unused_reason(settings)
        shown: list[VirtualGPU | None] = [*created] if created else [None]
        for device in shown:
            rows.append(
                MappingRow(
                    physical_id=gpu.index,
                    name=gpu.name,
                    uuid=gpu.uuid,
                    pci_bus_id=gpu.pci_bus_id,
                    visible_id=visible_id,
                    device=None if device is None else f"/device:GPU:{device.tf_id}",
                    memory_limit=0 if device is None else device.memory_limit,
                    reason=reason,
                )
            )
    return tuple(rows)


def _unused_reason(settings: GPUSettings) -> str:
    """Return why a visible GPU has no device."""
    bound = settings.device_count.get("GPU")
    if settings.visible_device_list and (bound is None or bound != 0):
        listed = f"visible_device_list={settings.visible_device_list!r}"
        return (
            f"not in {listed}" if bound is None else f"not in {listed}, or beyond device_count GPU: {bound}"
        )
    return f"device_count allows GPU: {bound}"
