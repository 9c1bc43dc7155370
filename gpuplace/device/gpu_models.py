"""Catalogue of GPUs that can be simulated, every figure with its source.

Memory is what the driver reports to a program (``cudaMemGetInfo``), not the round number on the box: a K20m sold with
5 GB and its error correction switched on shows 4742 MiB. One entry is one CUDA device, so a Tesla K80 board is two.

>>> find_model("k40c").name
'Tesla K40c'
>>> find_model("A100-80").memory_bytes >> 20
81251
>>> find_model("K41c")
Traceback (most recent call last):
...
gpuplace.errors.InvalidArgumentError: Unknown GPU model 'K41c'.
  known models  Tesla K20m, Quadro K4000, Tesla K40c, ...
  try           Tesla K40c
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gpuplace.errors import InvalidArgumentError

__all__ = ["GPU_MODELS", "GPUModel", "find_model"]

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class GPUModel:
    """Figures of one CUDA device."""

    name: str
    """Name that the driver reports."""
    aliases: tuple[str, ...] = ()
    """Other names people write; case, spaces, dashes and the words NVIDIA, Tesla, GeForce do not matter."""
    memory_bytes: int = 0
    """Memory as the driver reports it, in bytes."""
    context_bytes: int = 0
    """Bytes that the driver and one CUDA context take before a program allocates anything."""
    compute_capability: tuple[int, int] = (0, 0)
    """Major and minor number."""
    sm_count: int = 0
    """Streaming multiprocessors."""
    clock_hz: float = 0.0
    """Highest clock that ``cudaDeviceProp::clockRate`` reports, in hertz."""
    memory_bandwidth: float = 0.0
    """Bytes a second between the GPU and its own memory."""
    fp32_flops: float = 0.0
    """Single-precision operations a second, outside the tensor cores."""
    pcie_bandwidth: float = 0.0
    """Bytes a second each way over the PCIe slot, by the PCIe generation."""
    nvlink_bandwidth: float = 0.0
    """Bytes a second each way over all NVLink connections together; 0 without NVLink."""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    """Field name to where its figure comes from; ``"*"`` is the source of the fields not named."""

    @property
    def free_bytes(self) -> int:
        """Bytes free for a process that has just started, on a GPU that nobody else uses."""
        return self.memory_bytes - self.context_bytes

    @property
    def has_peer_access(self) -> bool:
        """True when two of these in one machine reach each other's memory without the host."""
        return bool(self.nvlink_bandwidth) or not self.name.startswith(("GeForce", "NVIDIA GeForce"))

    @property
    def peer_bandwidth(self) -> float:
        """Bytes a second each way between two of these: NVLink if there is any, else PCIe."""
        return self.nvlink_bandwidth or self.pcie_bandwidth


_DEVICE_QUERY = "deviceQuery of the CUDA samples, run on the device"
_PYTORCH = "torch.cuda.get_device_properties, run on the device; rounded to a MiB"
_TF_LOG = "TensorFlow's start-up log (totalMemory less freeMemory)"
_ESTIMATE = "estimate: a CUDA 11 or 12 context with its kernels loaded"

# Each way, 16 lanes, after line coding: PCI Express Base Specification, revisions 2.0, 3.0, 4.0, 5.0.
_PCIE2, _PCIE3, _PCIE4, _PCIE5 = 8.0e9, 15.75e9, 31.5e9, 63.0e9


def _sources(sheet: str, memory: str, context: str) -> Mapping[str, str]:
    return MappingProxyType(
        {
            "*": sheet,
            "memory_bytes": memory,
            "context_bytes": context,
            "compute_capability": "CUDA C++ Programming Guide, section Compute Capabilities",
            "pcie_bandwidth": "PCI Express Base Specification, 16 lanes each way",
        }
    )


