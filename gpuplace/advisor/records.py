"""Records of the search: problems as flat arrays (or lists of the same numbers), and its state and scratch space."""

from __future__ import annotations

from typing import NamedTuple

from gpuplace.cost.step_graph import Clock, Costs, StepGraph, Ways
from gpuplace.numerics.compiled.arrays import Reals, Wholes


class Network(NamedTuple):
    """Groups, tensors and devices as arrays with one axis, or lists of the same numbers."""

    device_count: int
    """Number of devices; ``[a, devices]`` below is an array with one axis, with the numbers of each a in a row."""
    seconds: Reals
    """``[groups, devices]`` time; infinite if the group cannot run there."""
    sizes: Reals
    """``[groups]`` memory."""
    rooms: Reals
    """``[devices]`` memory."""
    links: Reals
    """``[devices]``: see ``Device.link``."""
    cost: Reals
    """``[tensors]``: transfer time on a link of cost factor 1."""
    source: Wholes
    """``[tensors]``: producing group."""
    reader_start: Wholes
    """``[tensors + 1]``: start of each tensor's consumers."""
    readers: Wholes
    """Consuming groups other than the producer, each once per tensor."""
    out_start: Wholes
    """``[groups + 1]``: start of each group's tensors in ``tensors_out``."""
    tensors_out: Wholes
    """Tensors by producing group."""
    in_start: Wholes
    """``[groups + 1]``: start of each group's tensors in ``tensors_in``."""
    tensors_in: Wholes
    """Tensors by consuming group."""
    near_start: Wholes
    """``[groups + 1]``: start of each group's neighbors in ``near``."""
    near: Wholes
    """Groups that share a tensor with a group."""
    order: Wholes
    """``[groups]``: a linear order in which neighbors are close."""


class Lattice(NamedTuple):
    """Down-sets of groups, which contain all predecessors of their groups, and how they grow; arrays or lists.

    The difference of two sets, one within the other, may be all groups of one device. The first set is empty, the last
    has all groups, and each set comes after its subsets.
    """

    piece_start: Wholes
    """``[pieces + 1]`` start of each piece's groups in ``pieces``."""
    pieces: Wholes
    """Groups by piece; a set grows by one piece at a time."""
    grown_start: Wholes
    """``[sets + 1]`` start of each set's entries in ``grown``."""
    grown: Wholes
    """For each set, the sets with one more piece."""
    added: Wholes
    """That piece, for each entry of ``grown``."""
    pair_start: Wholes
    """``[sets + 1]`` start of each set's entries in ``larger``."""
    larger: Wholes
    """Proper supersets of each set."""


class Blocks(NamedTuple):
    """Nodes in topological order, for the latency of a split; arrays or lists."""

    node_count: int
    device_count: int
    group: Wholes
    """``[nodes]`` group."""
    seconds: Reals
    """``[nodes, devices]`` time."""
    transfer: Reals
    """``[nodes]`` transfer time of the output."""
    links: Reals
    """``[devices]`` link cost factor."""
    is_pool: Wholes
    """``[devices]``: 1 or 0."""
    before_start: Wholes
    """``[nodes + 1]`` start of each node's predecessors."""
    before: Wholes
    """Predecessors of each node."""
    after_start: Wholes
    """``[nodes + 1]`` start of each node's successors."""
    after: Wholes
    """Successors of each node."""


class Step(NamedTuple):
    """A step, for the time of its splits; arrays or lists.

    The clock of the step runs on the devices of its graph, of which there may be more than the problem has; bounds use
    the problem's nodes and edges.
    """

    graph: StepGraph
    """Graph that the clock runs."""
    costs: Costs
    ways: Ways
    threads: int
    """Number of host workers."""
    # mapping from a split to the devices of the graph's nodes
    leader: Wholes
    """``[nodes of the graph]`` group whose device the node has; -1 if it is fixed."""
    fixed: Wholes
    """``[nodes of the graph]`` device of the fixed nodes."""
    position: Wholes
    """``[devices]`` corresponding device of the graph."""
    number: Wholes
    """``[devices of the graph]`` corresponding device of the problem; -1 if there is none."""
    barriers: Wholes
    """Nodes of the graph that only wait, and are placed with the nodes that they wait for."""
    barrier_homes: Wholes
    """``[barriers]``: device of the graph to use if these nodes are on several devices."""
    barrier_start: Wholes
    """``[barriers + 1]`` start of each barrier's groups in ``awaited``."""
    awaited: Wholes
    """Groups that each barrier waits for; -1 minus a device of the graph for a fixed node."""
    # nodes and edges of the problem
    node_count: int
    device_count: int
    host: int
    """Device of the host; -1 if there is none."""
    seconds: Reals
    """``[nodes, devices]`` kernel time."""
    starts: Reals
    """``[nodes, devices]``: time of a host worker."""
    is_pool: Wholes
    """``[devices]``: 1 or 0."""
    first: Wholes
    """``[nodes + 1]``: start of each node's edges."""
    readers: Wholes
    """``[edges]``: consuming node."""
    units: Reals
    """``[edges]`` transfer units of the tensor."""
    is_signal: Wholes
    """``[edges]``: 1 if it carries no tensor."""
    host_made: Wholes
    """``[edges]``: 1 if the tensor is in host memory even if its producer is on a GPU."""
    host_reads: Wholes
    """``[edges]``: 1 if the consumer reads host memory even on a GPU."""
    per_unit: Reals
    """``[devices, devices]``."""
    latency: Reals
    """``[devices, devices]``."""
    channel: Wholes
    """``[devices, devices]``."""


class LoadState(NamedTuple):
    """State of a chain; arrays or lists."""

    device: Wholes
    """``[groups]`` the split."""
    count: Wholes
    """``[tensors, devices]`` number of consumers."""
    elsewhere: Wholes
    """``[tensors]`` number of devices, other than the producer's, with consumers."""
    load: Reals
    """``[devices]`` load."""
    used: Reals
    """``[devices]`` memory in use."""
    moved: Wholes
    """Groups of the current change."""
    to: Wholes
    """Their new devices."""
    back: Wholes
    """Their previous devices."""
    mark: Wholes
    """``[groups + 1]`` stamps of visited groups, and the last stamp."""
    best: Reals
    """``[2]`` objective and missing memory of the best split."""
    best_device: Wholes
    """``[groups]`` the best split."""
    total: Reals
    """``[1]`` total work."""
    weight: float
    """Weight of the total work relative to the objective."""
    place: Wholes
    """``[groups]``: position in the order of the ``Network``."""
    reach: int
    """Maximum number of groups in a region that moves."""
    chance: Wholes
    """``[2]`` state of the random number generator."""
    patience: Reals
    """Quantiles of the exponential distribution, for the acceptance of worse changes."""


class Climb(NamedTuple):
    """Scratch space to traverse a lattice."""

    slot: Wholes
    """``[sets]`` position of each superset's load."""
    way: Wholes
    """``[pieces + 1]`` sets on the current path."""
    turn: Wholes
    """``[pieces + 1]`` next growth of each set on the path."""
    put_on: Wholes
    """``[pieces]`` pieces on the device."""


class BlockWork(NamedTuple):
    """Scratch space to compute a latency."""

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
    """Scratch space to compute the time of a step."""

    clock: Clock
    where: Wholes
    """``[nodes of the graph]`` device."""
    on_path: Wholes
    """``[2 * (items and copies)]`` items of the critical path, from its end."""
    on_host: Wholes
    """Same shape: 1 for the thread that starts an item."""
    until: Reals
    """Same shape: accumulated seconds."""
