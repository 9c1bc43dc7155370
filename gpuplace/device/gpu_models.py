"""Catalogue of GPU models for simulation; every figure has its source.

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
  custom model  gpuplace.Machine.simulated(2, gpu=GPUModel('name', ...
  try           Tesla K40c
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpuplace.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class GPUModel:
    """Specification of one CUDA device."""

    name: str
    """Name that the driver reports."""
    aliases: tuple[str, ...] = ()
    """Alternative names; case, spaces, dashes and the words NVIDIA, Tesla and GeForce are ignored."""
    memory_bytes: int = 0
    """Memory as the driver reports it, in bytes."""
    context_bytes: int = 0
    """Memory used by the driver and one CUDA context before any allocation, in bytes."""
    compute_capability: tuple[int, int] = (0, 0)
    """Major and minor version."""
    sm_count: int = 0
    """Number of streaming multiprocessors."""
    clock_hz: float = 0.0
    """Maximum clock rate that ``cudaDeviceProp::clockRate`` reports, in hertz."""
    sustained_clock_hz: float = 0.0
    """Clock rate under sustained load, in hertz; it depends on cooling and power limits."""
    per_board: int = 1
    """Number of these GPUs that share a board and its power budget."""
    board_clock_hz: float = 0.0
    """Clock rate under sustained load of all GPUs of the board, in hertz; 0 if no board is shared."""
    memory_bandwidth: float = 0.0
    """Bandwidth between the GPU and its own memory, in bytes/s."""
    fp32_flops: float = 0.0
    """Single-precision rate without tensor cores, in FLOP/s."""
    fp64_flops: float = 0.0
    """Double-precision rate without tensor cores, in FLOP/s."""
    tensor_flops: float = 0.0
    """Dense float16 rate of the tensor cores with float32 accumulation, in FLOP/s; 0 without tensor cores."""
    tf32_flops: float = 0.0
    """TF32 rate of the tensor cores, in FLOP/s; 0 without TF32."""
    pcie_bandwidth: float = 0.0
    """Bandwidth per direction of the PCIe slot according to its PCIe generation, in bytes/s."""
    nvlink_bandwidth: float = 0.0
    """Total bandwidth per direction of all NVLink connections, in bytes/s; 0 without NVLink."""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    """Sources of the figures by field name; ``"*"`` is the source of all other fields."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Replace the read-only view of the sources with a plain dict, since the view cannot be pickled."""
        *figures, sources = (getattr(self, one.name) for one in fields(self))
        return GPUModel, (*figures, dict(sources))

    @property
    def free_bytes(self) -> int:
        """Free memory of an otherwise unused GPU at process start, in bytes."""
        return self.memory_bytes - self.context_bytes

    @property
    def sustained(self) -> float:
        """Ratio of the sustained to the nominal arithmetic rate; data sheets may assume a higher clock."""
        cores = _CORES.get(self.compute_capability) or _CORES.get(self.compute_capability[:1], 128)
        return 2 * cores * self.sm_count * self.sustained_clock_hz / self.fp32_flops

    @property
    def on_busy_board(self) -> GPUModel:
        """Return the model as it performs while the other GPUs of its board are busy."""
        return _on_busy_board(self) if self.board_clock_hz else self

    @property
    def has_peer_access(self) -> bool:
        """Whether two such GPUs in one machine can access each other's memory directly."""
        return bool(self.nvlink_bandwidth) or not self.name.startswith(("GeForce", "NVIDIA GeForce"))

    @property
    def peer_bandwidth(self) -> float:
        """Bandwidth per direction between two such GPUs, in bytes/s: NVLink if available, otherwise PCIe."""
        return self.nvlink_bandwidth or self.pcie_bandwidth


@cache
def _on_busy_board(model: GPUModel) -> GPUModel:
    return replace(model, sustained_clock_hz=model.board_clock_hz)


_CORES = {(3,): 192, (6, 0): 64, (7,): 64, (8, 0): 64}
"""Compute capability, or its major number, -> single-precision cores of a multiprocessor, where they are not 128.

Source: CUDA C++ Programming Guide, section Compute Capabilities."""

_SOURCES = {
    "deviceQuery": "deviceQuery of the CUDA samples, run on the device",
    "PyTorch": "torch.cuda.get_device_properties, run on the device; rounded to a MiB",
    "TensorFlow": "TensorFlow's start-up log (totalMemory less freeMemory)",
    "estimate": "estimate: a CUDA 11 or 12 context with its kernels loaded",
}
"""Sources that several models share, by keyword; all others are written out."""

