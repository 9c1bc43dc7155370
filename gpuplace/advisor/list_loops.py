"""List scheduling in the loops' part of Python: nodes one after the other, each to the device where it is done first.

Sources: Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing"
(2002), section 4 (HEFT: upward ranks); Hwang, Chow, Anger, Lee, "Scheduling precedence graphs in systems with
interprocessor communication times" (1989) (ETF: of what is ready, what can begin first).
"""

from __future__ import annotations

from gpuplace.advisor.records import Step
from gpuplace.numerics.compiled.arrays import Reals, Wholes


def upward_ranks(step: Step, order: Wholes, weight: float, rank: Reals) -> None:
    """How long it takes at the least from the begin of each node to the end of the step, copies included.

    Args:
        step: a ``Step``.
        order: ``[nodes]``, topological.
        weight: how much copies count.
        rank: ``[nodes]``; written.
    """
    devices = step.device_count
    per_unit = 0.0
    latency = 0.0
    pairs = 0
    for one in range(devices):
        for other in range(devices):
            if one != other:
                per_unit += step.per_unit[one * devices + other]
                latency += step.latency[one * devices + other]
                pairs += 1
    if pairs > 0:
        per_unit *= weight / pairs
        latency *= weight / pairs
    for at in range(len(order) - 1, -1, -1):
        node = order[at]
        longest = 0.0
        for edge in range(step.first[node], step.first[node + 1]):
            value = latency + per_unit * step.units[edge] + rank[step.readers[edge]]
            if value > longest:
                longest = value
        rank[node] = longest + quickest(step, node)


def quickest(step: Step, node: int) -> float:
    """What a node takes where it is quickest.

    Args:
        step: a ``Step``.
        node: which.
    """
    best = float("inf")
    for one in range(step.device_count):
        at = node * step.device_count + one
        value = step.seconds[at]
        if step.starts[at] > value and value < float("inf"):
            value = step.starts[at]
        if value < best:
            best = value
    return best


def schedule(
    step: Step,
    runs: Reals,
    sizes: Reals,
    rooms: Reals,
    before_start: Wholes,
    before: Wholes,
    rank: Reals,
    window: int,
    idle: Wholes,
    heap: Wholes,
    stack: Wholes,
    waits: Wholes,
    done: Reals,
    free: Reals,
    used: Reals,
    device: Wholes,
) -> None:
    """Puts every group where the first of its nodes to be scheduled is done first.

    What is idle, such as a variable, goes where it is first read by what is not.

    Args:
        step: a ``Step``.
        runs: ``[groups, devices]``: infinite where a group cannot run.
        sizes: ``[groups]``.
        rooms: ``[devices]``.
        before_start: ``[nodes + 1]``.
        before: edges by the node that they lead to.
        rank: ``[nodes]``: what is ready is taken by falling rank.
        window: of how many of the ready the one that can begin first is taken; 1: the first by rank.
        idle: ``[nodes]``: see ``idle_nodes``.
        heap: ``[nodes]``; written.
        stack: ``[nodes]``; written.
        waits: ``[nodes]``; written.
        done: ``[nodes]``; written.
        free: ``[devices]``; written.
        used: ``[devices]``; written.
        device: ``[groups]``; written.
    """
    devices = step.device_count
    size = 0
    for one in range(devices):
        free[one] = 0.0
        used[one] = 0.0
    for group in range(len(device)):
        device[group] = -1
    for node in range(step.node_count):
        waits[node] = before_start[node + 1] - before_start[node]
        done[node] = 0.0
        if waits[node] == 0:
            size = push_ranked(heap, size, rank, node)
    while size > 0:
        chosen = -1
        target = 0
        ready_first = float("inf")
        end_first = float("inf")
        tried = window if window < size else size
        for at in range(tried):  # the heap's first ones are those of high rank
            node = heap[at]
            is_found = False
            for turn in range(devices):  # the host comes last: of what begins first, it would always be free
                one = devices - 1 - turn
                if window > 1 and is_found and step.is_pool[one] == 1:
                    continue
                begin = earliest(
                    step, runs, sizes, rooms, before_start, before, done, used, device, node, one
                )
                if begin == float("inf"):
                    continue
                is_found = True
                if is_alone(step, node, one) and free[one] > begin:
                    begin = free[one]
                end = begin + lasting(step, node, one)
                first = begin if window > 1 else end
                if first < ready_first or (first == ready_first and end < end_first):
                    ready_first = first
                    end_first = end
                    chosen = at
                    target = one
            if idle[node] == 1:
                chosen = at
                break
        if chosen < 0:  # nowhere is room: where it is quickest
            chosen = 0
            group = step.group[heap[0]]
            best = float("inf")
            for one in range(devices):
                if runs[group * devices + one] < best and runs[group * devices + one] < float("inf"):
                    best = runs[group * devices + one]
                    target = one
            if device[group] >= 0:
                target = device[group]
            end_first = free[target] + lasting(step, heap[0], target)
        node = heap[chosen]
        size = drop_ranked(heap, size, rank, chosen)
        group = step.group[node]
        if idle[node] == 0:
            top = 1
            stack[0] = node
            while top > 0:
                top -= 1
                reader = stack[top]
                for at in range(before_start[reader], before_start[reader + 1]):
                    maker = step.source[before[at]]
                    source = step.group[maker]
                    if device[source] < 0 and source != group:
                        there = target
                        if runs[source * devices + target] == float("inf"):
                            there = 0
                            for one in range(devices):
                                if runs[source * devices + one] < runs[source * devices + there]:
                                    there = one
                        device[source] = there
                        used[there] += sizes[source]
                        stack[top] = maker
                        top += 1
            if device[group] < 0:
                device[group] = target
                used[target] += sizes[group]
            target = device[group]
            done[node] = end_first
            if is_alone(step, node, target):
                free[target] = end_first
        for edge in range(step.first[node], step.first[node + 1]):
            reader = step.readers[edge]
            waits[reader] -= 1
            if waits[reader] == 0:
                size = push_ranked(heap, size, rank, reader)
    for group in range(len(device)):
        if device[group] < 0:
            best = float("inf")
            for one in range(devices):
                if runs[group * devices + one] < best:
                    best = runs[group * devices + one]
                    device[group] = one


