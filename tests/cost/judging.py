"""How far kernel times are off on GPUs, and in shapes, of which the model has seen nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gpuplace.cost.kernel_times.gpu_times import KernelTimes, measured_kinds
from gpuplace.cost.kernel_times.measured import gpus
from gpuplace.cost.kernel_times.rates import rates_of
from gpuplace.cost.work import Convolution, Product, Recurrence
from gpuplace.device.gpu_models import find_model

KINDS = {Product: "matrix products", Convolution: "convolutions", Recurrence: "recurrent layers"}
FOLDS = 4
WAYS = ("GPU left out", "shapes left out", "both left out")


class Errors(NamedTuple):
    """How far foretold times are off, as a share of the measured ones."""

    gpu: str
    signed: np.ndarray

    @property
    def median(self) -> float:
        return float(np.median(abs(self.signed)))

    @property
    def p90(self) -> float:
        return float(np.quantile(abs(self.signed), 0.9))


def pooled(errors: list[Errors]) -> Errors:
    """The errors on all GPUs together."""
    return Errors("all", np.concatenate([found.signed for found in errors]))


def folds(kind: type) -> np.ndarray:
    """A fold for every measured shape; the passes and transpositions of one shape are in the same."""
    rows = measured_kinds()[kind].rows
    key = rows[:, {Product: [0, 1, 2], Convolution: slice(1, None), Recurrence: [0, 2, 3]}[kind]]
    _, group = np.unique(key, axis=0, return_inverse=True)
    return np.random.default_rng(14).permutation(group.max() + 1)[group.ravel()] % FOLDS


def judged(kind: type, way: str) -> list[Errors]:
    """The errors of the model on every GPU that has measured calls of a kind, one of ``WAYS``."""
    return [Errors(name, error) for name, error in _judged(kind, way) if len(error)]


def _judged(kind: type, way: str) -> Iterator[tuple[str, np.ndarray]]:
    measured = measured_kinds()[kind]
    fold = folds(kind)
    for place, name in enumerate(gpus()):
        gpu = find_model(name)
        times = KernelTimes(without=() if way == "shapes left out" else (name,), is_tried=False)
        if way == "GPU left out":
            correction = times.correction(gpu, kind)(measured.features)
        else:
            correction = np.empty(len(fold))
            for number in range(FOLDS):
                held = fold == number
                correction[held] = times.learn(gpu, kind, ~held)(measured.features[held])
        foretold = measured.model.seconds(measured.rows, rates_of(gpu, "float32")) * np.exp(correction)
        error = foretold / measured.times[:, place] - 1.0
        yield name, error[~np.isnan(error)]


def roofline(kind: type) -> list[Errors]:
    """The errors of the data sheet alone: the longer of arithmetic and memory at full rate."""
    measured = measured_kinds()[kind]
    found = []
    for place, name in enumerate(gpus()):
        gpu = find_model(name)
        flops, nbytes = _amounts(kind, measured.rows)
        foretold = np.maximum(flops / gpu.fp32_flops, nbytes / gpu.memory_bandwidth)
        error = foretold / measured.times[:, place] - 1.0
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
    return 4 * products * hidden**2 * batch * steps, 4 * products * steps * hidden * (hidden + 2 * batch)
