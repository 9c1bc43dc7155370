"""`gpuplace.advise` beside TensorFlow's default and the placers of the literature, on twelve nets and many machines.

    python -m tests.benchmarks.bench_advice [--seconds 10] [--seed 0] [--gpus 4]... [--kind NAME]... [--net NAME]...
        [--clock wall|cpu] [--labels]

All place the same step in numbers. The others place it twice: with what was made for an op's gradient beside the op, as
Baechi does, and kernel by kernel, as the advisor may; the better counts. Every placement is then made by the placer and
predicted by the estimate, which also says what does not fit into a GPU's memory. Milliseconds; in the last columns what
no placement is below, and that and the advice as parts of the best of all others.

`--clock cpu` counts the seconds that the search would have taken on two idle cores, for machines that others use too:
those of its own thread, and half of those of its two chains.

`--labels` shows what it spares to exchange identical devices: the advice of a search that does not, and the same choice
after it, as nodes of the graph that move, moves, and characters of Python. The columns after that are the time of the
step as a part of the first, and the fewest nodes that move by any labels by which it takes no longer. Only choices that
get other labels are compared. The last line counts them, the rows where something grew, and those where other labels
move fewer nodes.
"""

from __future__ import annotations

import argparse
import math
import threading
import time
from collections import Counter
from itertools import islice
from unittest import mock

import numpy as np

import gpuplace as tf
from gpuplace.advisor.bounds import step_bound
from gpuplace.advisor.chains import SearchContext
from gpuplace.advisor.split_search import CHAINS
from gpuplace.advisor.steps import searched_choice, step_search
from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.device_labels import device_kinds, homes_of_units, labellings
from gpuplace.advisor.steps.placed_choice import place_choice
from gpuplace.advisor.steps.step_problem import levels_of, step_problem
from tests.benchmarks.advised_nets import ADVISED, build
from tests.benchmarks.rivals import RIVALS

_LABELLINGS = 50
"""How many labellings are estimated at the most, of those that would move fewer nodes."""
KINDS = ("Tesla K80", "Tesla P100-SXM2", "Tesla V100-SXM2-16GB")
MIXED = {
    2: "1x V100, 1x P100",
    4: "2x V100, 2x P100",
    8: "4x V100, 4x P100",
}
"""GPUs -> a machine of two kinds."""


def cpu_clock() -> None:
    """Lets the search's clock be that of two idle cores."""
    wall = time.perf_counter

    def clock() -> float:
        if threading.current_thread() is not threading.main_thread():
            return wall()
        own = time.thread_time()
        return own + (time.process_time() - own) / CHAINS

    time.perf_counter = clock


def machines(kinds: list[str], counts: list[int]) -> list[tuple[int, str]]:
    """(GPUs, machine) of all that are to be tried."""
    found = [(count, f"{count}x {kind}") for kind in kinds if kind != "mixed" for count in counts]
    return found + [(count, MIXED[count]) for count in counts if "mixed" in kinds]


def moved_nodes(advice: Advice) -> int:
    """Nodes of the graph that an advice moves."""
    return int(np.count_nonzero(advice.placement.devices != advice._case.original.devices))


def fewest_moved(advice: Advice) -> int:
    """The fewest nodes that move by labels of equal devices and links by which the step takes no longer."""
    case, scorer = advice._case, advice._case.scorer
    devices = len(case.original.device_set)
    before, after = case.original.devices, advice.placement.devices
    stays = np.zeros((devices, devices))
    np.add.at(stays, (after[before >= 0], before[before >= 0]), 1.0)
    choice = advice._choice.device_of
    everything = np.where(choice < 0, homes_of_units(scorer), choice)
    fewest = moved_nodes(advice)
    for labels in islice(labellings(stays, device_kinds(scorer), scorer.step.machinery), _LABELLINGS):
        if len(before) - stays[np.arange(devices), labels].sum() >= fewest:
            break
        other = Advice(
            case, place_choice(case, np.where(everything < 0, -1, labels[everything])), "step_time", 0.0
        )
        if other.value <= advice.value * (1 + 1e-9):
            fewest = min(fewest, moved_nodes(other))
    return fewest


def labelled(net: str, gpus: int, machine: str, seconds: float, seed: int) -> tuple[Advice, Advice, bool]:
    """The advice of a search that exchanges no devices, the same choice with other labels, and whether any differ."""
    with tf.Graph().as_default() as graph:
        step = build(tf, net, gpus)
    config = tf.ConfigProto(allow_soft_placement=True)

    def same(_rehearsal: object, device_of: np.ndarray, *_: object) -> np.ndarray:
        return device_of

    with (
        mock.patch.object(step_search, "relabeled", same),
        mock.patch.object(searched_choice, "relabeled", same),
    ):
        before = tf.advise(graph, step, machine=machine, config=config, seconds=seconds, seed=seed)
    case, own = before._case, before._choice.device_of
    chosen = searched_choice.with_other_labels(case, own, before.value, time.perf_counter() + seconds)
    differs = not np.array_equal(
        case.scorer.requested_homes(chosen.device_of)[case.in_step],
        case.scorer.requested_homes(own)[case.in_step],
    )
    return before, Advice(case, chosen, "step_time", 0.0), differs


