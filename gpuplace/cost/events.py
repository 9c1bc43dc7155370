"""TensorFlow's executor as discrete events: when every node of a flow starts and ends, and what it waited for last.

Host and GPU have times of their own. A thread of the executor starts a kernel and goes on; the kernel runs when those
queued before it on the GPU's compute stream are done. What is cheap to start runs on the thread that made it ready,
one after the other; what is not goes to the pool. A copy waits for the streams at both of its ends, for its own stream
and, in the order in which they could begin, for the links that it shares with others; when it is over, its receiver's
successors go to the pool::

    thread 1   |a|b|c| ......                  starts of kernels
    GPU:0          |  a  |   b   |  c  |       kernels, in the order in which they were started
    to the host                  |== b ==|     a copy: after b, and after all that was started before it
    thread 2                             |d|   the pool: d takes b on the CPU

A kernel of the CPU that is split has the threads of the intra-op pool for itself while they compute, so that no two
such kernels use the same cores at a time; while they wake up others may. On a cluster each machine has a pool of its
own, and copies between machines share the interfaces to the network; the threads that run ops are those of all machines
together.

All is determined: events at one time are handled in the order in which they were made.

Source: tensorflow/core/common_runtime/executor.cc (ScheduleReady, NodeDone), core/common_runtime/gpu/gpu_util.cc
(streams of copies), gpu_event_mgr.cc (its polling), release 1.15.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

ON_CPU, ON_GPU, COPY = range(3)
"""What an item of a flow is: a kernel of the CPU, of a GPU, or a tensor that crosses."""

POLL_SECONDS = 10e-6
"""How long after the end of a copy its receiver hears of it: the period in which TensorFlow looks at its events."""
SPLIT_SECONDS = 20e-6
"""Kernels of the CPU that take longer are split among the threads of the intra-op pool, where nothing was measured."""
SPIN_SECONDS = 50e-6
"""For how long a thread of the pool that has nothing left to do looks for more before it sleeps; one does at a time.

Source: WaitForWork and the loop around it in Eigen's NonBlockingThreadPool.h, 5,000 looks divided by the threads; that
these take so long is a round figure.
"""


_IS_OVER, _GOES_ON, _BEGINS, _WAKES = range(4)
"""Events of an item: it is over, the thread that started it goes on, a copy may begin, a thread has
woken up for it."""


@dataclass(frozen=True, slots=True)
class CopyWay:
    """What copies of one kind go through."""

    stream: int
    """The stream that they are queued on; -1: none, as from host memory to host memory."""
    after: tuple[int, ...]
    """Streams whose kernels, queued before, have to be over: those of the GPUs at both ends."""
    links: tuple[int, ...]
    """Links that they share with others."""
    rates: tuple[float, ...]
    """Bytes a second of each."""
    bandwidth: float
    """Bytes a second of one alone."""
    latency: float
    """Seconds."""
    blocks: bool
    """Whether the thread that starts it waits for its end: host memory that is not pinned."""


@dataclass(slots=True, eq=False)
class Flow:
    """What has to be done, flat: an item is one execution of a node, or a copy."""

    kind: list[int]
    """`ON_CPU`, `ON_GPU` or `COPY`."""
    host: list[float]
    """Seconds of a thread of the executor."""
    kernel: list[float]
    """Seconds of the kernel."""
    stream: list[int]
    """Of a kernel of a GPU: its stream; of a copy: its position in ``ways``."""
    nbytes: list[float]
    """Of a copy."""
    is_expensive: list[bool]
    """Whether it goes to the pool when something else can run on the thread that made it ready."""
    held: list[float]
    """Seconds of a kernel of the CPU for which it has all threads of the intra-op pool; 0: it computes in one."""
    waits: list[int]
    """How many items it waits for."""
    first: list[int]
    """[items + 1] where the successors of each begin in ``after``."""
    after: list[int]
    """Successors."""
    ways: list[CopyWay]
    streams: int
    """How many streams there are."""
    links: int
    """How many links there are."""
    begin: float = 0.0
    """Seconds of the client before the first node may start."""
    wake_up: float = 0.0
    """Seconds that an idle thread of the pool takes to wake up when there is something to do."""
    pool: list[int] | None = None
    """The intra-op pool of each item, where there are several: one for each machine of a cluster."""

    queue: float = 0.0
    """Seconds that a thread takes to fetch an item from the pool's queue."""

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """When the items of a flow ran, in seconds since the step's begin; -1 for what never became ready."""

    host_start: list[float]
    """When a thread began to start it."""
    host_end: list[float]
    """When that thread went on."""
    start: list[float]
    """When its kernel, or its copy, began."""
    end: list[float]
    """When it was over."""
    host_cause: list[int]
    """The item at whose end, or at the end of whose start, it was its turn; -1 at the beginning."""
    cause: list[int]
    """The item that its kernel or copy had to wait for on its stream or link; -1: it began when it was started."""

    @property
    def total(self) -> float:
        """Length of the step."""
        return max(max(self.end, default=0.0), max(self.host_end, default=0.0))


