"""A step as the clock runs it: items and their edges in flat arrays, with costs and copies for every device.

Nothing here depends on the devices of nodes: the clock (`gpuplace.cost.clock`) looks up or creates what does, as it
runs. An item is one execution of a node. A tensor that is needed in another memory is copied there once for all its
consumers, and the copy is an item too, created when it is sent.

`settle` computes the cost of each item for given devices of the nodes. Kernel fusion and node removal by Grappler
depend on devices, and so do the clock rates of GPUs that share a board.
"""

from __future__ import annotations

from typing import NamedTuple

from gpuplace.numerics.compiled.arrays import Events, Reals, Wholes


class Ways(NamedTuple):
    """Routes of copies between memories."""

    number: Wholes
    """``[memories, memories, 2]`` route of a copy; the second is for copies from memory that the client filled; -1 if
    there are no copies.
    """
    stream: Wholes
    """``[ways]`` stream that copies are queued on, `NO_STREAM` or `NO_QUEUE`."""
    source: Wholes
    """``[ways]`` stream of the sending GPU, whose earlier kernels must be done; -1 if there is none."""
    target: Wholes
    """``[ways]`` stream of the receiving GPU, likewise."""
    bandwidth: Reals
    """``[ways]`` bytes per second of a copy that shares no link."""
    latency: Reals
    """``[ways]`` seconds until the first byte arrives."""
    blocks: Wholes
    """``[ways]`` 1 if the thread that starts a copy waits for its end: host memory that is not pinned."""
    first_link: Wholes
    """``[ways + 1]`` start of each route's links in ``link``."""
    link: Wholes
    """Links of the routes."""
    rate: Reals
    """Bytes per second of each link in ``link``."""


NOTHING = 0
"""Cost row of nodes that do not run."""
NO_STREAM, NO_QUEUE = -1, -2
"""Stream values: the copy takes no time; the copy is not queued, as over a network."""


class Costs(NamedTuple):
    """Times of items by a cost model: a row for each op type and work, a column for each processor."""

    host: Reals
    """``[rows, columns]`` seconds of an executor thread."""
    kernel: Reals
    """``[rows, columns]`` seconds of the kernel."""
    held: Reals
    """``[rows, columns]`` seconds for which a CPU kernel occupies the intra-op pool; 0 if it runs in one thread."""
    is_expensive: Wholes
    """``[rows, columns]`` 1 if the item goes to the pool when its thread has something else to run."""
    copy: float
    """Seconds of a thread that starts a copy."""
    begin: float
    """Seconds of the client before the first node can start."""
    wake_up: float
    """Seconds that an idle thread of the pool takes to wake up."""
    queue: float
    """Seconds that a thread takes to fetch an item from the pool's queue."""
    poll: float
    """Seconds from the end of a copy until its receiver notices."""


