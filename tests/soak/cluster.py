"""A training on a cluster, in which a process is killed at a random moment, again and again.

    python -m tests.soak.cluster --kills 100 --seed 1

Each run is a training of its own, with a parameter server, a chief and a second worker, synchronous or not, or with
two workers of a dask cluster; the process that is killed (SIGKILL) is started again a moment later. A run has to end
with the right number of steps, each applied once, or with a clear error; nothing may hang, and no process or port may
be left. The table at the end says what became of all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tests.clusters.running import addresses
from tests.soak import cluster_task
from tests.soak.cluster_task import Training

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.soak.cluster_task", "distributed", "gpuplace.clusters.master"])
LOOK_S = 0.02
LIMIT_S = 60.0
"""Seconds after which a run hangs; those in which this or one of its processes is stopped do not count."""
ENDING_S = 5.0
"""Seconds that the other processes have after the chief's end."""
SERVERS = ("ps-0", "worker-0", "worker-1")
ON_DASK = ("scheduler-0", "dask-0", "dask-1", "client-0")


class Run(NamedTuple):
    """One training with a kill."""

    kind: str
    """synchronous, asynchronous or dask."""
    victim: str
    """The process that is killed."""
    after_s: float
    """When, after the start."""
    away_s: float
    """How long until it is started again."""
    has_filters: bool
    """Whether workers do not see each other."""
    steps: int
    """How many there should be."""


def runs(kills: int, seed: int, kinds: tuple[str, ...], steps: int = 60) -> list[Run]:
    """Random ones, the same for a seed."""
    chance = random.Random(seed)
    made = []
    for number in range(kills):
        kind = kinds[number % len(kinds)]
        victims = ON_DASK if kind == "dask" else SERVERS
        made.append(
            Run(
                kind,
                chance.choice(victims),
                chance.uniform(0.0, 2.5),
                chance.uniform(0.1, 1.0),
                chance.random() < 0.5,
                steps,
            )
        )
    return made


class Outcome(NamedTuple):
    """What became of a run."""

    text: str
    """In a few words."""
    is_right: bool
    """Whether that is as it should be."""
    was_killed: bool
    """Whether the victim was still there when its time came."""


class _Processes:
    """The processes of a run."""

    def __init__(self, training: Training, names: tuple[str, ...]) -> None:
        self._training = training
        self.alive: dict[str, Any] = {}
        self.codes: dict[str, list[int]] = {name: [] for name in names}
        for name in names:
            self.start(name)

    def start(self, name: str) -> None:
        """Starts one."""
        kind, _, index = name.partition("-")
        calls: dict[str, tuple[Any, tuple[Any, ...]]] = {
            "scheduler": (cluster_task.scheduler, ()),
            "dask": (cluster_task.dask_worker, (int(index),)),
            "client": (cluster_task.client, ()),
        }
        call, arguments = calls.get(kind, (cluster_task.task, (kind, int(index))))
        self.alive[name] = _FORKS.Process(target=call, args=(self._training, *arguments))
        self.alive[name].start()

    def ended(self, name: str) -> bool:
        """Whether one has ended."""
        process = self.alive.get(name)
        if process is None or process.exitcode is None:
            return process is None
        self._forget(name)
        return True

    def kill(self, name: str) -> bool:
        """Kills one; whether it was there."""
        process = self.alive.get(name)
        if process is None or process.exitcode is not None:
            return False
        process.kill()
        self._forget(name)
        return True

    def _forget(self, name: str) -> None:
        process = self.alive.pop(name)
        process.join()
        self.codes[name].append(process.exitcode)
        process.close()

    def are_stopped(self) -> bool:
        """Whether somebody has one stopped, as who measures something else on this machine does."""
        return any(_state(process.pid) == "T" for process in self.alive.values())

    def where(self) -> None:
        """Has all write where they are."""
        for process in self.alive.values():
            if process.exitcode is None:
                os.kill(process.pid, signal.SIGUSR1)
        time.sleep(0.5)

    def close(self) -> None:
        """Kills all that are left."""
        for name in list(self.alive):
            self.alive[name].kill()
            self._forget(name)