GPU_MODELS: tuple[GPUModel, ...] = (
    GPUModel(
        "Tesla K20m",
        aliases=("K20",),
        memory_bytes=4_972_412_928,
        context_bytes=72 * _MIB,
        compute_capability=(3, 5),
        sm_count=13,
        clock_hz=705.5e6,
        memory_bandwidth=208e9,
        fp32_flops=3.52e12,
        pcie_bandwidth=_PCIE2,
        sources=_sources(
            "Tesla K20 GPU Accelerator, board specification BD-06455-001", _DEVICE_QUERY, _TF_LOG
        ),
    ),
    GPUModel(
        "Quadro K4000",
        aliases=("K4000",),
        memory_bytes=3_221_225_472,
        context_bytes=72 * _MIB,
        compute_capability=(3, 0),
        sm_count=4,
        clock_hz=810.5e6,
        memory_bandwidth=134e9,
        fp32_flops=1.246e12,
        pcie_bandwidth=_PCIE2,
        sources=_sources(
            "Quadro K4000, data sheet; FLOP/s = 768 cores x 2 x clock",
            "the data sheet: 3 GB",
            "estimate: as of a Tesla K20m",
        ),
    ),
    GPUModel(
        "Tesla K40c",
        aliases=("K40", "K40m"),
        memory_bytes=11_995_578_368,
        context_bytes=76 * _MIB,
        compute_capability=(3, 5),
        sm_count=15,
        clock_hz=745e6,
        memory_bandwidth=288e9,
        fp32_flops=4.29e12,
        pcie_bandwidth=_PCIE3,
        sources=_sources(
            "Tesla K40 GPU Active Accelerator, board specification BD-06949-001", _DEVICE_QUERY, _TF_LOG
        ),
    ),
    GPUModel(
        "Tesla K80",
        memory_bytes=11_995_578_368,
        context_bytes=76 * _MIB,
        compute_capability=(3, 7),
        sm_count=13,
        clock_hz=823.5e6,
        memory_bandwidth=240e9,
        fp32_flops=4.37e12,
        pcie_bandwidth=_PCIE3,
        sources=_sources(
            "Tesla K80 GPU Accelerator, board specification BD-07317-001; half a board, with GPU boost",
            _DEVICE_QUERY,
            _TF_LOG,
        ),
    ),
    GPUModel(
        "GeForce GTX 1050",
        aliases=("1050", "GTX1050"),
        memory_bytes=2_147_483_648,
        context_bytes=96 * _MIB,
        compute_capability=(6, 1),
        sm_count=5,
        clock_hz=1455e6,
        memory_bandwidth=112e9,
        fp32_flops=1.862e12,
        pcie_bandwidth=_PCIE3,
        sources=_sources(
            "GeForce GTX 1050, specifications page; FLOP/s = 640 cores x 2 x boost clock",
            _DEVICE_QUERY,
            "estimate: a CUDA 9 context",
        ),
    ),
    GPUModel(
        "GeForce GTX 1080 Ti",
        aliases=("1080Ti", "GTX1080Ti"),
        memory_bytes=11_721_506_816,
        context_bytes=164 * _MIB,
        compute_capability=(6, 1),
        sm_count=28,
        clock_hz=1582e6,
        memory_bandwidth=484e9,
        fp32_flops=11.34e12,
        pcie_bandwidth=_PCIE3,
        sources=_sources(
            "GeForce GTX 1080 Ti, specifications page; FLOP/s = 3584 cores x 2 x boost clock",
            _DEVICE_QUERY,
            _TF_LOG,
        ),
    ),
    GPUModel(
        "Tesla P100-PCIE-16GB",
        aliases=("P100", "P100-16", "P100-PCIE"),
        memory_bytes=17_071_734_784,
        context_bytes=287 * _MIB,
        compute_capability=(6, 0),
        sm_count=56,
        clock_hz=1328.5e6,
        memory_bandwidth=732e9,
        fp32_flops=9.3e12,
        pcie_bandwidth=_PCIE3,
        sources=_sources(
            "NVIDIA Tesla P100 GPU Accelerator, data sheet for PCIe-based servers", _DEVICE_QUERY, _TF_LOG
        ),
    ),
    GPUModel(
        "Tesla P100-SXM2-16GB",
        aliases=("P100-SXM2",),
        memory_bytes=17_071_734_784,
        context_bytes=287 * _MIB,
        compute_capability=(6, 0),
        sm_count=56,
        clock_hz=1480.5e6,
        memory_bandwidth=732e9,
        fp32_flops=10.6e12,
        pcie_bandwidth=_PCIE3,
        nvlink_bandwidth=80e9,
        sources=_sources(
            "NVIDIA Tesla P100 GPU Accelerator, data sheet for NVLink-optimized servers",
            _DEVICE_QUERY,
            _TF_LOG,
        ),
    ),
    GPUModel(
        "Tesla V100-SXM2-16GB",
        aliases=("V100", "V100-16", "V100-SXM2"),
        memory_bytes=16_945_512_448,
        context_bytes=424 * _MIB,
        compute_capability=(7, 0),
        sm_count=80,
        clock_hz=1530e6,
        memory_bandwidth=900e9,
        fp32_flops=15.7e12,
        pcie_bandwidth=_PCIE3,
        nvlink_bandwidth=150e9,
        sources=_sources("NVIDIA V100 Tensor Core GPU, data sheet", _DEVICE_QUERY, _TF_LOG),
    ),
    GPUModel(
        "Tesla V100-SXM2-32GB",
        aliases=("V100-32",),
        memory_bytes=34_058_272_768,
        context_bytes=424 * _MIB,
        compute_capability=(7, 0),
        sm_count=80,
        clock_hz=1530e6,
        memory_bandwidth=900e9,
        fp32_flops=15.7e12,
        pcie_bandwidth=_PCIE3,
        nvlink_bandwidth=150e9,
        sources=_sources("NVIDIA V100 Tensor Core GPU, data sheet", _DEVICE_QUERY, _TF_LOG),
    ),
    GPUModel(
        "Tesla T4",
        memory_bytes=15_843_721_216,
        context_bytes=113 * _MIB,
        compute_capability=(7, 5),
        sm_count=40,
        clock_hz=1590e6,
        memory_bandwidth=320e9,
        fp32_flops=8.1e12,
        pcie_bandwidth=_PCIE3,
        sources=_sources("NVIDIA T4 Tensor Core GPU, data sheet", _DEVICE_QUERY, _TF_LOG),
    ),
    GPUModel(
        "NVIDIA GeForce RTX 3090",
        aliases=("3090", "RTX3090"),
        memory_bytes=25_447_170_048,
        context_bytes=450 * _MIB,
        compute_capability=(8, 6),
        sm_count=82,
        clock_hz=1695e6,
        memory_bandwidth=936e9,
        fp32_flops=35.6e12,
        pcie_bandwidth=_PCIE4,
        sources=_sources(
            "NVIDIA Ampere GA102 GPU Architecture, white paper, table of GeForce RTX 3090",
            _DEVICE_QUERY,
            _ESTIMATE,
        ),
    ),
    GPUModel(
        "NVIDIA A100-SXM4-40GB",
        aliases=("A100", "A100-40", "A100-SXM4"),
        memory_bytes=42_505_273_344,
        context_bytes=450 * _MIB,
        compute_capability=(8, 0),
        sm_count=108,
        clock_hz=1410e6,
        memory_bandwidth=1555e9,
        fp32_flops=19.5e12,
        pcie_bandwidth=_PCIE4,
        nvlink_bandwidth=300e9,
        sources=_sources("NVIDIA A100 Tensor Core GPU, data sheet", _DEVICE_QUERY, _ESTIMATE),
    ),
    GPUModel(
        "NVIDIA A100-SXM4-80GB",
        aliases=("A100-80",),
        memory_bytes=81_251 * _MIB,
        context_bytes=450 * _MIB,
        compute_capability=(8, 0),
        sm_count=108,
        clock_hz=1410e6,
        memory_bandwidth=2039e9,
        fp32_flops=19.5e12,
        pcie_bandwidth=_PCIE4,
        nvlink_bandwidth=300e9,
        sources=_sources("NVIDIA A100 Tensor Core GPU, data sheet", _PYTORCH, _ESTIMATE),
    ),
    GPUModel(
        "NVIDIA L4",
        memory_bytes=23_583_784_960,
        context_bytes=450 * _MIB,
        compute_capability=(8, 9),
        sm_count=58,
        clock_hz=2040e6,
        memory_bandwidth=300e9,
        fp32_flops=30.3e12,
        pcie_bandwidth=_PCIE4,
        sources=_sources("NVIDIA L4 Tensor Core GPU, data sheet", _DEVICE_QUERY, _ESTIMATE),
    ),
    GPUModel(
        "NVIDIA H100 80GB HBM3",
        aliases=("H100", "H100-80", "H100-SXM5", "H100-SXM"),
        memory_bytes=85_028_896_768,
        context_bytes=550 * _MIB,
        compute_capability=(9, 0),
        sm_count=132,
        clock_hz=1980e6,
        memory_bandwidth=3350e9,
        fp32_flops=67e12,
        pcie_bandwidth=_PCIE5,
        nvlink_bandwidth=450e9,
        sources=_sources(
            "NVIDIA H100 Tensor Core GPU, data sheet, column H100 SXM", _DEVICE_QUERY, _ESTIMATE
        ),
    ),
    GPUModel(
        "NVIDIA H200",
        aliases=("H200-141", "H200-SXM"),
        memory_bytes=150_121_545_728,
        context_bytes=550 * _MIB,
        compute_capability=(9, 0),
        sm_count=132,
        clock_hz=1980e6,
        memory_bandwidth=4800e9,
        fp32_flops=67e12,
        pcie_bandwidth=_PCIE5,
        nvlink_bandwidth=450e9,
        sources=_sources(
            "NVIDIA H200 Tensor Core GPU, data sheet, column H200 SXM", _DEVICE_QUERY, _ESTIMATE
        ),
    ),
    GPUModel(
        "NVIDIA B200",
        aliases=("B200-180",),
        memory_bytes=182_642 * _MIB,
        context_bytes=550 * _MIB,
        compute_capability=(10, 0),
        sm_count=148,
        clock_hz=1965e6,
        memory_bandwidth=7700e9,
        fp32_flops=75e12,
        pcie_bandwidth=_PCIE5,
        nvlink_bandwidth=900e9,
        sources=_sources(
            "NVIDIA HGX B200, data sheet, an eighth of the eight-GPU figures", _PYTORCH, _ESTIMATE
        ),
    ),
)
"""All models, oldest first."""