def show_labels(cells: list[tuple[str, int, str]], seconds: float, seed: int) -> None:
    """Prints what it spares to exchange identical devices."""
    print("| net | machine | moved nodes | moves | Python | time | fewest moved nodes | |")
    print("|---" * 8 + "|")
    found: Counter[str] = Counter()
    compared = 0
    for net, gpus, machine in cells:
        before, after, differs = labelled(net, gpus, machine, seconds, seed)
        pairs = [
            (moved_nodes(before), moved_nodes(after)),
            (len(before.moves), len(after.moves)),
            (len(before.as_python()), len(after.as_python())),
        ]
        fewest = fewest_moved(after)
        compared += differs
        remarks = [] if differs else ["the same labels"]
        remarks += [
            f"more {what}"
            for what, (old, new) in zip(("nodes", "moves", "Python"), pairs, strict=True)
            if new > old
        ]
        remarks += ["other labels move fewer"] * (fewest < pairs[0][1])
        found.update(remarks)
        columns = [f"{old:,} to {new:,}" for old, new in pairs]
        columns += [f"{after.value / before.value:.4f}", f"{fewest:,}", ", ".join(remarks)]
        print(f"| {net} | {machine} | {' | '.join(columns)} |", flush=True)
    grown = ", ".join(f"{what}: {count}" for what, count in found.items()) or "none grew"
    print(f"{len(cells)} cells, {compared} with other labels: {grown}")


def tried(
    net: str, gpus: int, machine: str, seconds: float, seed: int
) -> tuple[dict[str, float], float, float]:
    """Seconds of a step by who placed it, infinite where it does not fit; the bound; and the seconds of the advice."""
    with tf.Graph().as_default() as graph:
        step = build(tf, net, gpus)
    config = tf.ConfigProto(allow_soft_placement=True)
    begin = time.perf_counter()
    advice = tf.advise(graph, step, machine=machine, config=config, seconds=seconds, seed=seed)
    took = time.perf_counter() - begin
    found = {"default": advice.before}
    case = advice._case
    made = step_problem(case.scorer)
    for name, placed in RIVALS.items():
        found[name] = math.inf
        for problem in levels_of(case.scorer, made)[-2:]:
            devices = np.array(placed(problem), dtype=np.int64)
            score = place_choice(case, made.units_of(case.scorer, devices)).score
            found[name] = min(found[name], math.inf if score.missing else score.step_time)
    found["ours"] = advice.value if advice.fits else math.inf
    context = SearchContext(made.problem, "step_time", True)
    bound = step_bound(made.problem, context.step, context.bounds, context.in_lists)
    return found, max(bound, advice.bound), took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--gpus", type=int, action="append", choices=[2, 4, 8])
    parser.add_argument("--kind", action="append", choices=[*KINDS, "mixed"])
    parser.add_argument("--net", action="append", choices=list(ADVISED))
    parser.add_argument("--labels", action="store_true", help="what exchanging identical devices spares")
    arguments = parser.parse_args()
    if arguments.clock == "cpu":
        cpu_clock()
    cells = [
        (net, gpus, machine)
        for gpus, machine in machines(arguments.kind or [*KINDS, "mixed"], arguments.gpus or [2, 4, 8])
        for net in arguments.net or ADVISED
    ]
    if arguments.labels:
        show_labels(cells, arguments.seconds, arguments.seed)
        return
    names = ["default", *RIVALS, "ours"]
    print("| net | machine | " + " | ".join(names) + " | bound | seconds | bound of the best | of the best |")
    print("|---" * (len(names) + 6) + "|")
    ratios: list[float] = []
    bounds: list[float] = []
    above = 0
    for net, gpus, machine in cells:
        found, bound, took = tried(net, gpus, machine, arguments.seconds, arguments.seed)
        best = min(value for name, value in found.items() if name != "ours")
        ratio = found["ours"] / best if best < math.inf else 0.0
        above += ratio > 1 + 1e-9
        if ratio:
            ratios.append(ratio)
            bounds.append(bound / best)
        times = " | ".join(_milliseconds(found[name]) for name in names)
        shown = f"{bound / best:.3f} | {ratio:.3f}" if ratio else "- | alone"
        print(f"| {net} | {machine} | {times} | {bound * 1e3:.1f} | {took:.1f} | {shown} |", flush=True)
    print(
        f"{len(ratios)} compared: geometric mean {_mean(ratios):.3f} of the best of the others, of the bounds "
        f"{_mean(bounds):.3f}; above it {above} times"
    )


def _mean(parts: list[float]) -> float:
    return math.exp(sum(map(math.log, parts)) / len(parts)) if parts else math.nan


def _milliseconds(seconds: float) -> str:
    return "no room" if math.isinf(seconds) else f"{seconds * 1e3:.1f}"


if __name__ == "__main__":
    main()
