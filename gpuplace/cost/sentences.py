"""What an estimate says in sentences: what the step waits for, how busy devices are, what fits, what is guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from gpuplace.cost.item_times import POLL_SECONDS
from gpuplace.cost.step_flow import COPY, ON_GPU

LAUNCHES = "the host's launches and executor"
"""Label of the time that the critical path spends on a thread of the host."""
_MOST = 4
_MOST_ASSUMED = 12
_WORTH_SAYING = 0.01
"""Parts of a step below which nothing is said of what waits."""


def seconds_text(seconds: float) -> str:
    """A time in its unit.

    >>> seconds_text(0.0381), seconds_text(2.5), seconds_text(7e-6)
    ('38.1 ms', '2.5 s', '7 µs')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns" if seconds else "0 s"


def size_text(nbytes: float) -> str:
    """Bytes in their unit.

    >>> size_text(1.3 * 2**30), size_text(512)
    ('1.3 GiB', '512 B')
    """
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >= 1 << shift:
            return f"{nbytes / (1 << shift):.4g} {unit}"
    return f"{nbytes:.0f} B"


def peak_text(nbytes: float | None, fits: bool | None, size: Callable[[int], str] = size_text) -> str:
    """The peak of a device's memory, and whether there is room.

    >>> peak_text(512, True), peak_text(512, False), peak_text(None, None)
    ('512 B', '512 B: does not fit', 'not known')

    Args:
        nbytes: bytes; None where they are not known.
        fits: whether there is room for them; None where that is not known.
        size: says how many bytes there are.
    """
    if nbytes is None:
        return "not known"
    return f"{size(round(nbytes))}{_FITS[fits]}"


_FITS = {True: "", False: ": does not fit", None: ": not known whether it fits"}


def waits(step: Any) -> dict[str, float]:
    """Seconds of the critical path, by what the step waited for; they add up to its length."""
    flow, times, names = step.flow, step.times, step.machinery.labels
    first = flow.first_copy
    found: Counter[str] = Counter()
    reached = 0.0
    for item, on_host, begin, end in step.path:
        kind = flow.kind[item]
        if begin > reached:
            late = begin - reached
            found["hearing that copies are over" if late <= 1.01 * POLL_SECONDS else "free threads"] += late
        lasted = max(end - max(begin, reached), 0.0)
        reached = max(reached, end)
        if on_host:
            found[LAUNCHES] += lasted
        elif kind == ON_GPU:
            found["kernels of GPUs"] += lasted
        elif kind == COPY:
            table, copy = flow.copies, int(flow.item_node[item]) - first
            sender, receiver = table.sender[copy], table.receiver[copy]
            way = f"copies over {table.way[copy]}, {names[sender]} to {names[receiver]}"
            if table.way[copy] == "signal":
                way = "signals between devices"
            elif sender == receiver:
                way = "copies between a GPU's own memory and its host memory"
            else:
                way = _kind_of_way(way)
            found[way] += lasted
        else:
            found["kernels of the CPU"] += lasted
    if times.total > reached:
        found["free threads"] += times.total - reached
    return dict(found.most_common())


def _kind_of_way(text: str) -> str:
    """``copies over PCIe, GPU:0 to CPU:0`` without the GPU's number: all towers are one."""
    head, _, ends = text.rpartition(", ")
    source, _, target = ends.partition(" to ")
    return f"{head}, {source.partition(':')[0]} to {target.partition(':')[0]}"


