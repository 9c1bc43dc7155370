"""The measured kernels that come with the package: single calls of cuBLAS and cuDNN on seven GPUs.

Source: Baidu's DeepBench, results/train (Apache License 2.0); see the header of ``measured.csv``.

>>> table = measured_table("gemm")
>>> table.times.shape == (len(table.shapes), len(gpus())), gpus()[0]
(True, 'Tesla M40')
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from gpuplace.typing import Array

PATH = Path(__file__).with_name("measured.csv")

SHAPES = {
    "gemm": ("m", "n", "k", "a_t", "b_t"),
    "conv": (
        "n", "c", "h", "w", "k", "filter_h", "filter_w", "pad_h", "pad_w", "stride_h", "stride_w",
    ),
    "vanilla": ("hidden", "n", "steps"),
    "lstm": ("hidden", "n", "steps"),
    "gru": ("hidden", "n", "steps"),
}  # fmt: skip
"""Kind of call to the names of the sizes in a row's shape."""


@dataclass(frozen=True)
class MeasuredTable:
    """Measured calls of one kind."""

    passes: tuple[str, ...]
    """``"forward"``, ``"backward_input"`` or ``"backward_filter"``, by row."""
    shapes: tuple[tuple[int, ...], ...]
    """Sizes in the order of ``SHAPES``, by row."""
    times: Array
    """Seconds, ``[row, GPU]``; NaN where a GPU's table lacks the row."""


@cache
def _rows() -> tuple[tuple[str, ...], tuple[tuple[str, str, tuple[int, ...], tuple[float, ...]], ...]]:
    with PATH.open(encoding="utf-8") as stream:
        header, *rows = csv.reader(line for line in stream if not line.startswith("#"))
    return tuple(header[3:]), tuple(
        (
            kind,
            direction,
            tuple(map(int, shape.split())),
            tuple(float(time or "nan") / 1e3 for time in times),
        )
        for kind, direction, shape, *times in rows
    )


@cache
def measured_table(kind: str) -> MeasuredTable:
    """Return the measured calls of one kind.

    Args:
        kind: one of ``SHAPES``.
    """
    rows = [row for row in _rows()[1] if row[0] == kind]
    return MeasuredTable(
        tuple(row[1] for row in rows), tuple(row[2] for row in rows), np.array([row[3] for row in rows])
    )


@cache
def gpus() -> tuple[str, ...]:
    """Return the names of the measured GPUs, as in the catalogue."""
    return _rows()[0]
