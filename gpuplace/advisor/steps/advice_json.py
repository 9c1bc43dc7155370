"""A step in numbers with the recommended devices, as JSON: enough for any external simulator."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from gpuplace.advisor.steps.choice_scores import ChoiceScorer
from gpuplace.advisor.steps.placed_choice import PlacedChoice
from gpuplace.advisor.steps.step_problem import step_problem


def advice_json(scorer: ChoiceScorer, choice: PlacedChoice, objective: str, bound: float) -> str:
    """Return the JSON text; see `Advice.to_json` for its contents.

    Args:
        scorer: step to evaluate.
        choice: the recommended choice.
        objective: as for `advise`.
        bound: lower bound of the objective.
    """
    numbers = step_problem(scorer)
    problem, links = numbers.problem, numbers.problem.links
    assert problem.tensors is not None and problem.tensor_transfer is not None and links is not None
    part, names = scorer.step.part, scorer.candidates.placement.device_set.names
    devices = [names[device] for device in numbers.devices]
    where = choice.placement.devices[part.nodes[numbers.nodes]].tolist()
    # Barriers are where the placer puts them, which may differ from the rest of their group.
    _, groups = np.unique(np.stack((problem.groups, where), axis=1), axis=0, return_inverse=True)
    kinds = [device.kind for device in problem.devices]
    seconds = problem.seconds[:, kinds].tolist()
    nodes = [
        {
            "name": str(name),
            "op": part.graph.op_type(node),
            "group": group,
            "seconds": [None if math.isinf(time) else time for time in times],
            "bytes": size,
            "device": names[device],
        }
        for name, node, group, times, size, device in zip(
            problem.ids,
            numbers.nodes.tolist(),
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
                "hardware": _hardware(scorer, position),
                "memory": None if math.isinf(device.memory) else device.memory,
                "workers": device.workers,
            }
            for name, position, device in zip(devices, numbers.devices, problem.devices, strict=True)
        ],
        "links": [
            {
                "from": devices[source],
                "to": devices[target],
                "bytes_per_second": 1 / float(links.per_unit[source, target]),
                "latency": float(links.latency[source, target]),
                "channel": int(links.channel[source, target]),
            }
            for source in range(len(devices))
            for target in range(len(devices))
            if links.channel[source, target] >= 0
        ],
        "nodes": nodes,
        "edges": edges,
    }
    return json.dumps(content)


def _hardware(scorer: ChoiceScorer, position: int) -> str:
    model = scorer.step.machinery.models[position]
    return "CPU" if model is None else str(model.name)
