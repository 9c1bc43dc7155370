"""The time of one sample, where devices run blocks of nodes; see ``loops`` for what loops are."""

from __future__ import annotations

from gpuplace.advisor.loops import advance, keep_best, propose, shift, shift_back, slack, weigh
from gpuplace.advisor.records import Blocks, BlockWork, LoadState, Network
from gpuplace.numerics.compiled.arrays import Reals, Wholes


def latency(blocks: Blocks, device: Wholes, work: BlockWork, cost: Reals) -> float:
    """The time of one sample; infinite where blocks wait for each other.

    On a device that is no pool, what a node waits for outside the device and what that waits for on it cannot be one
    block: the n-th block has the nodes on whose way lie at most n - 1 such returns.

    Args:
        blocks: the ``Blocks``.
        device: ``[groups]``.
        work: a ``BlockWork``; written.
        cost: ``[1]``: written, what all blocks do and carry, one after the other.
    """
    devices = blocks.device_count
    nodes = blocks.node_count
    turns, block, ready, busy, waits = work.turns, work.block, work.ready, work.busy, work.waits
    head, following, last, table, queue = work.head, work.following, work.last, work.table, work.queue
    found = 0
    for node in range(nodes):
        here = device[blocks.group[node]]
        row = node * devices
        for one in range(devices):
            turns[row + one] = 0
        turn = 1
        for at in range(blocks.before_start[node], blocks.before_start[node + 1]):
            source = blocks.before[at]
            other = source * devices
            for one in range(devices):
                if turns[other + one] > turns[row + one]:
                    turns[row + one] = turns[other + one]
            if device[blocks.group[source]] == here:
                if turns[other + here] > turn:
                    turn = turns[other + here]
            elif turns[other + here] + 1 > turn:
                turn = turns[other + here] + 1
        one = -1
        if blocks.is_pool[here] == 0:
            turns[row + here] = turn
            one = table[here * (nodes + 1) + turn]
        if one < 0:
            one = found
            found += 1
            ready[one] = 0.0
            busy[one] = 0.0
            waits[one] = 0
            head[one] = -1
            last[one] = -1
            if blocks.is_pool[here] == 0:
                table[here * (nodes + 1) + turn] = one
        block[node] = one
        busy[one] += blocks.seconds[row + here]
        following[node] = head[one]
        head[one] = node
    for node in range(nodes):
        mine = block[node]
        here = device[blocks.group[node]]
        table[here * (nodes + 1) + turns[node * devices + here]] = -1  # as it was before this call
        is_sent = False
        for at in range(blocks.after_start[node], blocks.after_start[node + 1]):
            reader = blocks.after[at]
            other = block[reader]
            if other != mine:
                waits[other] += 1
                is_sent = True
                if last[other] != node:
                    last[other] = node
                    busy[other] += blocks.transfer[node] * blocks.links[device[blocks.group[reader]]]
        if is_sent:
            busy[mine] += blocks.transfer[node] * blocks.links[here]
    tail = 0
    for one in range(found):
        if waits[one] == 0:
            queue[tail] = one
            tail += 1
    at = 0
    finish = 0.0
    total = 0.0
    while at < tail:
        one = queue[at]
        at += 1
        done = ready[one] + busy[one]
        total += busy[one]
        if done > finish:
            finish = done
        node = head[one]
        while node >= 0:
            for where in range(blocks.after_start[node], blocks.after_start[node + 1]):
                other = block[blocks.after[where]]
                if other != one:
                    if done > ready[other]:
                        ready[other] = done
                    waits[other] -= 1
                    if waits[other] == 0:
                        queue[tail] = other
                        tail += 1
            node = following[node]
    cost[0] = total
    return finish if tail == found else float("inf")


def anneal_latency(
    net: Network, blocks: Blocks, state: LoadState, work: BlockWork, heat: float, steps: int
) -> None:
    """Simulated annealing of the time of one sample, at one temperature.

    Args:
        net, state, heat, steps: as of ``anneal_loads``.
        blocks: the ``Blocks``.
        work: a ``BlockWork``.
    """
    device, total = state.device, state.total
    excess = weigh(net, state)
    energy = latency(blocks, device, work, total) + state.weight * total[0]
    for _ in range(steps):
        size = propose(net, state, -1)
        if size == 0:
            continue
        after = shift(net, state, size)
        is_taken = False
        if after <= excess:
            limit = energy + slack(state, heat)
            finish = latency(blocks, device, work, total)
            changed = finish + state.weight * total[0]
            if finish < float("inf") and (after < excess or changed <= limit):
                is_taken = True
                energy = changed
                excess = after
                keep_best(net, state, finish)
        if not is_taken:
            shift_back(net, state, size)


def try_all_latencies(net: Network, blocks: Blocks, state: LoadState, work: BlockWork, steps: int) -> int:
    """The next of all splits by the time of one sample; ``state.best`` and ``best_device`` keep the best.

    Args:
        net: the ``Network``.
        blocks: the ``Blocks``.
        state: its ``device`` is the last split that was tried; changed.
        work: a ``BlockWork``.
        steps: how many to try.

    Returns:
        How many were tried; fewer than `steps` if that was the last.
    """
    for step in range(steps):
        weigh(net, state)
        keep_best(net, state, latency(blocks, state.device, work, state.total))
        if not advance(net, state.device):
            return step
    return steps
