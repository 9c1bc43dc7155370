"""Discrete-event simulation of TensorFlow's executor: when each item of a step starts and ends, and what it waits for.

Host and GPU have separate clocks. A thread of the executor launches a kernel and goes on; the kernel runs once the
kernels queued before it on the GPU's compute stream are done. A cheap item runs on the thread that made it ready; an
expensive one goes to the pool. A tensor is copied as soon as it is computed, once to each memory where it is read. A
copy waits for the streams at both of its ends, for its own stream and, in the order in which copies could begin, for
the links that it shares with others. When the copy ends, its consumers go to the pool::

    thread 1   |a|b|c| ......                  kernel launches
    GPU:0          |  a  |   b   |  c  |       kernels, in launch order
    to the host                  |== b ==|     a copy: after b, and after everything launched before it
    thread 2                             |d|   the pool: d consumes b on the CPU

A CPU kernel that is split occupies all threads of the intra-op pool while it computes, so two such kernels never
use the same cores at once; while those threads wake up, other kernels may use the cores. In a cluster each machine
has its own intra-op pool, and copies between machines share the network interfaces; the inter-op threads of all
machines are pooled.

The simulation is deterministic: simultaneous events are handled in the order in which they were created. The functions
use the subset of Python that numba compiles (`gpuplace.numerics.compiled`): estimates run them interpreted, the
advisor's search runs them compiled, and both return the same bits. In Python a call costs as much as three loop
iterations, so `run` handles the work of every item inline and calls functions only for copies, which are rarer.

Source: tensorflow/core/common_runtime/executor.cc (ScheduleReady, NodeDone), core/common_runtime/gpu/gpu_util.cc
(copy streams), release 1.15.
"""

from __future__ import annotations

from heapq import heappop, heappush
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpuplace.cost.step_graph import NO_STREAM, Clock, Costs, StepGraph, Times, Ways
from gpuplace.numerics.compiled.arrays import Wholes

SPIN_SECONDS = 50e-6
"""How long an idle pool thread spins before it sleeps; one thread spins at a time.

Source: WaitForWork and the loop around it in Eigen's NonBlockingThreadPool.h: 5,000 iterations divided by the number
of threads. The duration is a rounded estimate.
"""
_IS_OVER, _GOES_ON, _BEGINS, _WAKES = range(4)
"""Events of an item: it ended, its launching thread goes on, a copy may begin, a thread has woken up for it."""
_UNSENT = -1
"""Marks a slot whose tensor no edge needs copied."""


