"""What would have to change to get a node onto a device of another type.

>>> remedies.__doc__.split(":")[0]
'For each other device type'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpuplace.device.parsed_name import ANY
from gpuplace.errors import InvalidArgumentError
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.node_facts import NodeFacts
from gpuplace.placer.outline import GENERATOR, IDENTITY, METADATA

if TYPE_CHECKING:
    from gpuplace.placer.placement import Placement

_SHOWN_TYPES = 8


def remedies(placement: Placement, node: int, decider: int) -> Iterator[tuple[str, str]]:
    """For each other device type: `(type, what would have to change)`."""
    device = int(placement.devices[node])
    here = placement.device_set.devices[device].device_type if device != NOWHERE else ""
    kinds = [kind for kind, _ in placement.device_set.prioritized_types()]
    for kind in dict.fromkeys(["GPU", *kinds]):
        if kind != here and not kind.startswith("XLA_"):
            yield kind, _remedy(placement, node, decider, kind)


def _remedy(placement: Placement, node: int, decider: int, kind: str) -> str:
    graph = placement.graph
    if kind not in dict(placement.facts_of(node).supported):
        missing = missing_kernel(placement, placement.facts_of(node), kind)
        if missing:
            return missing
    if not any(device.device_type == kind for device in placement.device_set):
        return f"the machine has no {kind}"
    group = placement.group_of(node)
    for member in group:
        if kind not in dict(placement.facts_of(member).supported):
            missing = missing_kernel(placement, placement.facts_of(member), kind)
            return f"colocated with {graph.names[member]}, which has none: {missing}"
    bound = placement.constraints(node)
    wanted = f"/device:{kind}:0"
    if kind not in dict(bound.supported) and placement.host_causes:
        causes = ", ".join(graph.names[cause] for cause in placement.host_causes if cause in group)
        return f"a list of strings or handles stays on the CPU: {causes} reads one"
    if bound.assigned != ANY:
        return f"its group is assigned to {bound.assigned.to_string()} already"
    if bound.requested.type is not None and bound.requested.type != kind:
        askers = [other for other in group if graph.requested_device(other)]
        if askers == [node]:
            return f"ask for '{wanted}' instead of '{graph.requested_device(node)}'"
        names = ", ".join(f"{graph.names[other]} ('{graph.requested_device(other)}')" for other in askers[:4])
        return f"its group asks for another type: change {names}" if names else f"ask for '{wanted}'"
    how = _how(placement, node)
    if how in (METADATA, IDENTITY) and decider == node:
        source = graph.names[graph.src[graph.in_edges(node)[0]]]
        return f"it follows its input {source}: ask for '{wanted}', or move {source}"
    if how == GENERATOR and decider == node:
        consumer = graph.names[graph.dst[graph.out_edges(node)[0]]]
        return f"it follows its consumers: ask for '{wanted}', or move {consumer}"
    if decider != node:
        return f"ask for '{wanted}' here, or for {graph.names[decider]}, which decides for the group"
    return f"ask for '{wanted}'"


def _how(placement: Placement, node: int) -> int:
    assert placement.partition is not None and placement.decisions is not None
    return int(placement.decisions.how[node])


def kernel_note(placement: Placement, node: int) -> str:
    """Which device types can run a node: `kernels for Pow with T=int32: CPU; none on GPU`."""
    fact = placement.facts_of(node)
    op_type = fact.signature.op_type
    if fact.is_function:
        return f"{op_type} is a function: it runs anywhere"
    kinds = [kind for kind, _ in fact.supported]
    types = _deciding_types(placement, node)
    lacking = [kind for kind, _ in placement.device_set.prioritized_types() if kind not in kinds]
    text = f"kernels for {op_type}{f' with {types}' if types else ''}: {', '.join(kinds) or 'none'}"
    if kinds and lacking:
        text += f"; none on {', '.join(lacking)}"
    return text


def _deciding_types(placement: Placement, node: int) -> str:
    fact = placement.facts_of(node)
    names = placement.placer.catalogue.kernels.deciding_attrs(fact.signature.op_type)
    return ", ".join(f"{name}={_text(fact.attrs[name])}" for name in names if name in fact.attrs)


def missing_kernel(placement: Placement, fact: NodeFacts, kind: str) -> str | None:
    """Why a signature has no kernel on a device type, and which types would have one; None where it has one."""
    op_type = fact.signature.op_type
    if fact.is_function:
        return None
    rows = [
        row
        for row in placement.placer.catalogue.kernels.rows(op_type)
        if row.device_type in (kind, "DEFAULT")
    ]
    if not rows:
        return f"{op_type} has no {kind} kernel"
    label = fact.attrs.get("_kernel")
    if isinstance(label, bytes) and label and not any(row.label.encode() == label for row in rows):
        return f"no {kind} kernel for {op_type} has the label '{label.decode(errors='replace')}'"
    try:
        fitting = [row for row in rows if all(name in fact.attrs for name, _ in row.constraints)]
        if any(row.admits(fact.attrs) for row in fitting):
            return None
    except InvalidArgumentError:
        return f"no {kind} kernel for {op_type} can tell by its attributes"
    constrained = sorted({name for row in rows for name, _ in row.constraints})
    mine = ", ".join(f"{name}={_text(fact.attrs[name])}" for name in constrained if name in fact.attrs)
    if len(constrained) == 1:
        allowed = sorted({_text(value) for row in rows for _, values in row.constraints for value in values})
        listed = ", ".join(allowed[:_SHOWN_TYPES]) + (", ..." if len(allowed) > _SHOWN_TYPES else "")
        verb = "has" if len(allowed) == 1 else "have"
        return f"no {kind} kernel for {op_type} with {mine}; {listed} {verb} one"
    return f"no {kind} kernel for {op_type} with {mine}"


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "/".join(_text(item) for item in value)
    return str(getattr(value, "short_name", value))
