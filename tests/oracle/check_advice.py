"""Asks TensorFlow whether what `gpuplace.advise` promises is so: every node on the promised device.

    python -m tests.oracle.check_advice nets   --python TENSORFLOW_PYTHON [--gpus 4]... [--kind NAME]... [--net NAME]...
    python -m tests.oracle.check_advice run    [--gpus 2]... [--net NAME]...
    python -m tests.oracle.check_advice corpus --python TENSORFLOW_PYTHON
    python -m tests.oracle.check_advice files  --python TENSORFLOW_PYTHON GRAPH...
    python -m tests.oracle.check_advice random --python TENSORFLOW_PYTHON [--count 300] [--seed 1]

`nets` are the benchmark's: the graph that the advice writes is placed by TensorFlow's C++ placer; and the program is
built anew within the Python that the advice gives, by gpuplace and by TensorFlow, and placed again. `run` runs smaller
ones on simulated GPUs and compares the allocators' peaks with what was predicted. `corpus` are the graphs that two
releases of TensorFlow wrote, `random` random ones with functions, explicit devices and colocations. With
``--release 1.15`` the interpreter is Python 3.7 with TensorFlow 1.15.5; `nets` takes ``--writer``, another
interpreter with TensorFlow that builds the programs. Prints each node that is elsewhere, and the totals; exits with 1
if there was any.
"""

from __future__ import annotations

import argparse
import base64
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gpuplace as tf
from gpuplace.advisor.steps.advice import Advice
from gpuplace.errors import OpError
from gpuplace.graphdef.messages import GraphDef
from tests.benchmarks.advised_nets import ADVISED, build
from tests.benchmarks.bench_advice import KINDS, machines
from tests.oracle import tensorflow_placer, tensorflow_placer_1_15
from tests.oracle.random_functions import random_functions
from tests.oracle.tensorflow_placer_1_15 import Oracle
from tests.placer.corpus_files import CASES, FUNCTION_CASES, folder
from tests.support.advised_programs import build_as_advised, comparable_nodes, is_part
from tests.support.node_specs import graph_def
from tests.support.random_graphs import RandomGraph, usable_ops

OBJECTIVES = ("step_time", "throughput", "memory")
_SHOWN = 4


@dataclass
class Check:
    """What asks, and what was found so far."""

    arguments: argparse.Namespace
    totals: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.release = self.arguments.release
        script = tensorflow_placer_1_15 if self.release == "1.15" else tensorflow_placer
        self.oracle = Oracle(self.arguments.python, script.__file__) if self.arguments.python else None
        writer = self.arguments.writer or self.arguments.python
        is_needed = self.arguments.what == "nets" and writer
        self.writer = Oracle(writer, str(Path(__file__).with_name("write_advised.py"))) if is_needed else None

    def advise(self, graph: Any, machine: str, fetches: Any = None, **options: Any) -> Advice:
        """Advice in the time that the options give; what else is asked for changes with the graph."""
        arguments = self.arguments
        return tf.advise(
            graph,
            fetches,
            machine=machine,
            config=tf.ConfigProto(allow_soft_placement=options.pop("soft", True)),
            seconds=arguments.seconds,
            steps=arguments.steps,
            release=self.release,
            **options,
        )

    def ask(self, message: Any, advice: Advice) -> Any:
        """Where TensorFlow's placer puts the nodes of a graph on the machine of an advice."""
        assert self.oracle is not None
        names = list(advice.placement.device_set.names)
        data = message if isinstance(message, bytes) else message.SerializeToString()
        return self.oracle.ask(data, names, bool(advice.placement.soft))

    def compare(self, what: str, promised: Mapping[str, str], found: Any) -> None:
        """Counts and prints the nodes that are elsewhere."""
        if not isinstance(found, dict):
            self.totals[f"{what}: errors"] += 1
            print(f"    {what}: {found}", flush=True)
            return
        odd = [
            (name, promised.get(name, "-"), found.get(name, "-"))
            for name in {**promised, **found}
            if _short(promised.get(name)) != _short(found.get(name))
            and not (is_part(name) and name not in promised)
        ]
        self.totals[f"{what}: nodes"] += len(found)
        if odd:
            self.totals[f"{what}: elsewhere"] += len(odd)
            for name, wanted, got in odd[:_SHOWN]:
                print(f"    {what}: {name} promised {wanted}, is on {got}", flush=True)

    def has_failed(self) -> bool:
        """Whether anything is not as promised."""
        return any(count and name.endswith(("elsewhere", "errors")) for name, count in self.totals.items())

    def close(self) -> None:
        """Ends the oracles."""
        for one in (self.oracle, self.writer):
            if one is not None:
                one.close()