class StepGraph(NamedTuple):
    """Items of a step, and the machine; devices are positions in its device set."""

    item_count: int
    device_count: int
    column_count: int
    memory_count: int
    host_column: int
    """Column of GPU nodes whose kernels work in host memory."""
    # devices
    gpu: Wholes
    """``[devices]`` stream of the GPU's kernels; -1 for a CPU."""
    memory: Wholes
    """``[devices]`` number of the device's memory."""
    host_memory: Wholes
    """``[devices]`` number of its host's memory."""
    pool: Wholes
    """``[devices]`` intra-op pool of its machine."""
    column: Wholes
    """``[devices]`` cost column."""
    busy_column: Wholes
    """``[devices]`` cost column while all GPUs of its board compute."""
    board: Wholes
    """``[devices]`` board of a GPU that shares one; -1 otherwise."""
    board_gpus: Wholes
    """``[boards]`` number of GPUs."""
    # nodes
    row: Wholes
    """``[nodes]`` cost row."""
    computes: Wholes
    """Nodes with a kernel that keeps a GPU busy."""
    is_in_host: Wholes
    """``[nodes]`` 1 if the kernel works in host memory even on a GPU."""
    is_fed: Wholes
    """``[nodes]`` 1 if the client feeds it."""
    # Grappler
    idle: Wholes
    """Nodes that are removed if all neighbors are on the same device."""
    first_neighbor: Wholes
    """``[idle + 1]`` start of each idle node's neighbors in ``neighbor``."""
    neighbor: Wholes
    """Neighbors of the idle nodes."""
    first_fused: Wholes
    """``[kernels + 1]`` start of each fusible kernel's nodes in ``fused``; its first node computes the others."""
    fused: Wholes
    """Nodes in order: each joins if it is on the device of the previous one, which joined; on GPUs, all or none."""
    fused_row: Wholes
    """Cost row of each node in ``fused`` if it joins; of the first node, if any other joins."""
    fuses_on_gpu: Wholes
    """``[kernels]`` 1 if the fusion happens on GPUs, 0 if on CPUs."""
    # items
    node: Wholes
    """``[items]`` node."""
    weight: Reals
    """``[items]`` number of executions that the item stands for."""
    waits: Wholes
    """``[items]`` number of incoming edges."""
    first: Wholes
    """``[items + 1]`` start of each item's outgoing edges."""
    # edges
    after: Wholes
    """``[edges]`` successor item."""
    tensor: Wholes
    """``[edges]`` tensor, or control signal, that the edge carries."""
    reads_in_host: Wholes
    """``[edges]`` 1 if the successor reads host memory even on a GPU."""
    changes_memory: Wholes
    """``[edges]`` 1 if, on one GPU, the tensor is written in host memory and read in the GPU's, or the reverse."""
    # tensors
    first_tensor: Wholes
    """``[nodes + 1]`` first tensor number of each node, that of its control signal."""
    nbytes: Reals
    """``[tensors]`` bytes."""
    is_made_in_host: Wholes
    """``[tensors]`` 1 if it is in host memory even if its node is on a GPU."""


class Times(NamedTuple):
    """Times of items in seconds since the start of the step; copies come after the step's own items."""

    host_start: Reals
    """When a thread began to start the item; -1 if it never became ready."""
    host_end: Reals
    """When that thread went on."""
    start: Reals
    """Start of the kernel or copy."""
    end: Reals
    """End of the kernel or copy."""
    host_cause: Wholes
    """The item whose end, or end of launch, let the thread start this one; -1 at the beginning."""
    cause: Wholes
    """The item that the kernel or copy waited for on its stream or link; -1 if it began when it was started."""

    @property
    def total(self) -> float:
        """Length of the step in seconds."""
        return float(max(max(self.end, default=0.0), max(self.host_end, default=0.0)))


class Clock(NamedTuple):
    """State of the simulation; one clock serves any number of runs of a step, one after another.

    It is one record, not several, because in Python each attribute access takes as long as an addition.
    """

    host_start: Reals
    """``[items and copies]``: this and the next five are as in `Times`."""
    host_end: Reals
    start: Reals
    end: Reals
    host_cause: Wholes
    cause: Wholes
    # copies, in the order in which they are created
    copies: Wholes
    """``[1]`` number of copies."""
    source: Wholes
    """``[copies]`` item whose output is copied."""
    carried: Wholes
    """``[copies]`` tensor."""
    receiver: Wholes
    """``[copies]`` receiving device."""
    to_host: Wholes
    """``[copies]`` 1 if it goes to host memory."""
    way: Wholes
    """``[copies]`` route; see `Ways`."""
    only_edge: Wholes
    """``[copies]`` the only edge that needs it; -1 if there are several."""
    # set by `settle` for the devices of nodes
    row: Wholes
    """``[nodes]`` cost row."""
    column: Wholes
    """``[devices]`` cost column."""
    gpu_busy: Wholes
    """``[streams]`` 1 if the GPU of this compute stream has work."""
    board_busy: Wholes
    """``[boards]`` number of its GPUs with work."""
    device: Wholes
    """``[items]`` device."""
    cost: Wholes
    """``[items]`` position in `Costs`."""
    stream: Wholes
    """``[items]`` compute stream; -1 for CPU kernels."""
    # executor
    pending: Wholes
    """``[items]`` number of edges still to wait for."""
    following: Wholes
    """``[items and copies]`` next item in the same queue; -1 for the last."""
    head: Wholes
    """``[threads + 1]`` first item in the queue of each thread, and in the pool's ready queue; -1 if empty."""
    tail: Wholes
    """``[threads + 1]`` last item of each queue."""
    idle: Wholes
    """``[threads]`` stack of idle threads."""
    awake: Wholes
    """``[2]`` number of idle threads that are awake, and of those waking up; unused if waking up takes no time."""
    looks_until: Reals
    """``[1]`` time until which one more idle thread is awake, because it spins."""
    kept: Wholes
    """``[copies]`` thread that waits for the end."""
    is_sent: Wholes
    """``[tensors of a node, devices, 2]`` edge that needs a copy there, for `send_all`; -1 if none does."""
    free: Reals
    """``[streams]`` time at which everything queued is done."""
    last: Wholes
    """``[streams]`` last item that was queued."""
    is_due: Wholes
    """``[streams]`` 1 if a copy is about to begin."""
    queue_head: Wholes
    """``[streams]`` first of the copies that wait after it; -1 if none does."""
    queue_tail: Wholes
    """``[streams]`` last of them."""
    link_free: Reals
    """``[links]`` time at which the link is free."""
    link_last: Wholes
    """``[links]`` last copy on the link."""
    pool_free: Reals
    """``[pools]`` time at which the threads of the intra-op pool are free."""
    pool_last: Wholes
    """``[pools]`` last item that held them."""
    events: Events
    """Heap of future events."""


