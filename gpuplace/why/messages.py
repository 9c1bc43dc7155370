"""Placement faults as errors: the release's own sentence from TensorFlow, then the facts, then what to try.

1.15 and 2.21 write `{{node x}}`, which a session later replaces by the line that created the node. 1.0 and 1.4 print
the node in one line. For a missing device, the "Using GPUs" guide quotes an older message; in 1.0 and 1.4 it is added
as a fact, so that readers of the guide find it.

Source: tensorflow/core/common_runtime/placer.cc, colocation_graph.cc, releases 1.15 and 2.21; placer.cc, release 1.4;
simple_placer.cc, release 1.0. The sentences of 1.0 and 1.4 are those of 1.0.1 and 1.4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuplace.device.parsed_name import ParsedName, parse_name
from gpuplace.device.visible import visible_gpus
from gpuplace.errors import (
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpError,
    UnimplementedError,
    tagged_nodes,
)
from gpuplace.graph.long_list import listed
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.placer import faults
from gpuplace.placer.bindings import Conflict
from gpuplace.placer.grouping import Binding
from gpuplace.placer.placed import AnyFault, InFunction, Placed
from gpuplace.placer.validate import attr_error
from gpuplace.why.kernel_text import kernel_summary
from gpuplace.why.node_text import GUIDE, attr_text, device_text, node_text, specification_text

_SHOWN = 8
"""Number of nodes or kernels that a fact lists before it only counts the rest."""

OLD_RELEASES = ("1.0", "1.4")

SOFT_FIELD = "allow_soft_placement=True"
"""The ``ConfigProto`` field that turns on soft placement in a session."""

_OLD_SUBJECT = {"1.0": "to node", "1.4": "for operation"}
"""How an old release introduces the node that has no device."""


def error_of(placement: Placed, fault: AnyFault) -> OpError:
    """Return the error that TensorFlow raises for a fault, with the source lines of the nodes it names."""
    error = _error_of(placement, fault)
    graph = placement.graph
    if graph.source_line is not None:
        for name in tagged_nodes(error.message):
            line = graph.source_line(graph.index[name]) if name in graph.index else None
            if line:
                error.made_at[name] = line
    return error


def _error_of(placement: Placed, fault: AnyFault) -> OpError:
    match fault:
        case faults.NoDevices():
            return FailedPreconditionError.of(
                "No devices are registered", hint="add at least one CPU device to the machine"
            )
        case faults.AmbiguousKernel(node):
            return _ambiguous(placement, node)
        case faults.NoKernel(node):
            return _no_kernel(placement, node)
        case faults.MalformedDevice(node):
            return _malformed(placement, node)
        case faults.BadAssignment(node, device, reason):
            return _bad_assignment(placement, node, device, reason)
        case faults.AssignmentClash(node, assigned, device):
            return _clash(placement, node, assigned, device)
        case Conflict():
            return _conflict(placement, fault)
        case faults.Recursion(stack=stack):
            return _recursion(stack)
        case faults.FailedInside(node, error):
            return _inside(placement, node, error)
        case faults.Unsatisfiable(node, requested):
            return _unsatisfiable(placement, node, requested)
        case InFunction(node, body, inner):
            return _inside(placement, node, error_of(body, inner))


def _attached(placement: Placed, node: int, message: str) -> str:
    """Append the node that TensorFlow names below a message."""
    name = placement.graph.names[node]
    if placement.release in OLD_RELEASES:
        defaults = placement.facts_of(node).attrs
        return f"{message}\n\t [[Node: {node_text(placement.graph, node, placement.release, defaults)}]]"
    return f"{message}\n\t [[{name if '{{node ' in message else f'{{{{node {name}}}}}'}]]"


def _facts(placement: Placed, node: int, *, group: Iterable[int] = ()) -> dict[str, str]:
    graph = placement.graph
    variable = _variable_around(placement, node)
    part = f", a part of the variable {variable}" if variable else ""
    facts = {"node": f"{graph.names[node]} ({graph.op_type(node)}){part}"}
    request = graph.requested_device(node)
    line = graph.source_line(node) if graph.source_line is not None else None
    if request:
        facts["requested by"] = f"'{request}'" + (f", {line}" if line else "")
    elif line:
        facts["created at"] = line
    others = [member for member in group if member != node]
    if others:
        facts["colocation group"] = _listed(_member_text(placement, member) for member in (node, *others))
    kernels = kernel_summary(placement, node)
    if kernels:
        facts["registered kernels"] = kernels
    facts["available devices"] = ", ".join(sorted(placement.device_set.names)) or "none"
    return facts


def _variable_around(placement: Placed, node: int) -> str:
    """Return the variable that a node initializes, assigns or reads, as the program knows it; "" for other nodes."""
    graph = placement.graph
    path = graph.names[node].rpartition("/")[0]
    while path:
        if path in graph.index and graph.op_type(graph.index[path]) in VARIABLE_OPS:
            return path
        path = path.rpartition("/")[0]
    return ""


def _member_text(placement: Placed, node: int) -> str:
    graph = placement.graph
    request = graph.requested_device(node)
    types = "/".join(kind for kind, _ in placement.facts_of(node).supported) or "no kernel"
    return f"{graph.names[node]} ({graph.op_type(node)} on {types}{f', requested on {request}' if request else ''})"


def _listed(items: Iterable[str]) -> str:
    texts = list(items)
    if len(texts) > _SHOWN:
        return ", ".join(texts[:_SHOWN]) + f", and {len(texts) - _SHOWN} more"
    return ", ".join(texts)


def _ambiguous(placement: Placed, node: int) -> OpError:
    error = placement.facts_of(node).kernel_error
    assert error is not None
    facts = {**error.facts, **_facts(placement, node)}
    return type(error)(None, None, _attached(placement, node, error.message), facts=facts, hint=error.hint)  # type: ignore[call-arg]


def _attrs_text(placement: Placed, node: int) -> str:
    attrs = {**placement.facts_of(node).attrs, **placement.graph.attrs(node)}
    return ", ".join(f"{name}={attr_text(value, placement.release)}" for name, value in sorted(attrs.items()))


def _registered(placement: Placed, node: int) -> str:
    return placement.placer.catalogue.kernels.registered_text(placement.graph.op_type(node))


def _no_kernel(placement: Placed, node: int) -> OpError:
    graph, op_type = placement.graph, placement.graph.op_type(node)
    op_def = placement.placer.catalogue.ops.get(op_type)
    if op_def is not None and placement.placer.rules == "2.21":
        attrs = {**placement.facts_of(node).attrs, **graph.attrs(node)}
        invalid = attr_error(op_def, attrs, graph.names[node])
        if invalid is not None:
            facts = {**invalid.facts, **_facts(placement, node)}
            return InvalidArgumentError.of(
                _attached(placement, node, invalid.message), facts=facts, hint=invalid.hint
            )
    types = ", ".join(sorted(kind for kind, _ in placement.device_set.prioritized_types()))
    if placement.release in OLD_RELEASES:
        message = (
            f"No OpKernel was registered to support Op '{op_type}' with these attrs.  Registered devices: "
            f"[{types.replace(', ', ',')}], "
            f"Registered kernels:\n{_registered(placement, node)}"
        )
    else:
        space = "" if placement.release == "1.15" else " "
        message = (
            f"No OpKernel was registered to support Op '{op_type}' used by {{{{node {graph.names[node]}}}}}{space}with "
            f"these attrs: [{_attrs_text(placement, node)}]\nRegistered devices: [{types}]\nRegistered kernels:\n"
            f"{_registered(placement, node)}"
        )
    rows = placement.placer.catalogue.kernels.rows(op_type)
    if rows:
        types = " or ".join(_types_of(placement, node))
        hint = f"use dtypes for which {op_type} has a kernel, on a machine with this device type: {types}"
    else:
        hint = f"{op_type} has no kernel in this release; it can run only inside a function compiled by XLA, if at all"
    return InvalidArgumentError.of(
        _attached(placement, node, message), facts=_facts(placement, node), hint=hint
    )


def _types_of(placement: Placed, node: int) -> list[str]:
    rows = placement.placer.catalogue.kernels.rows(placement.graph.op_type(node))
    return sorted({"any device" if row.device_type == "DEFAULT" else row.device_type for row in rows})


def _malformed(placement: Placed, node: int) -> OpError:
    graph = placement.graph
    request = graph.requested_device(node)
    text = node_text(graph, node, placement.release, placement.facts_of(node).attrs)
    name = graph.names[node]
    if placement.release in OLD_RELEASES:
        message = f"Malformed device specification '{request}'"
    else:
        position = int(graph.rank[node]) + 2
        shown = text.replace(name, f"{{{{node {name}}}}}", 1)
        devices = "" if placement.release == "1.15" else f"requested: '{request}', assigned: ''"
        message = (
            f"Malformed device specification '{request}' in node: {{name:'{name}' id:{position} op "
            f"device:{{{devices}}} def:{{{shown}}}}}"
        )
    return InvalidArgumentError.of(
        _attached(placement, node, message),
        facts=_facts(placement, node),
        hint=_device_hint(placement, request),
    )


def _device_hint(placement: Placed, request: str) -> str:
    """Suggest how a malformed device should have been written."""
    words = [part for part in request.replace("/", " ").split() if part]
    for word in words:
        device_type, _, number = word.partition(":")
        for device in placement.device_set:
            if device_type.upper() == device.device_type:
                return f"write '/device:{device.device_type}:{number if number.isdigit() else 0}'"
    names = ", ".join(f"'{device.parsed.local_name}'" for device in placement.device_set)
    return f"write one of {names}, or request no device"


def _bad_assignment(placement: Placed, node: int, device: str, reason: str) -> OpError:
    if reason == "malformed":
        message = f"Malformed assigned device '{device}'"
    elif reason == "unknown":
        message = f"Assigned device '{device}' does not match any device"
        if placement.release == "2.21":
            message += (
                ". This error can happen when one attempts to run a tf.function with resource inputs residing on "
                "remote devices. This use case is currently not supported. Here are the devices available on this "
                "machine: "
                f"[{', '.join(placement.device_set.names)}].If you are seeing this error when running using a "
                "tf.Session, set share_cluster_devices_in_session to true in the tf.ConfigProto."
            )
    else:
        op_type = placement.graph.op_type(node)
        message = f"Assigned device '{device}' does not have registered OpKernel support for {op_type}"
    return InternalError.of(
        _attached(placement, node, message),
        facts=_facts(placement, node),
        hint="assign an available device of a type that has a kernel for this node",
    )


def _clash(placement: Placed, node: int, assigned: ParsedName, device: str) -> OpError:
    chosen = parse_name(device)
    assert chosen is not None
    differing = "types" if chosen.type != assigned.type else "ids"
    if chosen[:3] != assigned[:3]:
        differing = next(
            word
            for word, a, b in zip(("jobs", "replicas", "tasks"), assigned, chosen, strict=False)
            if a != b
        )
    return InternalError.of(
        "Constraining by assigned device should not cause an error. Original root's assigned device name: "
        f"{assigned.to_string()} node's assigned device name \"{device}. Error: Cannot merge devices with incompatible "
        f"{differing}: '{assigned.to_string()}' and '{device}'",
        facts=_facts(placement, node, group=placement.group_of(node)),
        hint="request the device that the group already has, or remove the request",
    )


def _conflict(placement: Placed, conflict: Conflict) -> OpError:
    graph = placement.graph
    first, second = conflict.first, conflict.second
    names = graph.names[first], graph.names[second]
    facts = _facts(placement, first, group=conflict.group)
    facts["conflict between"] = f"{_member_text(placement, first)} and {_member_text(placement, second)}"
    facts["tied by"] = _tie_text(placement, conflict)
    if conflict.is_whole:
        return InvalidArgumentError.of(
            conflict.message,
            facts=facts,
            hint="request the device that is requested inside the called function, or none"
            if conflict.binding is Binding.CALL
            else "put the variables that one op uses on one device, or request no device for them",
        )
    is_kernel = conflict.message.startswith("because")
    detail = conflict.message
    if placement.release in OLD_RELEASES:
        if is_kernel:
            detail += _old_debug_info(placement, conflict.group)
        detail = specification_text(detail, placement.release)
        pair = f"'{names[0]}' and '{names[1]}" + (
            "'" if is_kernel else ""
        )  # TensorFlow's message lacks this quote too
    else:
        pair = f"{{{{colocation_node {names[0]}}}}} and {{{{colocation_node {names[1]}}}}}"
    message = f"Cannot colocate nodes {pair}{' ' if is_kernel else ': '}{detail}"
    if conflict.binding.is_edge:
        kind = "reference or resource" if placement.release == "2.21" else "reference"
        message = (
            f"Nodes were connected by a {kind} connection (requiring them to be on the same device), but the two nodes "
            f"were assigned two different devices: {message}"
        )
    hint = "request the same device for all nodes of the group, or none"
    if is_kernel:
        hint = "no device type has kernels for all of them: split the group, or change an op or its dtype"
    if conflict.binding is Binding.CALL:
        return InvalidArgumentError.of(message, facts=facts, hint=hint)
    node = second if conflict.binding.is_edge else first
    if not conflict.binding.is_edge:
        hint += f"; {_soft_switch(placement)} ignores the colocation"
    return InvalidArgumentError.of(_attached(placement, node, message), facts=facts, hint=hint)


def _recursion(stack: Sequence[faults.Frame]) -> OpError:
    *outer, last = stack
    lines, body = [], ""
    for frame in outer:
        where = f"Function {{{{function_node {body}}}}}" if body else "Graph"
        lines.append(f"{where} contains node {{{{node {frame.node}}}}}")
        lines.append(f"Node {{{{node {frame.node}}}}} calls function {{{{function_node {frame.function}}}}}")
        body = frame.function
    return UnimplementedError.of(
        f"Recursive function calls are not supported. Node {{{{node {last.node}}}}} inside the body of "
        f"{{{{function_node {body}}}}} calls function {{{{function_node {last.function}}}}} which is already present "
        "in the call stack:\n  " + "\n  ".join(lines),
        facts={"functions": " > ".join(frame.function for frame in stack)},
        hint="a function that returns resources cannot call itself: build the loop with tf.while_loop",
    )


def _inside(placement: Placed, node: int, error: OpError) -> OpError:
    """Return the error of a node inside a called function, with its own message and the call as a fact."""
    name, function = placement.graph.names[node], placement.graph.inspections[node].function
    within = (f"{name} calls {function}", *filter(None, [error.facts.get("inside")]))
    facts = {**error.facts, "inside": ", where ".join(within)}
    return type(error)(None, None, error.message, facts=facts, hint=error.hint)  # type: ignore[call-arg]


def _tie_text(placement: Placed, conflict: Conflict) -> str:
    names = placement.graph.names
    if conflict.binding is Binding.COLOCATION:
        groups = placement.graph.colocation(conflict.first)
        return f"_class of {names[conflict.first]}: {', '.join(f'loc:@{group}' for group in groups) or 'its own name'}"
    return f"{conflict.binding.value} {names[conflict.first]} -> {names[conflict.second]}"


def _unsatisfiable(placement: Placed, node: int, requested: ParsedName) -> OpError:
    graph = placement.graph
    name, request = graph.names[node], graph.requested_device(node)
    facts = _facts(placement, node, group=placement.group_of(node))
    hint = _unsatisfiable_hint(placement, node, requested)
    parsed = parse_name(request)
    is_missing = parsed == requested and not placement.device_set.matching(requested)
    if placement.release in OLD_RELEASES:
        if is_missing:
            facts["in the guide"] = _guide_sentence(placement, node)
        start = f"Cannot assign a device {_OLD_SUBJECT[placement.release]} '{name}': "
        detail = _old_unsatisfiable(placement, node, requested, is_missing=is_missing)
    else:
        start = f"Cannot assign a device for operation {name}: "
        detail = _new_unsatisfiable(placement, node, requested, is_missing=is_missing)
    return InvalidArgumentError.of(_attached(placement, node, start + detail), facts=facts, hint=hint)


def _no_kernel_detail(placement: Placed, node: int) -> str:
    types = listed(placement.facts_of(node).input_types, lambda dtype: str(dtype.short_name))
    return (
        "Node had no OpKernel registered to support this operation: Operation was "
        f"{placement.graph.op_type(node)} and inputs were [{types}]."
    )


def _old_unsatisfiable(placement: Placed, node: int, requested: ParsedName, *, is_missing: bool) -> str:
    """Return the text of 1.0 and 1.4 about a request that cannot be satisfied."""
    release, request = placement.release, placement.graph.requested_device(node)
    info = _old_debug_info(placement, placement.group_of(node))
    parsed = parse_name(request)
    if requested == ParsedName():
        return f"{_no_kernel_detail(placement, node)}{info}"
    specification = f"Could not satisfy explicit device specification '{request}"
    if is_missing and release == "1.0":
        devices = ", ".join(sorted(device_text(name, release) for name in placement.device_set.names))
        return (
            f"{specification}' because no devices matching that specification are registered in this process; "
            f"available devices: {devices}{info}"
        )
    if is_missing:
        devices = ", ".join(sorted(placement.device_set.names))
        return (
            f"Operation was explicitly assigned to {request} but available devices are [ {devices} ]. Make sure the "
            "device specification refers to a valid device."
        )
    if parsed != requested:
        return (
            f"{specification}' because the node was colocated with a group of nodes that required incompatible device "
            f"'{specification_text(requested.to_string(), release)}'{info}"
        )
    if parsed.type is None:
        return f"{specification}{info}"
    return f"{specification}' because no supported kernel for {parsed.type} devices is available.{info}"


def _new_unsatisfiable(placement: Placed, node: int, requested: ParsedName, *, is_missing: bool) -> str:
    """Return the text of 1.15 and 2.21 about a request that cannot be satisfied."""
    graph, request = placement.graph, placement.graph.requested_device(node)
    info = _debug_info(placement, placement.group_of(node))
    parsed = parse_name(request)
    if requested == ParsedName():
        return f"{_no_kernel_detail(placement, node)}\n{info}"
    if is_missing:
        devices = ", ".join(sorted(placement.device_set.names))
        return (
            f"{{{{node {graph.names[node]}}}}} was explicitly assigned to {request} but available devices are "
            f"[ {devices} ]. Make sure the device specification refers to a valid device."
            f"{_no_cuda(placement, parsed)}"
        )
    specification = f"Could not satisfy explicit device specification '{request}"
    if parsed != requested:
        return (
            f"{specification}' because the node {{{{colocation_node {graph.names[node]}}}}} was colocated with a group "
            f"of nodes that required incompatible device '{requested.to_string()}'. All available devices "
            f"[{', '.join(placement.device_set.names)}]. {info}"
        )
    if parsed.type is None:
        return f"{specification}{info}"
    return (
        f"{specification}' because no supported kernel for {parsed.type} devices is available.{info}\n"
        f"Op: {graph.op_type(node)}\nNode attrs: {_attrs_text(placement, node)}\nRegistered kernels:\n"
        f"{_registered(placement, node)}"
    )


def _no_cuda(placement: Placed, request: ParsedName | None) -> str:
    """Sentence that a TensorFlow without CUDA adds when a GPU is requested."""
    origin = placement.device_set.origin
    if origin is None or not origin.machine.is_cpu_build:
        return ""
    if request is None or request.type != "GPU":
        return ""
    return " The requested device appears to be a GPU, but CUDA is not enabled."


def _guide_sentence(placement: Placed, node: int) -> str:
    """Return the error about a missing device as the guide of the release quotes it."""
    request = placement.graph.requested_device(node)
    parsed = parse_name(request)
    if placement.release == "1.0" and parsed is not None:
        request = parsed.to_legacy_string()
    defaults = placement.facts_of(node).attrs
    return (
        f"Cannot assign a device to node '{placement.graph.names[node]}': Could not satisfy explicit device "
        f"specification '{request}'\n\t [[Node: {node_text(placement.graph, node, GUIDE, defaults, device=request)}]]"
    )


def _unsatisfiable_hint(placement: Placed, node: int, requested: ParsedName) -> str:
    exists = bool(placement.device_set.matching(requested))
    anywhere = not requested.job and not requested.replica and not requested.task
    soft = not placement.soft and (
        anywhere or bool(placement.device_set.matching(requested._replace(type=None, id=None)))
    )
    suggestions = []
    if soft and placement.facts_of(node).supported:
        suggestions.append(_soft_switch(placement))
    if not exists:
        same_type = sorted(
            d.parsed.local_name for d in placement.device_set if d.device_type == requested.type
        )
        if same_type:
            suggestions.append(f"request a device of the machine ({', '.join(same_type)})")
        elif requested.type == "GPU":
            suggestions.append(_gpu_hint(placement))
        else:
            suggestions.append("request a device of the machine")
    else:
        supported = [kind for kind, _ in placement.group_supported(node)]
        if supported:
            suggestions.append(f"place the node on a {' or '.join(supported)}")
    return ", or ".join(suggestions) or "change the requested device"


def _gpu_hint(placement: Placed) -> str:
    """Suggest how to get a GPU: another machine, or other visible devices if the machine has GPUs."""
    origin = placement.device_set.origin
    if origin is None or not origin.machine.gpus or origin.machine.tasks:
        return "use a machine with a GPU"
    seen = visible_gpus(origin.machine.gpus, origin.environ)
    if seen.visible or not seen.hidden:
        return "use a machine with a GPU"
    return f"make a GPU visible: {next(iter(seen.hidden.values()))}"


def _soft_switch(placement: Placed) -> str:
    """Return the setting that turns on soft placement where the graph was placed."""
    return getattr(placement, "soft_switch", SOFT_FIELD)


def _types_in(placement: Placed, group: Iterable[int]) -> list[str]:
    """Return a line per op type of a group, with the device types that have kernels for it."""
    types = {
        placement.graph.op_type(node): "".join(
            f"{device_type} " for device_type, _ in placement.facts_of(node).supported
        )
        for node in group
    }
    return [f"{op_type}: {device_types}" for op_type, device_types in sorted(types.items())]


def _old_debug_info(placement: Placed, group: Sequence[int]) -> str:
    """Return the table that 1.0 and 1.4 print for a group of two or more nodes."""
    if len(group) < 2:
        return ""
    head = ["\nColocation Debug Info:", "Colocation group had the following types and devices: "]
    return "\n".join([*head, *_types_in(placement, group)])


def _debug_info(placement: Placed, group: list[int]) -> str:
    """Return the table that TensorFlow appends about a group's ops, device types and requests."""
    graph = placement.graph
    root = placement.constraints(group[0])
    supported = ", ".join(kind for kind, _ in root.supported)
    lines = [
        "\nColocation Debug Info:",
        "Colocation group had the following types and supported devices: ",
        f"Root Member(assigned_device_name_index_=-1 requested_device_name_='{root.requested.to_string()}' "
        f"assigned_device_name_='{root.assigned.to_string()}' resource_device_name_='{root.resource.to_string()}' "
        f"supported_device_types_=[{supported}] possible_devices_=[]",
        *_types_in(placement, group),
        "",
        "Colocation members, user-requested devices, and framework assigned devices, if any:",
    ]
    for node in group:
        assigned = placement.assigned.get(node)
        tail = f" framework assigned device={assigned}" if assigned else ""
        lines.append(f"  {graph.names[node]} ({graph.op_type(node)}) {graph.requested_device(node)}{tail}")
    return "\n".join(lines) + "\n"
