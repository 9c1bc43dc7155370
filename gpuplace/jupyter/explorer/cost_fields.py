"""What of a step's cost can be typed in the explorer, as blocks that its page draws (`gpuplace.tables.blocks`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.jupyter.explorer.settings import Settings
from gpuplace.tables.blocks import Block


def step_fields(settings: Settings, refused: Mapping[str, tuple[Any, BaseException]]) -> Block:
    """What the step fetches and is fed, to be typed."""
    shown = {
        "fetches": ", ".join(settings.fetches),
        "feeds": "; ".join(f"{name}={shape}" for name, shape in settings.feeds.items()),
    }
    fields = [
        {
            "name": "fetches",
            "label": "Fetches",
            "value": shown["fetches"],
            "placeholder": "what trains, or what nothing takes",
            "size": 24,
            "tip": "Names of tensors and operations, separated by commas: loss, train_op",
        },
        {
            "name": "feeds",
            "label": "Feeds",
            "value": shown["feeds"],
            "placeholder": "images=64,224,224,3; labels=64",
            "size": 34,
            "tip": "Shapes of what is fed: name=sizes, separated by semicolons",
        },
    ]
    for field in fields:
        if field["name"] in refused:
            value, error = refused[str(field["name"])]
            field["value"], field["error"] = str(value), getattr(error, "message", str(error))
    return {"kind": "fields", "label": "The step", "fields": fields}


def grid_fields(machines: str, batches: str) -> list[Block]:
    """What machines and batch sizes are to be beside each other."""
    fields = [
        {
            "name": "cost:machines",
            "label": "Machines",
            "value": machines,
            "placeholder": "1x K80; 2x K80; 4x V100",
            "size": 34,
            "tip": "Machines, separated by semicolons; clusters, by |",
        },
        {
            "name": "cost:batches",
            "label": "Batch sizes",
            "value": batches,
            "placeholder": "as fed",
            "size": 18,
            "tip": "Numbers, separated by commas; what is fed has the first of its sizes changed",
        },
    ]
    return [
        {"kind": "heading", "text": "Machines beside each other"},
        {"kind": "fields", "label": "Machines and batch sizes", "fields": fields},
        {
            "kind": "buttons",
            "label": "Machines beside each other",
            "buttons": [{"label": "Foretell all", "note": "", "action": "cost:grid"}],
        },
    ]