def settle(graph: StepGraph, devices: Wholes, clock: Clock) -> None:
    """Compute the cost of each item for given devices.

    Args:
        graph: the step.
        devices: ``[nodes]`` positions in the device set.
        clock: state of the simulation; written.
    """
    clock.column[:] = graph.column
    if len(graph.board_gpus) > 0:
        slow_down(graph, devices, clock)
    row = clock.row
    row[:] = graph.row
    for at in range(len(graph.idle)):
        node, is_removable = graph.idle[at], True
        for place in range(graph.first_neighbor[at], graph.first_neighbor[at + 1]):
            if devices[graph.neighbor[place]] != devices[node]:
                is_removable = False
                break
        if is_removable:
            row[node] = NOTHING
    for kernel in range(len(graph.fuses_on_gpu)):
        first, end = graph.first_fused[kernel], graph.first_fused[kernel + 1]
        own_device, joined = devices[graph.fused[first]], first + 1
        while joined < end and devices[graph.fused[joined]] == own_device:
            joined += 1
        on_gpu = graph.fuses_on_gpu[kernel] == 1
        if (graph.gpu[own_device] >= 0) != on_gpu or joined < (end if on_gpu else first + 2):
            continue
        for at in range(first, joined):
            row[graph.fused[at]] = graph.fused_row[at]
    for item in range(graph.item_count):
        node = graph.node[item]
        device = devices[node]
        column, stream = clock.column[device], graph.gpu[device]
        if stream >= 0 and (graph.is_in_host[node] == 1 or row[node] == NOTHING):
            column, stream = graph.host_column, -1
        clock.device[item], clock.stream[item] = device, stream
        clock.cost[item] = row[node] * graph.column_count + column


def slow_down(graph: StepGraph, devices: Wholes, clock: Clock) -> None:
    """Lower the clock rate of GPUs whose board has work for all its GPUs, to what its power limit allows.

    Args:
        graph: the step.
        devices: ``[nodes]`` positions in the device set.
        clock: state of the simulation; ``column`` is changed.
    """
    for gpu in range(len(clock.gpu_busy)):
        clock.gpu_busy[gpu] = 0
    for board in range(len(graph.board_gpus)):
        clock.board_busy[board] = 0
    for node in graph.computes:
        gpu, board = graph.gpu[devices[node]], graph.board[devices[node]]
        if board >= 0 and clock.gpu_busy[gpu] == 0:
            clock.gpu_busy[gpu] = 1
            clock.board_busy[board] += 1
    for device in range(graph.device_count):
        board = graph.board[device]
        if board >= 0 and clock.board_busy[board] >= graph.board_gpus[board]:
            clock.column[device] = graph.busy_column[device]
