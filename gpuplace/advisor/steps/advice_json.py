"""A step in numbers with the advised devices, as JSON: enough for any outside simulator to judge it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from gpuplace.advisor.steps.judge import Judged
from gpuplace.advisor.steps.rehearsal import Rehearsal
from gpuplace.advisor.steps.step_problem import step_problem


def advice_json(rehearsal: Rehearsal, choice: Judged, objective: str, bound: float) -> str:
    """The text; see `Advice.to_json` for what is in it.

    Args:
        rehearsal: of the step.
        choice: what is advised.
        objective: what for.
        bound: what no placement is below.
    """
    made = step_problem(rehearsal)
    problem, links = made.problem, made.problem.links
    assert problem.tensors is not None and problem.tensor_transfer is not None and links is not None
    part, names = rehearsal.step.part, rehearsal.freedom.placement.device_set.names
    devices = [names[device] for device in made.devices]
    where = choice.placement.devices[part.nodes[made.nodes]].tolist()
    # gates go where the placer has them, and not with what they are for
    _, groups = np.unique(np.stack((problem.groups, where), axis=1), axis=0, return_inverse=True)
    kinds = [device.kind for device in problem.devices]
    seconds = problem.seconds[:, kinds].tolist()
    nodes = [
        {
            "name": str(name),
            "op": part.graph.op_type(node),
            "group": group,
            "seconds": [None if math.isinf(one) else one for one in own],
            "bytes": size,
            "device": names[device],
        }
        for name, node, group, own, size, device in zip(
            problem.ids,
            made.nodes.tolist(),
            groups.reshape(-1).tolist(),
            seconds,
            problem.sizes.tolist(),
            where,
            strict=True,
        )
    ]
    sizes = problem.tensor_transfer.tolist()
    edges = [
        {
            "source": str(problem.ids[source]),
            "reader": str(problem.ids[reader]),
            "tensor": tensor,
            "bytes": sizes[tensor] if tensor >= 0 else 0.0,
        }
        for source, reader, tensor in zip(
            problem.sources.tolist(), problem.readers.tolist(), problem.tensors.tolist(), strict=True
        )
    ]
    content: dict[str, Any] = {
        "objective": objective,
        "value": choice.score.value,
        "bound": bound,
        "step_time": choice.score.step_time,
        "devices": [
            {
                "name": name,
                "hardware": _hardware(rehearsal, position),
                "memory": None if math.isinf(device.memory) else device.memory,
                "workers": device.workers,
            }
            for name, position, device in zip(devices, made.devices, problem.devices, strict=True)
        ],
        "links": [
            {
                "from": devices[one],
                "to": devices[other],
                "bytes_per_second": 1 / float(links.per_unit[one, other]),
                "latency": float(links.latency[one, other]),
                "channel": int(links.channel[one, other]),
            }
            for one in range(len(devices))
            for other in range(len(devices))
            if links.channel[one, other] >= 0
        ],
        "nodes": nodes,
        "edges": edges,
    }
    return json.dumps(content)


def _hardware(rehearsal: Rehearsal, position: int) -> str:
    model = rehearsal.step.machinery.models[position]
    return "CPU" if model is None else str(model.name)
