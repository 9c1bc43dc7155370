"""Predicted seconds of ``Work`` on the GPUs of the catalogue: modeled from the data sheet, corrected by measured
kernels.

For a matrix product, a convolution or a recurrent layer::

    time(GPU, shape) = modeled(GPU, shape) * correction(GPU, shape)

The correction is measured over modeled time, for each measured GPU and shape. For another GPU it is a mean over the
measured ones, weighted by the similarity of chips and libraries (``generations``). The modeled time counts as one more
table: it is the time of a mature library, and all that is left if no measured GPU is near. For another shape the
correction is interpolated between the measured shapes (``Interpolation``). A measured GPU at a measured shape has the
measured time, except where a convolution has a faster algorithm than the library guessed (``convolutions``). All other
kernels are limited by the GPU's memory or by launch overhead.

The corrections come from the measured tables alone. Length scales of shapes, the scales of ``generations`` and the few
fractions in the modeled times were chosen by cross-validation over GPUs and shapes of these tables. Nothing was fitted
to whole steps.

>>> from gpuplace.device.gpu_models import find_model
>>> product = Product(m=64, n=1760, k=1760)
>>> work = Work("float32", flops=2.0 * 64 * 1760 * 1760, bytes_read=12840960, bytes_written=450560, kernel=product)
>>> round(1e3 * float(KernelTimes().seconds([work], find_model("M40"))[0]), 2)
0.26
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np

from gpuplace.cost.kernel_times import convolutions, products, recurrences
from gpuplace.cost.kernel_times.convolutions import autotuned_seconds
from gpuplace.cost.kernel_times.generations import check_library, computed_weight, rates_of, similarity
from gpuplace.cost.kernel_times.measured import gpus, measured_table
from gpuplace.cost.kernel_times.memory_bound import memory_bound_seconds, rearranging_seconds
from gpuplace.device.gpu_models import GPUModel, find_model
from gpuplace.kernels.work.record import Convolution, Product, Recurrence, Work
from gpuplace.typing import Array

_NOISE = 0.003
_ROUGH = 0.6
_CHUNK = 256
"""Points evaluated at once, so that their intermediate results stay in the caches."""


def _kernel(left: Array, right: Array) -> Array:
    """Return the covariance of points, ``[left, right]``: a rough part for local deviations, and a smooth one."""
    squares = (
        (left**2).sum(1)[:, None] + (right**2).sum(1)[None, :] - 2.0 * np.einsum("if,jf->ij", left, right)
    )
    # Only after the difference, which needs double precision.
    near = np.maximum(squares, 0.0).astype(np.float32)
    covariance = np.exp(near * np.float32(-1 / 18)) * np.float32(1.0 - _ROUGH)
    covariance += np.exp(np.sqrt(near) * np.float32(-1.2)) * np.float32(_ROUGH)
    return covariance


class Interpolation:
    """Gaussian process regression: a function that passes close to known values."""

    def __init__(self, points: Array, values: Array, noise: Array | float = 0.0) -> None:
        """Fit the function.

        Args:
            points: ``[point, feature]``.
            values: ``[point]``; points without a value (NaN) are ignored.
            noise: variance of the values; one number, or ``[point]``.
        """
        is_known = ~np.isnan(values)
        self._points = points[is_known]
        self._middle = float(np.median(values[is_known])) if is_known.any() else 0.0
        spread = np.broadcast_to(np.asarray(noise, float), values.shape)[is_known] + _NOISE
        gram = _kernel(self._points, self._points).astype(float)
        gram[np.diag_indices_from(gram)] += spread
        self._weights = np.linalg.solve(gram, values[is_known] - self._middle)

    def __call__(self, points: Array) -> Array:
        """Return the values at ``[point, feature]``."""
        values = np.empty(len(points))
        for start in range(0, len(points), _CHUNK):
            part = slice(start, start + _CHUNK)
            values[part] = np.einsum("ij,j->i", _kernel(points[part], self._points), self._weights)
        return self._middle + values


_OTHER_TYPES = 0.5
"""Fraction of a correction (its logarithm) that applies to types other than the measured float32."""
_SWAPPED_NOISE = 0.3
"""Variance of the logarithm of a transposed product's time."""


@dataclass(frozen=True)
class MeasuredKind:
    """A kind of library call with its measured table."""

    model: ModuleType
    """``products``, ``convolutions`` or ``recurrences``."""
    rows: Array
    """The measured shapes, ``[row, COLUMNS of the model]``."""
    times: Array
    """Measured seconds, ``[row, GPU]``; NaN where there is no measurement."""

    @cached_property
    def features(self) -> Array:
        """Positions of the measured shapes, ``[row, feature]``."""
        return self.model.features(self.rows)

    @cached_property
    def corrections(self) -> Array:
        """Logarithm of measured over modeled time, ``[row, GPU]``."""
        computed = [self.model.seconds(self.rows, rates_of(find_model(name), "float32")) for name in gpus()]
        return np.log(self.times / np.stack(computed, axis=1))


