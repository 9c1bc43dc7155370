"""Texts about a node's kernels: its possible device types, and the dtypes for which a kernel exists.

Source: the catalogue's rows, which are TensorFlow's registrations of releases 1.15 and 2.21.
"""

from __future__ import annotations

from typing import Any

from gpuplace.device.parsed_name import ParsedName
from gpuplace.dtypes import string
from gpuplace.errors import InvalidArgumentError
from gpuplace.kernels.kernel_def import KernelDef
from gpuplace.placer.node_facts import NodeFacts, SupportedTypes
from gpuplace.placer.placed import Placed

_SHOWN_TYPES = 8


def kernel_note(placement: Placed, node: int) -> str:
    """Return the device types that can run a node: `kernels for Pow with T=int32: CPU; none on GPU`."""
    fact = placement.facts_of(node)
    op_type = fact.signature.op_type
    if fact.is_function:
        return f"{op_type} is a function: it runs anywhere"
    if fact.supported and not own_facts(placement, node).supported:
        return f"{op_type} has no kernel in this process: it may have one in the requested task"
    supported_types = [device_type for device_type, _ in fact.supported]
    types = _deciding_types(placement, node)
    lacking = [
        device_type
        for device_type, _ in placement.device_set.prioritized_types()
        if device_type not in supported_types
    ]
    text = f"kernels for {op_type}{f' with {types}' if types else ''}: {', '.join(supported_types) or 'none'}"
    if supported_types and lacking:
        text += f"; none on {', '.join(lacking)}"
    return text


def _deciding_types(placement: Placed, node: int) -> str:
    fact = placement.facts_of(node)
    names = placement.placer.catalogue.kernels.deciding_attrs(fact.signature.op_type)
    return ", ".join(f"{name}={_text(fact.attrs[name])}" for name in names if name in fact.attrs)


def own_facts(placement: Placed, node: int) -> NodeFacts:
    """Return a node's facts in this process, ignoring its request."""
    placer = placement.placer
    facts = placer.facts(tuple(device_type for device_type, _ in placement.device_set.prioritized_types()))
    return facts[placer.graph.signature[node]]


def supported_when_asking(placement: Placed, node: int, name: ParsedName) -> SupportedTypes:
    """Return the device types of a node that requests a device.

    In another task the node may have kernels that are not registered here.
    """
    fact, client = own_facts(placement, node), placement.device_set.client_device
    if fact.supported or fact.has_attr_mismatch or fact.kernel_error is not None or client is None:
        return fact.supported
    is_remote = any(
        None not in pair and pair[0] != pair[1] for pair in zip(name[:3], client.parsed[:3], strict=True)
    )
    return ((name.type, 0),) if is_remote and name.type is not None else ()


def missing_kernel(placement: Placed, fact: NodeFacts, device_type: str) -> str | None:
    """Return why a signature has no kernel on a device type, without a period; None if it has one."""
    op_type = fact.signature.op_type
    if fact.is_function:
        return None
    rows = _rows(placement, fact, device_type)
    if not rows:
        return f"{op_type} has no {device_type} kernel"
    label = fact.attrs.get("_kernel")
    if isinstance(label, bytes) and label and not any(row.label.encode() == label for row in rows):
        return f"no {device_type} kernel for {op_type} has the label '{label.decode(errors='replace')}'"
    try:
        fitting = [row for row in rows if all(name in fact.attrs for name, _ in row.constraints)]
        if any(row.admits(fact.attrs) for row in fitting):
            return None
    except InvalidArgumentError:
        return f"no {device_type} kernel for {op_type} matches attributes of these types"
    constrained = sorted({name for row in rows for name, _ in row.constraints})
    mine = ", ".join(f"{name}={_text(fact.attrs[name])}" for name in constrained if name in fact.attrs)
    return f"no {device_type} kernel for {op_type} with {mine}"


def other_types_advice(placement: Placed, fact: NodeFacts, device_type: str) -> str:
    """Return `use dtype float or half`, dtypes for which a signature would have a kernel; ``""`` if there are none."""
    constrained = {name for row in _rows(placement, fact, device_type) for name, _ in row.constraints}
    choices = []
    for name, allowed in other_types(placement, fact, device_type):
        if len(allowed) > _SHOWN_TYPES:
            listed = ", ".join([*allowed[:_SHOWN_TYPES], "..."])
        else:
            listed = " or ".join(filter(None, [", ".join(allowed[:-1]), allowed[-1]]))
        choices.append(f"{name}={listed}" if len(constrained) > 1 else f"dtype {listed}")
    return f"use {', or '.join(choices)}" if choices else ""


def other_types(
    placement: Placed, fact: NodeFacts, device_type: str
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return attributes that alone keep a signature from having a kernel, with the values that would allow one.

    Strings are left out because no other dtype can hold them.
    """
    alternatives: dict[str, set[str]] = {}
    label = fact.attrs.get("_kernel", b"")
    for row in _rows(placement, fact, device_type):
        if row.label.encode() != label:
            continue
        misses = [name for name, allowed in row.constraints if not _admits(fact.attrs.get(name), allowed)]
        if len(misses) == 1 and fact.attrs.get(misses[0]) != string:
            allowed = dict(row.constraints)[misses[0]]
            alternatives.setdefault(misses[0], set()).update(_text(value) for value in allowed)
    return tuple((name, tuple(sorted(types))) for name, types in sorted(alternatives.items()))


def _rows(placement: Placed, fact: NodeFacts, device_type: str) -> list[KernelDef]:
    """Return the kernel rows of a signature's op for a device type."""
    rows = placement.placer.catalogue.kernels.rows(fact.signature.op_type)
    return [row for row in rows if row.device_type in (device_type, "DEFAULT")]


def _admits(value: object, allowed: frozenset[Any]) -> bool:
    return value in allowed if not isinstance(value, tuple) else allowed.issuperset(value)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join(_text(item) for item in value)
    return str(getattr(value, "short_name", value))


def kernel_summary(placement: Placed, node: int) -> str:
    """Summarize the kernels of a node's op: `VariableV2 on CPU: any type; on GPU: half, float; this node: int32`."""
    fact = placement.facts_of(node)
    op_type = fact.signature.op_type
    if fact.is_function:
        return f"{op_type} is a function: any device"
    by_type: dict[str, list[str]] = {}
    deciding: set[str] = set()
    device_types = {device_type for device_type, _ in placement.device_set.prioritized_types()} | {"DEFAULT"}
    for row in placement.placer.catalogue.kernels.rows(op_type):
        if row.device_type not in device_types:
            continue
        parts = []
        for name, allowed in row.constraints:
            values = sorted(getattr(value, "short_name", str(value)) for value in allowed)
            parts.append((name, "/".join(values)))
            deciding.add(name)
        text = " ".join(f"{name}={values}" for name, values in parts) if len(parts) > 1 else ""
        by_type.setdefault(row.device_type, []).append(text or (parts[0][1] if parts else "any type"))
    if not by_type:
        return f"{op_type}: none"
    listed = "; ".join(
        f"on {'any device' if device_type == 'DEFAULT' else device_type}: {', '.join(dict.fromkeys(rows))}"
        for device_type, rows in sorted(by_type.items())
    )
    mine = ", ".join(
        f"{name}={_text(fact.attrs[name])}" for name in sorted(deciding) if fact.attrs.get(name) is not None
    )
    return f"{op_type} {listed}" + (f"; this node: {mine}" if mine else "")
