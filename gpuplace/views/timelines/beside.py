"""Several steps in one timeline: each device has the lanes of all steps, one below another, with a common start.

The devices of the steps differ in their job, whose name is prefixed by the name of the step::

    CPU:0  predicted    │x│   │Add│
    CPU:0  measured    │x│         │Add│
    GPU:0  predicted      │MatMul│
    GPU:0  measured      │  MatMul   │

Device use, gaps and the critical path (of the longer step) are computed as for any other step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpuplace.device.parsed_name import parse_name
from gpuplace.views.tables.palette import device_style
from gpuplace.views.timelines.step_timeline import Lane, StepTimeline


def beside(*steps: tuple[str, StepTimeline]) -> StepTimeline:
    """Combine several timelines into one.

    Args:
        *steps: name of each step, such as ``"predicted"``, used as a job prefix (letters, digits and ``_``), and its
            timeline; at least one.
    """
    step_names, timelines = [word for word, _ in steps], [step for _, step in steps]
    lanes: list[tuple[Lane, int, int]] = []
    for number, (word, step) in enumerate(steps):
        lanes += [
            (lane._replace(device=_named(lane.device, word), label=f"{lane.label} {word}"), number, place)
            for place, lane in enumerate(step.lanes)
        ]
    kept = sorted(
        lanes,
        key=lambda one: (one[0].task, device_style(timelines[one[1]].lanes[one[2]].device).order, *one[1:]),
    )
    place_of = [np.zeros(len(step.lanes), dtype=np.int64) for step in timelines]
    for place, (_, number, before) in enumerate(kept):
        place_of[number][before] = place
    shifts = np.cumsum([0, *(len(step) for step in timelines)])[:-1].tolist()
    start = np.concatenate([step.start_us for step in timelines])
    order = np.argsort(start, kind="stable")
    moved = np.empty_like(order)
    moved[order] = np.arange(len(order))

    def joined(column: str) -> np.ndarray:
        return np.concatenate([getattr(step, column) for step in timelines])[order]

    def edges(column: str) -> np.ndarray:
        ends = [getattr(step, column) + shift for step, shift in zip(timelines, shifts, strict=True)]
        return moved[np.concatenate(ends).astype(np.int64)]

    names = [name for step in timelines for name in step.names]
    ops = [op for step in timelines for op in step.ops]
    copies = [
        copy._replace(
            source=_named(copy.source, word),
            target=_named(copy.target, word),
            sent=int(moved[copy.sent + shift]),
            received=int(moved[copy.received + shift]),
        )
        for step, word, shift in zip(timelines, step_names, shifts, strict=True)
        for copy in step.copies
    ]
    lane = [place[step.lane] for place, step in zip(place_of, timelines, strict=True)]
    return replace(
        timelines[0],
        names=[names[event] for event in order.tolist()],
        ops=[ops[event] for event in order.tolist()],
        lanes=tuple(lane for lane, _, _ in kept),
        lane=np.concatenate(lane)[order],
        start_us=start[order],
        end_us=joined("end_us"),
        weight_us=joined("weight_us"),
        nbytes=joined("nbytes"),
        thread=joined("thread"),
        src=edges("src"),
        dst=edges("dst"),
        copies=tuple(sorted(copies, key=lambda copy: copy.start_us)),
        sizes={key: size for step in timelines for key, size in step.sizes.items()},
        placement=None,
        find_hints=lambda _: (),
    )


def _named(device: str, word: str) -> str:
    """Return the device name with the step's name before its job.

    >>> _named("/job:localhost/replica:0/task:0/device:GPU:1", "predicted")
    '/job:predicted/replica:0/task:0/device:GPU:1'
    >>> _named("/job:worker/replica:0/task:1/device:CPU:0", "measured")
    '/job:measured_worker/replica:0/task:1/device:CPU:0'
    """
    parsed = parse_name(device)
    if parsed is None or parsed.job is None:
        return f"{device} {word}"
    job = word if parsed.job == "localhost" else f"{word}_{parsed.job}"
    return device.replace(f"/job:{parsed.job}", f"/job:{job}", 1)