@cache
def measured_kinds() -> dict[type, MeasuredKind]:
    """Return the model and the measured table for each type of kernel."""
    gemm = measured_table("gemm")
    conv = measured_table("conv")
    rows: dict[tuple[int, ...], Array] = {}
    for place, cell in enumerate(recurrences.CELLS):
        table = measured_table(cell)
        for direction, (hidden, batch, steps), times in zip(table.passes, table.shapes, table.times):
            inputs = 0  # measured with CUDNN_SKIP_INPUT (code/nvidia/rnn_bench.cu of DeepBench)
            row = (place, int(direction != "forward"), hidden, batch, steps, inputs, 1)
            rows[row] = rows.get(row, 0.0) + times  # the gradients of inputs and weights, one after the other
    return {
        Product: MeasuredKind(products, np.array([(*shape, 1) for shape in gemm.shapes], float), gemm.times),
        Convolution: MeasuredKind(
            convolutions,
            np.array(list(map(convolutions.measured_columns, conv.passes, conv.shapes)), float),
            conv.times,
        ),
        Recurrence: MeasuredKind(recurrences, np.array(list(rows), float), np.array(list(rows.values()))),
    }


class KernelTimes:
    """Kernel times on GPUs, modeled from data sheets and corrected by the tables of measured GPUs."""

    def __init__(
        self, library: str | None = None, without: Iterable[str] = (), is_autotuned: bool = True
    ) -> None:
        """Make the model; tables are read on first use.

        Args:
            library: CUDA release on all GPUs, such as ``"10.0"``; None for that of each GPU's era.
            without: names of GPUs whose measured tables are left out, for cross-validation.
            is_autotuned: whether convolutions use their fastest algorithm, which TensorFlow finds by trial; if False,
                the algorithm that the library guesses, as in the measured tables.

        Raises:
            InvalidArgumentError: The release or a GPU is unknown.
        """
        check_library(library)
        self._library = library
        self._without = frozenset(find_model(name).name for name in without)
        self._is_tried = is_autotuned
        self._learned: dict[tuple[GPUModel, type], Interpolation] = {}

    def seconds(self, works: Sequence[Work], gpu: GPUModel) -> Array:
        """Return the seconds that a GPU takes for each work, ``[work]``.

        Args:
            works: work of the kernels.
            gpu: the GPU.
        """
        times = memory_bound_seconds(works, gpu)
        groups: dict[tuple[type, str], list[int]] = {}
        for place, work in enumerate(works):
            if work.kernel is not None and work.launches and work.flops > 0:
                groups.setdefault((type(work.kernel), work.dtype), []).append(place)
        for (kind, dtype), places in groups.items():
            times[places] = self._calls(kind, dtype, [works[place].kernel for place in places], gpu)
        return times + rearranging_seconds(works, gpu)

    def correction(self, gpu: GPUModel, kind: type) -> Interpolation:
        """Return the log ratio of measured to modeled times of a GPU, as a function of the shape.

        Args:
            gpu: the GPU.
            kind: ``Product``, ``Convolution`` or ``Recurrence``.
        """
        if (gpu, kind) not in self._learned:
            self._learned[gpu, kind] = self.learn(gpu, kind)
        return self._learned[gpu, kind]

    def learn(self, gpu: GPUModel, kind: type, rows: Array | None = None) -> Interpolation:
        """Fit a correction to some of the measured shapes; see ``correction``.

        Args:
            gpu: the GPU.
            kind: ``Product``, ``Convolution`` or ``Recurrence``.
            rows: rows of the measured table to fit, ``[row]`` of bool; None for all.
        """
        measured = measured_kinds()[kind]
        corrections = measured.corrections
        weights = np.array(
            [
                0.0 if name in self._without else similarity(gpu, find_model(name), self._library)
                for name in gpus()
            ]
        )
        weights = np.where(np.isnan(corrections), 0.0, weights)
        if rows is not None:
            weights = weights * rows[:, None]
        # Average speeds, not times: one library release without a fast kernel must not outweigh the others.
        # The modeled time is one more table, whose speed is 1 everywhere.
        total, computed = weights.sum(axis=1), computed_weight(gpu, self._library)
        speeds = (weights * np.exp(-np.nan_to_num(corrections))).sum(axis=1) + computed
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(total > 0, np.log((total + computed) / speeds), np.nan)
        if kind is not Product:
            return Interpolation(measured.features, values)
        swapped_features = products.features(products.swapped(measured.rows))
        noise = np.repeat([0.0, _SWAPPED_NOISE], len(values))
        return Interpolation(np.concatenate([measured.features, swapped_features]), np.tile(values, 2), noise)

    def _calls(self, kind: type, dtype: str, kernels: list[Any], gpu: GPUModel) -> Array:
        measured = measured_kinds()[kind]
        columns: Callable[[Any], tuple[int, ...]] = measured.model.columns_of
        rows = np.maximum(np.array([columns(kernel) for kernel in kernels], float), 0.0)
        rates = rates_of(gpu, dtype, self._library)
        computed = measured.model.seconds(rows, rates)
        share = 1.0 if dtype == "float32" else _OTHER_TYPES
        times = computed * np.exp(share * self.correction(gpu, kind)(measured.model.features(rows)))
        if kind is Convolution:
            if self._is_tried and dtype == "float32" and not rates.in_tensor_cores:
                times = np.minimum(times, autotuned_seconds(rows, rates, self._library))
            times *= convolutions.generation_times(rows, gpu)
            groups = rows[:, convolutions.COLUMNS.index("groups")]
            is_depthwise = (groups > 1) & (rows[:, convolutions.COLUMNS.index("c")] == 1)
            if is_depthwise.any():
                times[is_depthwise] = convolutions.depthwise_seconds(rows[is_depthwise], rates)
        return times
