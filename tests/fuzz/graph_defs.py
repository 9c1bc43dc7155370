"""Hostile GraphDefs against reading, placing and importing: an error of TensorFlow's classes, or an answer.

    python -m tests.fuzz.graph_defs --executions 100000 [--processes 2] [--seed 0] [--save FOLDER]
    python -m tests.fuzz.graph_defs --seed 0 --case 4711      # one case again, with its traceback

Each execution reads, places and imports one damaged graph (see `mutations`), under a time limit, in a process whose
memory is limited. What is not an answer or an allowed error is a finding; findings are told apart by the error's class
and the line that raised it. The exit code is the number of findings, at most 100.
"""

from __future__ import annotations

import argparse
import functools
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

import gpuplace as tf
from gpuplace.errors import OpError
from gpuplace.graphdef.load import load_graph_def
from tests.fuzz.mutations import mutant
from tests.oracle.corner_graphs import GRAPHS
from tests.oracle.node_specs import graph_def

DATA = Path(__file__).parent.parent / "data" / "graph_defs"
TIME_LIMIT = 5.0
"""Seconds of processor time for one case; the largest has a million entries."""
STALL_LIMIT = 60.0
"""Seconds without a new case after which a process is ended: something in C does not return."""
MEMORY_LIMIT = 2 << 30
"""Bytes of address space beyond what the process has after its imports."""


class TooSlow(BaseException):
    """A case took longer than its limit."""


@functools.cache
def seeds() -> tuple[bytes, ...]:
    """The recorded GraphDefs and the corner graphs."""
    return (*(path.read_bytes() for path in sorted(DATA.glob("*.pb"))), *map(graph_def, GRAPHS.values()))


def case(seed: int, number: int) -> tuple[Any, Random]:
    """The input of one case, and what its further choices come from."""
    random = Random(f"{seed}:{number}")
    return mutant(seeds(), random), random


def attempt(source: Any, random: Random) -> None:
    """Reads, places and imports one graph.

    Raises:
        Whatever is neither an error that such a graph may cause nor an answer.
    """
    try:
        message = load_graph_def(source)
    except OpError as error:
        str(error)
        return
    release = random.choice(("1.0", "1.15", "2.21", "2.21"))
    config = tf.ConfigProto(allow_soft_placement=random.random() < 0.5)
    machine = random.choice(("cpu", "1x V100", "2x Tesla K40c"))
    try:
        placement = tf.place(message, machine, config, release, on_error=random.choice(("raise", "keep")))
    except OpError as error:
        str(error)
    else:
        look_at(placement, random)
    tf.set_release("2.21" if release == "2.21" else "1.15")
    try:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(message, name=random.choice((None, "", "x")))
            graph.as_graph_def()
    except OpError as error:
        str(error)
    except ValueError as error:
        if type(error) is not ValueError:
            raise


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


def run_case(seed: int, number: int, limit: float = TIME_LIMIT) -> dict[str, str] | None:
    """One case under its time limit; None where nothing was found."""
    source, random = case(seed, number)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        attempt(source, random)
    except (Exception, TooSlow) as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        return finding(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def _alarm(signum: int, frame: Any) -> None:
    raise TooSlow("time limit")


def limit_memory(extra: int = MEMORY_LIMIT) -> None:
    """Limits this process's address space to what it has and `extra` bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + extra
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _work(arguments: argparse.Namespace, first: int, counter: mmap.mmap, slot: int, pipe: int) -> None:
    """Runs every `processes`-th case; the counter says which one is under way."""
    signal.signal(signal.SIGPROF, _alarm)
    limit_memory()
    for number in range(first, arguments.executions, arguments.processes):
        struct.pack_into("q", counter, 8 * slot, number)
        found = run_case(arguments.seed, number, arguments.time_limit)
        if found is not None:
            os.write(pipe, (json.dumps({"case": number, **found}) + "\n").encode())
    struct.pack_into("q", counter, 8 * slot, arguments.executions + slot)


class Campaign:
    """Processes that share the cases, and what they found."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.counter = mmap.mmap(-1, 8 * arguments.processes)
        self.found: dict[str, dict[str, Any]] = {}
        self.times: dict[str, int] = {}
        self.read, self.write = os.pipe()
        os.set_blocking(self.read, False)
        self.rest = b""

    def run(self) -> int:
        """Runs all cases; returns how many findings there are."""
        started = time.monotonic()
        seeds()
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
            if now - told > 30:
                told = now
                print(
                    f"{self._done():,} executions, {now - started:.0f} s, {len(self.found)} findings",
                    flush=True,
                )
        self._listen()
        seconds = time.monotonic() - started
        print(f"{self.arguments.executions:,} executions in {seconds:.0f} s, {len(self.found)} findings")
        for key, first in self.found.items():
            print(f"  {self.times[key]:>6} x {key}, first in case {first['case']}: {first['message']!r}")
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
            _work(self.arguments, first, self.counter, slot, self.write)
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
                self._note(json.loads(line))

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
            source, _ = case(self.arguments.seed, found["case"])
            data = source if isinstance(source, bytes) else source.SerializeToString()
            (folder / f"{self.arguments.seed}-{found['case']}.pb").write_bytes(data)


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the number of findings."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.graph_defs", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--executions", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT, help="seconds of processor time for one case"
    )
    parser.add_argument("--save", metavar="FOLDER", help="where the first graph of each finding is written")
    parser.add_argument("--case", type=int, help="run this case only, without limits")
    arguments = parser.parse_args(argv)
    if arguments.case is not None:
        source, random = case(arguments.seed, arguments.case)
        print(str(source)[:3000])
        attempt(source, random)
        print("nothing found")
        return 0
    return min(Campaign(arguments).run(), 100)


if __name__ == "__main__":
    sys.exit(main())
