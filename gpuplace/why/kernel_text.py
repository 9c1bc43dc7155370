"""What a node's kernels allow, in words: on which device types it can run, and which types would have a kernel.

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
    """Which device types can run a node: `kernels for Pow with T=int32: CPU; none on GPU`."""
    fact = placement.facts_of(node)
    op_type = fact.signature.op_type
    if fact.is_function:
        return f"{op_type} is a function: it runs anywhere"
    if fact.supported and not own_facts(placement, node).supported:
        return f"{op_type} has no kernel here: it may have one in the task that the node asks for"
    kinds = [kind for kind, _ in fact.supported]
    types = _deciding_types(placement, node)
    lacking = [kind for kind, _ in placement.device_set.prioritized_types() if kind not in kinds]
    text = f"kernels for {op_type}{f' with {types}' if types else ''}: {', '.join(kinds) or 'none'}"
    if kinds and lacking:
        text += f"; none on {', '.join(lacking)}"
    return text


def _deciding_types(placement: Placed, node: int) -> str:
    fact = placement.facts_of(node)
    names = placement.placer.catalogue.kernels.deciding_attrs(fact.signature.op_type)
    return ", ".join(f"{name}={_text(fact.attrs[name])}" for name in names if name in fact.attrs)


def own_facts(placement: Placed, node: int) -> NodeFacts:
    """A node's facts in this process, whatever it asks for."""
    placer = placement.placer
    facts = placer.facts(tuple(kind for kind, _ in placement.device_set.prioritized_types()))
    return facts[placer.graph.signature[node]]


def supported_when_asking(placement: Placed, node: int, name: ParsedName) -> SupportedTypes:
    """Device types of a node that asks for some device: in another task it may have kernels that are unknown here."""
    fact, client = own_facts(placement, node), placement.device_set.client_device
    if fact.supported or fact.has_attr_mismatch or fact.kernel_error is not None or client is None:
        return fact.supported
    is_remote = any(
        None not in pair and pair[0] != pair[1] for pair in zip(name[:3], client.parsed[:3], strict=True)
    )
    return ((name.type, 0),) if is_remote and name.type is not None else ()


def missing_kernel(placement: Placed, fact: NodeFacts, kind: str) -> str | None:
    """Why a signature has no kernel on a device type, and which types would have one; None where it has one."""
    op_type = fact.signature.op_type
    if fact.is_function:
        return None
    rows = _rows(placement, fact, kind)
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
    text = f"no {kind} kernel for {op_type} with {mine}"
    for name, allowed in other_types(placement, fact, kind):
        listed = ", ".join(allowed[:_SHOWN_TYPES]) + (", ..." if len(allowed) > _SHOWN_TYPES else "")
        verb = "has" if len(allowed) == 1 else "have"
        text += f"; {f'{name}=' if len(constrained) > 1 else ''}{listed} {verb} one"
    return text


def other_types(placement: Placed, fact: NodeFacts, kind: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Attributes of which another type, all else being equal, gives a signature a kernel, with those types.

    Strings are left out: no other type holds them.
    """
    found: dict[str, set[str]] = {}
    label = fact.attrs.get("_kernel", b"")
    for row in _rows(placement, fact, kind):
        if row.label.encode() != label:
            continue
        misses = [name for name, allowed in row.constraints if not _admits(fact.attrs.get(name), allowed)]
        if len(misses) == 1 and fact.attrs.get(misses[0]) != string:
            allowed = dict(row.constraints)[misses[0]]
            found.setdefault(misses[0], set()).update(_text(value) for value in allowed)
    return tuple((name, tuple(sorted(types))) for name, types in sorted(found.items()))


def _rows(placement: Placed, fact: NodeFacts, kind: str) -> list[KernelDef]:
    """The rows of a signature's op for a device type."""
    rows = placement.placer.catalogue.kernels.rows(fact.signature.op_type)
    return [row for row in rows if row.device_type in (kind, "DEFAULT")]


def _admits(value: Any, allowed: frozenset[Any]) -> bool:
    return value in allowed if not isinstance(value, tuple) else allowed.issuperset(value)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "/".join(_text(item) for item in value)
    return str(getattr(value, "short_name", value))


def kernel_summary(placement: Placed, node: int) -> str:
    """`VariableV2 on CPU: any type; on GPU: half, float; this node: int32` for one node's op."""
    fact = placement.facts_of(node)
    op_type = fact.signature.op_type
    if fact.is_function:
        return f"{op_type} is a function: any device"
    by_type: dict[str, list[str]] = {}
    deciding: set[str] = set()
    kinds = {kind for kind, _ in placement.device_set.prioritized_types()} | {"DEFAULT"}
    for row in placement.placer.catalogue.kernels.rows(op_type):
        if row.device_type not in kinds:
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
        f"on {'any device' if kind == 'DEFAULT' else kind}: {', '.join(dict.fromkeys(rows))}"
        for kind, rows in sorted(by_type.items())
    )
    mine = ", ".join(
        f"{name}={_text(fact.attrs[name])}" for name in sorted(deciding) if fact.attrs.get(name) is not None
    )
    return f"{op_type} {listed}" + (f"; this node: {mine}" if mine else "")