def run(graph: StepGraph, costs: Costs, ways: Ways, clock: Clock, threads: int, limit: float) -> float:
    """Simulate a step whose nodes have devices.

    Args:
        graph: items and edges of the step.
        costs: times of the items.
        ways: routes of the copies.
        clock: state of the simulation, as `settle` left it; overwritten.
        threads: number of threads in the inter-op pool.
        limit: seconds after which the simulation gives up.

    Returns:
        Seconds that the step takes, or infinity if it takes longer than the limit.
    """
    host_start, host_end, start, end = clock.host_start, clock.host_end, clock.start, clock.end
    host_cause, cause, events, gpu = clock.host_cause, clock.cause, clock.events, graph.gpu
    first, after, weights, items = graph.first, graph.after, graph.weight, graph.item_count
    hosts, kernels, held, wake_up = costs.host, costs.kernel, costs.held, costs.wake_up
    device, stream, cost, pending = clock.device, clock.stream, clock.cost, clock.pending
    head, tail, following, free, last = clock.head, clock.tail, clock.following, clock.free, clock.last
    now, current, to_copy, sequence, finish, idle = costs.begin, -1, -1, 0, 0.0, threads
    reset(graph, clock, threads)
    while finish <= limit:
        # The pool's queue comes before the next event: an idle thread takes a ready item as soon as there is one.
        if head[threads] >= 0 and idle > 0 and (wake_up == 0.0 or is_awake(clock, now)):
            idle -= 1
            thread, queue_time, event = clock.idle[idle], costs.queue, _GOES_ON
            head[thread], head[threads] = head[threads], following[head[threads]]
            following[head[thread]] = -1
        else:
            if wake_up > 0.0:
                sequence = wake(clock, threads, idle, now, wake_up, current, sequence)
            if not events:
                return finish
            now, _, code, thread = heappop(events)
            current, event, queue_time = code >> 2, code & 3, 0.0
            if thread < 0:
                sequence += 3
                over = advance(graph, costs, ways, clock, current, event, threads, idle, now, sequence)
                finish = max(finish, over)
                continue
        if event == _IS_OVER:
            deferred, copies, own = -1, 0, device[current]
            is_gpu = gpu[own] >= 0
            for edge in range(first[current], first[current + 1]):
                successor = after[edge]
                if device[successor] != own or (is_gpu and graph.changes_memory[edge] == 1):
                    copies, to_copy = copies + 1, edge
                    continue
                left = pending[successor] - 1
                pending[successor] = left
                if left > 0:
                    continue
                # As ScheduleReady does, keep the last expensive successor for this thread in case nothing else is
                # ready, and leave all others to the pool.
                if costs.is_expensive[cost[successor]] == 1:
                    deferred = instead(clock, threads, deferred, successor)
                    continue
                following[successor] = -1
                if head[thread] < 0:
                    head[thread] = successor
                else:
                    following[tail[thread]] = successor
                tail[thread] = successor
            if copies > 0:
                deferred = send_all(graph, ways, clock, current, copies, to_copy, thread, threads, deferred)
            if deferred >= 0:
                append(clock, thread if head[thread] < 0 else threads, deferred)
        item = head[thread]
        if item < 0:
            clock.idle[idle] = thread
            idle += 1
            if wake_up > 0.0:
                watch(clock, now, idle)
            continue
        head[thread] = following[item]
        # Two sequence numbers per item: a copy needs one for its start and one for its thread.
        host_start[item], host_cause[item], cause[item] = now, current, -1
        sequence += 2
        begin = now + queue_time
        if item >= items:
            finish = max(finish, start_copy(graph, costs, ways, clock, item, thread, begin, sequence))
            continue
        weight, cost_row, own_stream = weights[item], cost[item], stream[item]
        begin += hosts[cost_row] * weight
        seconds, released = kernels[cost_row] * weight, begin
        if own_stream < 0:
            if held[cost_row] > 0.0:
                begin = take_cores(graph, clock, item, begin, held[cost_row] * weight)
            released = begin + seconds
        elif seconds > 0.0:
            if free[own_stream] > begin:
                begin, cause[item] = free[own_stream], last[own_stream]
            free[own_stream], last[own_stream] = begin + seconds, item
        # A GPU kernel leaves its thread at the launch, a CPU kernel when it ends.
        host_end[item], start[item], end[item] = released, begin, begin + seconds
        heappush(events, (released, sequence, item << 2, thread))
        finish = max(finish, begin + seconds)
    return float("inf")


def advance(
    graph: StepGraph,
    costs: Costs,
    ways: Ways,
    clock: Clock,
    item: int,
    event: int,
    threads: int,
    idle: int,
    now: float,
    sequence: int,
) -> float:
    """Handle an event that no pool thread caused: a copy's, or that of a thread that has woken up.

    Args:
        graph: items and edges of the step.
        costs: times of the items.
        ways: routes of the copies.
        clock: state of the simulation; changed.
        item: the item of the event.
        event: the event.
        threads: number of threads in the inter-op pool.
        idle: number of idle threads.
        now: the time in seconds.
        sequence: last of three free sequence numbers.

    Returns:
        The time at which a copy that begins will end; 0 for other events.
    """
    if event == _BEGINS:
        return begin_copy(graph, ways, clock, item, costs.poll, now, sequence)
    if event == _WAKES:
        clock.awake[1] -= 1
        watch(clock, now, idle)
    else:
        deliver(graph, clock, item - graph.item_count, threads)
    return 0.0


def reset(graph: StepGraph, clock: Clock, threads: int) -> None:
    """Reset a clock to the start of the step.

    Args:
        graph: items and edges of the step.
        clock: state of the simulation; changed.
        threads: number of threads in the inter-op pool.
    """
    while clock.events:  # a run that was too long has left some
        heappop(clock.events)
    clock.copies[0], clock.awake[0], clock.awake[1], clock.looks_until[0] = 0, 1, 0, -1.0
    clock.pending[:] = graph.waits
    for thread in range(threads + 1):
        clock.head[thread] = -1
    for thread in range(threads):
        clock.idle[thread] = thread
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


def append(clock: Clock, thread: int, item: int) -> None:
    """Append an item to the queue of a thread, or to the pool's ready queue.

    Args:
        clock: state of the simulation; changed.
        thread: the thread; the number of threads stands for the ready queue.
        item: the item.
    """
    head, following = clock.head, clock.following
    following[item] = -1
    if head[thread] < 0:
        head[thread] = item
    else:
        following[clock.tail[thread]] = item
    clock.tail[thread] = item


