"""Cost model: the time of each node's work, on the GPUs of the catalogue and on the local CPU.

A model starts from the package's figures (``kernel_times`` for GPUs, rounded figures for a CPU), or from what
``gpuplace calibrate`` measured on this machine. Fitting it to measured steps adds figures: a line for each class
of CPU kernels, measured kernels for each op type, a factor for each op type on each GPU, and the host's time to start a
node::

    seconds on the CPU = line of the class(work) * factor of measured kernels of the op type near the work
    seconds on a GPU   = base(work, GPU) * factor(GPU, op type)

A factor is the median of measured over predicted times, shrunk towards 1 where few kernels were measured. Nothing in
the package is fitted to whole steps: GPU times rest on single library calls, CPU times on single kernels.

>>> from gpuplace.device.gpu_models import find_model
>>> work = Work("float32", flops=2.0 * 4096**3, bytes_read=2.0 * 4 * 4096**2, bytes_written=4.0 * 4096**2)
>>> 0.005 < CostModel().kernel_seconds(work, find_model("V100")) < 0.05
True
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, Self

from gpuplace.cost.cpu_times import (
    CLASSES,
    DEFAULT_LINES,
    Line,
    class_of,
    cpu_seconds,
    cpu_share,
    fitted_line,
    kernel_name,
    near_kernels_of,
    near_works,
)
from gpuplace.cost.kernel_times.generations import check_library
from gpuplace.cost.kernel_times.gpu_times import KernelTimes
from gpuplace.cost.near_kernels import NearKernels, shortened
from gpuplace.cost.samples import Sample, host_times, samples_of
from gpuplace.device.gpu_models import GPUModel
from gpuplace.device.machine import Machine
from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.graph.op_sets import FIRST_OF_FUSED
from gpuplace.kernels.work.record import Work
from gpuplace.typing import GraphLike, TensorLike
from gpuplace.writing import write_file

ENVIRONMENT_VARIABLE = "GPUPLACE_COST_MODEL"
"""Environment variable that names the file ``CostModel()`` starts from; if empty, only the package's figures apply."""

SPLIT_SECONDS = 20e-6
"""CPU kernels above this time are split among the threads of the intra-op pool, unless measurements say otherwise."""
_FORMAT = "gpuplace.CostModel"
_VERSION = 7
_DOUBTS = 2.0
"""Number of measured kernels at which a factor gets half its weight."""
_FURTHEST = math.log(20.0)
_CACHE_SIZE = 200_000


def calibrated_path() -> Path:
    """Return the file that ``gpuplace calibrate`` writes: in ``GPUPLACE_COST_MODEL``, or below ``XDG_CONFIG_HOME``."""
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(home) / "gpuplace" / "cost_model.json"


@dataclass(frozen=True)
class _Figures:
    """All figures of a saved model."""

    library: str | None = None
    lines: Mapping[str, Line] = field(default_factory=lambda: dict(DEFAULT_LINES))
    near: Mapping[str, NearKernels] = field(default_factory=dict)
    """Op type to its measured kernels on the CPU."""
    factors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """GPU name to op type to the factor of its kernel times."""
    executor_seconds: float = 3e-6
    """Seconds of an executor thread for a node, in addition to its kernel."""
    idle_seconds: float = 3e-6
    """The same for a node without a kernel."""
    wake_up_seconds: float = 0.0
    """Seconds that an idle thread of the pool takes to wake up for a node."""
    queue_seconds: float = 0.0
    """Seconds that a thread takes to fetch a node from the pool's queue."""
    launch_seconds: float = 5e-6
    call_seconds: float = 0.0
    feeding_seconds: float = 0.0
    """Additional seconds of a ``Session.run`` call that feeds anything."""
    feed_seconds: float = 0.0
    in_a_line: bool = False
    """Whether steps without a GPU run in one thread, one node after another, as gpuplace's own do."""
    source: str = "gpuplace's built-in figures; not calibrated on this machine"


_SECONDS = [name for name in _Figures.__annotations__ if name.endswith("_seconds")]


