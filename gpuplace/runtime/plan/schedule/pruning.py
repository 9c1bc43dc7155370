"""Pruning: the operations that the fetches and targets of a signature need, up to the fed tensors.

The order is the graph's own if it respects all edges; the operations of a loop are adjacent (``loop_frames``).

Source: tensorflow/core/graph/subgraph.cc and control_flow.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gpuplace.graph.op_sets import ENTERS, LOOP_OPS, PLACEHOLDERS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.ready_order import ready_order
from gpuplace.runtime.plan.schedule.loop_frames import Frame, Frames, cycle_error, find_frames


def arg_name(tensor: Tensor, position: int) -> str:
    """Return the name of the node that represents a feed."""
    return f"_arg_{tensor.op.name}_{tensor.value_index}_{position}"


def pruned_operations(
    fetches: Iterable[Tensor], targets: Iterable[Operation], feeds: Collection[Tensor]
) -> list[Operation]:
    """Return the operations to run in topological order, which is the graph's own order if possible.

    Args:
        fetches: fetched tensors.
        targets: operations that must run.
        feeds: fed tensors.

    Raises:
        InvalidArgumentError: The operations form a cycle, or a loop is invalid.
    """
    return pruned_with_loops(fetches, targets, feeds)[0]


def pruned_with_loops(
    fetches: Iterable[Tensor],
    targets: Iterable[Operation],
    feeds: Collection[Tensor],
    done: Collection[Operation] = (),
) -> tuple[list[Operation], Frames | None]:
    """Return the operations to run, and their loops, if any."""
    fed = {
        tensor.op for tensor in feeds if tensor.op.type in PLACEHOLDERS
    }  # fed placeholders do not run, not even for control dependencies
    fed.update(done)
    needed: set[Operation] = set(fed)
    stack = [tensor.op for tensor in fetches if tensor not in feeds]
    stack.extend(targets)
    is_ordered = True  # every operation comes after its inputs in the graph
    while stack:
        op = stack.pop()
        if op in needed:
            continue
        needed.add(op)
        index = op.index
        for tensor in op.inputs:
            if tensor not in feeds:
                source = tensor.op
                if source.index >= index:
                    is_ordered = False
                if source not in needed:
                    stack.append(source)
        for source in op.controls:
            if source.index >= index:
                is_ordered = False
            if source not in needed:
                stack.append(source)
    ordered = sorted(needed - fed, key=lambda op: op.index)
    if not LOOP_OPS.isdisjoint([op.type for op in ordered]):
        positions = {tensor: number for number, tensor in enumerate(feeds)}
        frames = find_frames(ordered, feeds, lambda tensor: arg_name(tensor, positions[tensor]))
        return frames.ordered(ordered, feeds), frames
    return ordered if is_ordered else _sorted_by_edges(ordered, feeds, fed), None


def loop_units(operations: Sequence[Operation], feeds: Collection[Tensor]) -> list[dict[Operation, None]]:
    """Return ordered operations, with all operations of a loop, and those that lead into it, as one unit."""
    if LOOP_OPS.isdisjoint([op.type for op in operations]):
        return [{op: None} for op in operations]
    frames = find_frames(operations, feeds, lambda tensor: arg_name(tensor, 0))
    units: dict[Operation | Frame, dict[Operation, None]] = {}
    last: dict[Operation | Frame, int] = {}
    for position, op in enumerate(operations):
        around = [*frames.path(op), *([frames.after[op]] if op.type in ENTERS else [])]
        unit = around[0] if around and around[0] is not None else op
        units.setdefault(unit, {})[op] = None
        last[unit] = position
    return [units[unit] for unit in sorted(units, key=last.__getitem__)]


def _sorted_by_edges(
    operations: Sequence[Operation], feeds: Collection[Tensor], fed: Collection[Operation]
) -> list[Operation]:
    def sources(op: Operation) -> set[Operation]:
        predecessors = {tensor.op for tensor in op.inputs if tensor not in feeds} | set(op.controls)
        return predecessors.difference(fed)

    ordered = ready_order(operations, sources)
    if len(ordered) < len(operations):
        raise cycle_error(sorted(set(operations).difference(ordered), key=lambda op: op.index))
    return ordered