def instead(clock: Clock, threads: int, deferred: int, other: int) -> int:
    """Queue a deferred item for other threads, because the current thread has a later item to run.

    Args:
        clock: state of the simulation; changed.
        threads: number of threads in the inter-op pool.
        deferred: the deferred item; -1 if there is none.
        other: the item that is deferred in its place, which is returned.
    """
    if deferred >= 0:
        append(clock, threads, deferred)
    return other


def is_awake(clock: Clock, now: float) -> bool:
    """Whether an idle thread can take an item without waking up: it has just become idle, or it spins.

    Args:
        clock: state of the simulation; if True, one awake thread fewer is left.
        now: the time in seconds.
    """
    if clock.awake[0] == 0 and now >= clock.looks_until[0]:
        return False
    if clock.awake[0] == 0 or clock.looks_until[0] == now + SPIN_SECONDS:
        clock.looks_until[0] = -1.0
    clock.awake[0] = max(clock.awake[0] - 1, 0)
    return True


def watch(clock: Clock, now: float, idle: int) -> None:
    """Record that a thread starts to spin, because it has woken up or has run out of items.

    Args:
        clock: state of the simulation; changed.
        now: the time in seconds.
        idle: number of idle threads, this one included.
    """
    clock.awake[0] = min(clock.awake[0] + 1, idle)
    if clock.looks_until[0] < now:
        clock.looks_until[0] = now + SPIN_SECONDS


def wake(
    clock: Clock, threads: int, idle: int, now: float, wake_up: float, current: int, sequence: int
) -> int:
    """Put idle threads to sleep, and start to wake up as many as there are ready items.

    Args:
        clock: state of the simulation; changed.
        threads: number of threads in the inter-op pool.
        idle: number of idle threads.
        now: the time in seconds.
        wake_up: seconds that a thread takes to wake up.
        current: the item whose event is handled.
        sequence: sequence number of the last event.

    Returns:
        The sequence number of the last event created.
    """
    clock.awake[0] = 0
    item = clock.head[threads]
    for number in range(idle):
        if item < 0:
            break
        if number >= clock.awake[1]:
            clock.awake[1] += 1
            sequence += 1
            heappush(clock.events, (now + wake_up, sequence, current << 2 | _WAKES, -1))
        item = clock.following[item]
    return sequence


def take_cores(graph: StepGraph, clock: Clock, item: int, begin: float, seconds: float) -> float:
    """Reserve all threads of the intra-op pool for a CPU kernel, after the kernels that hold them.

    Args:
        graph: items and edges of the step.
        clock: state of the simulation; changed.
        item: the item of the kernel.
        begin: time at which the kernel is started, in seconds.
        seconds: how long it holds the threads.

    Returns:
        The time at which it begins.
    """
    pool = graph.pool[clock.device[item]]
    if clock.pool_free[pool] > begin:
        begin, clock.cause[item] = clock.pool_free[pool], clock.pool_last[pool]
    clock.pool_free[pool], clock.pool_last[pool] = begin + seconds, item
    return begin


def send(
    graph: StepGraph, ways: Ways, clock: Clock, item: int, edge: int, thread: int, threads: int, deferred: int
) -> int:
    """Create a copy of an output of an item.

    Args:
        graph: items and edges of the step.
        ways: routes of the copies.
        clock: state of the simulation; changed.
        item: the item whose output is copied.
        edge: an edge that needs the copy.
        thread: the thread that ran the item; it also starts copies from a GPU.
        threads: number of threads in the inter-op pool.
        deferred: the deferred item of that thread (see `instead`); -1 if there is none.

    Returns:
        The deferred item afterwards.
    """
    node, own, receiver = graph.node[item], clock.device[item], clock.device[graph.after[edge]]
    tensor, to_host, is_gpu = graph.tensor[edge], graph.reads_in_host[edge], graph.gpu[own] >= 0
    is_signal = tensor == graph.first_tensor[node]
    if receiver != own and (is_signal or graph.gpu[receiver] < 0):
        to_host = 1
    is_in_gpu = is_gpu and (is_signal or graph.is_made_in_host[tensor] == 0)
    source = graph.memory[own] if is_in_gpu else graph.host_memory[own]
    target = graph.host_memory[receiver] if to_host == 1 else graph.memory[receiver]
    copy = clock.copies[0]
    clock.copies[0] = copy + 1
    clock.source[copy], clock.carried[copy], clock.only_edge[copy] = item, tensor, edge
    clock.receiver[copy], clock.to_host[copy] = receiver, to_host
    clock.way[copy] = ways.number[(source * graph.memory_count + target) * 2 + graph.is_fed[node]]
    if is_gpu:
        append(clock, thread, graph.item_count + copy)
        return deferred
    return instead(clock, threads, deferred, graph.item_count + copy)


