"""Small steps for the clock, of nodes on devices, and a run of them as the clock stands or compiled."""

from typing import NamedTuple

import numpy as np

from gpuplace.cost import clock as functions
from gpuplace.cost import step_graph
from gpuplace.cost.clock import path
from gpuplace.cost.item_times import POLL_SECONDS
from gpuplace.cost.step_clock import new_clock
from gpuplace.cost.step_graph import NO_QUEUE, NO_STREAM, Clock, Costs, StepGraph, Times, Ways
from gpuplace.numerics.compiled.arrays import as_lists
from gpuplace.numerics.compiled.functions import compiled_functions

US = 1e-6
BANDWIDTH = 1e9
LATENCY = 5 * US


class Example(NamedTuple):
    """A step on a host, device 0, and GPUs, each with a link of its own unless all share one."""

    graph: StepGraph
    costs: Costs
    ways: Ways
    device: np.ndarray

    def source_of_edges(self) -> list[int]:
        """[edges] the item that each comes from."""
        return np.repeat(np.arange(self.graph.item_count), np.diff(self.graph.first)).tolist()

    def timed(self, **changed) -> "Example":
        """The example with other seconds or numbers of the costs."""
        lists = {name: [0.0, *value] for name, value in changed.items() if isinstance(value, list)}
        arrays = {name: np.repeat(value, self.graph.column_count) for name, value in lists.items()}
        return self._replace(costs=self.costs._replace(**(changed | arrays)))


