"""Runs probes: with this runtime, or with the TensorFlow of another interpreter."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.calibration.probes import BuiltProbe
from gpuplace.cost.calibration.tensorflow_steps import usual
from gpuplace.errors import InvalidArgumentError
from gpuplace.graphdef.messages import ConfigProto, RunMetadata, RunOptions
from gpuplace.runtime.session.session import Session
from gpuplace.writing import write_file


class Limit(NamedTuple):
    """How long a step is run."""

    most: int
    """Runs."""
    seconds: float
    """No run begins later."""


FEWEST_RUNS = 3
BRIEF, OFTEN, ALONE = Limit(20, 0.02), Limit(60, 0.06), Limit(60, 0.02)
LONG = Limit(2000, 0.15)
"""TensorFlow's steps below a millisecond become quicker for a tenth of a second, after those of another graph."""
ROUNDS, ROUNDS_OF_TENSORFLOW = 36, 12
"""In which each step is run for a while. A machine that others use is quick for moments: of our own steps, which need
no longer, there are many short rounds, so that each of them meets one."""


class ProbeRun(NamedTuple):
    """What running a probe took."""

    seconds: float
    """Of a step, untraced: the median."""
    trace: Any
    """``RunMetadata`` of a step of the median time when it is traced."""
    alone: Any = None
    """The same with one core; None: it was not run so."""


class Runner(NamedTuple):
    """A runtime that probes run on."""

    run: Callable[[BuiltProbe], ProbeRun]
    """Runs the step of a probe some times; its variables stay from one call to the next."""
    rounds: int
    """How often it is to be called for each."""
    release: str | None = None
    """The release of TensorFlow; None: it is gpuplace's own."""


@contextmanager
def here(clock: Callable[[], float] = time.perf_counter) -> Iterator[Runner]:
    """Runs probes in this process, with this runtime, on the CPU.

    Before each traced step there is one that is not: tracing leaves little of a step in the processor's caches.

    Args:
        clock: tells seconds.
    """

    calls: dict[str, Callable[..., Any]] = {}
    without_gpus = ConfigProto(device_count={"GPU": 0})

    def run(probe: BuiltProbe) -> ProbeRun:
        if probe.name not in calls:
            session = all_of_them.enter_context(Session(graph=probe.graph, config=without_gpus))
            session.run(probe.initializer)
            calls[probe.name] = partial(session.run, list(probe.fetches), probe.feeds)
        call = calls[probe.name]

        def traced() -> RunMetadata:
            trace = RunMetadata()
            call(options=RunOptions(trace_level=RunOptions.FULL_TRACE), run_metadata=trace)
            return trace

        seconds, _ = usual(call, FEWEST_RUNS, BRIEF, clock=clock)
        return ProbeRun(seconds, usual(traced, FEWEST_RUNS, BRIEF, call, clock)[1])

    with ExitStack() as all_of_them:
        yield Runner(run, ROUNDS)


@contextmanager
def with_tensorflow(python: str) -> Iterator[Runner]:
    """Runs probes with TensorFlow, 1.15 or later, in a process of its own, and in one that uses a single core.

    Traced, it starts one kernel at a time: those that run side by side take each other's cores.

    Args:
        python: the interpreter that has it.

    Raises:
        InvalidArgumentError: the interpreter cannot be started, has no TensorFlow, or fails.
    """
    with (
        tempfile.TemporaryDirectory(prefix="gpuplace-calibrate-") as name,
        _tensorflow(python, name, LONG, OFTEN) as usually,
        _tensorflow(python, name, Limit(0, 0.0), ALONE, TF_NUM_INTRAOP_THREADS="1") as alone,
    ):
        folder = Path(name)

        def run(probe: BuiltProbe) -> ProbeRun:
            path = folder / probe.name.replace(" ", "_")
            if not path.exists():
                _write(probe, path)
            seconds, trace = usually.run(path.name)
            return ProbeRun(seconds, trace, alone.run(path.name)[1])

        yield Runner(run, ROUNDS_OF_TENSORFLOW, usually.release)


class _TensorFlow(NamedTuple):
    """A process with TensorFlow."""

    run: Callable[[str], tuple[float, RunMetadata]]
    """Runs what is written to a file of that name: the seconds of a step, and a traced one."""
    release: str
    """The one of ours that it is, or is near to."""


@contextmanager
def _tensorflow(
    python: str, folder: str, untraced: Limit, traced: Limit, **environment: str
) -> Iterator[_TensorFlow]:
    """A process with TensorFlow that runs what is written to a folder."""
    script = Path(__file__).with_name("tensorflow_steps.py")
    with tempfile.TemporaryFile("w+") as errors:
        limits = json.dumps([FEWEST_RUNS, untraced, traced])
        try:
            process = subprocess.Popen(
                (python, "-I", str(script), folder, limits),
                text=True,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1", **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        except OSError as error:
            raise _fails(python, str(error)) from None
        with process:
            assert process.stdin is not None and process.stdout is not None
            asked, told = process.stdin, process.stdout

            def answer() -> Any:
                line = told.readline()
                if line:
                    return line.strip()
                errors.seek(0)
                said = errors.read().strip().splitlines()
                raise _fails(python, said[-1] if said else f"it ended with {process.wait()}")

            def run(name: str) -> tuple[float, RunMetadata]:
                print(name, file=asked, flush=True)
                taken, trace = json.loads(answer())
                return taken, RunMetadata.FromString(base64.b64decode(trace))

            try:
                yield _TensorFlow(run, "1.15" if answer().startswith("1.") else "2.21")
            finally:
                asked.close()
                process.terminate()


def _write(probe: BuiltProbe, path: Path) -> None:
    """Writes what the other interpreter needs to run a probe; the file of that name without an ending comes last."""
    keys = {name: f"feed_{number}" for number, name in enumerate(probe.feeds)}
    write_file(f"{path}.pb", probe.graph.as_graph_def().SerializeToString())
    arrays: dict[str, Any] = {keys[name]: value for name, value in probe.feeds.items()}
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    write_file(f"{path}.npz", packed.getvalue())
    asked = {"fetches": probe.fetches, "initializer": probe.initializer, "feeds": keys}
    write_file(path, json.dumps(asked))


def _fails(python: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"TensorFlow cannot be run with {python!r}: {why}",
        hint="the path of a Python interpreter in which `import tensorflow` works, release 1.15 or later",
    )
