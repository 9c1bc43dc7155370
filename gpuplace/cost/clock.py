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
_UNSENT = -1
"""In the place of the edge that needs a copy: none does."""


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
    host_start, host_end, start, end = clock.host_start, clock.host_end, clock.start, clock.end
    host_cause, cause, events = clock.host_cause, clock.cause, clock.events
    first, after, is_turned, weight, gpu = graph.first, graph.after, graph.is_turned, graph.weight, graph.gpu
    hosts, kernels, helds, is_expensive = costs.host, costs.kernel, costs.held, costs.is_expensive
    device, stream, cost, pending = clock.device, clock.stream, clock.cost, clock.pending
    head, tail, following, free, last = clock.head, clock.tail, clock.following, clock.free, clock.last
    items, wake_up, idle = graph.item_count, costs.wake_up, threads
    now, current, crossing, turn, finish = costs.begin, -1, -1, 0, 0.0
    reset(graph, clock, threads)
    while finish <= limit:
        if head[threads] >= 0 and idle > 0 and (wake_up == 0.0 or is_awake(clock, now)):
            idle -= 1
            line, fetching, what = clock.idle[idle], costs.queue, _GOES_ON
            head[line] = head[threads]
            head[threads] = following[head[line]]
            following[head[line]] = -1
        else:
            if wake_up > 0.0:
                turn = wake(clock, threads, idle, now, wake_up, current, turn)
            if not events:
                return finish
            now, _, code, line = heappop(events)
            current, what, fetching = code >> 2, code & 3, 0.0
            if what == _BEGINS:
                turn += 3
                finish = max(finish, begin_copy(graph, ways, clock, current, costs.poll, now, turn))
                continue
            if what == _WAKES:
                clock.awake[1] -= 1
                watch(clock, now, idle)
                continue
            if line < 0:
                deliver(graph, clock, current - items, threads)
                continue
        if what == _IS_OVER:
            costly, crosses, own = -1, 0, device[current]
            is_gpu = gpu[own] >= 0
            for at in range(first[current], first[current + 1]):
                other = after[at]
                if device[other] != own or (is_gpu and is_turned[at] == 1):
                    crosses, crossing = crosses + 1, at
                    continue
                left = pending[other] - 1
                pending[other] = left
                if left > 0:
                    continue
                if is_expensive[cost[other]] == 1:
                    costly = instead(clock, threads, costly, other)
                    continue
                following[other] = -1
                if head[line] < 0:
                    head[line] = other
                else:
                    following[tail[line]] = other
                tail[line] = other
            if crosses == 1:
                costly = send(graph, ways, clock, current, crossing, line, threads, costly)
            elif crosses > 1:
                costly = send_all(graph, ways, clock, current, line, threads, costly)
            if costly >= 0:
                append(clock, line if head[line] < 0 else threads, costly)
        item = head[line]
        if item < 0:
            clock.idle[idle] = line
            idle += 1
            if wake_up > 0.0:
                watch(clock, now, idle)
            continue
        head[line] = following[item]
        host_start[item], host_cause[item], cause[item] = now, current, -1
        turn += 2
        if item >= items:
            finish = max(finish, start_copy(graph, costs, ways, clock, item, line, now + fetching, turn))
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
                begin = take_cores(graph, clock, item, begin, helds[at] * much)
            over = begin + seconds
            host_end[item] = over
            heappush(events, (over, turn, item << 2, line))
        start[item], end[item] = begin, over
        if over > finish:
            finish = over
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
    clock.copies[0], clock.awake[0], clock.awake[1], clock.looks_until[0] = 0, 1, 0, -1.0
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


def instead(clock: Clock, threads: int, costly: int, other: int) -> int:
    """Leaves to another thread what the thread at hand would have run, as there is something else for it now.

    Args:
        clock: changed.
        threads: as of `run`.
        costly: the item that is left; -1: none.
        other: what takes its place.
    """
    if costly >= 0:
        append(clock, threads, costly)
    return other


def is_awake(clock: Clock, now: float) -> bool:
    """Whether one of the idle threads need not be woken up: it has just become idle, or looks for something to do.

    Args:
        clock: changed, if so: the thread has found something.
        now: the time.
    """
    if clock.awake[0] == 0 and now >= clock.looks_until[0]:
        return False
    if clock.awake[0] == 0 or clock.looks_until[0] == now + SPIN_SECONDS:
        clock.looks_until[0] = -1.0
    clock.awake[0] = max(clock.awake[0] - 1, 0)
    return True


def watch(clock: Clock, now: float, idle: int) -> None:
    """Has a thread look for something to do, that has woken up or has nothing left to do.

    Args:
        clock: changed.
        now: the time.
        idle: how many threads have nothing to do, this one included.
    """
    clock.awake[0] = min(clock.awake[0] + 1, idle)
    if clock.looks_until[0] < now:
        clock.looks_until[0] = now + SPIN_SECONDS


def wake(clock: Clock, threads: int, idle: int, now: float, wake_up: float, current: int, turn: int) -> int:
    """Lets idle threads sleep, and begins to wake up as many as there are items that are ready.

    Args:
        clock: changed.
        threads: as of `run`.
        idle: how many threads have nothing to do.
        now: the time.
        wake_up: how long it takes to wake up.
        current: the item whose event is handled.
        turn: of the last event.

    Returns:
        The turn of the last event then.
    """
    clock.awake[0] = 0
    item = clock.head[threads]
    for number in range(idle):
        if item < 0:
            break
        if number >= clock.awake[1]:
            clock.awake[1] += 1
            turn += 1
            heappush(clock.events, (now + wake_up, turn, current << 2 | _WAKES, -1))
        item = clock.following[item]
    return turn