def send_all(
    graph: StepGraph,
    ways: Ways,
    clock: Clock,
    item: int,
    copies: int,
    to_copy: int,
    thread: int,
    threads: int,
    deferred: int,
) -> int:
    """Create the copies of all outputs of an item, in the order of outputs, devices and memories.

    Args:
        graph, ways, clock, item, thread, threads, deferred: as in `send`.
        copies: number of edges that need a copy; several may need the same one.
        to_copy: the last of these edges.

    Returns:
        The deferred item afterwards.
    """
    if copies == 1:
        return send(graph, ways, clock, item, to_copy, thread, threads, deferred)
    node, own, devices, is_sent = graph.node[item], clock.device[item], graph.device_count, clock.is_sent
    signal, is_gpu, gpu, device = graph.first_tensor[node], graph.gpu[own] >= 0, graph.gpu, clock.device
    low, high = len(is_sent), -1
    for edge in range(graph.first[item], graph.first[item + 1]):
        receiver, to_host, tensor = device[graph.after[edge]], graph.reads_in_host[edge], graph.tensor[edge]
        if receiver != own:
            if tensor == signal or gpu[receiver] < 0:
                to_host = 1
        elif not is_gpu or graph.changes_memory[edge] == 0:
            continue
        slot = ((tensor - signal) * devices + receiver) * 2 + to_host
        # A slot that one edge needs holds that edge; one that several need holds -2 - edge, so `deliver` scans all.
        is_sent[slot] = edge if is_sent[slot] == _UNSENT else -2 - edge
        low, high = min(low, slot), max(high, slot)
    for slot in range(low, high + 1):
        mark = is_sent[slot]
        if mark != _UNSENT:
            is_sent[slot] = _UNSENT
            edge = mark if mark >= 0 else -2 - mark
            deferred = send(graph, ways, clock, item, edge, thread, threads, deferred)
            if mark < 0:
                clock.only_edge[clock.copies[0] - 1] = -1
    return deferred


def start_copy(
    graph: StepGraph,
    costs: Costs,
    ways: Ways,
    clock: Clock,
    item: int,
    thread: int,
    now: float,
    sequence: int,
) -> float:
    """Start a copy on a thread, and queue it on its stream.

    Args:
        graph: items and edges of the step.
        costs: times of the items.
        ways: routes of the copies.
        clock: state of the simulation; changed.
        item: the copy.
        thread: the thread.
        now: time at which the thread begins to start it.
        sequence: sequence number of its event; the number before it is free too.

    Returns:
        The time at which the thread has started it.
    """
    copy, events = item - graph.item_count, clock.events
    launched = now + costs.copy * graph.weight[clock.source[copy]]
    clock.host_end[item] = launched
    way = clock.way[copy]
    stream = ways.stream[way]
    if stream == NO_STREAM:
        clock.start[item], clock.end[item] = launched, launched
        heappush(events, (launched, sequence - 1, item << 2, -1))
    else:
        free, last, begin, waited = clock.free, clock.last, launched, -1
        gpu = ways.source[way]
        if gpu >= 0 and free[gpu] > begin:
            begin, waited = free[gpu], last[gpu]
        gpu = ways.target[way]
        if gpu >= 0 and free[gpu] > begin:
            begin, waited = free[gpu], last[gpu]
        # Another copy of this stream has yet to begin, so this one's start is not known yet.
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
            heappush(events, (begin, sequence - 1, item << 2 | _BEGINS, -1))
        clock.cause[item] = waited
        if ways.blocks[way] == 1:
            clock.kept[copy] = thread
            return launched
    heappush(events, (launched, sequence, item << 2 | _GOES_ON, thread))
    return launched


