"""What the loops of the search walk over and work with: named arrays of one axis, or lists of the same numbers."""

from __future__ import annotations

from typing import NamedTuple

from gpuplace.cost.step_graph import Clock, Costs, StepGraph, Ways
from gpuplace.numerics.compiled.arrays import Reals, Wholes


class Network(NamedTuple):
    """Groups, tensors and devices, as the loops walk over them: arrays of one axis, or lists of the same numbers."""

    device_count: int
    """Devices; ``[a, devices]`` below is an array of one axis with the numbers of each a in a row."""
    seconds: Reals
    """``[groups, devices]``; infinite where it cannot run."""
    sizes: Reals
    """``[groups]``."""
    rooms: Reals
    """``[devices]``: memory."""
    links: Reals
    """``[devices]``: see ``Device.link``."""
    cost: Reals
    """``[tensors]``: transfer over a link of 1."""
    source: Wholes
    """``[tensors]``: the group that makes it."""
    reader_start: Wholes
    """``[tensors + 1]``: where its readers begin."""
    readers: Wholes
    """Groups, other than the source, each once a tensor."""
    out_start: Wholes
    """``[groups + 1]``: where its tensors begin, as ``tensors_out``."""
    tensors_out: Wholes
    """Tensors by their source."""
    in_start: Wholes
    """``[groups + 1]``."""
    tensors_in: Wholes
    """Tensors by their readers."""
    near_start: Wholes
    """``[groups + 1]``."""
    near: Wholes
    """Groups by a group they share a tensor with."""
    order: Wholes
    """``[groups]``: a linear order in which neighbours are close."""


class Lattice(NamedTuple):
    """Sets of groups, with each those that lead to its groups, and how they grow; arrays or lists as in ``Network``.

    The difference of two, one within the other, may be the whole of one device. The first set is empty, the last has
    all groups, and each comes after those within it.
    """

    piece_start: Wholes
    """``[pieces + 1]``."""
    pieces: Wholes
    """Groups by the piece that they are of: sets grow by a piece at a time."""
    grown_start: Wholes
    """``[sets + 1]``."""
    grown: Wholes
    """Sets by the set that they are one piece more than."""
    added: Wholes
    """That piece, for each of ``grown``."""
    pair_start: Wholes
    """``[sets + 1]``."""
    larger: Wholes
    """Sets by each set that is within them, not itself."""


class Blocks(NamedTuple):
    """Nodes in a topological order, as the latency of a split is computed; arrays or lists as in ``Network``."""

    node_count: int
    device_count: int
    group: Wholes
    """``[nodes]``."""
    seconds: Reals
    """``[nodes, devices]``."""
    transfer: Reals
    """``[nodes]``."""
    links: Reals
    """``[devices]``."""
    is_pool: Wholes
    """``[devices]``: 1 or 0."""
    before_start: Wholes
    """``[nodes + 1]``."""
    before: Wholes
    """Nodes that a node reads."""
    after_start: Wholes
    """``[nodes + 1]``."""
    after: Wholes
    """Nodes that read a node."""


class Step(NamedTuple):
    """A step as the time of its splits is computed; arrays or lists as in ``Network``.

    The clock of the step runs on the devices of its graph, which may be more than the problem's; bounds go
    by the problem's nodes and edges.
    """

    graph: StepGraph
    """What the clock runs."""
    costs: Costs
    ways: Ways
    threads: int
    """Workers of the host."""
    # from a split to the devices of the graph's nodes
    leader: Wholes
    """``[nodes of the graph]`` the group whose device each has; -1: it has its own."""
    fixed: Wholes
    """``[nodes of the graph]`` the device of those that have their own."""
    position: Wholes
    """``[devices]`` which of the graph's each is."""
    number: Wholes
    """``[devices of the graph]`` which of the problem's each is; -1: none."""
    gates: Wholes
    """Nodes of the graph that are where all are that they wait for."""
    gate_homes: Wholes
    """``[gates]``: devices of the graph, for where those are on several."""
    gate_start: Wholes
    """``[gates + 1]``."""
    awaited: Wholes
    """Groups that each of the gates waits for; -1 less the device of the graph for what has its own."""
    # nodes and edges of the problem
    node_count: int
    device_count: int
    host: int
    """The host's device; -1: there is none."""
    seconds: Reals
    """``[nodes, devices]``."""
    starts: Reals
    """``[nodes, devices]``: time of a worker."""
    is_pool: Wholes
    """``[devices]``: 1 or 0."""
    first: Wholes
    """``[nodes + 1]``: where the edges from each begin."""
    readers: Wholes
    """``[edges]``: node."""
    units: Reals
    """``[edges]`` of the tensor that each carries."""
    is_signal: Wholes
    """``[edges]``: 1 where it carries none."""
    host_made: Wholes
    """``[edges]``: 1 where the tensor is in the host's memory even if it is made on a GPU."""
    host_reads: Wholes
    """``[edges]``: 1 where the reader needs it in the host's memory even on a GPU."""
    per_unit: Reals
    """``[devices, devices]``."""
    latency: Reals
    """``[devices, devices]``."""
    channel: Wholes
    """``[devices, devices]``."""


class LoadState(NamedTuple):
    """What a chain has in its hands; arrays, or lists of the same numbers, as ``loops`` describes them."""

    device: Wholes
    count: Wholes
    elsewhere: Wholes
    load: Reals
    used: Reals
    moved: Wholes
    to: Wholes
    back: Wholes
    mark: Wholes
    best: Reals
    best_device: Wholes
    total: Reals
    weight: float
    place: Wholes
    """``[groups]``: where each is in the order of the ``Network``."""
    reach: int
    """The most groups of a region that moves."""
    chance: Wholes
    """``[2]`` of ``uniform``."""
    patience: Reals
    """Exponential numbers in the order of their quantiles, by which what is worse is let pass."""


class Climb(NamedTuple):
    """Room to walk over a lattice in."""

    slot: Wholes
    """``[sets]``."""
    way: Wholes
    """``[pieces + 1]``."""
    turn: Wholes
    """``[pieces + 1]``."""
    put_on: Wholes
    """``[pieces]``."""


class BlockWork(NamedTuple):
    """Room to compute a latency in."""

    turns: Wholes
    block: Wholes
    ready: Reals
    busy: Reals
    waits: Wholes
    head: Wholes
    following: Wholes
    last: Wholes
    table: Wholes
    queue: Wholes


class StepWork(NamedTuple):
    """Room to compute the time of a step in."""

    clock: Clock
    where: Wholes
    """``[nodes of the graph]``."""
    on_path: Wholes
    """``[2 * (items and copies)]`` what the step waited for, from its end on."""
    on_host: Wholes
    """The same: 1 for the thread that starts an item."""
    until: Reals
    """The same: seconds that it took, added up."""
