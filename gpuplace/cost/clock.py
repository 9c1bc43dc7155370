"""TensorFlow's executor as discrete events: when every item of a step starts and ends, and what it waited for last.

Host and GPU have times of their own. A thread of the executor starts a kernel and goes on; the kernel runs when those
queued before it on the GPU's compute stream are done. What is cheap to start runs on the thread that made it ready,
one after the other; what is not goes to the pool. A tensor is copied when it is made, once to each memory where it is
read. A copy waits for the streams at both of its ends, for its own stream and, in the order in which they could begin,
for the links that it shares with others; when it is over, what reads it there goes to the pool::

    thread 1   |a|b|c| ......                  starts of kernels
    GPU:0          |  a  |   b   |  c  |       kernels, in the order in which they were started
    to the host                  |== b ==|     a copy: after b, and after all that was started before it
    thread 2                             |d|   the pool: d takes b on the CPU

A kernel of the CPU that is split has the threads of the intra-op pool for itself while they compute, so that no two
such kernels use the same cores at a time; while they wake up others may. On a cluster each machine has a pool of its
own, and copies between machines share the interfaces to the network; the threads that run ops are those of all machines
together.

All is determined: events at one time are handled in the order in which they were made. The functions are written in the
part of Python that numba compiles (`gpuplace.numerics.compiled`): estimates run them as they stand, the advisor's
search compiled, and both give the same bits. In Python a call takes as long as three steps of a loop, so that `run`
does by itself whatever is done for every item, and calls functions for copies, of which there are fewer.

Source: tensorflow/core/common_runtime/executor.cc (ScheduleReady, NodeDone), core/common_runtime/gpu/gpu_util.cc
(streams of copies), release 1.15.
"""

from __future__ import annotations

from heapq import heappop, heappush
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpuplace.cost.step_graph import NO_STREAM, Clock, Costs, StepGraph, Times, Ways
from gpuplace.numerics.compiled.arrays import Wholes

SPIN_SECONDS = 50e-6
"""For how long a thread of the pool that has nothing left to do looks for more before it sleeps; one does at a time.

Source: WaitForWork and the loop around it in Eigen's NonBlockingThreadPool.h, 5,000 looks divided by the threads; that
these take so long is a round figure.
"""
_IS_OVER, _GOES_ON, _BEGINS, _WAKES = range(4)
"""Events of an item: it is over, the thread that started it goes on, a copy may begin, a thread has woken up for it."""
_UNSENT, _SEVERAL = -2, -1
"""In the place of the edge that needs a copy: none does, several do."""