def example(
    nodes,
    edges,
    gpus=2,
    is_shared=True,
    queues=True,
    blocks=False,
    in_host=(),
    fed=(),
    expensive=True,
    weight=1.0,
):
    """A step of nodes, (device, host µs, kernel µs) each, and edges, (from, to) or (from, to, bytes) each.

    Args:
        nodes, edges: what runs; an edge without bytes is a signal, and what a node gives out is one tensor.
        gpus: how many there are.
        is_shared: whether all copies share one link.
        queues: whether copies of one stream go one at a time.
        blocks: whether a thread waits for the end of a copy of what is fed.
        in_host: nodes whose kernel works in host memory, which read and make their tensors there, even on GPUs.
        fed: nodes that come from the client.
        expensive: whether nodes of the host go to the pool.
        weight: executions that each item stands for.
    """
    count, devices = len(nodes), gpus + 1
    edges = sorted(edges, key=lambda edge: edge[0])
    source, reader = (np.array([edge[at] for edge in edges], np.int64) for at in (0, 1))
    carries = np.array([len(edge) > 2 for edge in edges], bool)
    nbytes = np.zeros(2 * count)
    for edge in edges:
        if len(edge) > 2:
            nbytes[2 * edge[0] + 1] = edge[2]
    host = np.isin(np.arange(count), in_host).astype(np.int64)
    empty, every = np.empty(0, np.int64), np.arange(devices)
    is_gpu = every > 0
    graph = StepGraph(
        item_count=count,
        device_count=devices,
        column_count=devices,
        memory_count=devices,
        host_column=0,
        gpu=every - 1,
        memory=every,
        host_memory=np.zeros(devices, np.int64),
        pool=np.zeros(devices, np.int64),
        column=every,
        busy_column=every,
        board=np.full(devices, -1),
        board_gpus=empty,
        row=np.arange(1, count + 1),
        computes=empty,
        is_in_host=host,
        is_fed=np.isin(np.arange(count), fed).astype(np.int64),
        idle=empty,
        first_neighbor=np.zeros(1, np.int64),
        neighbor=empty,
        first_fused=np.zeros(1, np.int64),
        fused=empty,
        fused_row=empty,
        fuses_on_gpu=empty,
        node=np.arange(count),
        weight=np.full(count, weight),
        waits=np.bincount(reader, minlength=count),
        first=np.concatenate(([0], np.cumsum(np.bincount(source, minlength=count)))),
        after=reader,
        tensor=2 * source + carries,
        reads_in_host=host[reader],
        changes_memory=((host[source] != host[reader]) & carries).astype(np.int64),
        first_tensor=np.arange(0, 2 * count + 2, 2),
        nbytes=nbytes,
        is_made_in_host=np.repeat(host, 2),
    )
    seconds = np.array([[0.0, 0.0], *(node[1:] for node in nodes)]) * US
    apart = every[:, None] != every[None, :]
    stream = np.where(every[:, None] == 0, gpus + every[None, :], 2 * gpus + every[:, None])
    pairs = np.sort(np.stack(np.broadcast_arrays(every[:, None] - 1, every[None, :] - 1)), axis=0).reshape(
        2, -1
    )
    number = np.repeat(np.arange(devices * devices), 2)
    if blocks:  # the second way of each pair of memories is that of what is fed
        number[1::2] += devices * devices
    ways = Ways(
        number=number,
        stream=np.tile(np.where(apart, stream if queues else NO_QUEUE, NO_STREAM).ravel(), 2),
        source=np.tile(np.where(pairs[0] >= 0, pairs[0], pairs[1]), 2),
        target=np.tile(np.where(pairs[0] >= 0, pairs[1], -1), 2),
        bandwidth=np.full(2 * devices * devices, BANDWIDTH),
        latency=np.full(2 * devices * devices, LATENCY),
        blocks=np.repeat([0, 1], devices * devices),
        first_link=np.concatenate(([0], np.cumsum(np.tile(apart.ravel(), 2)))) * is_shared,
        link=np.zeros(2 * int(apart.sum()) * is_shared, np.int64),
        rate=np.full(2 * int(apart.sum()) * is_shared, BANDWIDTH),
    )
    kernel = np.repeat(seconds[:, 1], devices)
    on_host = np.tile(~is_gpu, count + 1)
    on_host[devices:] |= np.repeat(host, devices) == 1
    costs = Costs(
        host=np.repeat(seconds[:, 0], devices),
        kernel=kernel,
        held=np.where(on_host & (kernel > 20 * US), kernel, 0.0),
        is_expensive=(np.tile(~is_gpu, count + 1) & expensive).astype(np.int64),
        copy=1 * US,
        begin=0.0,
        wake_up=0.0,
        queue=0.0,
        poll=POLL_SECONDS,
    )
    return Example(graph, costs, ways, np.array([node[0] for node in nodes], np.int64))


def ran(step: Example, threads: int, limit=float("inf"), is_compiled=False) -> tuple[float, Times, Clock]:
    """Seconds of a step, when its items ran, and what the clock has written."""
    clock = new_clock(step.graph, step.ways, threads, len(step.graph.after))
    if is_compiled:
        from gpuplace.numerics.compiled.record_types import Packed

        graph, costs, ways, walked = (Packed(part) for part in (step.graph, step.costs, step.ways, clock))
        compiled_functions(step_graph).settle(graph, step.device, walked)
        seconds = compiled_functions(functions).run(graph, costs, ways, walked, threads, limit)
    else:
        graph, costs, ways, clock = (as_lists(part) for part in (step.graph, step.costs, step.ways, clock))
        step_graph.settle(graph, step.device.tolist(), clock)
        seconds = functions.run(graph, costs, ways, clock, threads, limit)
    count = step.graph.item_count + int(clock.copies[0])
    return seconds, Times(*(list(getattr(clock, name)[:count]) for name in Times._fields)), clock


def waited_for(step: Example, threads: int) -> list[tuple[int, bool, float, float]]:
    """What a step waited for."""
    _, times, clock = ran(step, threads)
    copies = np.full(int(clock.copies[0]), step.costs.copy)
    host = np.concatenate((step.costs.host[np.array(clock.cost)], copies))
    return path(times, host, np.array(clock.stream), step.graph.item_count)
