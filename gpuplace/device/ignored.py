"""GPUs that TensorFlow sees but does not use: too old, or too slow compared with the others.

A GPU needs the compute capability that the release was built for, and as many multiprocessors as the best visible one,
but no more than 8. TF_MIN_GPU_MULTIPROCESSOR_COUNT replaces that number. Ignored GPUs get no device, and those that
follow have smaller numbers.

>>> from gpuplace.device.machine import Machine
>>> machine = Machine.parse("Quadro K4000 @ 0000:02:00.0, Tesla K40c @ 0000:03:00.0")
>>> seen = machine.visibility({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
>>> for gpu in ignored_gpus(seen, range(2), "1.4", {}):
...     print(gpu.note)
Ignoring gpu device (device: 0, name: Quadro K4000, pci bus id: 0000:02:00.0, compute capability: 3.0) with Cuda \
multiprocessor count: 4. The minimum required count is 8. You can adjust this requirement with the env var \
TF_MIN_GPU_MULTIPROCESSOR_COUNT.

Source: GetValidDeviceIds and GetMinGPUMultiprocessorCount in tensorflow/core/common_runtime/gpu/gpu_device.cc, releases
1.0, 1.4, 1.15 and 2.21. A build needs the lowest capability that it was made for; up to 1.15 this is the one of the
packages on PyPI. For 2.21 it is 3.5, the lowest that configure.py offers and its default, so that machines of the
guide's time keep their GPUs: the package on PyPI was made for 6.0, 7.0, 8.0, 8.9 and 9.0, as it says in
`tf.sysconfig.get_build_info()`, and ignores a Tesla K20m, K40c or K80.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpuplace import release as releases
from gpuplace.device.limits import number_of
from gpuplace.device.physical_gpu import PhysicalGPU
from gpuplace.device.visible import Visibility

MIN_MULTIPROCESSORS = "TF_MIN_GPU_MULTIPROCESSOR_COUNT"
_DEFAULT_MIN = 8
_MIN_CAPABILITY = {"1.0": (3, 0), "1.4": (3, 0), "1.15": (3, 5), "2.21": (3, 5)}
_INT32 = re.compile(r"\s*([+-]?)([0-9]+)\s*")


@dataclass(frozen=True, slots=True)
class IgnoredGPU:
    """A visible GPU without a device."""

    gpu: PhysicalGPU
    """The GPU."""
    visible_id: int
    """Index of the GPU under CUDA_VISIBLE_DEVICES."""
    reason: str
    """Short reason."""
    note: str
    """TensorFlow's log line about the GPU."""


def min_compute_capability(release: str | None = None) -> tuple[int, int]:
    """Return the minimum compute capability (major, minor) of a release; None: the current release."""
    return _MIN_CAPABILITY[releases.resolve(release)]


def min_multiprocessors(gpus: Iterable[PhysicalGPU], environ: Mapping[str, str]) -> tuple[int, str]:
    """Return the minimum number of multiprocessors that a GPU needs.

    Args:
        gpus: visible GPUs.
        environ: environment that contains TF_MIN_GPU_MULTIPROCESSOR_COUNT.

    Returns:
        The number, and TensorFlow's warning about an invalid setting or "".
    """
    default = min(max((gpu.model.sm_count for gpu in gpus), default=0), _DEFAULT_MIN)
    setting = environ.get(MIN_MULTIPROCESSORS, "")
    if not setting:
        return default, ""
    match = _INT32.fullmatch(setting)
    if match is not None:
        number = number_of(match[2])
        if number < 1 << 31 and (number == 0 or match[1] != "-"):
            return number, ""
    return (
        default,
        f"Invalid minimum GPU multiprocessor count: [{setting}]. Using the default value: {default}",
    )


def ignored_gpus(
    visibility: Visibility, order: Iterable[int], release: str | None, environ: Mapping[str, str]
) -> list[IgnoredGPU]:
    """Return the GPUs that TensorFlow does not use, in its order.

    Args:
        visibility: GPUs visible to the process.
        order: visible ids in the order in which they would become devices.
        release: TensorFlow release; None: the current release.
        environ: environment that contains TF_MIN_GPU_MULTIPROCESSOR_COUNT.
    """
    release = releases.resolve(release)
    visible_ids = list(order)
    gpus = [visibility.visible[visible_id] for visible_id in visible_ids]
    capability = min_compute_capability(release)
    fewest, _ = min_multiprocessors(gpus, environ)
    ignored = []
    for visible_id, gpu in zip(visible_ids, gpus, strict=True):
        model = gpu.model
        if model.compute_capability < capability:
            has, needed = _version(model.compute_capability), _version(capability)
            reason = f"compute capability {has}, and TensorFlow {release} requires {needed}"
            kind = "visible gpu device"
            why = f"with Cuda compute capability {has}. The minimum required Cuda capability is {needed}."
        elif 0 < model.sm_count < fewest:  # 0: the driver reports no value
            is_old = release in ("1.0", "1.4")
            reason = f"{model.sm_count} multiprocessors, and {fewest} are required ({MIN_MULTIPROCESSORS})"
            kind = "gpu device" if is_old else "visible gpu device"
            why = (
                f"with {'Cuda multiprocessor' if is_old else 'core'} count: {model.sm_count}. The minimum required "
                f"count is {fewest}. You can adjust this requirement with the env var {MIN_MULTIPROCESSORS}."
            )
        else:
            continue
        note = f"Ignoring {kind} ({described(gpu.describe(visible_id), release)}) {why}"
        ignored.append(IgnoredGPU(gpu, visible_id, reason, note))
    return ignored


def described(description: str, release: str) -> str:
    """Return a GPU's description in the format of a release: 1.0 omits the compute capability."""
    return description.partition(", compute capability")[0] if release == "1.0" else description


def _version(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"