def run(graph: StepGraph, costs: Costs, ways: Ways, clock: Clock, threads: int, limit: float) -> float:
    """Runs a step whose devices are settled.

    Args:
        graph: what is done.
        costs: what it takes.
        ways: of copies.
        clock: written; as `settle` left it.
        threads: of the inter-op pool.
        limit: seconds; as soon as the step is longer, the run ends.

    Returns:
        Seconds that the step takes; infinite where that is more than the limit.
    """
    events, host_start, host_end, start, end = (
        clock.events,
        clock.host_start,
        clock.host_end,
        clock.start,
        clock.end,
    )
    host_cause, cause = clock.host_cause, clock.cause
    first, after, is_turned, weight, gpu = graph.first, graph.after, graph.is_turned, graph.weight, graph.gpu
    hosts, kernels, helds, is_expensive = costs.host, costs.kernel, costs.held, costs.is_expensive
    device, stream, cost, pending, following = (
        clock.device,
        clock.stream,
        clock.cost,
        clock.pending,
        clock.following,
    )
    head, tail, free, last, only_edge = clock.head, clock.tail, clock.free, clock.last, clock.only_edge
    items, wake_up = graph.item_count, costs.wake_up
    reset(graph, clock, threads)
    idle, awake, waking = (
        threads,
        1,
        0,
    )  # of the idle: those that need not be woken up, and those that wake up
    spins_until = -1.0  # one more of the idle need not be, until then
    now, current, turn, finish = costs.begin, -1, 0, 0.0
    while True:
        fetching = 0.0
        if head[threads] >= 0 and idle > 0 and (awake > 0 or now < spins_until or wake_up == 0.0):
            idle -= 1
            if awake == 0 or spins_until == now + SPIN_SECONDS:
                spins_until = -1.0
            if awake > 0:
                awake -= 1
            line, fetching = clock.idle[idle], costs.queue
            item = head[threads]
            head[threads] = following[item]
        else:
            if wake_up > 0.0:
                awake = 0
                for _ in range(ready(clock, threads, idle) - waking):
                    waking, turn = waking + 1, turn + 1
                    heappush(events, (now + wake_up, turn, current << 2 | _WAKES, -1))
            if not events:
                return finish
            now, _, code, line = heappop(events)
            current, what = code >> 2, code & 3
            if what == _WAKES:
                waking -= 1
                awake = min(awake + 1, idle)
                spins_until = now + SPIN_SECONDS if spins_until < now else spins_until
                continue
            if what == _BEGINS:
                turn += 3
                over = begin_copy(graph, ways, clock, current, current - items, costs.poll, now, turn)
                if over > finish:
                    finish = over
                    if finish > limit:
                        return float("inf")
                continue
            if line < 0:
                at = only_edge[current - items]
                if at < 0:
                    deliver(graph, clock, current - items, threads)
                    continue
                pending[after[at]] -= 1
                if pending[after[at]] == 0:
                    append(clock, threads, after[at])
                continue
            if what == _IS_OVER:
                costly, crosses, own = -1, False, device[current]
                is_gpu = gpu[own] >= 0
                for at in range(first[current], first[current + 1]):
                    other = after[at]
                    if device[other] != own or (is_gpu and is_turned[at] == 1):
                        crosses = True
                        continue
                    left = pending[other] - 1
                    pending[other] = left
                    if left > 0:
                        continue
                    if is_expensive[cost[other]] == 1:
                        if costly >= 0:
                            append(clock, threads, costly)
                        costly = other
                        continue
                    following[other] = -1
                    if head[line] < 0:
                        head[line] = other
                    else:
                        following[tail[line]] = other
                    tail[line] = other
                if crosses:
                    costly = send(graph, ways, clock, current, line, threads, costly)
                if costly >= 0:
                    append(clock, line if head[line] < 0 else threads, costly)
            item = head[line]
            if item < 0:
                clock.idle[idle] = line
                idle, awake = idle + 1, awake + 1
                spins_until = now + SPIN_SECONDS if spins_until < now else spins_until
                continue
            head[line] = following[item]
        host_start[item], host_cause[item], cause[item] = now, current, -1
        turn += 2
        if item >= items:
            launched = now + fetching + costs.copy * weight[clock.source[item - items]]
            host_end[item] = launched
            start_copy(ways, clock, item, item - items, line, launched, turn)
            if launched > finish:
                finish = launched
            continue
        much, at, by = weight[item], cost[item], stream[item]
        launched = now + fetching + hosts[at] * much
        seconds = kernels[at] * much
        begin = launched
        if by >= 0:
            if seconds > 0.0:
                if free[by] > begin:
                    begin, cause[item] = free[by], last[by]
                free[by], last[by] = begin + seconds, item
            over = begin + seconds
            host_end[item] = launched
            heappush(events, (launched, turn, item << 2, line))
        else:
            if helds[at] > 0.0:
                pool = graph.pool[device[item]]
                if clock.pool_free[pool] > begin:
                    begin, cause[item] = clock.pool_free[pool], clock.pool_last[pool]
                clock.pool_free[pool], clock.pool_last[pool] = begin + helds[at] * much, item
            over = begin + seconds
            host_end[item] = over
            heappush(events, (over, turn, item << 2, line))
        start[item], end[item] = begin, over
        if over > finish:
            finish = over
            if finish > limit:
                return float("inf")


def reset(graph: StepGraph, clock: Clock, threads: int) -> None:
    """Puts a clock back to the step's begin.

    Args:
        graph: what is done.
        clock: changed.
        threads: as of `run`.
    """
    while clock.events:  # a run that was too long has left some
        heappop(clock.events)
    clock.copies[0] = 0
    clock.pending[:] = graph.waits
    for line in range(threads + 1):
        clock.head[line] = -1
    for line in range(threads):
        clock.idle[line] = line
    for stream in range(len(clock.free)):
        clock.free[stream] = 0.0
        clock.is_due[stream] = 0
        clock.queue_head[stream] = -1
    for link in range(len(clock.link_free)):
        clock.link_free[link] = 0.0
    for pool in range(len(clock.pool_free)):
        clock.pool_free[pool] = 0.0
    waits = graph.waits
    for item in range(graph.item_count):
        if waits[item] == 0:
            append(clock, threads, item)


def append(clock: Clock, line: int, item: int) -> None:
    """Puts an item at the end of what a thread does next, or of what is ready.

    Args:
        clock: changed.
        line: the thread; how many there are, for what is ready.
        item: which.
    """
    head, following = clock.head, clock.following
    following[item] = -1
    if head[line] < 0:
        head[line] = item
    else:
        following[clock.tail[line]] = item
    clock.tail[line] = item


def ready(clock: Clock, line: int, most: int) -> int:
    """How many items are ready, up to a number.

    Args:
        clock: where they are queued.
        line: as of `append`.
        most: no more are counted.
    """
    found, item = 0, clock.head[line]
    while item >= 0 and found < most:
        found, item = found + 1, clock.following[item]
    return found


