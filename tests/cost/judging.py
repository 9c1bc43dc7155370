"""Errors of predicted kernel times on GPUs, and in shapes, of which the model has seen no measurement."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from gpuplace.cost.kernel_times.generations import rates_of
from gpuplace.cost.kernel_times.gpu_times import KernelTimes, measured_kinds
from gpuplace.cost.kernel_times.measured import gpus
from gpuplace.device.gpu_models import find_model
from gpuplace.kernels.work.record import Convolution, Product, Recurrence

KINDS = {Product: "matrix products", Convolution: "convolutions", Recurrence: "recurrent layers"}
FOLDS = 4
WAYS = ("GPU left out", "shapes left out", "both left out", "generation left out")
"""What the model must not see: the tables of the GPU; a quarter of the shapes; both; the tables of all GPUs of the same
major compute capability."""


class Errors(NamedTuple):
    """Errors of predicted times, as a share of the measured times."""

    gpu: str
    signed: np.ndarray

    @property
    def median(self) -> float:
        return float(np.median(abs(self.signed)))

    @property
    def p90(self) -> float:
        return float(np.quantile(abs(self.signed), 0.9))

    @property
    def mean(self) -> float:
        return float(np.mean(self.signed))


def pooled(errors: list[Errors]) -> Errors:
    """The errors on all GPUs together."""
    return Errors("all", np.concatenate([found.signed for found in errors]))


def classes(kind: type) -> dict[str, np.ndarray]:
    """Named classes of the measured calls of a kind, each with its rows, `[row]` of bool."""
    columns = measured_kinds()[kind].rows.T
    if kind is Product:
        m, n, k = columns[:3]
        is_small, is_skinny = m * n * k < 5e7, np.minimum(m, n) <= 128
        return {
            "small, below 0.1 GFLOP": is_small,
            "skinny, up to 128 rows or columns": is_skinny & ~is_small,
            "large": ~is_skinny & ~is_small,
        }
    if kind is Recurrence:
        return {"forward": columns[1] == 0, "backward": columns[1] == 1}
    direction, window = columns[0], columns[6] * columns[7]
    return {
        "forward": direction == 0,
        "gradient of the images": direction == 1,
        "gradient of the filters": direction == 2,
        "windows of 1 x 1": window == 1,
        "windows of 3 x 3": window == 9,
        "larger windows": window > 9,
    }


def folds(kind: type) -> np.ndarray:
    """A fold for every measured shape; the passes and transpositions of one shape are in the same fold."""
    rows = measured_kinds()[kind].rows
    key = rows[:, {Product: [0, 1, 2], Convolution: slice(1, None), Recurrence: [0, 2, 3]}[kind]]
    _, group = np.unique(key, axis=0, return_inverse=True)
    return np.random.default_rng(14).permutation(group.max() + 1)[group.ravel()] % FOLDS


def judged(kind: type, way: str, rows: np.ndarray | None = None) -> list[Errors]:
    """The errors of the model on every GPU that has measured calls of a kind.

    Args:
        kind: one of `KINDS`.
        way: one of `WAYS`.
        rows: the measured calls that count, `[row]` of bool; None: all.
    """
    errors = _errors(kind, way)
    is_counted = np.ones(len(errors), bool) if rows is None else rows
    found = [Errors(name, error[is_counted & ~np.isnan(error)]) for name, error in zip(gpus(), errors.T)]
    return [on_gpu for on_gpu in found if len(on_gpu.signed)]


@cache
def _errors(kind: type, way: str) -> np.ndarray:
    """The errors of one of `WAYS`, `[row, GPU]`; NaN where nothing was measured."""
    measured = measured_kinds()[kind]
    fold = folds(kind)
    errors = np.empty(measured.times.shape)
    for place, name in enumerate(gpus()):
        gpu = find_model(name)
        times = KernelTimes(without=_left_out(name, way), is_autotuned=False)
        if "shapes" in way or "both" in way:
            correction = np.empty(len(fold))
            for number in range(FOLDS):
                held = fold == number
                correction[held] = times.learn(gpu, kind, ~held)(measured.features[held])
        else:
            correction = times.correction(gpu, kind)(measured.features)
        predicted = measured.model.seconds(measured.rows, rates_of(gpu, "float32")) * np.exp(correction)
        errors[:, place] = predicted / measured.times[:, place] - 1.0
    return errors


def _left_out(name: str, way: str) -> list[str]:
    """Names of the GPUs whose tables the model must not see when it is judged by those of `name`."""
    if way == "shapes left out":
        return []
    if way != "generation left out":
        return [name]
    major, _ = find_model(name).compute_capability
    return [other for other in gpus() if find_model(other).compute_capability[0] == major]


def roofline(kind: type) -> list[Errors]:
    """The errors of the data sheet alone: the longer of arithmetic and memory at full rate."""
    measured = measured_kinds()[kind]
    found = []
    for place, name in enumerate(gpus()):
        gpu = find_model(name)
        flops, nbytes = _amounts(kind, measured.rows)
        predicted = np.maximum(flops / gpu.fp32_flops, nbytes / gpu.memory_bandwidth)
        error = predicted / measured.times[:, place] - 1.0
        found.append(Errors(name, error[~np.isnan(error)]))
    return [errors for errors in found if len(errors.signed)]


def _amounts(kind: type, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    columns = rows.T
    if kind is Product:
        m, n, k = columns[:3]
        return 2 * m * n * k, 4 * (m * n + n * k + m * k)
    if kind is Convolution:
        _, n, c, k, h, w, filter_h, filter_w, out_h, out_w = columns[:10]
        outputs = n * k * out_h * out_w
        return 2 * outputs * c * filter_h * filter_w, 4 * (
            n * c * h * w + outputs + k * c * filter_h * filter_w
        )
    cell, backward, hidden, batch, steps = columns[:5]
    products = np.array([1, 4, 3])[cell.astype(int)] * (1 + backward)
    return 2 * products * hidden**2 * batch * steps, 4 * products * steps * hidden * (hidden + 2 * batch)
