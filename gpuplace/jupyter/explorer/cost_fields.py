"""The fields of the Cost tab, as blocks that its page draws (`gpuplace.tables.blocks`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.jupyter.explorer.settings import Settings
from gpuplace.tables.blocks import Block, button, buttons_block, field, fields_block, heading_block


def step_fields(settings: Settings, refused: Mapping[str, tuple[Any, BaseException]]) -> Block:
    """Return the fields for what the step fetches and is fed."""
    feeds = "; ".join(f"{name}={shape}" for name, shape in settings.feeds.items())
    fields = [
        field(
            *("fetches", "Fetches", ", ".join(settings.fetches)),
            "Names of tensors and operations, separated by commas: loss, train_op",
            *(24, "what trains, or what nothing takes"),
        ),
        field(
            *("feeds", "Feeds", feeds),
            "Shapes of what is fed: name=sizes, separated by semicolons",
            *(34, "images=64,224,224,3; labels=64"),
        ),
    ]
    return fields_block("The step", fields, refused)


def grid_fields(machines: str, batches: str) -> list[Block]:
    """Return the fields for the machines and batch sizes to compare."""
    fields = [
        field(
            *("cost:machines", "Machines", machines),
            "Machines, separated by semicolons; clusters, by |",
            *(34, "1x K80; 2x K80; 4x V100"),
        ),
        field(
            *("cost:batches", "Batch sizes", batches),
            "Numbers, separated by commas; what is fed has the first of its sizes changed",
            *(18, "as fed"),
        ),
    ]
    return [
        heading_block("Machines beside each other"),
        fields_block("Machines and batch sizes", fields),
        buttons_block("Machines beside each other", [button("Predict all", "cost:grid")]),
    ]