def idle_nodes(step: Step, order: Wholes, before_start: Wholes, before: Wholes, idle: Wholes) -> None:
    """Nodes that take no time and wait for nothing that does, such as variables and what reads them.

    Args:
        step: a ``Step``.
        order: ``[nodes]``, topological.
        before_start: see ``schedule``.
        before: likewise.
        idle: ``[nodes]``; written, 1 or 0.
    """
    for node in order:
        is_idle = False
        for one in range(step.device_count):
            if step.seconds[node * step.device_count + one] == 0.0:
                is_idle = True
        for at in range(before_start[node], before_start[node + 1]):
            if idle[step.source[before[at]]] == 0:
                is_idle = False
        idle[node] = 1 if is_idle and step.first[node + 1] > step.first[node] else 0


def is_alone(step: Step, node: int, one: int) -> bool:
    """Whether a node has a device for itself while it runs.

    Args:
        step: a ``Step``.
        node: which.
        one: the device.
    """
    if step.is_pool[one] == 1:
        return bool(step.held[node] > 0.0)
    return lasting(step, node, one) > 0.0


def lasting(step: Step, node: int, one: int) -> float:
    """What a node takes on a device, at least as long as it takes to start it.

    Args:
        step: a ``Step``.
        node: which.
        one: the device.
    """
    seconds = step.seconds[node * step.device_count + one]
    starts = step.starts[node * step.device_count + one]
    return seconds if seconds > starts else starts


def earliest(
    step: Step,
    runs: Reals,
    sizes: Reals,
    rooms: Reals,
    before_start: Wholes,
    before: Wholes,
    done: Reals,
    used: Reals,
    device: Wholes,
    node: int,
    one: int,
) -> float:
    """When all that a node reads can be on a device; infinite where it cannot run there. Arguments as of ``schedule``.

    Args:
        step: likewise.
        runs: likewise.
        sizes: likewise.
        rooms: likewise.
        before_start: likewise.
        before: likewise.
        done: likewise.
        used: likewise.
        device: likewise.
        node: which.
        one: the device.
    """
    devices = step.device_count
    group = step.group[node]
    needed = used[one]
    if device[group] >= 0:
        if device[group] != one:
            return float("inf")
    else:
        if runs[group * devices + one] == float("inf"):
            return float("inf")
        needed += sizes[group]
    begin = 0.0
    for at in range(before_start[node], before_start[node + 1]):
        edge = before[at]
        source = step.source[edge]
        there = device[step.group[source]]
        if there < 0:
            if runs[step.group[source] * devices + one] < float("inf"):
                needed += sizes[step.group[source]]
                continue
            there = step.host if step.host >= 0 else 0
        value = done[source]
        if there != one:
            way = there * devices + one
            if step.is_signal[edge] == 0:
                value += step.latency[way] + step.units[edge] * step.per_unit[way]
        if value > begin:
            begin = value
    if device[group] < 0 and needed > rooms[one]:
        return float("inf")
    return begin