def send(graph: StepGraph, ways: Ways, clock: Clock, item: int, line: int, threads: int, costly: int) -> int:
    """Makes the copies of what an item has made, in the order of outputs, devices and memories.

    Args:
        graph: what is done.
        ways: of copies.
        clock: changed.
        item: which.
        line: the thread that it ran on, which starts what a GPU sends.
        threads: as of `run`.
        costly: what that thread has made ready, and would best leave to another; -1: nothing.

    Returns:
        The same then.
    """
    node, own, devices, device, is_sent = (
        graph.node[item],
        clock.device[item],
        graph.device_count,
        clock.device,
        clock.is_sent,
    )
    signal, is_gpu, gpu, tensors = graph.first_tensor[node], graph.gpu[own] >= 0, graph.gpu, graph.tensor
    low, high = len(is_sent), -1
    after, reads = graph.after, graph.reads_in_host
    for at in range(graph.first[item], graph.first[item + 1]):
        there, to_host, tensor = device[after[at]], reads[at], tensors[at]
        if there != own:
            if tensor == signal or gpu[there] < 0:
                to_host = 1
        elif not is_gpu or graph.is_turned[at] == 0:
            continue
        slot = ((tensor - signal) * devices + there) * 2 + to_host
        is_sent[slot] = at if is_sent[slot] == _UNSENT else _SEVERAL
        if slot < low:
            low = slot
        if slot > high:
            high = slot
    for slot in range(low, high + 1):
        if is_sent[slot] == _UNSENT:
            continue
        tensor, there, to_host = signal + slot // (2 * devices), slot // 2 % devices, slot % 2
        is_in_gpu = is_gpu and (tensor == signal or graph.is_made_in_host[tensor] == 0)
        source = graph.memory[own] if is_in_gpu else graph.host_memory[own]
        target = graph.host_memory[there] if to_host == 1 else graph.memory[there]
        number = clock.copies[0]
        clock.copies[0] = number + 1
        clock.source[number], clock.carried[number] = item, tensor
        clock.receiver[number], clock.to_host[number] = there, to_host
        clock.way[number] = ways.number[(source * graph.memory_count + target) * 2 + graph.is_fed[node]]
        clock.only_edge[number], is_sent[slot] = is_sent[slot], _UNSENT
        other = graph.item_count + number
        if is_gpu:
            append(clock, line, other)
        else:
            if costly >= 0:
                append(clock, threads, costly)
            costly = other
    return costly


def start_copy(ways: Ways, clock: Clock, item: int, copy: int, line: int, launched: float, turn: int) -> None:
    """Queues a copy that a thread has started.

    Args:
        ways: of copies.
        clock: changed.
        item: the copy.
        copy: its number.
        line: the thread.
        launched: when it was started.
        turn: of its events; the one before is free too.
    """
    way, events = clock.way[copy], clock.events
    stream = ways.stream[way]
    if stream == NO_STREAM:
        clock.start[item], clock.end[item] = launched, launched
        heappush(events, (launched, turn - 1, item << 2, -1))
    else:
        free, last, begin, waited = clock.free, clock.last, launched, -1
        gpu = ways.source[way]
        if gpu >= 0 and free[gpu] > begin:
            begin, waited = free[gpu], last[gpu]
        gpu = ways.target[way]
        if gpu >= 0 and free[gpu] > begin:
            begin, waited = free[gpu], last[gpu]
        if stream >= 0 and clock.is_due[stream] == 1:
            clock.start[item] = begin  # as long as it is queued: when it could begin
            clock.following[item] = -1
            if clock.queue_head[stream] < 0:
                clock.queue_head[stream] = item
            else:
                clock.following[clock.queue_tail[stream]] = item
            clock.queue_tail[stream] = item
        else:
            if stream >= 0:
                clock.is_due[stream] = 1
                if free[stream] > begin:
                    begin, waited = free[stream], last[stream]
            heappush(events, (begin, turn - 1, item << 2 | _BEGINS, -1))
        clock.cause[item] = waited
        if ways.blocks[way] == 1:
            clock.kept[copy] = line
            return
    heappush(events, (launched, turn, item << 2 | _GOES_ON, line))


