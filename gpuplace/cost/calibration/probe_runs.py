"""Runs of probes, with gpuplace or with the TensorFlow of another interpreter."""

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
    """Limits for the repetitions of a step."""

    most: int
    """Maximum number of runs."""
    seconds: float
    """Seconds after which no run begins."""


FEWEST_RUNS = 3
BRIEF, OFTEN, ALONE = Limit(20, 0.02), Limit(60, 0.06), Limit(60, 0.02)
LONG = Limit(2000, 0.15)
"""TensorFlow's steps below a millisecond speed up over a tenth of a second after another graph's steps."""
ROUNDS, ROUNDS_OF_TENSORFLOW = 36, 12
"""Rounds in which each step runs for a while. A shared machine is undisturbed only for moments, so gpuplace's steps run
in many short rounds, some of which are undisturbed; TensorFlow's steps need longer rounds."""


class ProbeRun(NamedTuple):
    """Measurements of one probe in one round."""

    seconds: float
    """Median seconds of an untraced step."""
    trace: Any
    """``RunMetadata`` of a traced step of median time."""
    alone: Any = None
    """The same with one core; None if it was not run."""


class Runner(NamedTuple):
    """A runtime that runs probes."""

    run: Callable[[BuiltProbe], ProbeRun]
    """Function that runs the step of a probe several times; variables keep their values between calls."""
    rounds: int
    """Number of rounds per probe."""
    release: str | None = None
    """TensorFlow release; None for gpuplace."""


@contextmanager
def here(clock: Callable[[], float] = time.perf_counter) -> Iterator[Runner]:
    """Run probes in this process, with gpuplace, on the CPU.

    An untraced step runs before each traced one, because tracing evicts most of a step's data from the caches.

    Args:
        clock: clock in seconds.
    """

    calls: dict[str, Callable[..., Any]] = {}
    without_gpus = ConfigProto(device_count={"GPU": 0})

    def run(probe: BuiltProbe) -> ProbeRun:
        if probe.name not in calls:
            session = sessions.enter_context(Session(graph=probe.graph, config=without_gpus))
            session.run(probe.initializer)
            calls[probe.name] = partial(session.run, list(probe.fetches), probe.feeds)
        call = calls[probe.name]

        def traced() -> RunMetadata:
            trace = RunMetadata()
            call(options=RunOptions(trace_level=RunOptions.FULL_TRACE), run_metadata=trace)
            return trace

        seconds, _ = usual(call, FEWEST_RUNS, BRIEF, clock=clock)
        return ProbeRun(seconds, usual(traced, FEWEST_RUNS, BRIEF, call, clock)[1])

    with ExitStack() as sessions:
        yield Runner(run, ROUNDS)


@contextmanager
def with_tensorflow(python: str) -> Iterator[Runner]:
    """Run probes with TensorFlow 1.15 or later, in a separate process, and in a second one with a single core.

    Traced steps run one kernel at a time, because kernels that run side by side take each other's cores.

    Args:
        python: interpreter that has TensorFlow.

    Raises:
        InvalidArgumentError: The interpreter cannot be started, has no TensorFlow, or fails.
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
    """Function that runs the probe in a file; returns a step's seconds and its trace."""
    release: str
    """The nearest release that gpuplace knows."""


@contextmanager
def _tensorflow(
    python: str, folder: str, untraced: Limit, traced: Limit, **environment: str
) -> Iterator[_TensorFlow]:
    """Start a process with TensorFlow that runs the probes in a folder."""
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
            requests, replies = process.stdin, process.stdout

            def answer() -> Any:
                line = replies.readline()
                if line:
                    return line.strip()
                errors.seek(0)
                error_lines = errors.read().strip().splitlines()
                raise _fails(python, error_lines[-1] if error_lines else f"exit status {process.wait()}")

            def run(name: str) -> tuple[float, RunMetadata]:
                print(name, file=requests, flush=True)
                seconds, trace = json.loads(answer())
                return seconds, RunMetadata.FromString(base64.b64decode(trace))

            try:
                yield _TensorFlow(run, "1.15" if answer().startswith("1.") else "2.21")
            finally:
                requests.close()
                process.terminate()


def _write(probe: BuiltProbe, path: Path) -> None:
    """Write the files that the other interpreter needs to run a probe; the one without a suffix is written last."""
    keys = {name: f"feed_{number}" for number, name in enumerate(probe.feeds)}
    write_file(f"{path}.pb", probe.graph.as_graph_def().SerializeToString())
    arrays: dict[str, Any] = {keys[name]: value for name, value in probe.feeds.items()}
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    write_file(f"{path}.npz", packed.getvalue())
    description = {"fetches": probe.fetches, "initializer": probe.initializer, "feeds": keys}
    write_file(path, json.dumps(description))


def _fails(python: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"{python!r} cannot run TensorFlow: {why}",
        hint="give the path of a Python interpreter that can import TensorFlow 1.15 or later",
    )