def push_ranked(heap: Wholes, size: int, rank: Reals, node: int) -> int:
    """Puts a node into the heap of those that are ready; the highest rank comes first.

    Args:
        heap: ``[nodes]``; changed.
        size: how many are in it.
        rank: ``[nodes]``.
        node: which.

    Returns:
        How many are in it now.
    """
    at = size
    while at > 0:
        above = (at - 1) // 2
        other = heap[above]
        if rank[other] > rank[node] or (rank[other] == rank[node] and other < node):
            break
        heap[at] = other
        at = above
    heap[at] = node
    return size + 1


def drop_ranked(heap: Wholes, size: int, rank: Reals, at: int) -> int:
    """Takes a node out of the heap.

    Args:
        heap: ``[nodes]``; changed.
        size: how many are in it.
        rank: ``[nodes]``.
        at: its position.

    Returns:
        How many are in it now.
    """
    size -= 1
    node = heap[size]
    if at == size:
        return size
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        other = below + 1
        if other < size and (
            rank[heap[other]] > rank[heap[below]]
            or (rank[heap[other]] == rank[heap[below]] and heap[other] < heap[below])
        ):
            below = other
        if rank[node] > rank[heap[below]] or (rank[node] == rank[heap[below]] and node < heap[below]):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = node
    while at > 0:
        above = (at - 1) // 2
        other = heap[above]
        if rank[other] > rank[node] or (rank[other] == rank[node] and other < node):
            break
        heap[at] = other
        at = above
    heap[at] = node
    return size


def at_least(step: Step, edge: int, one: int, other: int) -> float:
    """What passes at least from the end of a kernel until another device can begin with what it made.

    Args:
        step: a ``Step``.
        edge: what leads from one to the other.
        one: where it is made.
        other: where it is read.
    """
    if step.host_reads[edge] == 1 and step.host >= 0 and one != other:
        other = step.host
    if one == other or step.is_signal[edge] == 1:
        return 0.0
    way = one * step.device_count + other
    if step.channel[way] < 0:
        return 0.0
    return float(step.latency[way] + step.units[edge] * step.per_unit[way])


def is_early(step: Step, edge: int, one: int) -> bool:
    """Whether a reader need not wait for the kernels before: a GPU's node that works in the host's memory, as `Shape`.

    Args:
        step: a ``Step``.
        edge: what leads to the reader.
        one: where what it reads is made.
    """
    return bool(step.host >= 0 and step.is_pool[one] == 0 and step.host_made[edge] == 1)


def takes(step: Step, node: int, one: int) -> float:
    """What a node keeps those waiting who read it; infinite where it cannot run.

    Args:
        step: a ``Step``.
        node: which.
        one: the device.
    """
    at = node * step.device_count + one
    if step.is_pool[one] == 1 and step.seconds[at] < float("inf"):
        return float(step.seconds[at] + step.starts[at])
    return float(step.seconds[at])


def earliest_ends(step: Step, order: Wholes, begin: Reals, end: Reals) -> None:
    """When each node can be done at the earliest on each device, wherever all before it are.

    Args:
        step: a ``Step``.
        order: ``[nodes]``, topological.
        begin: ``[nodes, devices]`` of zeros; written.
        end: ``[nodes, devices]``; written.
    """
    devices = step.device_count
    for node in order:
        row = node * devices
        for one in range(devices):
            end[row + one] = begin[row + one] + takes(step, node, one)
        for edge in range(step.first[node], step.first[node + 1]):
            for other in range(devices):
                soonest = float("inf")
                for one in range(devices):
                    if end[row + one] < float("inf"):
                        value = 0.0
                        if not is_early(step, edge, one):
                            value = end[row + one] + at_least(step, edge, one, other)
                        if value < soonest:
                            soonest = value
                where = step.readers[edge] * devices + other
                if soonest > begin[where]:
                    begin[where] = soonest


def shortest_rests(step: Step, order: Wholes, rest: Reals) -> None:
    """What passes at least from the end of each node on each device to the end of the step, wherever all after it are.

    Args:
        step: a ``Step``.
        order: ``[nodes]``, topological.
        rest: ``[nodes, devices]`` of zeros; written.
    """
    devices = step.device_count
    for place in range(len(order) - 1, -1, -1):
        node = order[place]
        for edge in range(step.first[node], step.first[node + 1]):
            reader = step.readers[edge]
            for one in range(devices):
                if is_early(step, edge, one):
                    continue
                soonest = float("inf")
                for other in range(devices):
                    value = takes(step, reader, other) + rest[reader * devices + other]
                    value += at_least(step, edge, one, other)
                    if value < soonest:
                        soonest = value
                if soonest > rest[node * devices + one]:
                    rest[node * devices + one] = soonest
