"""Hostile GraphDefs against reading, placing and importing: an error of TensorFlow's classes, or an answer.

    python -m tests.fuzz.graph_defs --executions 100000 [--processes 2] [--seed 0] [--save FOLDER]
    python -m tests.fuzz.graph_defs --seed 0 --case 4711      # one case again, with its traceback

Each execution reads, places and imports one damaged graph (see `mutations`), some from files (see `forms`), functions
and control flow written out, under a limit of processor time, in a process whose memory is limited. What is not an
answer or an allowed error is a finding, running out of memory or time included; findings are told apart by the error's
class and the line that raised it. At the end stand the findings, how many executions ended in which way, the slowest,
and how much memory a process ever had. The exit code is the number of findings, at most 100.
"""

from __future__ import annotations

import argparse
import atexit
import base64
import functools
import gzip
import json
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gpuplace as tf
from gpuplace.errors import OpError
from gpuplace.graphdef.load import load_graph_def
from tests.fuzz.forms import formed
from tests.fuzz.mutations import mutant
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import graph_def

DATA = Path(__file__).parent.parent / "data" / "graph_defs"
TIME_LIMIT = 10.0
"""Seconds of processor time for one case; the largest has a million entries or a hundred thousand nodes."""
STALL_LIMIT = 60.0
"""Seconds without a new case after which a process is ended: something in C does not return."""
MEMORY_LIMIT = 2 << 30
"""Bytes of address space beyond what the process has after its imports."""


ANSWER = "answer"
_MAX_SEED = 9000
_REPORT_EVERY = 500


class TooSlow(BaseException):
    """A case took longer than its limit."""


@functools.cache
def seeds() -> tuple[bytes, ...]:
    """The recorded GraphDefs, the corner graphs, and functional graphs of a moderate size."""
    functional = json.loads(gzip.decompress((DATA.parent / "lowering.json.gz").read_bytes()))
    return (
        *(path.read_bytes() for path in sorted(DATA.glob("*.pb"))),
        *map(graph_def, GRAPHS.values()),
        *(base64.b64decode(made["graph"]) for made in functional.values() if len(made["graph"]) < _MAX_SEED),
    )


def case(seed: int, number: int) -> tuple[Any, Random]:
    """The input of one case, and what its further choices come from."""
    random = Random(f"{seed}:{number}")
    return formed(mutant(seeds(), random), random, _folder()), random


def attempt(source: Any, random: Random) -> tuple[str, ...]:
    """Reads, places and imports one graph, and says how each of them ended: an error's class, or `"answer"`.

    Raises:
        Whatever is neither an error that such a graph may cause nor an answer.
    """
    try:
        message = load_graph_def(source)
    except OpError as error:
        if "Out of memory" in error.message:
            raise MemoryError(str(error)) from error
        return (f"read: {_class_of(error)}",)
    release = random.choice(("1.0", "1.15", "2.21", "2.21"))
    config = tf.ConfigProto(allow_soft_placement=random.random() < 0.5)
    machine = random.choice(("cpu", "1x V100", "2x Tesla K40c"))
    try:
        placement = tf.place(message, machine, config, release, on_error=random.choice(("raise", "keep")))
    except OpError as error:
        placed = _class_of(error)
    else:
        placed = f"placed, {_class_of(placement.errors[0])} kept" if placement.errors else ANSWER
        look_at(placement, random)
    tf.set_release("2.21" if release == "2.21" else "1.15")
    try:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(message, name=random.choice((None, "", "x")))
            graph.as_graph_def()
        imported = ANSWER
    except OpError as error:
        imported = _class_of(error)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        imported = "ValueError"
    return f"place: {placed}", f"import: {imported}"


def _class_of(error: Exception) -> str:
    """An error's class; its text has to be one that can be made."""
    assert str(error)
    return type(error).__name__


@functools.cache
def _folder() -> Path:
    """A folder of this process for files; in memory where the system has such a place."""
    shared = Path("/dev/shm")
    made = tempfile.TemporaryDirectory(prefix="fuzz-", dir=shared if os.access(shared, os.W_OK) else None)
    atexit.register(made.cleanup)
    return Path(made.name)


def look_at(placement: Any, random: Random) -> None:
    """Asks a placement for its texts."""
    [str(error) for error in placement.errors]
    str(placement.blame())
    placement.never_on()
    placement.log()
    names = placement.graph.names
    if names:
        str(placement.explain(random.choice(names)))
    if placement.graph.num_edges < 1000:
        list(placement.edges())