def _short(device: str | None) -> str:
    """``GPU:0``; 1.15's oracle has a CPU of its own job, which comes first."""
    return (device or "").rpartition("device:")[2]


def check_nets(check: Check) -> None:
    """Every net on every machine: the written graph, and the program within the advised Python."""
    arguments = check.arguments
    kinds, counts = arguments.kind or [*KINDS, "mixed"], arguments.gpus or [2, 4, 8]
    for gpus, machine in machines(kinds, counts):
        for net in arguments.net or ADVISED:
            with tf.Graph().as_default() as graph:
                step = build(tf, net, gpus, arguments.small)
            advice = check.advise(graph, machine, step, objective=arguments.objective or "step_time")
            python = advice.as_python()
            print(f"{net} | {machine} | {len(advice._rules)} rules | {advice.text}", flush=True)
            check.totals["with a gain"] += advice.has_gain
            if check.oracle is not None:
                check.compare("graph", advice.placement, check.ask(advice.graph_def(), advice))
            check_python(check, advice, partial(build, tf, net, gpus, arguments.small))
            if check.writer is not None:
                request = {"net": net, "gpus": gpus, "is_small": arguments.small, "python": python}
                data = base64.b64decode(check.writer.answer(request))
                check_written(check, advice, GraphDef.FromString(data))


def check_python(check: Check, advice: Advice, build_program: Callable[[], Any]) -> None:
    """The program built by gpuplace within the advised Python is placed as promised."""
    with tf.Graph().as_default() as graph:
        build_as_advised(tf, advice.as_python(), build_program)
    config = tf.ConfigProto(allow_soft_placement=bool(advice.placement.soft))
    placed = tf.place(graph, advice.placement.device_set, config, check.release)
    promised = comparable_nodes(advice.graph_def(), advice.placement)
    check.compare("Python", promised, comparable_nodes(graph.as_graph_def(), placed))


def check_written(check: Check, advice: Advice, message: Any) -> None:
    """The program built by TensorFlow within the advised Python is placed by TensorFlow as promised.

    TensorFlow 2.21 builds some ops of other parts than 1.15 and gpuplace do; what both have is compared.
    """
    placed = check.ask(message, advice)
    if not isinstance(placed, dict):
        check.compare("TensorFlow's program", {}, placed)
        return
    promised = comparable_nodes(advice.graph_def(), advice.placement)
    found = comparable_nodes(message, placed)
    shared = promised.keys() & found.keys()
    check.totals["TensorFlow's program: nodes that only one has"] += len(promised.keys() ^ found.keys())
    check.compare(
        "TensorFlow's program",
        {name: promised[name] for name in shared},
        {name: found[name] for name in shared},
    )


def check_runs(check: Check) -> None:
    """Smaller nets are run on simulated GPUs: nothing runs out, and the peaks are those predicted."""
    arguments = check.arguments
    kinds, counts = arguments.kind or [*KINDS, "mixed"], arguments.gpus or [2, 4, 8]
    for gpus, machine in machines(kinds, counts):
        for net in arguments.net or ADVISED:
            with tf.Graph().as_default() as graph:
                step = build(tf, net, gpus, True)
            advice = check.advise(graph, machine, step, objective=arguments.objective or "step_time")
            begin = time.perf_counter()
            tf.reset_runtime()
            tf.use_machine(machine)
            predicted, shown = peaks(advice, step.name)
            took = time.perf_counter() - begin
            odd = {name: (predicted[name], peak) for name, peak in shown.items() if predicted[name] != peak}
            check.totals["run"] += 1
            check.totals["peaks"] += len(shown)
            check.totals["peaks elsewhere"] += len(odd)
            print(
                f"{net} | {machine} | {took:.1f} s | {sum(shown.values()) / 2**20:.1f} MiB | {odd}",
                flush=True,
            )


def peaks(advice: Advice, step: str) -> tuple[dict[str, float], dict[str, int]]:
    """Most bytes in use by device: predicted of the step, and seen when variables are initialized and it is run."""
    machine = advice.placement.device_set
    config = tf.ConfigProto(allow_soft_placement=True, inter_op_parallelism_threads=1)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(advice.graph_def(), name="")
        begins = [op for op in graph.get_operations() if op.type == "Assign" and _is_initial(op)]
        # an estimate begins with initialized variables: one of `begins` would count them twice
        run = graph.get_operation_by_name(step)
        predicted = tf.estimate(graph, run, machine=machine, config=config).peak_memory
        with tf.Session(config=config) as session:
            session.run(begins)
            session.run(step)
            shown = {name: one.stats().peak_bytes_in_use for name, one in session.allocators.items()}
    return {name: predicted.get(name, 0) for name in shown}, shown