def take_cores(graph: StepGraph, clock: Clock, item: int, begin: float, seconds: float) -> float:
    """Has a kernel of the CPU compute with all threads of the intra-op pool, after those that do.

    Args:
        graph: what is done.
        clock: changed.
        item: whose kernel it is.
        begin: when it is started.
        seconds: how long it needs them.

    Returns:
        When it begins.
    """
    pool = graph.pool[clock.device[item]]
    if clock.pool_free[pool] > begin:
        begin, clock.cause[item] = clock.pool_free[pool], clock.pool_last[pool]
    clock.pool_free[pool], clock.pool_last[pool] = begin + seconds, item
    return begin


def send(
    graph: StepGraph, ways: Ways, clock: Clock, item: int, edge: int, line: int, threads: int, costly: int
) -> int:
    """Makes a copy of what an item has made.

    Args:
        graph: what is done.
        ways: of copies.
        clock: changed.
        item: which.
        edge: the edge, or one of those, that needs it.
        line: the thread that the item ran on, which starts what a GPU sends.
        threads: as of `run`.
        costly: what that thread has made ready, and would best leave to another; -1: nothing.

    Returns:
        The same then.
    """
    node, own, there = graph.node[item], clock.device[item], clock.device[graph.after[edge]]
    tensor, to_host, is_gpu = graph.tensor[edge], graph.reads_in_host[edge], graph.gpu[own] >= 0
    is_signal = tensor == graph.first_tensor[node]
    if there != own and (is_signal or graph.gpu[there] < 0):
        to_host = 1
    is_in_gpu = is_gpu and (is_signal or graph.is_made_in_host[tensor] == 0)
    source = graph.memory[own] if is_in_gpu else graph.host_memory[own]
    target = graph.host_memory[there] if to_host == 1 else graph.memory[there]
    copy = clock.copies[0]
    clock.copies[0] = copy + 1
    clock.source[copy], clock.carried[copy], clock.only_edge[copy] = item, tensor, edge
    clock.receiver[copy], clock.to_host[copy] = there, to_host
    clock.way[copy] = ways.number[(source * graph.memory_count + target) * 2 + graph.is_fed[node]]
    if is_gpu:
        append(clock, line, graph.item_count + copy)
        return costly
    return instead(clock, threads, costly, graph.item_count + copy)


def send_all(
    graph: StepGraph, ways: Ways, clock: Clock, item: int, line: int, threads: int, costly: int
) -> int:
    """Makes the copies of what an item has made, in the order of outputs, devices and memories.

    Args:
        graph, ways, clock, item, line, threads, costly: as of `send`.
    """
    node, own, devices, is_sent = graph.node[item], clock.device[item], graph.device_count, clock.is_sent
    signal, is_gpu, gpu, device = graph.first_tensor[node], graph.gpu[own] >= 0, graph.gpu, clock.device
    low, high = len(is_sent), -1
    for edge in range(graph.first[item], graph.first[item + 1]):
        there, to_host, tensor = device[graph.after[edge]], graph.reads_in_host[edge], graph.tensor[edge]
        if there != own:
            if tensor == signal or gpu[there] < 0:
                to_host = 1
        elif not is_gpu or graph.is_turned[edge] == 0:
            continue
        slot = ((tensor - signal) * devices + there) * 2 + to_host
        is_sent[slot] = edge if is_sent[slot] == _UNSENT else -2 - edge
        low, high = min(low, slot), max(high, slot)
    for slot in range(low, high + 1):
        mark = is_sent[slot]
        if mark != _UNSENT:
            is_sent[slot] = _UNSENT
            edge = mark if mark >= 0 else -2 - mark
            costly = send(graph, ways, clock, item, edge, line, threads, costly)
            if mark < 0:
                clock.only_edge[clock.copies[0] - 1] = -1
    return costly


def start_copy(
    graph: StepGraph, costs: Costs, ways: Ways, clock: Clock, item: int, line: int, now: float, turn: int
) -> float:
    """Has a thread start a copy, which is queued.

    Args:
        graph: what is done.
        costs: what it takes.
        ways: of copies.
        clock: changed.
        item: the copy.
        line: the thread.
        now: when it begins to.
        turn: of its events; the one before is free too.

    Returns:
        When it has started it.
    """
    copy, events = item - graph.item_count, clock.events
    launched = now + costs.copy * graph.weight[clock.source[copy]]
    clock.host_end[item] = launched
    way = clock.way[copy]
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
            return launched
    heappush(events, (launched, turn, item << 2 | _GOES_ON, line))
    return launched


def begin_copy(
    graph: StepGraph, ways: Ways, clock: Clock, item: int, poll: float, now: float, turn: int
) -> float:
    """Has a copy go over its links, and the next one of its stream begin after it.

    Args:
        graph: what is done.
        ways: of copies.
        clock: changed.
        item: the copy.
        poll: how long after its end its receiver hears of it.
        now: when it may begin.
        turn: of the last of its three events.

    Returns:
        When it is over.
    """
    copy, events, link, rate = item - graph.item_count, clock.events, ways.link, ways.rate
    way = clock.way[copy]
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
    only = clock.only_edge[copy]
    if only >= 0:
        pending[after[only]] -= 1
        if pending[after[only]] == 0:
            append(clock, threads, after[only])
        return
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