def run(flow: Flow, threads: int) -> Times:
    """Runs a flow.

    Args:
        flow: what has to be done.
        threads: of the inter-op pool.
    """
    count = len(flow)
    kinds, hosts, kernels, streams = flow.kind, flow.host, flow.kernel, flow.stream
    nbytes, expensive, helds, ways = flow.nbytes, flow.is_expensive, flow.held, flow.ways
    first, after = flow.first, flow.after
    pending = list(flow.waits)
    host_start, host_end = [-1.0] * count, [-1.0] * count
    start, end = [-1.0] * count, [-1.0] * count
    host_cause, cause = [-1] * count, [-1] * count
    stream_free, stream_last = [0.0] * flow.streams, [-1] * flow.streams
    link_free, link_last = [0.0] * flow.links, [-1] * flow.links
    queued: list[deque[tuple[int, float, int]]] = [deque() for _ in range(flow.streams)]
    is_due = [False] * flow.streams  # whether a copy of the stream is about to begin
    kept: dict[int, deque[int]] = {}  # threads that wait for the end of their copy
    pools = flow.pool or [0] * count
    pool_free, pool_last = [0.0] * (max(pools, default=0) + 1), [-1] * (max(pools, default=0) + 1)
    ready: deque[int] = deque([item for item in range(count) if not pending[item]])
    idle = max(threads, 1)
    heap: list[tuple[float, int, int, deque[int] | None]] = []
    turn = 0
    now, current, wake_up = flow.begin, -1, flow.wake_up
    awake, waking = 1, 0  # idle threads that need not be woken up, and those that wake up
    spins_until = -1.0  # one more of the idle threads need not be, until then
    inline: deque[int] | None
    while True:
        # threads that have nothing to do take what is ready
        inline = None
        item, fetching = -1, 0.0
        if ready and idle and (awake or now < spins_until or not wake_up):
            idle -= 1
            if not awake or spins_until == now + SPIN_SECONDS:
                spins_until = -1.0
            awake = max(awake - 1, 0)
            item, inline, fetching = ready.popleft(), deque(), flow.queue
        elif heap:
            if wake_up:
                awake = 0
                while waking < min(len(ready), idle):
                    waking, turn = waking + 1, turn + 1
                    heappush(heap, (now + wake_up, turn, (current << 2) | _WAKES, None))
            now, _, code, inline = heappop(heap)
            current = code >> 2
            if code & 3 == _WAKES:
                waking -= 1
                awake = min(awake + 1, idle)
                if spins_until < now:
                    spins_until = now + SPIN_SECONDS
                continue
            if code & 3 == _BEGINS:
                way = ways[streams[current]]
                begin = now
                for link in way.links:
                    if link_free[link] > begin:
                        begin, cause[current] = link_free[link], link_last[link]
                size = nbytes[current]
                over = begin + way.latency + size / way.bandwidth
                for link, rate in zip(way.links, way.rates, strict=True):
                    link_free[link], link_last[link] = begin + size / rate, current
                start[current], end[current] = begin, over
                stream = way.stream
                stream_free[stream], stream_last[stream] = over, current
                turn += 2
                heappush(heap, (over + POLL_SECONDS, turn, current << 2, None))
                if way.blocks:
                    host_end[current] = over
                    heappush(heap, (over, turn + 1, (current << 2) | _GOES_ON, kept.pop(current)))
                if queued[stream]:
                    item, ready_at, waited = queued[stream].popleft()
                    if over >= ready_at:
                        ready_at, waited = over, current
                    cause[item] = waited
                    turn += 2
                    heappush(heap, (ready_at, turn, (item << 2) | _BEGINS, None))
                else:
                    is_due[stream] = False
                continue
            if code & 3 == _IS_OVER:
                costly: list[int] = []
                if inline is None:
                    for other in after[first[current] : first[current + 1]]:
                        pending[other] -= 1
                        if not pending[other]:
                            ready.append(other)
                    continue
                for other in after[first[current] : first[current + 1]]:
                    pending[other] -= 1
                    if not pending[other]:
                        if expensive[other]:
                            costly.append(other)
                        else:
                            inline.append(other)
                if costly:
                    if not inline:
                        inline.append(costly.pop())
                    ready.extend(costly)
            assert inline is not None
            if not inline:
                idle += 1
                awake += 1
                if spins_until < now:
                    spins_until = now + SPIN_SECONDS
                continue
            item = inline.popleft()
        else:
            break
        # a thread begins with an item
        host_start[item] = now
        host_cause[item] = current
        launched = now + fetching + hosts[item]
        host_end[item] = launched
        kind = kinds[item]
        turn += 1
        if kind == ON_GPU:
            seconds = kernels[item]
            if seconds:
                stream = streams[item]
                begin = stream_free[stream]
                if begin > launched:
                    cause[item] = stream_last[stream]
                else:
                    begin = launched
                start[item] = begin
                end[item] = stream_free[stream] = begin + seconds
                stream_last[stream] = item
            else:
                start[item] = end[item] = launched
            heappush(heap, (launched, turn, item << 2, inline))
        elif kind == ON_CPU:
            seconds = kernels[item]
            begin = launched
            if helds[item]:
                pool = pools[item]
                if pool_free[pool] > begin:
                    begin, cause[item] = pool_free[pool], pool_last[pool]
                pool_free[pool], pool_last[pool] = begin + helds[item], item
            start[item] = begin
            end[item] = begin + seconds
            host_end[item] = begin + seconds
            heappush(heap, (begin + seconds, turn, item << 2, inline))
        else:
            way = ways[streams[item]]
            begin, waited = launched, -1
            stream = way.stream
            if stream < 0:
                start[item] = end[item] = launched
                heappush(heap, (launched, turn, item << 2, None))
            else:
                ready_at, waited = launched, -1
                for other in way.after:
                    if stream_free[other] > ready_at:
                        ready_at, waited = stream_free[other], stream_last[other]
                if is_due[stream]:
                    queued[stream].append((item, ready_at, waited))
                else:
                    if stream_free[stream] > ready_at:
                        ready_at, waited = stream_free[stream], stream_last[stream]
                    cause[item] = waited
                    is_due[stream] = True
                    heappush(heap, (ready_at, turn, (item << 2) | _BEGINS, None))
                if way.blocks:
                    kept[item] = inline
                    continue
            turn += 1
            heappush(heap, (launched, turn, (item << 2) | _GOES_ON, inline))
    return Times(host_start, host_end, start, end, host_cause, cause)


def path(flow: Flow, times: Times) -> list[tuple[int, bool, float, float]]:
    """What the step waited for, from its end back to its begin, then put in order of time.

    Args:
        flow: what was done.
        times: when.

    Returns:
        Item, whether it is the thread that starts it (else its kernel or copy), begin and end in seconds; what is
        between an end and the next begin nobody used.
    """
    if not len(flow):
        return []
    ends: Sequence[float] = times.end
    item = max(range(len(flow)), key=lambda one: (max(ends[one], times.host_end[one]), one))
    on_host = times.host_end[item] > ends[item]
    found: list[tuple[int, bool, float, float]] = []
    while item >= 0:
        if not on_host:
            found.append((item, False, times.start[item], times.end[item]))
            other = times.cause[item]
            if other >= 0:
                item = other
                continue
        begin = times.host_start[item]
        found.append((item, True, begin, begin + flow.host[item]))
        before = times.host_cause[item]
        if before < 0:
            break
        on_host = flow.kind[before] != ON_CPU and abs(times.host_end[before] - begin) < 1e-12
        item = before
    return found[::-1]