def begin_copy(
    graph: StepGraph, ways: Ways, clock: Clock, item: int, poll: float, now: float, sequence: int
) -> float:
    """Transfer a copy over its links, and let the next copy of its stream begin afterwards.

    Args:
        graph: items and edges of the step.
        ways: routes of the copies.
        clock: state of the simulation; changed.
        item: the copy.
        poll: seconds from its end until its receiver notices.
        now: time at which it may begin.
        sequence: last of its three sequence numbers.

    Returns:
        The time at which it ends.
    """
    copy, events, link, rate = item - graph.item_count, clock.events, ways.link, ways.rate
    way = clock.way[copy]
    link_free, link_last, cause = clock.link_free, clock.link_last, clock.cause
    nbytes = graph.nbytes[clock.carried[copy]] * graph.weight[clock.source[copy]]
    begin, links = now, range(ways.first_link[way], ways.first_link[way + 1])
    for at in links:
        if link_free[link[at]] > begin:
            # A fast link is free again before the copy ends: it is occupied only at its own rate.
            begin, cause[item] = link_free[link[at]], link_last[link[at]]
    over = begin + ways.latency[way] + nbytes / ways.bandwidth[way]
    for at in links:
        link_free[link[at]], link_last[link[at]] = begin + nbytes / rate[at], item
    clock.start[item], clock.end[item] = begin, over
    heappush(events, (over + poll, sequence - 2, item << 2, -1))
    if ways.blocks[way] == 1:
        clock.host_end[item] = over
        heappush(events, (over, sequence - 1, item << 2 | _GOES_ON, clock.kept[copy]))
    stream = ways.stream[way]
    if stream >= 0:
        clock.free[stream], clock.last[stream] = over, item
        other = clock.queue_head[stream]
        if other >= 0:
            clock.queue_head[stream] = clock.following[other]
            ready_at = clock.start[other]
            if over >= ready_at:
                ready_at, cause[other] = over, item
            heappush(events, (ready_at, sequence, other << 2 | _BEGINS, -1))
        else:
            clock.is_due[stream] = 0
    return float(over)


def deliver(graph: StepGraph, clock: Clock, copy: int, threads: int) -> None:
    """Ready the items that waited only for a copy.

    Args:
        graph: items and edges of the step.
        clock: state of the simulation; changed.
        copy: number of the copy, which has ended.
        threads: number of threads in the inter-op pool.
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
        consumer = after[at]
        if device[consumer] == receiver and (is_any or graph.reads_in_host[at] == clock.to_host[copy]):
            pending[consumer] -= 1
            if pending[consumer] == 0:
                append(clock, threads, consumer)


def path_back(clock: Clock, items: int, count: int, on_path: Wholes, on_host: Wholes) -> int:
    """Trace the critical path of a step from its end back to its start.

    Args:
        clock: state of the simulation after a run, or its times and streams.
        items: number of items without copies.
        count: number of items with copies.
        on_path: ``[2 * count]`` receives the items of the path.
        on_host: ``[2 * count]`` receives 1 for the thread that starts an item, 0 for its kernel or copy.

    Returns:
        The length of the path.
    """
    item, latest = -1, -1.0
    for candidate in range(count):
        over = max(clock.end[candidate], clock.host_end[candidate])
        if over >= latest and clock.host_start[candidate] >= 0.0:
            item, latest = candidate, over
    is_start = item >= 0 and clock.host_end[item] > clock.end[item]
    length = 0
    while item >= 0:
        if not is_start:
            on_path[length], on_host[length] = item, 0
            length += 1
            if clock.cause[item] >= 0:
                item = clock.cause[item]
                continue
        on_path[length], on_host[length] = item, 1
        length += 1
        # The thread waited for a launch, not for its kernel, if it started this item when the launch ended.
        before = clock.host_cause[item]
        is_start = before >= 0 and (before >= items or clock.stream[before] >= 0)
        is_start = is_start and abs(clock.host_end[before] - clock.host_start[item]) < 1e-12
        item = before
    return length


def path(
    times: Times, host: np.ndarray, stream: np.ndarray, items: int
) -> list[tuple[int, bool, float, float]]:
    """Return the critical path of a step, in order of time.

    Args:
        times: times of the step.
        host: ``[items and copies]`` seconds of the thread that starts each.
        stream: ``[items]`` streams of GPU kernels; -1 for CPU kernels.
        items: number of items without copies.

    Returns:
        For each segment: the item, whether the segment is the thread that starts it (otherwise its kernel or copy), and
        its start and end in seconds. Gaps between segments are time in which nothing on the path ran.
    """
    count = len(times.end)
    on_path, on_host = [0] * (2 * count), [0] * (2 * count)
    ran: Any = SimpleNamespace(**times._asdict(), stream=stream.tolist())
    length = path_back(ran, items, count, on_path, on_host)
    segments = []
    for item, is_start in zip(on_path[:length][::-1], on_host[:length][::-1], strict=True):
        if is_start:
            begin = times.host_start[item]
            segments.append((item, True, begin, begin + float(host[item])))
        else:
            segments.append((item, False, times.start[item], times.end[item]))
    return segments
