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
  another card  by its figures: gpuplace.Machine.simulated(2, gpu=GPUModel('name', ...
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
    sustained_clock_hz: float = 0.0
    """Clock that long work runs at, in hertz: cooling and power limits change it."""
    per_board: int = 1
    """How many of these share a board and what it may draw."""
    board_clock_hz: float = 0.0
    """Clock that long work runs at when all GPUs of the board work, in hertz; 0 where nothing is shared."""
    memory_bandwidth: float = 0.0
    """Bytes a second between the GPU and its own memory."""
    fp32_flops: float = 0.0
    """Single-precision operations a second, outside the tensor cores."""
    fp64_flops: float = 0.0
    """Double-precision operations a second, outside the tensor cores."""
    tensor_flops: float = 0.0
    """Operations a second of the tensor cores on float16, dense, with sums in float32; 0 without tensor cores."""
    tf32_flops: float = 0.0
    """Operations a second of the tensor cores on float32 that is rounded to TF32; 0 where there is no TF32."""
    pcie_bandwidth: float = 0.0
    """Bytes a second each way over the PCIe slot, by the PCIe generation."""
    nvlink_bandwidth: float = 0.0
    """Bytes a second each way over all NVLink connections together; 0 without NVLink."""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    """Field name to where its figure comes from; ``"*"`` is the source of the fields not named."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its sources in a plain dict, since a read-only view of one cannot be."""
        *figures, sources = (getattr(self, one.name) for one in fields(self))
        return GPUModel, (*figures, dict(sources))

    @property
    def free_bytes(self) -> int:
        """Bytes free for a process that has just started, on a GPU that nobody else uses."""
        return self.memory_bytes - self.context_bytes

    @property
    def sustained(self) -> float:
        """What long work keeps of the data sheet's rates of arithmetic, which may count a higher clock."""
        cores = _CORES.get(self.compute_capability) or _CORES.get(self.compute_capability[:1], 128)
        return 2 * cores * self.sm_count * self.sustained_clock_hz / self.fp32_flops

    @property
    def on_busy_board(self) -> GPUModel:
        """As it is while the other GPUs of its board work too."""
        return _on_busy_board(self) if self.board_clock_hz else self

    @property
    def has_peer_access(self) -> bool:
        """True when two of these in one machine reach each other's memory without the host."""
        return bool(self.nvlink_bandwidth) or not self.name.startswith(("GeForce", "NVIDIA GeForce"))

    @property
    def peer_bandwidth(self) -> float:
        """Bytes a second each way between two of these: NVLink if there is any, else PCIe."""
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
"""The sources that several models name by a word; others are written out."""

# Each way, 16 lanes, after line coding: PCI Express Base Specification, revisions 2.0, 3.0, 4.0, 5.0.
_PCIE = {"2": 8.0e9, "3": 15.75e9, "4": 31.5e9, "5": 63.0e9}


def _model(block: str) -> GPUModel:
    """A model from its lines in ``gpu_models.txt``."""
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
    """``name`` without what people leave out: case, maker, family, separators, ``GB``."""
    return re.sub(r"(\d)gb\b", r"\1", _NOISE.sub("", name.lower()))


_BY_KEY = {_key(name): model for model in GPU_MODELS for name in (model.name, *model.aliases)}


_TELLING = 3
"""Letters of a name from which the models that begin so are meant."""
_OTHER = (
    "by its figures: gpuplace.Machine.simulated(2, gpu=GPUModel('name', "
    "memory_bytes=8 * 2**30, compute_capability=(6, 1), sm_count=20)), with GPUModel from gpuplace.device.gpu_models"
)
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
    import difflib

    key = _key(name)
    nearest = [known for known in _BY_KEY if len(key) >= _TELLING and known.startswith(key)][:1]
    nearest = nearest or difflib.get_close_matches(key, _BY_KEY, n=1, cutoff=0.5)
    raise InvalidArgumentError.of(
        f"Unknown GPU model '{name if len(name) <= _SHOWN else name[:_SHOWN] + '...'}'.",
        facts={"known models": ", ".join(known.name for known in GPU_MODELS), "another card": _OTHER},
        hint=_BY_KEY[nearest[0]].name if nearest else None,
    )
