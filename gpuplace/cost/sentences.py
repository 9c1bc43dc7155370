"""The text of an estimate: breakdown of the step time, device utilization, copies, memory and assumptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from gpuplace.cost.item_times import POLL_SECONDS
from gpuplace.cost.step_flow import COPY, ON_GPU

LAUNCHES = "the host's launches and executor"
"""Label of the time that the critical path spends on a thread of the host."""
_MOST = 4
_MOST_ASSUMED = 12
_WORTH_SAYING = 0.01
"""Fraction of the step below which a contribution is not mentioned."""


def seconds_text(seconds: float) -> str:
    """Format a time in its unit.

    >>> seconds_text(0.0381), seconds_text(2.5), seconds_text(7e-6)
    ('38.1 ms', '2.5 s', '7 µs')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns" if seconds else "0 s"


def size_text(nbytes: float) -> str:
    """Format a number of bytes in its unit.

    >>> size_text(1.3 * 2**30), size_text(512)
    ('1.3 GiB', '512 B')
    """
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >= 1 << shift:
            return f"{nbytes / (1 << shift):.4g} {unit}"
    return f"{nbytes:.0f} B"


def peak_text(nbytes: float | None, fits: bool | None, size: Callable[[int], str] = size_text) -> str:
    """Format the peak of a device's memory, and whether it fits.

    >>> peak_text(512, True), peak_text(512, False), peak_text(None, None)
    ('512 B', '512 B: does not fit', 'unknown')

    Args:
        nbytes: bytes; None if unknown.
        fits: whether the bytes fit; None if unknown.
        size: format of a number of bytes.
    """
    if nbytes is None:
        return "unknown"
    return f"{size(round(nbytes))}{_FITS[fits]}"


_FITS = {True: "", False: ": does not fit", None: ": unknown whether it fits"}


def waits(step: Any) -> dict[str, float]:
    """Return the seconds of the critical path by activity; they add up to the length of the step."""
    flow, times, names = step.flow, step.times, step.machinery.labels
    first = flow.first_copy
    seconds_of: Counter[str] = Counter()
    reached = 0.0
    for item, on_host, begin, end in step.path:
        kind = flow.kind[item]
        if begin > reached:
            late = begin - reached
            seconds_of[
                "detecting finished copies" if late <= 1.01 * POLL_SECONDS else "waiting for a free thread"
            ] += late
        lasted = max(end - max(begin, reached), 0.0)
        reached = max(reached, end)
        if on_host:
            seconds_of[LAUNCHES] += lasted
        elif kind == ON_GPU:
            seconds_of["GPU kernels"] += lasted
        elif kind == COPY:
            table, copy = flow.copies, int(flow.item_node[item]) - first
            sender, receiver = table.sender[copy], table.receiver[copy]
            label = f"copies over {table.way[copy]}, {names[sender]} to {names[receiver]}"
            if table.way[copy] == "signal":
                label = "signals between devices"
            elif sender == receiver:
                label = "copies between a GPU's own memory and its host memory"
            else:
                label = _kind_of_way(label)
            seconds_of[label] += lasted
        else:
            seconds_of["CPU kernels"] += lasted
    if times.total > reached:
        seconds_of["waiting for a free thread"] += times.total - reached
    return dict(seconds_of.most_common())


def _kind_of_way(text: str) -> str:
    """Drop the device numbers: ``copies over PCIe, GPU:0 to CPU:0`` becomes ``copies over PCIe, GPU to CPU``."""
    head, _, ends = text.rpartition(", ")
    source, _, target = ends.partition(" to ")
    return f"{head}, {source.partition(':')[0]} to {target.partition(':')[0]}"


