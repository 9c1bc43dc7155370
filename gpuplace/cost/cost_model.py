"""What times the work of nodes: on the GPUs of the catalogue, and on the CPU at hand.

A model starts from what comes with the package (``kernel_times`` for GPUs, round figures for a CPU) or from what
``gpuplace calibrate`` found on this machine. Fitting it to measured steps adds to that what they show: lines of the
CPU and measured kernels of every type of op, a factor for every type of op on every GPU, and what the host takes to
start a node::

    seconds on the CPU = line of the class(work) * factor of measured kernels of the op type near the work
    seconds on a GPU   = base(work, GPU) * factor(GPU, op type)

A factor is the median of measured over predicted times, drawn towards 1 where few kernels were measured. Nothing in the
package is fitted to times of whole steps: GPUs rest on single library calls, the CPU on single kernels.

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
from gpuplace.typing import GraphLike
from gpuplace.writing import write_file

ENVIRONMENT_VARIABLE = "GPUPLACE_COST_MODEL"
"""Environment variable with the file that ``CostModel()`` starts from; empty: it starts from the package alone."""

SPLIT_SECONDS = 20e-6
"""Kernels of the CPU that take longer are split among the threads of the intra-op pool, where nothing was measured."""
_FORMAT = "gpuplace.CostModel"
_VERSION = 7
_DOUBTS = 2.0
"""Kernels that must be measured for a factor to count for half."""
_FURTHEST = math.log(20.0)
_CACHE_SIZE = 200_000


def calibrated_path() -> Path:
    """Where ``gpuplace calibrate`` writes: below ``XDG_CONFIG_HOME``, or what ``GPUPLACE_COST_MODEL`` names."""
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(home) / "gpuplace" / "cost_model.json"


@dataclass(frozen=True)
class _Figures:
    """All that a saved model holds."""

    library: str | None = None
    lines: Mapping[str, Line] = field(default_factory=lambda: dict(DEFAULT_LINES))
    near: Mapping[str, NearKernels] = field(default_factory=dict)
    """Type of op -> its measured kernels on the CPU."""
    factors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Name of a GPU -> type of op -> what its kernels' times there are multiplied by."""
    executor_seconds: float = 3e-6
    """What a thread of the executor takes for a node, beside its kernel."""
    idle_seconds: float = 3e-6
    """As ``executor_seconds``, of a node that has no kernel."""
    wake_up_seconds: float = 0.0
    """What an idle thread of the pool takes to wake up for a node."""
    queue_seconds: float = 0.0
    """What a thread takes to fetch a node from the pool's queue."""
    launch_seconds: float = 5e-6
    call_seconds: float = 0.0
    feeding_seconds: float = 0.0
    """What a call of ``Session.run`` takes longer that feeds anything."""
    feed_seconds: float = 0.0
    in_a_line: bool = False
    """Whether steps without a GPU run in one thread, one node after the other, as gpuplace's own do."""
    source: str = "what comes with gpuplace; not calibrated on this machine"


_SECONDS = [name for name in _Figures.__annotations__ if name.endswith("_seconds")]