def begin_copy(
    graph: StepGraph, ways: Ways, clock: Clock, item: int, copy: int, poll: float, now: float, turn: int
) -> float:
    """Has a copy go over its links, and the next one of its stream begin after it.

    Args:
        graph: what is done.
        ways: of copies.
        clock: changed.
        item: the copy.
        copy: its number.
        poll: how long after its end its receiver hears of it.
        now: when it may begin.
        turn: of the last of its three events.

    Returns:
        When it is over.
    """
    way, events, link, rate = clock.way[copy], clock.events, ways.link, ways.rate
    link_free, link_last, cause = clock.link_free, clock.link_last, clock.cause
    nbytes = graph.nbytes[clock.carried[copy]] * graph.weight[clock.source[copy]]
    begin, links = now, range(ways.first_link[way], ways.first_link[way + 1])
    for at in links:
        if link_free[link[at]] > begin:
            begin, cause[item] = link_free[link[at]], link_last[link[at]]
    over = begin + ways.latency[way] + nbytes / ways.bandwidth[way]
    for at in links:
        link_free[link[at]], link_last[link[at]] = begin + nbytes / rate[at], item
    clock.start[item], clock.end[item] = begin, over
    heappush(events, (over + poll, turn - 2, item << 2, -1))
    if ways.blocks[way] == 1:
        clock.host_end[item] = over
        heappush(events, (over, turn - 1, item << 2 | _GOES_ON, clock.kept[copy]))
    stream = ways.stream[way]
    if stream >= 0:
        clock.free[stream], clock.last[stream] = over, item
        other = clock.queue_head[stream]
        if other >= 0:
            clock.queue_head[stream] = clock.following[other]
            ready_at = clock.start[other]
            if over >= ready_at:
                ready_at, cause[other] = over, item
            heappush(events, (ready_at, turn, other << 2 | _BEGINS, -1))
        else:
            clock.is_due[stream] = 0
    return float(over)


def deliver(graph: StepGraph, clock: Clock, copy: int, threads: int) -> None:
    """Makes ready what only waited for a copy.

    Args:
        graph: what is done.
        clock: changed.
        copy: number of the copy, which is over.
        threads: as of `run`.
    """
    device, tensors, pending, after = clock.device, graph.tensor, clock.pending, graph.after
    source, tensor, receiver = clock.source[copy], clock.carried[copy], clock.receiver[copy]
    is_any = graph.gpu[receiver] < 0 or tensor == graph.first_tensor[graph.node[source]]
    for at in range(graph.first[source], graph.first[source + 1]):
        if tensors[at] != tensor:
            continue
        other = after[at]
        if device[other] == receiver and (is_any or graph.reads_in_host[at] == clock.to_host[copy]):
            pending[other] -= 1
            if pending[other] == 0:
                append(clock, threads, other)


def path_back(clock: Clock, items: int, count: int, on_path: Wholes, on_host: Wholes) -> int:
    """What a step waited for, from its end back to its begin.

    Args:
        clock: after a run, or its times and streams.
        items: how many items there are, without copies.
        count: how many with them.
        on_path: ``[2 * count]``; written: items.
        on_host: the same; written: 1 for the thread that starts an item, 0 for its kernel or copy.

    Returns:
        How many there are on the path.
    """
    item, latest = -1, -1.0
    for one in range(count):
        over = max(clock.end[one], clock.host_end[one])
        if over >= latest and clock.host_start[one] >= 0.0:
            item, latest = one, over
    is_start = item >= 0 and clock.host_end[item] > clock.end[item]
    found = 0
    while item >= 0:
        if not is_start:
            on_path[found], on_host[found] = item, 0
            found += 1
            if clock.cause[item] >= 0:
                item = clock.cause[item]
                continue
        on_path[found], on_host[found] = item, 1
        found += 1
        before = clock.host_cause[item]
        is_start = before >= 0 and (before >= items or clock.stream[before] >= 0)
        is_start = is_start and abs(clock.host_end[before] - clock.host_start[item]) < 1e-12
        item = before
    return found


def path(
    times: Times, host: np.ndarray, stream: np.ndarray, items: int
) -> list[tuple[int, bool, float, float]]:
    """What a step waited for, in order of time.

    Args:
        times: of the step.
        host: [items and copies] seconds of the thread that starts each.
        stream: [items] of kernels of GPUs; -1 for those of the CPU.
        items: how many items there are, without copies.

    Returns:
        Item, whether it is the thread that starts it (else its kernel or copy), begin and end in seconds; what is
        between an end and the next begin nobody used.
    """
    count = len(times.end)
    on_path, on_host = [0] * (2 * count), [0] * (2 * count)
    ran: Any = SimpleNamespace(**times._asdict(), stream=stream.tolist())
    length = path_back(ran, items, count, on_path, on_host)
    found = []
    for item, is_start in zip(on_path[:length][::-1], on_host[:length][::-1], strict=True):
        if is_start:
            begin = times.host_start[item]
            found.append((item, True, begin, begin + float(host[item])))
        else:
            found.append((item, False, times.start[item], times.end[item]))
    return found