def explanation(step: Any, *, memory: bool = True) -> str:
    """An estimate in sentences.

    Args:
        step: the estimate.
        memory: whether to say what the memory holds.
    """
    total = step.step_time
    subject = step.subject
    lines = [f"The step takes {seconds_text(total)}.", f"{subject.text(step.placement.release)}."]
    lines += [subject.outside_text] if subject.outside_text else []
    lines += _loop_lines(step)
    if total:
        parts = [(what, lasted) for what, lasted in waits(step).items() if lasted >= _WORTH_SAYING * total]
        for what, lasted in parts[: _MOST + 2]:
            lines.append(f"It waits {seconds_text(lasted)} of {seconds_text(total)} for {what}.")
        lines += _gpu_lines(step)
    moved = step.copies
    if moved:
        nbytes = sum(copy.bytes for copy in moved)
        longest = max(moved, key=lambda copy: (copy.time, copy.tensor))
        latest = max(moved, key=lambda copy: (copy.wait, copy.tensor))
        count, removed = step.step_copies.count, sum(copy.runs for copy in moved if copy.removed)
        lines.append(
            f"{count:,} cop{'y' if count == 1 else 'ies'} between devices, {size_text(nbytes)}; the longest, "
            f"{longest.tensor} to {_label(step, longest.target)}, takes {seconds_text(longest.time)}."
        )
        if removed:
            lines.append(
                f"{removed:,} of them cost nothing: constant folding or dependency optimization removes them before "
                "the step runs."
            )
        if latest.wait >= _WORTH_SAYING * total:
            lines.append(
                f"{latest.tensor} waits longest to be copied to {_label(step, latest.target)}: "
                f"{seconds_text(latest.wait)} for kernels and copies queued before."
            )
    if memory:
        lines += step.memory.sentences()
    if step.guessed:
        ops = Counter(row.op for row in step.rows("nodes") if row.guessed)
        named = ", ".join(f"{op} ({count})" for op, count in ops.most_common(_MOST))
        lines.append(f"{step.guessed:.1%} of the kernels' time is guessed: {named}.")
    else:
        lines.append("None of the kernels' time is guessed.")
    shown = step.assumptions[:_MOST_ASSUMED]
    lines += [f"Assumed: {sentence}" for sentence in shown]
    if len(step.assumptions) > len(shown):
        lines.append(f"Assumed: {len(step.assumptions) - len(shown)} sentences more, see assumptions.")
    return "\n".join(lines)


def _label(step: Any, device: str) -> str:
    names = step.device_names
    return step.machinery.labels[names.index(device)] if device in names else device


def _loop_lines(step: Any) -> list[str]:
    """How often the loops of a step run."""
    trips = [(name.removesuffix("/while_context"), count) for name, count in step.shapes.trips.items()]
    lines = [
        f"Loop {name!r} runs {count:g} time{'' if count == 1 else 's'}." for name, count in trips[:_MOST]
    ]
    more = len(trips) - _MOST
    return [*lines, f"{more:,} more loop{'s' if more > 1 else ''}: see shapes.trips."] if more > 0 else lines


def _gpu_lines(step: Any) -> list[str]:
    """How busy the GPUs are, those alike in one sentence."""
    total = step.step_time
    shares = [
        (label, step.busy[name] / total)
        for label, name, is_gpu in zip(
            step.machinery.labels, step.device_names, step.machinery.is_gpu.tolist(), strict=True
        )
        if is_gpu
    ]
    if not shares:
        return []
    low, high = min(share for _, share in shares), max(share for _, share in shares)
    if len(shares) == 1:
        return [f"{shares[0][0]} computes in {high:.0%} of it."]
    if high - low < 0.1:
        shown = f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
        return [f"Each of {len(shares)} GPUs computes in {shown} of it."]
    alike: dict[str, list[str]] = {}
    for label, share in sorted(shares, key=lambda pair: -pair[1]):
        alike.setdefault(f"{share:.0%}", []).append(label)
    lines = []
    for share, labels in list(alike.items())[:_MOST]:
        shown = ", ".join(labels[:_MOST]) + (
            f" and {len(labels) - _MOST:,} more" if len(labels) > _MOST else ""
        )
        lines.append(f"{shown} compute{'s' if len(labels) == 1 else ''} in {share} of it.")
    left = sum(len(labels) for labels in list(alike.values())[_MOST:])
    return [*lines, f"{left:,} more GPUs compute less."] if left else lines