class CostModel:
    """Seconds of kernels, and of the host that starts them.

    ``CostModel()`` is what ``gpuplace calibrate`` saved, or, where nothing was saved, what comes with the package.
    """

    def __init__(self, library: str | None = None) -> None:
        """Makes a model.

        Args:
            library: release of CUDA on the GPUs, such as ``"10.0"``; None: that of each GPU's time.

        Raises:
            InvalidArgumentError: no such release is known, or the saved calibration is damaged.
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
        """What comes with the package, whatever was calibrated."""
        return cls._of(_Figures())

    @property
    def source(self) -> str:
        """In words: what the model rests on."""
        return self._figures.source

    @property
    def library(self) -> str | None:
        """Release of CUDA on the GPUs; None: that of each GPU's time."""
        return self._figures.library

    def without_host_times(self) -> Self:
        """Return the same model for a host that starts nodes in no time, as if a step's kernels were one."""
        free: dict[str, Any] = dict.fromkeys(_SECONDS, 0.0)
        return self._of(replace(self._figures, **free))

    def is_same(self, other: CostModel) -> bool:
        """Whether both rest on the same figures.

        Args:
            other: another model.
        """
        return self._figures == other._figures

    def __repr__(self) -> str:
        return f"<CostModel: {self.source}>"

    def kernel_seconds(self, work: Work, gpu: GPUModel | None, op_type: str | None = None) -> float:
        """Returns the seconds that a device computes, what starting its kernels takes there included.

        For many works ``kernel_times`` is quicker.

        Args:
            work: what the kernel of a node has to do.
            gpu: the GPU; None for the CPU.
            op_type: type of the node's op, for what was fitted to it; None: without that.
        """
        return self.kernel_times([work], gpu, None if op_type is None else [op_type])[0]

    def kernel_times(
        self, works: Sequence[Work], gpu: GPUModel | None, op_types: Sequence[str] | None = None
    ) -> list[float]:
        """Returns the seconds of many works; equal works are computed once.

        Args:
            works: what the kernels of nodes have to do.
            gpu: the GPU; None for the CPU.
            op_types: types of the nodes' ops, for what was fitted to them; None: without that.
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
        """Kernel times where some works are calls, whose nodes run one after the other.

        The host starts a kernel of a GPU while the one before runs: the slower of the two counts.
        """
        flat = [
            part
            for op_type, work in zip(op_types, works, strict=True)
            for part in work.parts or [(op_type, work)]
        ]
        times = iter(self.kernel_times([work for _, work in flat], gpu, [op_type for op_type, _ in flat]))
        found = []
        for work in works:
            seconds = sum(next(times) for _ in range(len(work.parts) or 1))
            if gpu is not None:
                seconds = max([seconds, sum(self.host_seconds(*part, gpu) for part in work.parts)])
            found.append(seconds)
        return found

    def _on_gpu(self, works: Sequence[Work], gpu: GPUModel) -> list[float]:
        known = self._known.setdefault(gpu, {})
        if len(known) > _CACHE_SIZE:
            known.clear()
        # equal works of a graph are one object, and hashing takes longer
        alike = {id(work): work for work in works}
        times = {number: known.get(work) for number, work in alike.items()}
        new = [number for number, seconds in times.items() if seconds is None]
        if new:
            computed = self._gpu_times.seconds([alike[number] for number in new], gpu).tolist()
            times.update(zip(new, computed))
            known.update(zip(map(alike.__getitem__, new), computed))
        return [times[id(work)] or 0.0 for work in works]

    def host_seconds(self, op_type: str, work: Work, gpu: GPUModel | None) -> float:
        """Returns the seconds of the thread of the executor that starts a node, beside those of its kernel.

        Args:
            op_type: type of the node's op.
            work: what the kernel of the node has to do.
            gpu: the GPU that computes it; None for the CPU.
        """
        if work.parts:
            return self.host_seconds(*work.parts[0], gpu)
        figures = self._figures
        if gpu is not None:
            return figures.executor_seconds + figures.launch_seconds * (work.launches + work.gpu_launches)
        return figures.executor_seconds if work.launches else figures.idle_seconds

    def held_seconds(self, op_type: str, work: Work, seconds: float) -> float:
        """Returns for how long a kernel on the CPU has all its cores: no other such kernel runs beside it then.

        Args:
            op_type: type of the node's op.
            work: what the kernel has to do.
            seconds: what it takes.
        """
        share = None if work.parts else cpu_share(work, near_kernels_of(op_type, work, self._figures.near))
        if share is None:
            return seconds if seconds > SPLIT_SECONDS else 0.0
        return share * seconds

    @property
    def in_a_line(self) -> bool:
        """Whether steps without a GPU run in one thread, one node after the other, as gpuplace's own do."""
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
        """Returns a model fitted to measured steps, TensorFlow's or ours.

        Steps traced while a simulated GPU ran say nothing of that GPU, whose kernels NumPy computed: leave ``machine``
        out for them.

        Args:
            run_metadatas: a ``RunMetadata`` or ``StepStats``, or several; of full traces.
            graph: the graph that ran: ``Graph``, GraphDef, bytes or a path.
            feeds: name of a placeholder to the shape (or array) that was fed; see ``gpuplace.estimate``.
            machine: the machine on which TensorFlow ran, for its GPUs' models; None: only the CPU's kernels count.
            base: the model to start from; None: ``CostModel()``.

        Raises:
            InvalidArgumentError: the steps hold no kernel of the graph's nodes, or ``feeds`` or ``machine`` are wrong.
            TypeError: a step is nothing of the kind.
        """
        from gpuplace.cost.node_work import step_work
        from gpuplace.cost.shapes.step_shapes import step_shapes

        steps = [run_metadatas] if hasattr(run_metadatas, "SerializeToString") else list(run_metadatas)
        for step in steps:
            if not hasattr(step, "SerializeToString"):
                raise TypeError(f"a measured step is a RunMetadata or StepStats; got {step!r}")
        shapes = step_shapes(graph, feeds)
        works = {
            shapes.graph.names[node]: (shapes.graph.op_type(node), work)
            for node, work in enumerate(step_work(shapes))
        }
        on = Machine.parse(machine) if isinstance(machine, str) else machine
        gpus = {} if on is None else {device.tf_id: device.gpu.model for device in on.virtual_gpus()}
        found = samples_of(steps, works, gpus)
        if not found:
            raise InvalidArgumentError.of(
                "The steps hold no measured kernel of a node of this graph.",
                facts={"steps": str(len(steps)), "nodes of the graph": str(len(works))},
                hint="RunOptions(trace_level=RunOptions.FULL_TRACE), and the graph that ran",
            )
        return cls.of_samples(
            found, base or cls(), f"{len(found)} measured kernels of {len(steps)} steps", steps
        )

    @classmethod
    def of_samples(
        cls,
        found: Sequence[Sample],
        base: CostModel,
        source: str,
        steps: Iterable[Any] = (),
        coldly: bool = False,
    ) -> Self:
        """Returns a model fitted to measured kernels.

        Args:
            found: the kernels.
            base: the model to start from.
            source: in words: what is measured.
            steps: the steps that the kernels are from, for what the host takes to start nodes; none: as in ``base``.
            coldly: whether measuring them left the kernels little in the processor's caches.
        """
        figures = base._figures
        lines = dict(figures.lines)
        on_cpu = [sample for sample in found if sample.gpu is None and sample.work.launches]
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
                [sample.work for sample in samples],
                [sample.seconds for sample in samples],
                lines,
                coldly,
                [sample.share for sample in samples],
            )
            for op_type, samples in by_type.items()
        }
        known = dict(figures.near) if not on_cpu else {}  # older kernels belong to older lines
        known.update((op_type, found) for op_type, found in near.items() if found is not None)
        return cls._of(
            replace(plain._figures, near=known, factors={**figures.factors, **plain._factors(found)})
        )

    @property
    def wake_up_seconds(self) -> float:
        """What an idle thread of the pool takes to wake up for a node."""
        return self._figures.wake_up_seconds

    @property
    def queue_seconds(self) -> float:
        """What a thread takes to fetch a node from the pool's queue."""
        return self._figures.queue_seconds

    def call_seconds(self, feeds: int) -> float:
        """Returns what a call of ``Session.run`` takes beside its nodes.

        Args:
            feeds: how many tensors are fed.
        """
        figures = self._figures
        return figures.call_seconds + (
            figures.feeding_seconds + feeds * figures.feed_seconds if feeds else 0.0
        )

    def corrected(self, starts: float, work: float, less: float, in_a_line: bool, **seconds: float) -> Self:
        """The model with other times on the host.

        Args:
            starts: what kernels on the CPU that have nothing to do take, as a part of what they took when traced.
            work: what all beyond their starts is multiplied by.
            less: seconds that tracing adds to each start.
            in_a_line: whether steps without a GPU run in one thread, one node after the other.
            **seconds: those of the executor and its threads, and of calls: ``executor_seconds``, ``idle_seconds``,
                ``wake_up_seconds``, ``queue_seconds``, ``call_seconds``, ``feeding_seconds``, ``feed_seconds``.
        """
        before, host = self._figures, dict[str, Any](seconds)
        figures = replace(
            before,
            lines={
                name: Line(shortened(starts * line.start, less), *(work * price for price in line[1:]))
                for name, line in before.lines.items()
            },
            near={op_type: found.scaled(starts, work, less) for op_type, found in before.near.items()},
            in_a_line=in_a_line,
            **host,
        )
        return self._of(figures)

    def _factors(self, found: Sequence[Sample]) -> dict[str, dict[str, float]]:
        """What the times of ops' kernels are multiplied by, by GPU."""
        logs: dict[str, dict[str, list[float]]] = {}
        for sample in found:
            if sample.gpu is not None and (predicted := self.kernel_seconds(sample.work, sample.gpu)) > 0:
                kinds = logs.setdefault(sample.gpu.name, {})
                kinds.setdefault(sample.op_type, []).append(math.log(sample.seconds / predicted))
        return {
            name: {op_type: math.exp(_shrunk(one)) for op_type, one in kinds.items()}
            for name, kinds in logs.items()
        }

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes the model as JSON; returns the path.

        Args:
            path: of the file; its folder exists.

        Raises:
            OSError: the file cannot be written.
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
            "near": {op_type: found.figures() for op_type, found in sorted(figures.near.items())},
            "factors": {name: dict(sorted(known.items())) for name, known in figures.factors.items()},
        }
        return write_file(path, json.dumps(content, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Returns a saved model.

        Args:
            path: of the file.

        Raises:
            NotFoundError: there is no such file.
            InvalidArgumentError: the file holds no cost model, or a damaged one; says what is wrong.
        """
        try:
            with open(path, encoding="utf-8") as stream:
                text = stream.read()
        except FileNotFoundError:
            raise NotFoundError.of(f"There is no file {os.fspath(path)!r}.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise _damaged(path, str(error)) from None
        return cls._of(_figures_of(text, path))


def _shrunk(logs: Sequence[float]) -> float:
    return max(-_FURTHEST, min(_FURTHEST, median(logs) * len(logs) / (len(logs) + _DOUBTS)))


def _calibrated() -> _Figures:
    """What was saved by a calibration; read again when the file changes."""
    if os.environ.get(ENVIRONMENT_VARIABLE) == "":
        return _Figures()
    path = calibrated_path()
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        if os.environ.get(ENVIRONMENT_VARIABLE):
            raise NotFoundError.of(f"{ENVIRONMENT_VARIABLE} names a file that is not there: {path}") from None
        return _Figures()
    return _read(str(path), changed)


@lru_cache(maxsize=4)
def _read(path: str, changed: int) -> _Figures:
    return CostModel.load(path)._figures


def _damaged(path: str | os.PathLike[str], why: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"{os.fspath(path)!r} is not a cost model: {why}.",
        hint="gpuplace calibrate, which writes a new one; or remove the file",
    )


def _figures_of(text: str, path: str | os.PathLike[str]) -> _Figures:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"no JSON, {error}") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise _damaged(path, f"its format is not {_FORMAT!r}")
    if content.get("version") != _VERSION:
        raise _damaged(path, f"its version is {content.get('version')!r}, and this gpuplace reads {_VERSION}")
    try:
        library = content["library"]
        check_library(library)
        lines = {
            name: Line(*(_number(content["lines"][name][part], part) for part in Line._fields))
            for name in CLASSES
        }
        near = {str(op_type): _near(found, op_type) for op_type, found in content["near"].items()}
        factors = {
            str(name): {
                str(op_type): _number(factor, f"factor of {op_type}", above=0.0)
                for op_type, factor in known.items()
            }
            for name, known in content["factors"].items()
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


def _near(found: Any, op_type: str) -> NearKernels:
    """Measured kernels of a saved model."""
    figures = [
        tuple(
            _number(one, f"{name} of {op_type}", above=0.0 if name == "taken" else None)
            for one in found[name]
        )
        for name in NearKernels.FIGURES
    ]
    *times, shares = figures
    if len(set(map(len, times))) != 1 or not times[0]:
        raise ValueError(f"the measured kernels of {op_type} do not have a time each")
    if shares and len(shares) != len(times[0]):
        raise ValueError(f"the kernels of {op_type} do not have a share each")
    if max(shares, default=0.0) > 1:
        raise ValueError(f"shares of {op_type} is {max(shares):g}, not a number up to 1")
    flops, nbytes, starts, rests, taken = times
    return NearKernels(flops, nbytes, starts, rests, taken, shares)


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}, neither true nor false")
    return value


def _number(value: Any, name: str, above: float | None = None) -> float:
    """A finite number that is not negative."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not math.isfinite(value)
        or value < 0
    ):
        raise ValueError(f"{name} is {value!r}, not a number from 0 on")
    if above is not None and value <= above:
        raise ValueError(f"{name} is {value!r}, not a number above {above:g}")
    return float(value)