def finding(error: BaseException) -> dict[str, str]:
    """What tells a finding from another: the class and the innermost line of the package."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "gpuplace" in frame.filename]
    where = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    at = f"{Path(where.filename).name}:{where.lineno} {where.name}"
    return {"key": f"{type(error).__name__} at {at}", "message": str(error)[:300]}


class Tally:
    """How the cases of a process ended, what the slowest took, and how much memory there ever was."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.slowest = (0.0, -1)
        self.memory = (0, -1)

    def add(self, ends: tuple[str, ...], seconds: float, number: int) -> None:
        """Counts a case."""
        self.ends.update(ends)
        self.slowest = max(self.slowest, (seconds, number))
        self.memory = max(self.memory, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10, -number))

    def merge(self, ends: dict[str, int], slowest: tuple[float, int], memory: tuple[int, int]) -> None:
        """Adds what another tally says."""
        self.ends.update(ends)
        self.slowest, self.memory = max(self.slowest, tuple(slowest)), max(self.memory, tuple(memory))

    def take(self) -> dict[str, Any]:
        """What was counted since the last time, as `merge` wants it."""
        ends, self.ends = self.ends, Counter()
        return {"ends": ends, "slowest": self.slowest, "memory": self.memory}

    def __str__(self) -> str:
        lines = [f"  {count:>9,}  {end}" for end, count in sorted(self.ends.items())]
        return "\n".join(
            [
                *lines,
                f"  slowest: {self.slowest[0]:.1f} s of processor time, case {self.slowest[1]}",
                f"  most memory of a process: {self.memory[0] >> 20} MiB, reached in case {-self.memory[1]}",
            ]
        )


class Inputs(NamedTuple):
    """A kind of inputs."""

    case: Callable[[int, int], tuple[Any, Random]]
    """The input of a case, and what its further choices come from, by seed and number."""
    attempt: Callable[[Any, Random], tuple[str, ...]]
    """Reads the input and says how that ended; raises whatever is a finding."""
    limit: Callable[[Any], float] = lambda source: TIME_LIMIT
    """Seconds of processor time that an input may take."""