def _is_initial(op: Any) -> bool:
    return bool(op.name == f"{op.inputs[0].op.name}/Assign")


def check_corpus(check: Check) -> None:
    """The graphs that TensorFlow wrote, on two machines and for two objectives each."""
    for kind, cases in (("corpus", CASES), ("functions", FUNCTION_CASES)):
        for number, (writer, rules, name) in enumerate(cases):
            if rules != check.release:
                continue
            model = folder(kind, writer) / name
            path = model if model.is_dir() else model.with_name(f"{name}.pb")
            check_graph(check, f"{writer} {name}", path, number)


def check_files(check: Check) -> None:
    """Graphs that the options name."""
    for number, path in enumerate(check.arguments.graphs):
        check_graph(check, path, Path(path), number)


def check_random(check: Check) -> None:
    """Random graphs, half of them with functions."""
    ops = usable_ops(check.release)
    for number in range(check.arguments.first, check.arguments.first + check.arguments.count):
        rng = random.Random(f"advice:{check.arguments.seed}:{number}")
        if number % 2:
            message, is_recursive = random_functions(rng, ops, check.release, rng.randint(1, 12))
            if is_recursive:  # TensorFlow may write such functions out without end
                continue
        else:
            message = GraphDef.FromString(graph_def(RandomGraph(rng, ops).grow(rng.randint(2, 30))))
        check_graph(check, f"seed {check.arguments.seed}:{number}", message, number)


MACHINES = ("2x V100", "1x V100, 1x K80", "4x P100", "3x GTX 1050")


def check_graph(check: Check, title: str, graph: Any, number: int) -> None:
    """One graph, on a machine and for an objective that change with its number."""
    machine, soft = MACHINES[number % len(MACHINES)], number % 5 != 0
    objective = check.arguments.objective or OBJECTIVES[number // 2 % len(OBJECTIVES)]
    check.totals["graphs"] += 1
    try:
        advice = check.advise(graph, machine, soft=soft, objective=objective)
    except OpError as error:
        check.totals["refused"] += 1
        check.totals[f"because: {type(error).__name__}: {_kind(error.message)}"] += 1
        return
    except Exception:
        print(f"--- {title} on {machine}, soft={soft}, {objective}", flush=True)
        if not check.arguments.go_on:
            raise
        check.totals["errors of another class"] += 1
        traceback.print_exc(limit=-8)
        return
    check.totals["with a gain"] += advice.has_gain
    before = check.totals.copy()
    try:
        written = advice.graph_def()
        answer = check.ask(written, advice)
    except OpError as error:
        written, answer = None, (type(error).__name__, error.message)
    if advice.placement.errors:
        check.totals["placed with errors"] += 1
    if "XLA_CPU" in str(answer):
        check.totals["skipped, on XLA_CPU"] += 1
        return
    check.compare("graph", advice.placement, answer)
    if check.totals["graph: elsewhere"] + check.totals["graph: errors"] > (
        before["graph: elsewhere"] + before["graph: errors"]
    ):
        print(f"--- {title} on {machine}, soft={soft}, {objective}: {advice.text}", flush=True)


def _kind(message: str) -> str:
    return re.sub(r"'[^']*'|\b(n|Func|f)[0-9/]\S*|\[.*|\{.*|/job:\S*", "*", message.split("\n")[0])[:80]


WHATS: Mapping[str, Callable[[Check], None]] = {
    "nets": check_nets,
    "run": check_runs,
    "corpus": check_corpus,
    "files": check_files,
    "random": check_random,
}


def main() -> int:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=WHATS)
    parser.add_argument("graphs", nargs="*", help="of `files`")
    parser.add_argument("--python", help="interpreter with TensorFlow whose placer is asked")
    parser.add_argument(
        "--writer", help="interpreter with TensorFlow that builds the nets; --python's if not given"
    )
    parser.add_argument("--release", choices=("1.15", "2.21"), default="2.21")
    parser.add_argument("--objective", choices=OBJECTIVES)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each search")
    parser.add_argument("--steps", type=int, help="choices that each search tries, in place of a time")
    parser.add_argument("--gpus", type=int, action="append", choices=[2, 4, 8])
    parser.add_argument("--kind", action="append", choices=[*KINDS, "mixed"])
    parser.add_argument("--net", action="append", choices=list(ADVISED))
    parser.add_argument("--small", action="store_true", help="the nets with smaller batches and layers")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--go-on", action="store_true", help="after errors that are no OpError")
    check = Check(parser.parse_args())
    try:
        WHATS[check.arguments.what](check)
    finally:
        check.close()
    for name, count in sorted(check.totals.items()):
        print(f"{count:8,} {name}")
    return 1 if check.has_failed() else 0


if __name__ == "__main__":
    sys.exit(main())