_NOISE = re.compile(r"nvidia|tesla|geforce|gtx|rtx|[\s_-]+")


def _key(name: str) -> str:
    """``name`` without what people leave out: case, maker, family, separators, ``GB``."""
    return re.sub(r"(\d)gb\b", r"\1", _NOISE.sub("", name.lower()))


_BY_KEY = {_key(name): model for model in GPU_MODELS for name in (model.name, *model.aliases)}


_SHOWN = 200
"""Characters of a name that an error repeats."""


def is_model(name: str) -> bool:
    """Whether there is a model of that name or alias."""
    return _key(name) in _BY_KEY


def find_model(name: str) -> GPUModel:
    """The model of that name or alias.

    Raises:
        InvalidArgumentError: no such model; the error lists all of them and the nearest.
    """
    model = _BY_KEY.get(_key(name))
    if model is not None:
        return model
    nearest = difflib.get_close_matches(_key(name), _BY_KEY, n=1, cutoff=0.5)
    raise InvalidArgumentError(
        None,
        None,
        f"Unknown GPU model '{name if len(name) <= _SHOWN else name[:_SHOWN] + '...'}'.",
        facts={"known models": ", ".join(known.name for known in GPU_MODELS)},
        hint=_BY_KEY[nearest[0]].name if nearest else None,
    )