# Each way, 16 lanes, after line coding: PCI Express Base Specification, revisions 2.0, 3.0, 4.0, 5.0.
_PCIE = {"2": 8.0e9, "3": 15.75e9, "4": 31.5e9, "5": 63.0e9}


def _model(block: str) -> GPUModel:
    """Parse a model from its lines in ``gpu_models.txt``."""
    name, *lines = block.splitlines()
    facts = dict(line.split(": ", 1) for line in lines)
    major, minor = facts["compute_capability"].split(".")
    sources = {
        "*": facts["sheet"],
        "memory_bytes": _SOURCES.get(facts["source of memory_bytes"], facts["source of memory_bytes"]),
        "context_bytes": _SOURCES.get(facts["source of context_bytes"], facts["source of context_bytes"]),
        "compute_capability": "CUDA C++ Programming Guide, section Compute Capabilities",
        "pcie_bandwidth": "PCI Express Base Specification, 16 lanes each way",
    }
    for figure in ("sustained_clock_hz", "board_clock_hz"):
        if figure in facts:
            sources[figure] = facts[f"source of {figure}"]
    return GPUModel(
        name,
        aliases=tuple(facts["aliases"].split(", ")) if "aliases" in facts else (),
        memory_bytes=int(facts["memory_bytes"]),
        context_bytes=int(facts["context_bytes"]),
        compute_capability=(int(major), int(minor)),
        sm_count=int(facts["sm_count"]),
        clock_hz=float(facts["clock_hz"]),
        sustained_clock_hz=float(facts.get("sustained_clock_hz", facts["clock_hz"])),
        per_board=int(facts.get("per_board", 1)),
        board_clock_hz=float(facts.get("board_clock_hz", 0)),
        memory_bandwidth=float(facts["memory_bandwidth"]),
        fp32_flops=float(facts["fp32_flops"]),
        fp64_flops=float(facts["fp64_flops"]),
        tensor_flops=float(facts.get("tensor_flops", 0)),
        tf32_flops=float(facts.get("tf32_flops", 0)),
        pcie_bandwidth=_PCIE[facts["pcie"]],
        nvlink_bandwidth=float(facts.get("nvlink_bandwidth", 0)),
        sources=MappingProxyType(sources),
    )


_, *_BLOCKS = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("\n\n")
GPU_MODELS: tuple[GPUModel, ...] = tuple(map(_model, _BLOCKS))
"""All models, oldest first."""

_NOISE = re.compile(r"nvidia|tesla|geforce|gtx|rtx|[\s_-]+")


def _key(name: str) -> str:
    """Return ``name`` without optional parts: case, vendor, family, separators, ``GB``."""
    return re.sub(r"(\d)gb\b", r"\1", _NOISE.sub("", name.lower()))


_BY_KEY = {_key(name): model for model in GPU_MODELS for name in (model.name, *model.aliases)}


_TELLING = 3
"""Minimum length of a prefix that identifies models."""
_CUSTOM = (
    "gpuplace.Machine.simulated(2, gpu=GPUModel('name', "
    "memory_bytes=8 * 2**30, compute_capability=(6, 1), sm_count=20)), with GPUModel from gpuplace.device.gpu_models"
)
_SHOWN = 200
"""Maximum length of a name quoted in an error, in characters."""


def is_model(name: str) -> bool:
    """Return whether a model has this name or alias."""
    return _key(name) in _BY_KEY


def find_model(name: str) -> GPUModel:
    """Return the model with this name or alias.

    Raises:
        InvalidArgumentError: there is no such model; the error lists all models and the closest match.
    """
    model = _BY_KEY.get(_key(name))
    if model is not None:
        return model
    import difflib

    key = _key(name)
    nearest = [known for known in _BY_KEY if len(key) >= _TELLING and known.startswith(key)][:1]
    nearest = nearest or difflib.get_close_matches(key, _BY_KEY, n=1, cutoff=0.5)
    raise InvalidArgumentError.of(
        f"Unknown GPU model '{name if len(name) <= _SHOWN else name[:_SHOWN] + '...'}'.",
        facts={"known models": ", ".join(known.name for known in GPU_MODELS), "custom model": _CUSTOM},
        hint=_BY_KEY[nearest[0]].name if nearest else None,
    )
