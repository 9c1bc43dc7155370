"""From the nodes of a step to the flow that the executor runs: folded, partitioned, loops unrolled.

Wherever a tensor is needed in a memory that it is not in, one copy goes there for all who take it; where a node only
waits for one of another device, a signal does. Before, what Grappler changes by default is changed: see
``constant_folding``, ``dependency_rewrites`` and ``fused_kernels``. A loop runs as often as its trip count says; of a
long one the first iterations stand for all, with their times stretched.

Source: tensorflow/core/graph/graph_partition.cc, common_runtime/memory_types.cc (copies within a GPU), executor.cc
(which kernels are expensive), release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.constant_folding import constants, divided_by_constants
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.dependency_rewrites import RELEASES_WITHOUT, bypassed, without_takers
from gpuplace.cost.events import COPY, ON_CPU, ON_GPU, CopyWay, Flow
from gpuplace.cost.fused_kernels import computed_by
from gpuplace.cost.item_times import Alike, ItemTimes
from gpuplace.cost.shapes.branches import ASSUMED_ALIVE
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.cost.step_flow import CopyTable, Machinery, StepFlow
from gpuplace.cost.unrolling import Unrolling
from gpuplace.cost.work import Work
from gpuplace.errors import OpError
from gpuplace.graph.op_sets import (
    ALL_SWITCHES,
    CONSTANT_OPS,
    FUSED_OPS,
    INLINE_OPS,
    MERGES,
    SWITCHES,
)
from gpuplace.placer.placement_graph import CONTROL
from gpuplace.subject.step_part import StepPart
from gpuplace.why.placement import Placement

MOST_ITEMS = 300_000
"""Loops are unrolled until there are so many items."""


def build_flow(
    placement: Placement,
    part: StepPart,
    shapes: StepShapes,
    works: Sequence[Work],
    machinery: Machinery,
    model: CostModel,
    rewrites: Rewrites,
) -> StepFlow:
    """The flow of a step.

    Args:
        placement: of the whole graph.
        part: what runs.
        shapes: of what runs.
        works: of what runs.
        machinery: the machine.
        model: what times the work.
        rewrites: what Grappler changes.
    """
    return _Builder(placement, part, shapes, works, machinery, model, rewrites).build()


def flow_builder(
    placement: Placement,
    part: StepPart,
    shapes: StepShapes,
    works: Sequence[Work],
    machinery: Machinery,
    model: CostModel,
    rewrites: Rewrites,
) -> Callable[[np.ndarray], StepFlow]:
    """What makes the flow of a step for devices that nodes might have: [nodes] positions in the device set.

    Args:
        placement, part, shapes, works, machinery, model, rewrites: as of `build_flow`.
    """
    builder = _Builder(placement, part, shapes, works, machinery, model, rewrites)
    return lambda device: builder.placed(device).build()


class Rewrites(NamedTuple):
    """What Grappler changes of a step before it runs."""

    folds: bool
    """Constants are folded."""
    empties: bool
    """What nobody takes, and what only hands on, is taken out."""
    fuses: bool
    """A kernel computes what follows it, where it can; gpuplace's own do not."""