def execute(run: Run, keep: Path | None = None) -> Outcome:
    """Does a run; keeps its folder where something is wrong."""
    folder = tempfile.mkdtemp(prefix="gpuplace-soak-")
    is_dask = run.kind == "dask"
    hosts = addresses(scheduler=1) if is_dask else addresses(ps=1, worker=2)
    if is_dask:
        hosts = {"scheduler": [hosts["scheduler"][0].replace("localhost", "127.0.0.1")]}
    pause_s = 0.02
    training = Training(hosts, folder, run.steps, run.kind == "synchronous", run.has_filters, pause_s)
    names, chief = (ON_DASK, "client-0") if is_dask else (SERVERS, "worker-0")
    processes = _Processes(training, names)
    try:
        outcome = _watch(run, processes, Path(folder), chief)
    finally:
        processes.close()
    busy = [address for job in hosts.values() for address in job if not _is_free(address)]
    if busy:
        outcome = Outcome(f"{outcome.text}; {len(busy)} ports left", False, outcome.was_killed)
    if not outcome.is_right and keep is not None:
        shutil.copytree(folder, keep, dirs_exist_ok=True)
    shutil.rmtree(folder)
    return outcome


def _watch(run: Run, processes: _Processes, folder: Path, chief: str) -> Outcome:
    """Kills when it is time, starts again what has to be, and waits for the chief's end."""
    now, was_killed, back_at = 0.0, False, -1.0
    while now < LIMIT_S:
        time.sleep(LOOK_S)
        if processes.are_stopped():
            continue
        now += LOOK_S
        if not was_killed and now >= run.after_s and back_at < 0:
            was_killed, back_at = processes.kill(run.victim), now + run.away_s
        if was_killed and back_at and now >= back_at:
            processes.start(run.victim)
            back_at = 0.0
        is_waiting = was_killed and back_at and run.victim == chief
        for name in _started_again(run):
            if not (was_killed and back_at and run.victim == name) and processes.ended(name):
                processes.start(name)
        if not is_waiting and processes.ended(chief):
            break
    else:
        processes.where()
        return Outcome("hangs", False, was_killed)
    code = processes.codes[chief][-1]
    if code:
        log = (folder / f"{chief}.log").read_text()
        said = re.findall(r"^gpuplace\.errors\.(\w+: .*)$", log, re.MULTILINE)
        return Outcome(f"error: {said[-1] if said else code}", bool(said), was_killed)
    if run.kind != "dask":
        left = ENDING_S
        while left > 0 and not processes.ended("worker-1"):
            time.sleep(LOOK_S)
            left -= LOOK_S
    return _judged(run, json.loads((folder / "result.json").read_text()), was_killed)


def _started_again(run: Run) -> tuple[str, ...]:
    """Who is started again when it has ended by itself, as long as the chief needs it for new sessions."""
    if run.kind == "dask":
        return "dask-0", "dask-1"  # they end with their scheduler
    return () if run.has_filters else ("worker-1",)


def _judged(run: Run, result: dict[str, float], was_killed: bool) -> Outcome:
    step, applied = result["step"], result["applied"]
    if run.kind == "asynchronous":  # the other worker may be in its step when the last one is done
        is_right = run.steps <= step <= run.steps + 1 and abs(applied - step) <= 1
    else:
        is_right = step == run.steps and applied == step
    text = "all steps, each once" if is_right else f"step {step:g} of {run.steps}, {applied:g} applied"
    return Outcome(text, is_right, was_killed)


def _state(process: int) -> str:
    """The letter that Linux has for what a process does; ``""`` where there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return ""


def _is_free(address: str) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(address.rpartition(":")[2])))
        except OSError:
            return False
    return True


def table(found: list[tuple[Run, Outcome]]) -> str:
    """A line for each kind, victim and outcome, with how often."""
    counts = Counter(
        (run.kind, run.victim if outcome.was_killed else f"{run.victim}, too late", outcome.text)
        for run, outcome in found
    )
    rows = [(kind, victim, str(count), text) for (kind, victim, text), count in sorted(counts.items())]
    return "\n".join("{:<13} {:<22} {:>4}  {}".format(*row) for row in rows)


def main() -> int:
    """Soaks, and says how it went."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default="synchronous,asynchronous,dask")
    parser.add_argument("--only", type=int, help="number of one run")
    parser.add_argument(
        "--keep", type=Path, help="a folder for the files of runs in which something is wrong"
    )
    options = parser.parse_args()
    found = []
    for number, run in enumerate(runs(options.kills, options.seed, tuple(options.kinds.split(",")))):
        if options.only in (None, number):
            keep = options.keep and options.keep / str(number)
            found.append((run, execute(run, keep)))
            print(number, *run, found[-1][1].text, flush=True)
    print(table(found))
    wrong = sum(not outcome.is_right for _, outcome in found)
    print(f"soak: {sum(outcome.was_killed for _, outcome in found)} kills, {wrong} runs wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