def run_case(
    seed: int,
    number: int,
    limit: float = TIME_LIMIT,
    tally: Tally | None = None,
    inputs: Inputs | None = None,
) -> dict[str, str] | None:
    """One case under its time limit; None where nothing was found."""
    inputs = inputs or GRAPH_DEFS
    source, random = inputs.case(seed, number)
    limit = min(limit, inputs.limit(source))
    started = time.process_time()
    ends: tuple[str, ...] = ("finding",)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        ends = inputs.attempt(source, random)
    except (Exception, TooSlow) as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        return finding(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if tally is not None:
            tally.add(ends, time.process_time() - started, number)
    return None


def _alarm(signum: int, frame: Any) -> None:
    raise TooSlow("time limit")


def limit_memory(extra: int = MEMORY_LIMIT) -> None:
    """Limits this process's address space to what it has and `extra` bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + extra
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


GRAPH_DEFS = Inputs(case, attempt)


def _work(
    arguments: argparse.Namespace, first: int, counter: mmap.mmap, slot: int, pipe: int, inputs: Inputs
) -> None:
    """Runs every `processes`-th case; the counter says which one is under way."""
    signal.signal(signal.SIGPROF, _alarm)
    limit_memory()
    tally = Tally()
    for done, number in enumerate(range(first, arguments.executions, arguments.processes)):
        struct.pack_into("q", counter, 8 * slot, number)
        found = run_case(arguments.seed, number, arguments.time_limit, tally, inputs)
        if found is not None:
            _tell(pipe, {"case": number, **found})
        if done % _REPORT_EVERY == 0:
            _tell(pipe, tally.take())
    _tell(pipe, tally.take())
    struct.pack_into("q", counter, 8 * slot, arguments.executions + slot)


def _tell(pipe: int, what: dict[str, Any]) -> None:
    os.write(pipe, (json.dumps(what) + "\n").encode())


class Campaign:
    """Processes that share the cases, and what they found."""

    def __init__(self, arguments: argparse.Namespace, inputs: Inputs = GRAPH_DEFS) -> None:
        self.arguments = arguments
        self.inputs = inputs
        self.counter = mmap.mmap(-1, 8 * arguments.processes)
        self.found: dict[str, dict[str, Any]] = {}
        self.times: dict[str, int] = {}
        self.tally = Tally()
        self.read, self.write = os.pipe()
        os.set_blocking(self.read, False)
        self.rest = b""

    def run(self) -> int:
        """Runs all cases; returns how many findings there are."""
        started = time.monotonic()
        self.inputs.case(self.arguments.seed, 0)
        running = {self._start(slot, slot): [slot, -1, started] for slot in range(self.arguments.processes)}
        told = started
        while running:
            time.sleep(0.2)
            self._listen()
            now = time.monotonic()
            for process, state in list(running.items()):
                slot = int(state[0])
                at = struct.unpack_from("q", self.counter, 8 * slot)[0]
                ended, status = os.waitpid(process, os.WNOHANG)
                if at != state[1]:
                    state[1:] = [at, now]
                elif not ended and now - state[2] > STALL_LIMIT:
                    os.kill(process, signal.SIGKILL)
                    _, status = os.waitpid(process, 0)
                    ended = process
                if ended:
                    del running[process]
                    if status:
                        self._note({"case": at, "key": f"process ended with status {status}", "message": ""})
                        running[self._start(slot, at + self.arguments.processes)] = [slot, -1, now]
            if self.arguments.seconds and now - started > self.arguments.seconds:
                for process in running:
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, 0)
                break
            if now - told > 30:
                told = now
                print(
                    f"{self._done():,} executions, {now - started:.0f} s, {len(self.found)} findings",
                    flush=True,
                )
        self._listen()
        seconds = time.monotonic() - started
        print(f"{self._done():,} executions in {seconds:.0f} s, {len(self.found)} findings")
        for key, first in self.found.items():
            print(f"  {self.times[key]:>6} x {key}, first in case {first['case']}: {first['message']!r}")
        print(self.tally, flush=True)
        return len(self.found)

    def _done(self) -> int:
        counts = [
            struct.unpack_from("q", self.counter, 8 * slot)[0] for slot in range(self.arguments.processes)
        ]
        return min(min(counts), self.arguments.executions)

    def _start(self, slot: int, first: int) -> int:
        process = os.fork()
        if process:
            return process
        try:
            _work(self.arguments, first, self.counter, slot, self.write, self.inputs)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def _listen(self) -> None:
        while True:
            try:
                data = os.read(self.read, 1 << 16)
            except BlockingIOError:
                break
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                told = json.loads(line)
                if "ends" in told:
                    self.tally.merge(**told)
                else:
                    self._note(told)

    def _note(self, found: dict[str, Any]) -> None:
        key = found["key"]
        self.times[key] = self.times.get(key, 0) + 1
        if key in self.found:
            return
        self.found[key] = found
        print(f"case {found['case']}: {key}: {found['message']!r}", flush=True)
        if self.arguments.save:
            folder = Path(self.arguments.save)
            folder.mkdir(parents=True, exist_ok=True)
            source, _ = self.inputs.case(self.arguments.seed, found["case"])
            if isinstance(source, Path):
                source = next(source.iterdir()) if source.is_dir() else source
                data, ending = source.read_bytes(), "".join(source.suffixes)
            else:
                data, ending = source if isinstance(source, bytes) else source.SerializeToString(), ".pb"
            (folder / f"{self.arguments.seed}-{found['case']}{ending}").write_bytes(data)


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the number of findings."""
    parser = command_line("tests.fuzz.graph_defs", str(__doc__))
    return run(parser.parse_args(argv), GRAPH_DEFS)


def command_line(module: str, text: str) -> argparse.ArgumentParser:
    """The options of a module that runs a campaign."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=text.split("\n")[0])
    parser.add_argument("--executions", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT, help="seconds of processor time for one case"
    )
    parser.add_argument("--seconds", type=float, default=0, help="end after so long, however far it got")
    parser.add_argument("--save", metavar="FOLDER", help="where the first graph of each finding is written")
    parser.add_argument("--case", type=int, help="run this case only, without limits")
    return parser


def run(arguments: argparse.Namespace, inputs: Inputs) -> int:
    """A campaign, or one case of it; returns the number of findings, at most 100."""
    if arguments.case is not None:
        source, random = inputs.case(arguments.seed, arguments.case)
        print(str(source)[:3000])
        print("; ".join(inputs.attempt(source, random)))
        return 0
    return min(Campaign(arguments, inputs).run(), 100)


if __name__ == "__main__":
    sys.exit(main())
