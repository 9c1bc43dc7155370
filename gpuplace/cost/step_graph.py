"""A step as the clock runs it: items and their edges in flat arrays, with costs and copies for every device.

Nothing here depends on the devices of nodes: what does is looked up, or made by the clock (`gpuplace.cost.clock`) as it
runs. An item is one execution of a node; a tensor that is needed in another memory is copied there, once for all that
take it there, and the copy is an item too, made when it is sent.

`settle` works out, for the devices of nodes, what each item costs. Where Grappler merges kernels or takes nodes out
depends on devices, as do the clocks of a board's GPUs.
"""

from __future__ import annotations

from typing import NamedTuple

from gpuplace.numerics.compiled.arrays import Events, Reals, Wholes


class Ways(NamedTuple):
    """What copies go through, by the memories that they go from and to."""

    number: Wholes
    """``[memories, memories, 2]`` the way of a copy; of one out of memory that the client filled, the second; -1: no
    copy goes there."""
    stream: Wholes
    """``[ways]`` the stream that copies are queued on; `NO_STREAM`, `NO_QUEUE`."""
    source: Wholes
    """``[ways]`` stream of the GPU that they come from, whose kernels, queued before, have to be over; -1: none."""
    target: Wholes
    """``[ways]`` the same of the GPU that they go to."""
    bandwidth: Reals
    """``[ways]`` bytes a second of a copy that is alone."""
    latency: Reals
    """``[ways]`` seconds before the first byte is there."""
    blocks: Wholes
    """``[ways]`` 1 where the thread that starts a copy waits for its end: host memory that is not pinned."""
    first_link: Wholes
    """``[ways + 1]`` where the links of each begin among ``link``."""
    link: Wholes
    """Links that copies share with others."""
    rate: Reals
    """Bytes a second of each of ``link``."""


NOTHING = 0
"""The row of costs of nodes that are not run."""
NO_STREAM, NO_QUEUE = -1, -2
"""In the place of a stream: the copy takes no time; copies are not queued, as over a network."""


class Costs(NamedTuple):
    """What items take by a cost model, by row and column: kinds of nodes, and what computes them."""

    host: Reals
    """``[rows, columns]`` seconds of a thread of the executor."""
    kernel: Reals
    """``[rows, columns]`` seconds of the kernel."""
    held: Reals
    """``[rows, columns]`` seconds for which a kernel of the CPU has all threads of the intra-op pool; 0: it computes in
    one."""
    is_expensive: Wholes
    """``[rows, columns]`` 1 where it goes to the pool when something else can run on the thread that made it ready."""
    copy: float
    """Seconds of a thread that starts a copy."""
    begin: float
    """Seconds of the client before the first node may start."""
    wake_up: float
    """Seconds that an idle thread of the pool takes to wake up when there is something to do."""
    queue: float
    """Seconds that a thread takes to fetch an item from the pool's queue."""
    poll: float
    """Seconds from the end of a copy until its receiver hears of it."""


class StepGraph(NamedTuple):
    """What a step executes, and on what machine; devices are positions in its device set."""

    item_count: int
    device_count: int
    column_count: int
    memory_count: int
    host_column: int
    """Column of nodes of a GPU whose kernels work in host memory."""
    # devices
    gpu: Wholes
    """``[devices]`` stream of the GPU's kernels; -1 for a CPU."""
    memory: Wholes
    """``[devices]`` number of its memory."""
    host_memory: Wholes
    """``[devices]`` number of its host's memory."""
    pool: Wholes
    """``[devices]`` the intra-op pool of its machine."""
    column: Wholes
    """``[devices]`` of costs."""
    busy_column: Wholes
    """``[devices]`` of costs while all GPUs of its board compute."""
    board: Wholes
    """``[devices]`` number of the board of a GPU that shares one; -1: none."""
    board_gpus: Wholes
    """``[boards]`` how many GPUs are on each."""
    # nodes
    row: Wholes
    """``[nodes]`` of costs."""
    computes: Wholes
    """Nodes with a kernel that keeps a GPU busy."""
    is_in_host: Wholes
    """``[nodes]`` 1 where the kernel works in host memory even on a GPU."""
    is_fed: Wholes
    """``[nodes]`` 1 where it comes from the client."""
    # Grappler
    idle: Wholes
    """Nodes that are taken out where all neighbours have the same device."""
    first_neighbour: Wholes
    """``[idle + 1]``"""
    neighbour: Wholes
    """Nodes."""
    first_fused: Wholes
    """``[kernels + 1]`` where those begin that may become one kernel; the first of each computes the others."""
    fused: Wholes
    """Nodes in order: each joins if it has the device of the one before, and that joined; on GPUs, if all do."""
    fused_row: Wholes
    """For each of ``fused`` the row of costs if it joins; of the first, if any joins."""
    fuses_on_gpu: Wholes
    """``[kernels]`` 1 where that is done on GPUs, 0 on CPUs."""
    # items
    node: Wholes
    """``[items]``."""
    weight: Reals
    """``[items]`` how many executions it stands for."""
    waits: Wholes
    """``[items]`` how many edges lead to it."""
    first: Wholes
    """``[items + 1]`` where the edges from each begin."""
    # edges
    after: Wholes
    """Items that wait for an item."""
    tensor: Wholes
    """What each edge carries."""
    reads_in_host: Wholes
    """1 where the reader needs it in host memory even on a GPU."""
    is_turned: Wholes
    """1 where, on one GPU, it is made in host memory and read in the GPU's, or the reverse."""
    # tensors
    first_tensor: Wholes
    """``[nodes + 1]`` numbers of a node's tensors, the signal that it is done first."""
    nbytes: Reals
    """``[tensors]``."""
    is_made_in_host: Wholes
    """``[tensors]`` 1 where it is in host memory even if its node is on a GPU."""


