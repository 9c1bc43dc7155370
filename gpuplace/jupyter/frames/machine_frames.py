"""The GPUs of a machine, and a session's memory on them, as pandas DataFrames.

`mapping_frame`, one row per GPU, or per device on it: ``gpu``, ``name``, ``pci_bus_id``, ``visible`` (Int32),
``device``, ``memory_limit`` (Int64, bytes), ``reason``.

`allocator_frame`, one row per simulated GPU of a session, indexed by device: ``memory_limit``, ``bytes_in_use``,
``peak_bytes_in_use``, ``bytes_from_gpu``, ``largest_alloc``, ``largest_free`` (int64, bytes), ``allocations``,
``chunks`` (int64), ``fragmentation`` (float64, 0 to 1). `chunks_frame`, one row per chunk in address order: ``device``,
``address``, ``size``, ``requested`` (int64, bytes), ``in_use`` (bool), ``label`` (string, the requester),
``allocation`` (Int64).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from gpuplace.device.mapping import MappingRow
from gpuplace.jupyter.frames.columns import category
from gpuplace.jupyter.frames.placement_frames import frame
from gpuplace.jupyter.frames.table import Table
from gpuplace.views.tables.rows import mapping_cells


def mapping_frame(rows: Iterable[MappingRow]) -> pd.DataFrame:
    """Return the chain physical GPU -> visible GPU -> device of a machine, with hidden GPUs and the reasons.

    Args:
        rows: the result of ``machine.mapping(config)``.
    """
    cells = mapping_cells(rows)
    gpu, name, bus, visible, device, limit, reason = zip(*cells, strict=True) if cells else ((),) * 7
    return Table(
        {
            "gpu": pd.array(gpu, dtype="int32"),
            "name": category(name),
            "pci_bus_id": pd.array(bus, dtype="str"),
            "visible": pd.array(visible, dtype="Int32"),
            "device": pd.array(device, dtype="string"),
            "memory_limit": pd.array(limit, dtype="Int64"),
            "reason": pd.array(reason, dtype="string"),
        }
    )


def session_frame(session: Any, table: str = "nodes", *, depth: int | None = None) -> pd.DataFrame:
    """Return a table of a session: of its placement, or of the memory of its GPUs.

    Args:
        session: a `Session`.
        table: name of the table; ``"memory"`` and ``"chunks"`` are about its GPUs' allocators.
        depth: the number of levels; for ``"scopes"`` only.

    Raises:
        ValueError: there is no such table.
    """
    if table == "memory":
        return allocator_frame(session)
    if table == "chunks":
        return chunks_frame(session)
    return frame(session.placement, table, depth=depth)


def allocator_frame(session: Any) -> pd.DataFrame:
    """Return one row per simulated GPU with its allocator's counters; see the module for the columns."""
    allocators = session.allocators
    stats = [allocator.stats() for allocator in allocators.values()]
    whole = list(allocators.values())
    columns = {
        "memory_limit": [counters.bytes_limit for counters in stats],
        "bytes_in_use": [counters.bytes_in_use for counters in stats],
        "peak_bytes_in_use": [counters.peak_bytes_in_use for counters in stats],
        "bytes_from_gpu": [sum(region.size for region in allocator.regions()) for allocator in whole],
        "largest_alloc": [counters.largest_alloc_size for counters in stats],
        "largest_free": [allocator.largest_free_chunk() for allocator in whole],
        "allocations": [counters.num_allocs for counters in stats],
        "chunks": [len(allocator.chunks()) for allocator in whole],
    }
    frame = Table(columns, index=pd.Index(list(allocators), name="device", dtype="str"), dtype="int64")
    return frame.assign(
        fragmentation=np.array([allocator.fragmentation() for allocator in whole], dtype=float)
    )


def chunks_frame(session: Any) -> pd.DataFrame:
    """Return one row per chunk of simulated GPU memory, in address order; see the module for the columns."""
    rows = [(name, chunk) for name, allocator in session.allocators.items() for chunk in allocator.chunks()]
    return Table(
        {
            "device": category(name for name, _ in rows),
            "address": pd.array([chunk.address for _, chunk in rows], dtype="int64"),
            "size": pd.array([chunk.size for _, chunk in rows], dtype="int64"),
            "requested": pd.array([chunk.requested_size for _, chunk in rows], dtype="int64"),
            "in_use": np.array([chunk.allocation_id >= 0 for _, chunk in rows], dtype=bool),
            "label": pd.array([chunk.label or None for _, chunk in rows], dtype="string"),
            "allocation": pd.array(
                [chunk.allocation_id if chunk.allocation_id >= 0 else None for _, chunk in rows],
                dtype="Int64",
            ),
        }
    )
