"""Latency of a sample when devices run blocks of nodes, and its search; see ``annealing`` for the rules."""

from __future__ import annotations

from gpuplace.advisor.annealing import (
    acceptance_slack,
    advance,
    apply_change,
    keep_best,
    propose,
    recompute_memory,
    undo_change,
)
from gpuplace.advisor.records import Blocks, BlockWork, LoadState, Network
from gpuplace.numerics.compiled.arrays import Reals, Wholes


def latency(blocks: Blocks, device: Wholes, work: BlockWork, cost: Reals) -> float:
    """Return the latency of one sample; infinite if blocks wait for each other.

    On a device that is not a pool, a node cannot share a block with a node on which it depends through another device:
    the n-th block contains the nodes with at most n - 1 such round trips on their paths.

    Args:
        blocks: the ``Blocks``.
        device: ``[groups]`` device of each.
        work: scratch space; overwritten.
        cost: ``[1]`` receives the total time of all blocks and copies.
    """
    count = form_blocks(blocks, device, work)
    connect_blocks(blocks, device, work)
    return run_blocks(blocks, work, count, cost)


def form_blocks(blocks: Blocks, device: Wholes, work: BlockWork) -> int:
    """Assign each node to a block, and sum up the times of the nodes in each block; return the number of blocks.

    Args:
        blocks: the ``Blocks``.
        device: ``[groups]`` device of each.
        work: scratch space; overwritten.
    """
    devices, nodes = blocks.device_count, blocks.node_count
    turns, table, head, following = work.turns, work.table, work.head, work.following
    count = 0
    for node in range(nodes):
        here = device[blocks.group[node]]
        row = node * devices
        for any_device in range(devices):
            turns[row + any_device] = 0
        turn = 1
        for at in range(blocks.before_start[node], blocks.before_start[node + 1]):
            source = blocks.before[at]
            other = source * devices
            for any_device in range(devices):
                if turns[other + any_device] > turns[row + any_device]:
                    turns[row + any_device] = turns[other + any_device]
            if device[blocks.group[source]] == here:
                if turns[other + here] > turn:
                    turn = turns[other + here]
            elif turns[other + here] + 1 > turn:
                turn = turns[other + here] + 1
        block = -1
        if blocks.is_pool[here] == 0:
            turns[row + here] = turn
            block = table[here * (nodes + 1) + turn]
        if block < 0:
            block = count
            count += 1
            work.ready[block] = 0.0
            work.busy[block] = 0.0
            work.waits[block] = 0
            head[block] = -1
            work.last[block] = -1
            if blocks.is_pool[here] == 0:
                table[here * (nodes + 1) + turn] = block
        work.block[node] = block
        work.busy[block] += blocks.seconds[row + here]
        following[node] = head[block]
        head[block] = node
    return count


def connect_blocks(blocks: Blocks, device: Wholes, work: BlockWork) -> None:
    """Count the edges into each block, and add the times of its transfers.

    Args:
        blocks: the ``Blocks``.
        device: ``[groups]`` device of each.
        work: scratch space after `form_blocks`; changed.
    """
    devices, nodes = blocks.device_count, blocks.node_count
    block, busy, last = work.block, work.busy, work.last
    for node in range(nodes):
        mine = block[node]
        here = device[blocks.group[node]]
        # `form_blocks` expects an empty table in its next call.
        work.table[here * (nodes + 1) + work.turns[node * devices + here]] = -1
        is_sent = False
        for at in range(blocks.after_start[node], blocks.after_start[node + 1]):
            reader = blocks.after[at]
            other = block[reader]
            if other != mine:
                work.waits[other] += 1
                is_sent = True
                if last[other] != node:  # a block receives each output once
                    last[other] = node
                    busy[other] += blocks.transfer[node] * blocks.links[device[blocks.group[reader]]]
        if is_sent:
            busy[mine] += blocks.transfer[node] * blocks.links[here]


def run_blocks(blocks: Blocks, work: BlockWork, count: int, cost: Reals) -> float:
    """Run the blocks in topological order, and return the end of the last one; infinite if they form a cycle.

    Args:
        blocks: the ``Blocks``.
        work: scratch space after `connect_blocks`; changed.
        count: number of blocks, as `form_blocks` returns it.
        cost: ``[1]`` receives the total time of all blocks.
    """
    ready, busy, waits, queue = work.ready, work.busy, work.waits, work.queue
    tail = 0
    for block in range(count):
        if waits[block] == 0:
            queue[tail] = block
            tail += 1
    at = 0
    finish = 0.0
    total = 0.0
    while at < tail:
        block = queue[at]
        at += 1
        end = ready[block] + busy[block]
        total += busy[block]
        if end > finish:
            finish = end
        node = work.head[block]
        while node >= 0:
            for where in range(blocks.after_start[node], blocks.after_start[node + 1]):
                other = work.block[blocks.after[where]]
                if other != block:
                    if end > ready[other]:
                        ready[other] = end
                    waits[other] -= 1
                    if waits[other] == 0:
                        queue[tail] = other
                        tail += 1
            node = work.following[node]
    cost[0] = total
    return finish if tail == count else float("inf")


def anneal_latency(
    net: Network, blocks: Blocks, state: LoadState, work: BlockWork, heat: float, steps: int
) -> None:
    """Anneal the latency of one sample at one temperature.

    Args:
        net: see ``anneal_loads``, also for ``state``, ``heat`` and ``steps``.
        blocks: the ``Blocks``.
        work: scratch space.
    """
    device, total = state.device, state.total
    excess = recompute_memory(net, state)
    energy = latency(blocks, device, work, total) + state.weight * total[0]
    for _ in range(steps):
        size = propose(net, state, -1)
        if size == 0:
            continue
        after = apply_change(net, state, size)
        is_accepted = False
        if after <= excess:
            limit = energy + acceptance_slack(state, heat)
            finish = latency(blocks, device, work, total)
            changed = finish + state.weight * total[0]
            if finish < float("inf") and (after < excess or changed <= limit):
                is_accepted = True
                energy = changed
                excess = after
                keep_best(net, state, finish)
        if not is_accepted:
            undo_change(net, state, size)


def try_all_latencies(net: Network, blocks: Blocks, state: LoadState, work: BlockWork, steps: int) -> int:
    """Evaluate the next splits by latency; ``state.best`` and ``best_device`` keep the best.

    Args:
        net: the ``Network``.
        blocks: the ``Blocks``.
        state: ``device`` is the last split that was evaluated; changed.
        work: scratch space.
        steps: number of splits to evaluate.

    Returns:
        The number of splits evaluated; less than `steps` at the end.
    """
    for step in range(steps):
        recompute_memory(net, state)
        keep_best(net, state, latency(blocks, state.device, work, state.total))
        if not advance(net, state.device):
            return step
    return steps