class Times(NamedTuple):
    """When items ran, in seconds since the step's begin; copies come after the step's own items."""

    host_start: Reals
    """When a thread began to start it; -1 for what never became ready."""
    host_end: Reals
    """When that thread went on."""
    start: Reals
    """When its kernel, or its copy, began."""
    end: Reals
    """When it was over."""
    host_cause: Wholes
    """The item at whose end, or at the end of whose start, it was its turn; -1 at the beginning."""
    cause: Wholes
    """The item that its kernel or copy had to wait for on its stream or link; -1: it began when it was started."""

    @property
    def total(self) -> float:
        """Length of the step."""
        return float(max(max(self.end, default=0.0), max(self.host_end, default=0.0)))


class Clock(NamedTuple):
    """What the clock writes and works with; one serves any number of runs of a step, one after the other.

    It is one record, not several, as each look at a field takes Python as long as an addition.
    """

    host_start: Reals
    """``[items and copies]``: this and the next five are as in `Times`."""
    host_end: Reals
    start: Reals
    end: Reals
    host_cause: Wholes
    cause: Wholes
    # copies, in the order in which they are made
    copies: Wholes
    """``[1]`` how many there are."""
    source: Wholes
    """``[copies]`` the item whose output is copied."""
    carried: Wholes
    """``[copies]`` the tensor."""
    receiver: Wholes
    """``[copies]`` device."""
    to_host: Wholes
    """``[copies]`` 1 where it is needed in host memory."""
    way: Wholes
    """``[copies]`` see `Ways`."""
    only_edge: Wholes
    """``[copies]`` the edge that needs it; -1 where several do."""
    # what `settle` works out for the devices of nodes
    row: Wholes
    """``[nodes]`` of costs."""
    column: Wholes
    """``[devices]`` of costs."""
    gpu_busy: Wholes
    """``[streams]`` 1 where the GPU computes whose kernels are on it."""
    board_busy: Wholes
    """``[boards]`` how many of its GPUs compute."""
    device: Wholes
    """``[items]``."""
    cost: Wholes
    """``[items]`` position in `Costs`."""
    stream: Wholes
    """``[items]`` the stream of a kernel of a GPU; -1 for kernels of the CPU."""
    # what runs
    pending: Wholes
    """``[items]`` how many edges have still to be waited for."""
    following: Wholes
    """``[items and copies]`` the next one in the same queue; -1: it is the last."""
    head: Wholes
    """``[threads + 1]`` what each does next, and what is ready for any of them; -1: nothing."""
    tail: Wholes
    """``[threads + 1]`` the last of it."""
    idle: Wholes
    """``[threads]`` those that have nothing to do."""
    awake: Wholes
    """``[2]`` how many of the idle need not be woken up, and how many wake up; not used where that takes no time."""
    looks_until: Reals
    """``[1]`` until when one more of the idle need not be woken up, as it looks for something to do."""
    kept: Wholes
    """``[copies]`` the thread that waits for the end."""
    is_sent: Wholes
    """``[tensors of a node, devices, 2]`` which edge needs a copy there, while `send_all` looks for them; -1: none."""
    free: Reals
    """``[streams]`` when what was queued on each is over."""
    last: Wholes
    """``[streams]`` the last item that was."""
    is_due: Wholes
    """``[streams]`` 1 where a copy is about to begin."""
    queue_head: Wholes
    """``[streams]`` the first of the copies that wait for that; -1: none does."""
    queue_tail: Wholes
    """``[streams]`` the last of them."""
    link_free: Reals
    """``[links]`` when what goes over each is over."""
    link_last: Wholes
    """``[links]`` the last copy that does."""
    pool_free: Reals
    """``[pools]`` when the threads of each intra-op pool have nothing to do."""
    pool_last: Wholes
    """``[pools]`` the last item that held them."""
    events: Events
    """What is to come."""


def settle(graph: StepGraph, devices: Wholes, clock: Clock) -> None:
    """Works out what each item costs where its node is.

    Args:
        graph: the step.
        devices: ``[nodes]``.
        clock: written.
    """
    clock.column[:] = graph.column
    if len(graph.board_gpus) > 0:
        slow_down(graph, devices, clock)
    row = clock.row
    row[:] = graph.row
    for at in range(len(graph.idle)):
        node, is_alone = graph.idle[at], True
        for place in range(graph.first_neighbour[at], graph.first_neighbour[at + 1]):
            if devices[graph.neighbour[place]] != devices[node]:
                is_alone = False
                break
        if is_alone:
            row[node] = NOTHING
    for kernel in range(len(graph.fuses_on_gpu)):
        first, end = graph.first_fused[kernel], graph.first_fused[kernel + 1]
        own, joined = devices[graph.fused[first]], first + 1
        while joined < end and devices[graph.fused[joined]] == own:
            joined += 1
        on_gpu = graph.fuses_on_gpu[kernel] == 1
        if (graph.gpu[own] >= 0) != on_gpu or joined < (end if on_gpu else first + 2):
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
    """Has GPUs whose board is busy run at the clock that its power leaves them.

    Args:
        graph: the step.
        devices: ``[nodes]``.
        clock: ``column`` is changed.
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
