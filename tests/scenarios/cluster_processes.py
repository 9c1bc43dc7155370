"""The tasks of a program as processes of their own, forked from one that has everything loaded.

What a task does is what ``gpuplace run`` does; beside it, the process notes the graphs and where its sessions put them.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuplace.cli.main import main
from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.errors import OpError
from gpuplace.graph.graph import Graph
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.from_graph import placement_graph_of
from gpuplace.runtime.session.session import Session
from gpuplace.why.place import place_graph
from tests.clusters.running import addresses
from tests.ops.test_graphs_as_tensorflow import rows
from tests.scenarios.cluster_tasks import SCRIPTS, Tasks

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [__name__, "distributed", "gpuplace.clusters.master", "gpuplace.tf1.training.monitored_session"]
)


def run_task(script: str, arguments: list[str], devices: list[str], output: str) -> None:
    """Runs one task in this process; writes what it prints, its graphs and where nodes went to files.

    Args:
        script: path of the program.
        arguments: of its command line.
        devices: those of its sessions, to place its graphs on as 2.21 does.
        output: what the paths of the files begin with.
    """
    for number, end in ((1, "out"), (2, "err")):
        with open(f"{output}.{end}", "wb") as stream:
            os.dup2(stream.fileno(), number)
    graphs: list[Graph] = []
    placed: set[tuple[str, str]] = set()
    sessions: list[Session] = []
    make, begin, close = Graph.__init__, Session.__init__, Session.close

    def remember(self: Graph, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        if type(self) is Graph and threading.current_thread() is threading.main_thread():  # the program's own
            graphs.append(self)

    def keep(self: Session, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        sessions.append(self)

    def note(self: Session) -> None:
        with contextlib.suppress(RuntimeError, OpError):  # it is closed already, or cannot be placed
            placed.update(self.placement.items())

    def note_and_close(self: Session) -> None:
        note(self)
        close(self)

    Graph.__init__, Session.__init__, Session.close = remember, keep, note_and_close  # type: ignore[method-assign]
    code = main(["run", script, *arguments])
    sys.stdout.flush()
    for session in sessions:
        note(session)
    graphs = [graph for graph in graphs if graph.get_operations()]
    found = {
        "code": code,
        "graphs": [rows(graph) for graph in graphs],
        "placed": sorted(placed),
        "placements": [[placed_as_2_21(graph, devices, soft) for graph in graphs] for soft in (False, True)],
    }
    Path(f"{output}.json").write_text(json.dumps(found))


def placed_as_2_21(graph: Graph, devices: list[str], soft: bool) -> Any:
    """Node -> device by the rules of 2.21, or the error's class and first sentence."""
    catalogue = default_catalogue("2.21")
    device_set = DeviceSet([DeviceAttributes(device) for device in devices])
    try:
        return dict(
            place_graph(placement_graph_of(graph, catalogue), device_set, catalogue, soft=soft, rules="2.21")
        )
    except OpError as error:
        return [type(error).__name__, error.message.split("\n")[0].strip()]


@contextlib.contextmanager
def running(name: str, tasks: Tasks, folder: Path, limit_s: float) -> Iterator[dict[str, dict[str, Any]]]:
    """What became of the tasks of a program that end, by ``job:number``; the others are ended after the block.

    Args:
        name: of the program.
        tasks: its tasks.
        folder: an empty one.
        limit_s: seconds in which it has to end.
    """
    script = str(SCRIPTS / f"{tasks.script or name}.py")
    hosts = json.dumps(addresses(**tasks.jobs))
    processes = {}
    try:
        for job, index in tasks.started:
            arguments = [f"--job_name={job}", f"--task_index={index}", f"--hosts={hosts}"]
            task = f"{job}:{index}"
            processes[task] = _FORKS.Process(
                target=run_task, args=(script, arguments, tasks.devices(task), str(folder / task))
            )
            processes[task].start()
        found = {}
        for task in tasks.ending:
            processes[task].join(limit_s)
            said = (folder / f"{task}.err").read_text()
            assert processes[task].exitcode == 0, f"{task}: {processes[task].exitcode}\n{said}"
            found[task] = json.loads((folder / f"{task}.json").read_text())
            assert not found[task]["code"], f"{task}:\n{said}"
            found[task]["text"] = (folder / f"{task}.out").read_text()
        yield found
    finally:
        for process in processes.values():
            process.kill()
            process.join()
            process.close()