class CostModel:
    """Predicted seconds of kernels, and of the host that starts them.

    ``CostModel()`` loads what ``gpuplace calibrate`` saved; without a saved calibration it uses the package's figures.
    """

    def __init__(self, library: str | None = None) -> None:
        """Load the calibrated model, or the package's figures.

        Args:
            library: CUDA release of the GPU libraries, such as ``"10.0"``; None for the release of each GPU's era.

        Raises:
            InvalidArgumentError: The release is unknown, or the saved calibration is damaged.
        """
        check_library(library)
        figures = _calibrated()
        self._begin(figures if library is None else replace(figures, library=library))

    def _begin(self, figures: _Figures) -> None:
        self._figures = figures
        self._gpu_times = KernelTimes(figures.library)
        self._known: dict[GPUModel, dict[Work, float]] = {}

    @classmethod
    def _of(cls, figures: _Figures) -> Self:
        model = cls.__new__(cls)
        model._begin(figures)
        return model

    @classmethod
    def uncalibrated(cls) -> Self:
        """Return the model of the package's figures, ignoring any calibration."""
        return cls._of(_Figures())

    @property
    def source(self) -> str:
        """Description of the figures that the model is based on."""
        return self._figures.source

    @property
    def library(self) -> str | None:
        """CUDA release of the GPU libraries; None for the release of each GPU's era."""
        return self._figures.library

    def without_host_times(self) -> Self:
        """Return the same model with a host that starts nodes in no time."""
        free: dict[str, Any] = dict.fromkeys(_SECONDS, 0.0)
        return self._of(replace(self._figures, **free))

    def is_same(self, other: CostModel) -> bool:
        """Whether both models have the same figures.

        Args:
            other: another model.
        """
        return self._figures == other._figures

    def __repr__(self) -> str:
        return f"<CostModel: {self.source}>"

    def kernel_seconds(self, work: Work, gpu: GPUModel | None, op_type: str | None = None) -> float:
        """Return the seconds of a kernel on a device, including its launch overhead on the device.

        ``kernel_times`` is faster for many kernels.

        Args:
            work: work of the node's kernel.
            gpu: the GPU; None for the CPU.
            op_type: op type of the node, to apply its fitted factors; None to ignore them.
        """
        return self.kernel_times([work], gpu, None if op_type is None else [op_type])[0]

    def kernel_times(
        self, works: Sequence[Work], gpu: GPUModel | None, op_types: Sequence[str] | None = None
    ) -> list[float]:
        """Return the seconds of many kernels; equal work is computed once.

        Args:
            works: work of the nodes' kernels.
            gpu: the GPU; None for the CPU.
            op_types: op types of the nodes, to apply their fitted factors; None to ignore them.
        """
        kinds = op_types or [""] * len(works)
        if any(work.parts for work in works):
            return self._times_with_calls(works, gpu, kinds)
        if gpu is None:
            lines, near = self._figures.lines, self._figures.near
            return [
                cpu_seconds(work, lines, near_kernels_of(kind, work, near))
                for work, kind in zip(works, kinds)
            ]
        factors = self._figures.factors.get(gpu.name, {})
        return [
            seconds * factors.get(kind, factors.get(FIRST_OF_FUSED.get(kind, ""), 1.0))
            for seconds, kind in zip(self._on_gpu(works, gpu), kinds)
        ]

    def _times_with_calls(
        self, works: Sequence[Work], gpu: GPUModel | None, op_types: Sequence[str]
    ) -> list[float]:
        """Return kernel times where some works are function calls, whose nodes run one after another.

        The host launches a GPU kernel while the previous one runs, so the slower of the two counts.
        """
        flat = [
            part
            for op_type, work in zip(op_types, works, strict=True)
            for part in work.parts or [(op_type, work)]
        ]
        times = iter(self.kernel_times([work for _, work in flat], gpu, [op_type for op_type, _ in flat]))
        seconds_of_works = []
        for work in works:
            seconds = sum(next(times) for _ in range(len(work.parts) or 1))
            if gpu is not None:
                seconds = max([seconds, sum(self.host_seconds(*part, gpu) for part in work.parts)])
            seconds_of_works.append(seconds)
        return seconds_of_works

    def _on_gpu(self, works: Sequence[Work], gpu: GPUModel) -> list[float]:
        known = self._known.setdefault(gpu, {})
        if len(known) > _CACHE_SIZE:
            known.clear()

        # Works are looked up by id first, because hashing them takes longer.
        alike = {id(work): work for work in works}
        times = {number: known.get(work) for number, work in alike.items()}
        new = [number for number, seconds in times.items() if seconds is None]
        if new:
            computed = self._gpu_times.seconds([alike[number] for number in new], gpu).tolist()
            times.update(zip(new, computed))
            known.update(zip(map(alike.__getitem__, new), computed))
        return [times[id(work)] or 0.0 for work in works]

    def host_seconds(self, op_type: str, work: Work, gpu: GPUModel | None) -> float:
        """Return the seconds of the executor thread that starts a node, in addition to its kernel.

        Args:
            op_type: op type of the node.
            work: work of the node's kernel.
            gpu: the GPU that computes it; None for the CPU.
        """
        if work.parts:
            return self.host_seconds(*work.parts[0], gpu)
        figures = self._figures
        if gpu is not None:
            return figures.executor_seconds + figures.launch_seconds * (work.launches + work.gpu_launches)
        return figures.executor_seconds if work.launches else figures.idle_seconds

    def held_seconds(self, op_type: str, work: Work, seconds: float) -> float:
        """Return how long a CPU kernel occupies all cores, so that no other such kernel can run.

        Args:
            op_type: op type of the node.
            work: work of the kernel.
            seconds: time of the kernel.
        """
        share = None if work.parts else cpu_share(work, near_kernels_of(op_type, work, self._figures.near))
        if share is None:
            return seconds if seconds > SPLIT_SECONDS else 0.0
        return share * seconds

    @property
    def in_a_line(self) -> bool:
        """Whether steps without a GPU run in one thread, one node after another, as gpuplace's own do."""
        return self._figures.in_a_line

    @classmethod
    def fit(
        cls,
        run_metadatas: Any,
        graph: GraphLike,
        feeds: Mapping[Any, Any] | None = None,
        machine: Machine | str | None = None,
        base: CostModel | None = None,
    ) -> Self:
        """Return a model fitted to measured steps of TensorFlow or gpuplace.

        Steps traced on a simulated GPU tell nothing about that GPU, because NumPy computed its kernels: leave out
        ``machine`` for such steps.

        Args:
            run_metadatas: one or several ``RunMetadata`` or ``StepStats`` with full traces.
            graph: the graph that ran: a ``Graph``, a GraphDef, bytes or a path.
            feeds: name of a placeholder to the shape or array that was fed; see ``gpuplace.estimate``.
            machine: the machine on which TensorFlow ran, to identify its GPUs; None to fit CPU kernels only.
            base: the model to start from; None for ``CostModel()``.

        Raises:
            InvalidArgumentError: The steps contain no kernel of the graph, or ``feeds`` or ``machine`` are invalid.
            TypeError: A step is not a ``RunMetadata`` or ``StepStats``.
        """
        from gpuplace.cost.node_work import step_work
        from gpuplace.cost.shapes.step_shapes import step_shapes

        steps = [run_metadatas] if hasattr(run_metadatas, "SerializeToString") else list(run_metadatas)
        for step in steps:
            if not hasattr(step, "SerializeToString"):
                raise TypeError(f"run_metadatas must contain RunMetadata or StepStats; got {step!r}")
        shapes = step_shapes(graph, feeds)
        works = {
            shapes.graph.names[node]: (shapes.graph.op_type(node), work)
            for node, work in enumerate(step_work(shapes))
        }
        traced_on = Machine.parse(machine) if isinstance(machine, str) else machine
        gpus = (
            {}
            if traced_on is None
            else {device.tf_id: device.gpu.model for device in traced_on.virtual_gpus()}
        )
        samples = samples_of(steps, works, gpus)
        if not samples:
            raise InvalidArgumentError.of(
                "The steps contain no measurement of a kernel in this graph.",
                facts={"steps": str(len(steps)), "nodes of the graph": str(len(works))},
                hint="trace with RunOptions(trace_level=RunOptions.FULL_TRACE), and pass the graph that ran",
            )
        return cls.of_samples(
            samples, base or cls(), f"{len(samples)} measured kernels of {len(steps)} steps", steps
        )

    @classmethod
    def of_samples(
        cls,
        samples: Sequence[Sample],
        base: CostModel,
        source: str,
        steps: Iterable[Any] = (),
        caches_were_cold: bool = False,
    ) -> Self:
        """Return a model fitted to measured kernels.

        Args:
            samples: the measured kernels.
            base: the model to start from.
            source: description of the measurements.
            steps: the steps that the kernels come from, to fit the host's times; if empty, those of ``base`` stay.
            caches_were_cold: whether measuring evicted the kernels' data from the processor's caches.
        """
        figures = base._figures
        lines = dict(figures.lines)
        on_cpu = [sample for sample in samples if sample.gpu is None and sample.work.launches]
        for name in CLASSES:
            members = [sample for sample in on_cpu if class_of(sample.work) == name]
            lines[name] = fitted_line(
                [sample.work for sample in members], [sample.seconds for sample in members], lines[name]
            )
        host = host_times(steps)
        plain = cls._of(
            replace(
                figures,
                lines=lines,
                near={},
                factors={},
                executor_seconds=figures.executor_seconds if host.executor is None else host.executor,
                idle_seconds=figures.idle_seconds if host.executor is None else host.executor,
                launch_seconds=figures.launch_seconds if host.launch is None else host.launch,
                source=source,
            )
        )
        by_type: dict[str, list[Sample]] = {}
        for sample in on_cpu:
            by_type.setdefault(kernel_name(sample.op_type, sample.work), []).append(sample)
        near = {
            op_type: near_works(
                [sample.work for sample in samples_of_type],
                [sample.seconds for sample in samples_of_type],
                lines,
                caches_were_cold,
                [sample.share for sample in samples_of_type],
            )
            for op_type, samples_of_type in by_type.items()
        }
        kernels_by_type = dict(figures.near) if not on_cpu else {}  # older kernels belong to older lines
        kernels_by_type.update((op_type, samples) for op_type, samples in near.items() if samples is not None)
        return cls._of(
            replace(
                plain._figures, near=kernels_by_type, factors={**figures.factors, **plain._factors(samples)}
            )
        )

    @property
    def wake_up_seconds(self) -> float:
        """Seconds that an idle thread of the pool takes to wake up for a node."""
        return self._figures.wake_up_seconds

    @property
    def queue_seconds(self) -> float:
        """Seconds that a thread takes to fetch a node from the pool's queue."""
        return self._figures.queue_seconds

    def call_seconds(self, feeds: int) -> float:
        """Return the seconds of a ``Session.run`` call in addition to its nodes.

        Args:
            feeds: number of fed tensors.
        """
        figures = self._figures
        return figures.call_seconds + (
            figures.feeding_seconds + feeds * figures.feed_seconds if feeds else 0.0
        )

    def corrected(self, starts: float, work: float, less: float, in_a_line: bool, **seconds: float) -> Self:
        """Return the model with other host times.

        Args:
            starts: factor for the time of CPU kernels that have no work, relative to the traced time.
            work: factor for all time beyond the starts.
            less: seconds that tracing adds to each start.
            in_a_line: whether steps without a GPU run in one thread, one node after another.
            **seconds: times of the executor, its threads and its calls: ``executor_seconds``, ``idle_seconds``,
                ``wake_up_seconds``, ``queue_seconds``, ``call_seconds``, ``feeding_seconds``, ``feed_seconds``.
        """
        before, host = self._figures, dict[str, Any](seconds)
        figures = replace(
            before,
            lines={
                name: Line(shortened(starts * line.start, less), *(work * price for price in line[1:]))
                for name, line in before.lines.items()
            },
            near={op_type: kernels.scaled(starts, work, less) for op_type, kernels in before.near.items()},
            in_a_line=in_a_line,
            **host,
        )
        return self._of(figures)

    def _factors(self, samples: Sequence[Sample]) -> dict[str, dict[str, float]]:
        """Return the fitted factor of each op type, by GPU."""
        logs: dict[str, dict[str, list[float]]] = {}
        for sample in samples:
            if sample.gpu is not None and (predicted := self.kernel_seconds(sample.work, sample.gpu)) > 0:
                kinds = logs.setdefault(sample.gpu.name, {})
                kinds.setdefault(sample.op_type, []).append(math.log(sample.seconds / predicted))
        return {
            name: {op_type: math.exp(_shrunk(ratios)) for op_type, ratios in kinds.items()}
            for name, kinds in logs.items()
        }

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the model as JSON, and return the path.

        Args:
            path: path of the file, in an existing folder.

        Raises:
            OSError: The file cannot be written.
        """
        figures = self._figures
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "source": figures.source,
            "library": figures.library,
            **{name: getattr(figures, name) for name in _SECONDS},
            "in_a_line": figures.in_a_line,
            "lines": {name: line._asdict() for name, line in figures.lines.items()},
            "near": {op_type: kernels.figures() for op_type, kernels in sorted(figures.near.items())},
            "factors": {name: dict(sorted(factors.items())) for name, factors in figures.factors.items()},
        }
        return write_file(path, json.dumps(content, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a saved model.

        Args:
            path: path of the file.

        Raises:
            NotFoundError: The file does not exist.
            InvalidArgumentError: The file is not a valid cost model.
        """
        try:
            with open(path, encoding="utf-8") as stream:
                text = stream.read()
        except FileNotFoundError:
            raise NotFoundError.of(f"The file {os.fspath(path)!r} does not exist.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise _damaged(path, str(error)) from None
        return cls._of(_figures_of(text, path))


def _shrunk(logs: Sequence[float]) -> float:
    return max(-_FURTHEST, min(_FURTHEST, median(logs) * len(logs) / (len(logs) + _DOUBTS)))


def _calibrated() -> _Figures:
    """Return the saved calibration, reading it again when the file changes."""
    if os.environ.get(ENVIRONMENT_VARIABLE) == "":
        return _Figures()
    path = calibrated_path()
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        if os.environ.get(ENVIRONMENT_VARIABLE):
            raise NotFoundError.of(
                f"{ENVIRONMENT_VARIABLE} names a file that does not exist: {path}"
            ) from None
        return _Figures()
    return _read(str(path), changed)


@lru_cache(maxsize=4)
def _read(path: str, changed: int) -> _Figures:
    return CostModel.load(path)._figures


def _damaged(path: str | os.PathLike[str], why: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"{os.fspath(path)!r} is not a cost model: {why}.",
        hint="run gpuplace calibrate to write a new one, or remove the file",
    )


def _figures_of(text: str, path: str | os.PathLike[str]) -> _Figures:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise _damaged(path, f"its format is not {_FORMAT!r}")
    if content.get("version") != _VERSION:
        raise _damaged(
            path, f"its version is {content.get('version')!r}, but this gpuplace reads version {_VERSION}"
        )
    try:
        library = content["library"]
        check_library(library)
        lines = {
            name: Line(*(_number(content["lines"][name][part], part) for part in Line._fields))
            for name in CLASSES
        }
        near = {str(op_type): _near(kernels, op_type) for op_type, kernels in content["near"].items()}
        factors = {
            str(name): {
                str(op_type): _number(factor, f"factor of {op_type}", above=0.0)
                for op_type, factor in by_type.items()
            }
            for name, by_type in content["factors"].items()
        }
        return _Figures(
            library,
            lines,
            near,
            factors,
            **{name: _number(content[name], name) for name in _SECONDS},
            in_a_line=_flag(content["in_a_line"], "in_a_line"),
            source=str(content["source"]),
        )
    except KeyError as error:
        raise _damaged(path, f"{error} is missing") from None
    except (TypeError, AttributeError, ValueError, OverflowError) as error:
        raise _damaged(path, str(error)) from None


def _near(saved: Any, op_type: str) -> NearKernels:
    """Return the measured kernels of a saved model."""
    figures = [
        tuple(
            _number(value, f"{name} of {op_type}", above=0.0 if name == "taken" else None)
            for value in saved[name]
        )
        for name in NearKernels.FIGURES
    ]
    *times, shares = figures
    if len(set(map(len, times))) != 1 or not times[0]:
        raise ValueError(f"some measured kernels of {op_type} lack a time")
    if shares and len(shares) != len(times[0]):
        raise ValueError(f"some measured kernels of {op_type} lack a share")
    if max(shares, default=0.0) > 1:
        raise ValueError(f"the largest share of {op_type} is {max(shares):g}; a share must be at most 1")
    flops, nbytes, starts, rests, taken = times
    return NearKernels(flops, nbytes, starts, rests, taken, shares)


def _flag(value: TensorLike, name: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, not {value!r}")
    return value


def _number(value: TensorLike, name: str, above: float | None = None) -> float:
    """Return a number, or raise an error if it is not finite and at least 0."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not math.isfinite(value)
        or value < 0
    ):
        raise ValueError(f"{name} must be a non-negative number, not {value!r}")
    if above is not None and value <= above:
        raise ValueError(f"{name} must be greater than {above:g}, not {value!r}")
    return float(value)