def explanation(step: Any, *, memory: bool = True, with_breakdown: bool = True) -> str:
    """Return the text of an estimate.

    Args:
        step: the estimate.
        memory: whether to describe the contents of the memory.
        with_breakdown: whether to include the breakdown of the step time.
    """
    total = step.step_time
    subject = step.subject
    lines = [f"The step takes {seconds_text(total)}.", f"{subject.text(step.placement.release)}."]
    lines += [subject.outside_text] if subject.outside_text else []
    lines += _loop_lines(step)
    if total:
        if with_breakdown:
            parts = [f"{name} {share}% ({seconds_text(seconds)})" for name, share, seconds in breakdown(step)]
            lines.append(f"Breakdown of the step time: {', '.join(parts)}.")
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
                f"{removed:,} of them cost nothing, because constant folding or dependency optimization removes them "
                "before the step runs."
            )
        if latest.wait >= _WORTH_SAYING * total:
            lines.append(
                f"The longest wait for a copy is that of {latest.tensor} to {_label(step, latest.target)}: "
                f"{seconds_text(latest.wait)} for earlier kernels and copies in its queues."
            )
    if memory:
        lines += step.memory.sentences()
    if step.guessed:
        ops = Counter(row.op for row in step.rows("nodes") if row.guessed)
        named = ", ".join(f"{op} ({count})" for op, count in ops.most_common(_MOST))
        lines.append(f"{step.guessed:.1%} of the kernel time is guessed: {named}.")
    else:
        lines.append("None of the kernel time is guessed.")
    shown = step.assumptions[:_MOST_ASSUMED]
    lines += [f"Assumed: {sentence}" for sentence in shown]
    if len(step.assumptions) > len(shown):
        lines.append(f"Assumed: {len(step.assumptions) - len(shown)} more sentences, see assumptions.")
    return "\n".join(lines)


class TimeShare(NamedTuple):
    """A part of the step time."""

    name: str
    """Activity on the critical path."""
    percent: int
    """Share of the step time; the shares of a step add up to 100."""
    seconds: float
    """Time on the critical path."""


def breakdown(step: Any) -> list[TimeShare]:
    """Return the parts of the step time, the largest first; small parts are combined as "other".

    Args:
        step: the estimate.
    """
    total = step.step_time
    large = [(name, seconds) for name, seconds in waits(step).items() if seconds >= _WORTH_SAYING * total]
    return _with_shares(large[: _MOST + 2], total) if total else []


def _with_shares(parts: list[tuple[str, float]], total: float) -> list[TimeShare]:
    """Return the parts of a step with their shares, without parts of 0 %.

    >>> [(part.name, part.percent) for part in _with_shares([("GPU kernels", 0.02), ("CPU kernels", 0.01)], 0.031)]
    [('GPU kernels', 65), ('CPU kernels', 32), ('other', 3)]
    """
    parts = [*parts, ("other", max(total - sum(seconds for _, seconds in parts), 0.0))]
    shares = [int(100 * seconds / total) for _, seconds in parts]
    # Largest remainders are rounded up, so that the printed shares add up.
    by_remainder = sorted(range(len(parts)), key=lambda at: shares[at] - 100 * parts[at][1] / total)
    for at in by_remainder[: 100 - sum(shares)]:
        shares[at] += 1
    return [
        TimeShare(name.replace(", ", " from "), share, seconds)
        for (name, seconds), share in zip(parts, shares, strict=True)
        if share
    ]


def _label(step: Any, device: str) -> str:
    names = step.device_names
    return step.machinery.labels[names.index(device)] if device in names else device


def _loop_lines(step: Any) -> list[str]:
    """Return a sentence for each loop of a step with its number of iterations."""
    trips = [(name.removesuffix("/while_context"), count) for name, count in step.shapes.trips.items()]
    lines = [
        f"Loop {name!r} runs {count:g} time{'' if count == 1 else 's'}." for name, count in trips[:_MOST]
    ]
    more = len(trips) - _MOST
    return [*lines, f"{more:,} more loop{'s' if more > 1 else ''}: see shapes.trips."] if more > 0 else lines


def _gpu_lines(step: Any) -> list[str]:
    """Return sentences about the utilization of the GPUs; GPUs with equal utilization share a sentence."""
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
        return [f"{shares[0][0]} is busy for {high:.0%} of the step."]
    if high - low < 0.1:
        shown = f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
        return [f"Each of {len(shares)} GPUs is busy for {shown} of the step."]
    alike: dict[str, list[str]] = {}
    for label, share in sorted(shares, key=lambda pair: -pair[1]):
        alike.setdefault(f"{share:.0%}", []).append(label)
    lines = []
    for share, labels in list(alike.items())[:_MOST]:
        shown = ", ".join(labels[:_MOST]) + (
            f" and {len(labels) - _MOST:,} more" if len(labels) > _MOST else ""
        )
        lines.append(f"{shown} {'is' if len(labels) == 1 else 'are'} busy for {share} of the step.")
    left = sum(len(labels) for labels in list(alike.values())[_MOST:])
    return [*lines, f"{left:,} more GPUs are busy for less."] if left else lines