class _Builder:
    def __init__(
        self,
        placement: Placement,
        part: StepPart,
        shapes: StepShapes,
        works: Sequence[Work],
        machinery: Machinery,
        model: CostModel,
        rewrites: Rewrites,
    ) -> None:
        self.placement, self.part, self.shapes, self.works = placement, part, shapes, works
        self.machinery, self.model, self.rewrites = machinery, model, rewrites
        self.graph = part.graph
        self.types = [signature.op_type for signature in self.graph.signatures]
        self.signature = self.graph.signature.tolist()
        self.device = np.where(part.is_fed, 0, np.maximum(part.device, 0))
        self.assumed: list[str] = []

    def placed(self, device: np.ndarray) -> _Builder:
        """The builder for nodes on other devices; what does not depend on these is shared."""
        _ = self.what_runs
        other = _Builder.__new__(_Builder)
        vars(other).update(vars(self))
        other.device = np.where(self.part.is_fed, 0, np.maximum(device, 0))
        other.assumed = []
        return other

    @cached_property
    def what_runs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
        """[nodes] what is dead, what is folded, what runs, what of that is not computed; and what was assumed."""
        dead = self.dead()
        catalogue = self.placement.placer.catalogue
        folded = np.zeros(len(self.graph), dtype=bool)
        if self.rewrites.folds:
            folded = constants(self.graph, self.shapes, catalogue, self.part.is_fed) & ~dead
        runs = self.running(dead, folded)
        emptied = np.zeros(len(self.graph), dtype=bool)
        if self.rewrites.empties:
            emptied = without_takers(self.graph, catalogue, runs, folded, self.fetched_nodes)
            if emptied.any():
                self.assumed.append(
                    f"Dependency optimization, as by default: {int(emptied.sum())} nodes whose results nobody "
                    "takes are not computed."
                )
        return dead, folded, runs, emptied, tuple(self.assumed)

    @property
    def fetched_nodes(self) -> list[int]:
        """What is fetched, or runs for itself."""
        return [node for node, _ in self.part.fetches]

    def of_types(self, chosen: Any) -> np.ndarray:
        """[nodes] bool: nodes of some op types."""
        return np.array([name in chosen for name in self.types] or [False], dtype=bool)[self.graph.signature]

    def build(self) -> StepFlow:
        graph = self.graph
        count = len(graph)
        dead, folded, runs, emptied, assumed = self.what_runs
        self.assumed = list(assumed)
        src, dst = graph.src.astype(np.int64), graph.dst.astype(np.int64)
        output = graph.src_output.astype(np.int64)
        chosen = runs[src] & runs[dst] & ~folded[dst]
        src, dst, position = src[chosen], dst[chosen], graph.dst_input[chosen].astype(np.int64)
        output = np.where(emptied[dst], CONTROL, output[chosen])
        # what is fetched goes to the client
        fetched = [
            (node, port) for node, port in dict.fromkeys(self.part.fetches) if port >= 0 and runs[node]
        ]
        in_host, out_host, self.on_host = self.host_memory(src, dst, output, position)
        if fetched:
            ends = np.arange(count, count + len(fetched))
            src = np.concatenate((src, [node for node, _ in fetched]))
            dst = np.concatenate((dst, ends))
            output = np.concatenate((output, [port for _, port in fetched]))
            in_host = np.concatenate((in_host, np.ones(len(fetched), dtype=bool)))
            out_host = np.concatenate((out_host, self.out_host_of(fetched)))
        device = np.concatenate((self.device, np.zeros(len(fetched), dtype=np.int64)))
        live = np.flatnonzero(np.concatenate((runs, np.ones(len(fetched), dtype=bool))))
        copies, edges, first_copy = self.cross(
            src, dst, output, in_host, out_host, device, count + len(fetched)
        )
        item_source, item_index, weight, item_edges = self.unroll(live, edges, copies, first_copy, fetched)
        gone = emptied.copy()
        if self.rewrites.empties:
            gone |= bypassed(graph, runs, self.device, self.fetched_nodes)
        return self.items(
            copies, first_copy, fetched, device, item_source, weight, item_edges, folded, dead | ~runs, gone
        )

    # What does not run

    def dead(self) -> np.ndarray:
        """[nodes] bool: nodes in branches of conditionals that are not taken."""
        graph, shapes = self.graph, self.shapes
        count = len(graph)
        dead = np.zeros(count, dtype=bool)
        is_switch = self.of_types(ALL_SWITCHES)
        if not is_switch.any():
            return dead
        order, first, after = graph.out_order.tolist(), graph.out_start.tolist(), graph.dst.tolist()
        merges, types, signature = MERGES, self.types, self.signature
        start, src, port = graph.in_start.tolist(), graph.src.tolist(), graph.src_output.tolist()
        stack: list[tuple[int, int]] = []
        unknown = {True: 0, False: 0}
        for node in np.flatnonzero(is_switch).tolist():
            predicate = src[start[node] + 1] if start[node + 1] - start[node] > 1 else -1
            if predicate >= 0 and types[signature[predicate]] == "LoopCond":
                continue
            taken = shapes.taken.get(node)
            if taken is None:
                has_two = types[signature[node]] in SWITCHES
                taken = ASSUMED_ALIVE[has_two]
                unknown[has_two] += 1
            gone = {port[edge] for edge in order[first[node] : first[node + 1]]} - {taken, CONTROL}
            stack += [(node, output) for output in sorted(gone)]
        if unknown[True]:
            self.assumed.append(
                f"The predicates of {unknown[True]} Switch nodes are not known: the branch for True is taken to run."
            )
        if unknown[False]:
            self.assumed.append(
                f"The indices of {unknown[False]} _SwitchN nodes are not known: the first branch is taken to run."
            )
        left: dict[int, int] = {}
        while stack:
            node, output = stack.pop()
            for edge in order[first[node] : first[node + 1]]:
                other = after[edge]
                if dead[other] or (output >= 0 and port[edge] != output):
                    continue
                if types[signature[other]] in merges and port[edge] != CONTROL:
                    if other not in left:
                        left[other] = sum(
                            port[one] != CONTROL for one in range(start[other], start[other + 1])
                        )
                    left[other] -= 1
                    if left[other]:
                        continue
                dead[other] = True
                stack.append((other, -1))
        return dead

    def computed_by(self) -> np.ndarray:
        """[nodes] int: the node before it whose kernel computes it where TensorFlow runs the step; -1: none does."""
        if not self.rewrites.fuses:
            return np.full(len(self.graph), -1, dtype=np.int64)
        _, folded, runs, emptied, _ = self.what_runs
        found = computed_by(
            *(self.graph, self.shapes, self.placement.release, runs & ~emptied, folded),
            *(self.device, self.fetched_nodes),
        )
        count = int((found >= 0).sum())
        if count and not self.model.in_a_line:
            self.assumed.append(
                f"Remapping, as by default: {count} nodes are computed by kernels of nodes before them."
            )
        return found

    def running(self, dead: np.ndarray, folded: np.ndarray) -> np.ndarray:
        """[nodes] bool: what is needed by the fetches, through what is not folded."""
        if not folded.any() and not dead.any():
            return np.ones(len(self.graph), dtype=bool)
        start, src = self.graph.in_start.tolist(), self.graph.src.tolist()
        seen = [False] * len(self.graph)
        gone, cut = dead.tolist(), folded.tolist()
        stack = []
        for node, _ in self.part.fetches:
            if not seen[node] and not gone[node]:
                seen[node] = True
                stack.append(node)
        while stack:
            node = stack.pop()
            if cut[node]:
                continue
            for other in src[start[node] : start[node + 1]]:
                if not seen[other] and not gone[other]:
                    seen[other] = True
                    stack.append(other)
        return np.array(seen, dtype=bool)

    # Partition

    def host_memory(
        self, src: np.ndarray, dst: np.ndarray, output: np.ndarray, position: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which edges end, and begin, in host memory; and which nodes of GPUs work there."""
        is_gpu = self.machinery.is_gpu[self.device]
        in_host, out_host = ~is_gpu[dst], ~is_gpu[src]
        signature = self.graph.signature
        on_host = np.zeros(len(self.graph), dtype=bool)
        used = np.unique(signature[is_gpu]).tolist()
        self._sets = host_arguments(self.placement, self.part, used)
        to, of = signature[dst], signature[src]
        first_of: dict[int, int] = {}
        for node, number in zip(range(len(self.signature) - 1, -1, -1), self.signature[::-1], strict=True):
            first_of[number] = node
        for number, (inputs, outputs) in enumerate(self._sets):
            if inputs:
                in_host |= (to == number) & np.isin(position, list(inputs))
            if outputs:
                out_host |= (of == number) & np.isin(output, list(outputs))
                if number in first_of and len(outputs) == len(self.shapes.dtypes(first_of[number])):
                    on_host |= (signature == number) & is_gpu
        return in_host, out_host, on_host

    def out_host_of(self, tensors: Sequence[tuple[int, int]]) -> list[bool]:
        is_gpu = self.machinery.is_gpu
        return [
            not is_gpu[self.device[node]] or port in self._sets[self.signature[node]][1]
            for node, port in tensors
        ]

    def cross(
        self,
        src: np.ndarray,
        dst: np.ndarray,
        output: np.ndarray,
        in_host: np.ndarray,
        out_host: np.ndarray,
        device: np.ndarray,
        first_copy: int,
    ) -> tuple[CopyTable, tuple[np.ndarray, np.ndarray, np.ndarray], int]:
        """The copies, and the edges with them in between."""
        sender, receiver = device[src], device[dst]
        is_control = output == CONTROL
        crosses = (sender != receiver) | (~is_control & (in_host != out_host) & self.machinery.is_gpu[sender])
        chosen = np.flatnonzero(crosses)
        if len(chosen):
            to_host = np.where(is_control, True, in_host)[chosen]
            keys = np.stack((src[chosen], output[chosen], receiver[chosen], to_host), axis=1)
            unique, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            inverse = inverse.reshape(-1)
        else:
            unique = np.zeros((0, 4), dtype=np.int64)
            index = inverse = np.zeros(0, dtype=np.int64)
        source, ports = unique[:, 0].tolist(), unique[:, 1].tolist()
        nbytes_of = self.shapes.nbytes
        nbytes = [
            0 if port == CONTROL else int(nbytes_of(node, port))
            for node, port in zip(source, ports, strict=True)
        ]
        senders = device[unique[:, 0]].tolist()
        self.from_host = out_host[chosen][index].tolist()
        copies = CopyTable(
            source,
            ports,
            senders,
            unique[:, 2].tolist(),
            [bool(host) for host in unique[:, 3].tolist()],
            nbytes,
            [],
        )
        number = first_copy + inverse
        new_src = src.copy()
        new_src[chosen] = number
        edges = (
            np.concatenate((new_src, unique[:, 0])),
            np.concatenate((dst, first_copy + np.arange(len(unique)))),
            np.concatenate((output, unique[:, 1])),
        )
        return copies, edges, first_copy

    # Loops

    def unroll(
        self,
        live: np.ndarray,
        edges: tuple[np.ndarray, np.ndarray, np.ndarray],
        copies: CopyTable,
        first_copy: int,
        fetched: Sequence[tuple[int, int]],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Items of every node and copy, how many executions each stands for, and the edges between items."""
        src, dst, _ = edges
        total = first_copy + len(copies)
        present = np.zeros(total, dtype=bool)
        present[live] = True
        present[first_copy:] = True
        if not any(self.shapes.frames):
            number = np.cumsum(present) - 1
            sources = np.flatnonzero(present)
            return (
                sources,
                np.zeros(len(sources), dtype=np.int64),
                np.ones(len(sources)),
                (number[src], number[dst]),
            )
        unrolling = Unrolling(self.graph, self.shapes, self.types, copies.source, first_copy, MOST_ITEMS)
        self.assumed += unrolling.assumed
        return unrolling.items(present, src, dst)

    # Items

    def items(
        self,
        copies: CopyTable,
        first_copy: int,
        fetched: Sequence[tuple[int, int]],
        device: np.ndarray,
        sources: np.ndarray,
        weight: np.ndarray,
        edges: tuple[np.ndarray, np.ndarray],
        folded: np.ndarray,
        dead: np.ndarray,
        emptied: np.ndarray,
    ) -> StepFlow:
        graph, machinery = self.graph, self.machinery
        count = len(graph)
        total = first_copy + len(copies)
        kind, stream, nbytes = [ON_CPU] * total, [0] * total, [0.0] * total
        is_gpu = machinery.is_gpu.tolist()
        of_device, on_host = device.tolist(), self.on_host.tolist()
        cuts = (folded | self.part.is_fed).tolist()
        works, signature, types = self.works, self.signature, self.types
        gone, physical = (dead | emptied).tolist(), machinery.physical
        is_const = [name in CONSTANT_OPS for name in types]
        computing = ~(self.on_host | dead | folded) & np.array(
            [work.launches > 0 for work in works], dtype=bool
        )
        models = machinery.working(set(self.device[computing].tolist()))
        multiplied: set[int] = set()
        if self.rewrites.folds and self.placement.release not in RELEASES_WITHOUT:
            multiplied = divided_by_constants(graph, self.shapes, folded, self.part.is_fed)
        computed_by = self.computed_by()
        joined, fusing = (computed_by >= 0).tolist(), set(computed_by.tolist())
        # nodes of one op type, work and kind of device take the same time
        groups: dict[tuple[Any, ...], list[int]] = {}
        for node in range(count):
            if gone[node]:
                continue
            where = of_device[node]
            gpu = models[where] if is_gpu[where] and not on_host[node] else None
            number = signature[node]
            if gpu is not None:
                kind[node] = ON_GPU
                stream[node] = physical[where]
            op_type = types[number]
            rewritten: str | None = op_type
            if joined[node]:
                rewritten = None
            elif node in fusing:
                rewritten = FUSED_OPS[op_type]
            elif node in multiplied:
                rewritten = "Mul"
            key = op_type, rewritten, id(works[node]), None if gpu is None else id(gpu)
            found = groups.get(key)
            if found is None:
                groups[key] = [node]
            else:
                found.append(node)
        cheap = [name in INLINE_OPS for name in types]
        alike = [
            Alike(
                nodes,
                op_type,
                rewritten,
                works[nodes[0]],
                models[of_device[nodes[0]]] if kind[nodes[0]] == ON_GPU else None,
                not is_gpu[of_device[nodes[0]]] and not cheap[signature[nodes[0]]],
                [node for node in nodes if not (cuts[node] or is_const[signature[node]])],
            )
            for (op_type, rewritten, *_), nodes in groups.items()
        ]
        ways, numbers = self.ways(copies)
        for copy, number in enumerate(numbers):
            item = first_copy + copy
            kind[item], stream[item], nbytes[item] = COPY, number, float(copies.nbytes[copy])
        pools = [-1 - host for host in np.array(machinery.hosts)[device].tolist()] + [0] * len(copies)
        src, dst = edges
        order = np.argsort(src, kind="stable")
        items = len(sources)
        first = np.concatenate(([0], np.cumsum(np.bincount(src, minlength=items)))).tolist()
        waits = np.bincount(dst, minlength=items)
        place = sources.tolist()
        flat = weight.tolist()
        none = [0.0] * items
        flow = Flow(
            kind=[kind[one] for one in place],
            host=none,
            kernel=none,
            stream=[stream[one] for one in place],
            nbytes=[nbytes[one] * more for one, more in zip(place, flat, strict=True)],
            is_expensive=[False] * items,
            held=none,
            waits=waits.tolist(),
            first=first,
            after=dst[order].tolist(),
            ways=ways,
            streams=max([machinery.streams, *(way.stream + 1 for way in ways)]),
            links=len(machinery.links.links),
            pool=[pools[one] for one in place] if machinery.pools > 1 else None,
        )
        ends = range(first_copy, total)
        from_gpus = frozenset(
            first_copy + copy for copy, sender in enumerate(copies.sender) if is_gpu[sender]
        )
        times = ItemTimes(alike, ends, from_gpus, place, flat, int(self.part.is_fed.sum()))
        receivers = np.concatenate((device, np.array(copies.receiver, dtype=np.int64)))
        return StepFlow(
            times.timed(flow, self.model),
            times,
            sources,
            weight,
            copies,
            folded,
            dead,
            receivers[sources],
            self.on_host,
            computed_by,
            first_copy,
            tuple(self.assumed),
        )

    def ways(self, copies: CopyTable) -> tuple[list[CopyWay], list[int]]:
        """The ways of the copies, and which each takes."""
        physical, hosts, fed = self.machinery.physical, self.machinery.hosts, self.part.is_fed
        found: dict[tuple[int, int, bool], int] = {}
        ways: list[CopyWay] = []
        kinds: list[str] = []
        numbers: list[int] = []
        for copy in range(len(copies)):
            sender, receiver = copies.sender[copy], copies.receiver[copy]
            is_signal = copies.output[copy] == CONTROL
            begin = hosts[sender] if self.from_host[copy] and not is_signal else physical[sender]
            end = hosts[receiver] if copies.to_host[copy] else physical[receiver]
            node = copies.source[copy]
            key = begin, end, not (begin < 0 and node < len(fed) and fed[node])
            number = found.get(key)
            if number is None:
                number = found[key] = len(ways)
                kind, way = self.machinery.way(*key)
                kinds.append(kind)
                ways.append(way)
            if kinds[number] == "network":  # TensorFlow's servers send what there is at the same time
                numbers.append(len(ways))
                kinds.append(kinds[number])
                ways.append(replace(ways[number], stream=self.machinery.streams + len(ways)))
                copies.way.append("signal" if is_signal else "network")
                continue
            copies.way.append("signal" if is_signal else kinds[number])
            numbers.append(number)
        return ways, numbers


def host_arguments(
    placement: Placement, part: StepPart, used: Collection[int] | None = None
) -> list[tuple[frozenset[int], frozenset[int]]]:
    """[signatures] inputs and outputs in host memory where a node of the signature is on a GPU.

    Args:
        placement: of the whole graph.
        part: what runs.
        used: the signatures that are asked for; None: all.
    """
    catalogue = placement.placer.catalogue
    wanted = None if used is None else set(used)
    found: list[tuple[frozenset[int], frozenset[int]]] = []
    for number, signature in enumerate(part.graph.signatures):
        op_def = catalogue.ops.get(signature.op_type)
        if op_def is None or (wanted is not None and number not in wanted):
            found.append((frozenset(), frozenset()))
            continue
        attrs = {**op_def.defaults, **dict(signature.attrs)}
        try:
            found.append(catalogue.kernels.host_memory(op_def, attrs, "GPU"))
        except (OpError, KeyError, TypeError):  # an invalid node, which the placement reports
            found.append((frozenset(), frozenset()))
    return found
