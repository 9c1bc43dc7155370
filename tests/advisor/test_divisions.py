"""Divisions into stretches: that the best of them all is found, and that no search ends above it."""

import functools

import numpy as np
import pytest

from gpuplace.advisor.chains import SearchContext
from gpuplace.advisor.divisions import best_division, down_sets, prefixes
from gpuplace.advisor.network import orders
from gpuplace.advisor.solve import evaluate, solve
from gpuplace.advisor.workloads import read_workload, split_of
from tests.advisor.workload_examples import as_text, branched_training, fits, largest_load

WORK = 1_000_000


def classes_of(workload):
    """The nodes of each class; a node without one is a class of its own."""
    members = {}
    for node in workload["nodes"]:
        members.setdefault(node.get("colorClass", ("alone", node["id"])), []).append(node["id"])
    return members


def leading_to(workload):
    """The classes that lead to each, by the definition.

    Forward edges lead from class to class; edges of a backward node whose class has no forward node lead back.
    """
    members = classes_of(workload)
    class_of = {name: one for one, names in members.items() for name in names}
    is_backward = {node["id"]: bool(node["isBackwardNode"]) for node in workload["nodes"]}
    has_forward = {one: not all(is_backward[name] for name in names) for one, names in members.items()}
    before = {one: set() for one in members}
    for edge in workload["edges"]:
        ends = edge["sourceId"], edge["destId"]
        source, reader = (class_of[name] for name in ends)
        if not (is_backward[ends[0]] or is_backward[ends[1]]):
            before[reader].add(source)
        elif (
            is_backward[ends[0]]
            and is_backward[ends[1]]
            and not (has_forward[source] and has_forward[reader])
        ):
            before[source].add(reader)
    return before


def down_sets_of(before):
    """All sets of classes that have, with each, all that lead to it."""
    found = [frozenset()]
    for one in found:  # grows while it is walked
        larger = (one | {new} for new, needed in before.items() if new not in one and needed <= one)
        found += [new for new in dict.fromkeys(larger) if new not in found]
    return found


def best_of_all(workload):
    """The largest load of the best division into stretches, one a device, that fits; infinite if none does."""
    sets, members = down_sets_of(leading_to(workload)), classes_of(workload)
    nodes = {node["id"]: node for node in workload["nodes"]}

    @functools.cache
    def cost(inner, outer, kind):
        names = [name for one in outer - inner for name in members[one]]
        if kind == "fpgas" and sum(nodes[name]["size"] for name in names) > workload["maxSizePerFPGA"]:
            return float("inf")
        if kind == "cpus":
            return sum(nodes[name]["cpuLatency"] for name in names)
        free = {**workload, "nodes": [{**node, "cpuLatency": 0} for node in workload["nodes"]]}
        rest = [name for name in nodes if name not in set(names)]
        return largest_load(free, {"fpgas": [{"nodes": names}], "cpus": [{"nodes": rest}]})

    @functools.cache
    def best(outer, accelerators, processors):
        if not outer:
            return 0.0
        found = float("inf")
        for inner in sets:
            if inner < outer:
                if accelerators:
                    rest = best(inner, accelerators - 1, processors)
                    found = min(found, max(rest, cost(inner, outer, "fpgas")))
                if processors:
                    rest = best(inner, accelerators, processors - 1)
                    found = min(found, max(rest, cost(inner, outer, "cpus")))
        return found

    return best(max(sets, key=len), workload["maxFPGAs"], workload["maxCPUs"])


@pytest.mark.parametrize("seed", range(12))
def test_the_best_division_is_found_and_no_search_ends_above_it(seed):
    workload = branched_training(seed, 3)
    problem = read_workload(as_text(workload), "throughput")
    lattice = down_sets(problem, WORK)
    assert len(lattice.grown_start) - 1 == len(down_sets_of(leading_to(workload)))
    best = best_of_all(workload)
    division = best_division(SearchContext(problem, "throughput", False), lattice)
    split = split_of(problem, division[problem.groups])
    assert fits(workload, split)
    assert largest_load(workload, split) == pytest.approx(best, rel=1e-12)
    found = solve(problem, "throughput", steps=2000, seed=seed, use_numba=False)
    assert fits(workload, split_of(problem, found.device_of)) and found.value <= best * (1 + 1e-12)


def test_orders_go_forward():
    """No order has a group before one that leads to it, backward nodes without a forward node included."""
    for seed in range(6):
        workload = branched_training(seed, 8)
        problem = read_workload(as_text(workload), "throughput")
        before, members = leading_to(workload), classes_of(workload)
        class_of_group = {int(problem.groups[names[0]]): one for one, names in members.items()}
        assert len(class_of_group) == len(members) == problem.group_count
        for order in orders(problem):
            seen = set()
            for group in order.tolist():
                assert before[class_of_group[group]] <= seen
                seen.add(class_of_group[group])
            assert len(seen) == len(members)


def test_prefixes_of_an_order_are_divided_no_better_than_all_down_sets():
    for seed in (2, 3, 8):  # where they are of use
        problem = read_workload(as_text(branched_training(seed, 6)), "throughput")
        context = SearchContext(problem, "throughput", False)
        splits = [best_division(context, down_sets(problem, WORK))]
        for order in orders(problem):
            splits.append(best_division(context, prefixes(order, np.arange(problem.group_count + 1))))
        best, *others = (
            evaluate(problem, "throughput", split[problem.groups]) for split in splits if split is not None
        )
        assert best < min(others) * 0.99


def test_too_many_down_sets_are_not_looked_at():
    wide = {
        "maxSizePerFPGA": 99,
        "maxFPGAs": 2,
        "maxCPUs": 0,
        "nodes": [{"id": at, "supportedOnFpga": 1, "cpuLatency": 9, "fpgaLatency": 1} for at in range(9)],
        "edges": [],
    }
    problem = read_workload(as_text(wide), "throughput")
    pairs = 3**9 - 2**9
    assert down_sets(problem, 3 * pairs - 1) is None and down_sets(problem, 300) is None
    lattice = down_sets(problem, 3 * pairs)  # with none, one or both of the two devices
    assert len(lattice.grown_start) - 1 == 2**9 and len(lattice.larger) == pairs


def test_where_no_stretch_fits_there_is_no_division():
    """Three in a row, of which the first and the last fit together."""
    nodes = [
        {"id": at, "supportedOnFpga": 1, "cpuLatency": 9, "fpgaLatency": 1, "isBackwardNode": 0, "size": size}
        for at, size in enumerate((3, 4, 3))
    ]
    edges = [{"sourceId": at, "destId": at + 1, "cost": 1} for at in range(2)]
    workload = {"maxSizePerFPGA": 6, "maxFPGAs": 2, "maxCPUs": 0, "nodes": nodes, "edges": edges}
    assert best_of_all(workload) == float("inf")
    problem = read_workload(as_text(workload), "throughput")
    assert best_division(SearchContext(problem, "throughput", False), down_sets(problem, WORK)) is None
    assert solve(problem, "throughput", steps=100, use_numba=False).value == 4  # two nodes, and two tensors


def test_compiled_and_in_lists_divisions_are_the_same():
    pytest.importorskip("numba")
    for seed in range(3):
        problem = read_workload(as_text(branched_training(seed, 5)), "throughput")
        lattice = down_sets(problem, WORK)
        splits = [best_division(SearchContext(problem, "throughput", one), lattice) for one in (False, True)]
        assert splits[0].tolist() == splits[1].tolist()
