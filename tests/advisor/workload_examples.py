"""Random workloads, and what a split of one comes to, by the definition and one node after the other."""

import json
import random
from typing import Any


def random_workload(seed: int, most: int = 10, *, training: bool = False) -> dict[str, Any]:
    """A workload of up to `most` nodes and three devices: classes, nodes for processors alone, tight memory."""
    chance = random.Random(seed)
    count = chance.randint(2, most)
    nodes = [
        {
            "id": 7 * at + 3,
            "supportedOnFpga": int(chance.random() < 0.9),
            "cpuLatency": chance.choice([0, 1.5, 5, 12, chance.uniform(0, 20)]),
            "fpgaLatency": chance.choice([0, 1, 2, chance.uniform(0, 5)]),
            "isBackwardNode": int(training and at >= count // 2),
            "size": chance.choice([0, 1, chance.uniform(0, 4)]),
        }
        for at in range(count)
    ]
    for node in nodes:
        if chance.random() < (0.6 if training else 0.25):
            node["colorClass"] = chance.randrange(max(1, count // 2))
    edges = []
    for source in range(count):
        cost = chance.choice([0, 0.3, chance.uniform(0, 3)])
        edges += [
            {"sourceId": nodes[source]["id"], "destId": nodes[reader]["id"], "cost": cost}
            for reader in range(source + 1, count)
            if chance.random() < 2 / count
        ]
    room = sum(node["size"] for node in nodes) * chance.choice([0.4, 0.7, 2])
    return {
        "maxSizePerFPGA": room,
        "maxFPGAs": chance.randint(1, 2),
        "maxCPUs": 1,
        "nodes": nodes,
        "edges": edges,
    }


def branched_training(seed: int, blocks: int) -> dict[str, Any]:
    """Training of a chain of blocks of branches that join: backward nodes mirror the forward ones and stay with them.

    Some backward nodes stand between two others and belong to no forward node, as sums of gradients do. Transfers are
    as large as work, memory is tight, and there are two to four accelerators and a slow processor.
    """
    chance = random.Random(seed)
    ways: list[tuple[int, int]] = []  # edges between forward nodes
    count, ends = 1, [0]
    for _ in range(blocks):
        branches = []
        for _ in range(chance.randint(1, 3)):
            before = ends
            for _ in range(chance.randint(1, 2)):
                ways += [(one, count) for one in before]
                before = [count]
                count += 1
            branches += before
        if chance.random() < 0.3:  # a shortcut around the block
            branches += ends
        ways += [(one, count) for one in dict.fromkeys(branches)]
        ends = [count]
        count += 1
    nodes = [
        {
            "id": at,
            "supportedOnFpga": 1,
            "cpuLatency": chance.uniform(20, 40),
            "fpgaLatency": chance.uniform(0.5, 3),
            "isBackwardNode": int(at >= count),
            "size": chance.randint(1, 9),
            "colorClass": at % count,
        }
        for at in range(2 * count)
    ]
    kept = [(source, reader + count) for source, reader in ways if chance.random() < 0.5]  # for gradients
    pairs = [*ways, *kept, *((at, at + count) for at in range(count))]
    for source, reader in ways:
        if chance.random() < 0.25:
            nodes.append({**nodes[source + count], "id": len(nodes), "size": 0, "fpgaLatency": 0.1})
            del nodes[-1]["colorClass"]
            pairs += [(reader + count, len(nodes) - 1), (len(nodes) - 1, source + count)]
        else:
            pairs.append((reader + count, source + count))
    cost = [chance.uniform(0.5, 8) for _ in nodes]
    devices = chance.randint(2, 4)
    return {
        "maxSizePerFPGA": sum(node["size"] for node in nodes) / devices * chance.choice([1.2, 1.6, 9]),
        "maxFPGAs": devices,
        "maxCPUs": 1,
        "nodes": nodes,
        "edges": [{"sourceId": one, "destId": other, "cost": cost[one]} for one, other in pairs],
    }


def as_text(workload: dict[str, Any]) -> str:
    return json.dumps(workload)


def devices_of(split: dict[str, Any]) -> dict[int, tuple[str, int]]:
    """Node -> ("fpgas" or "cpus", number)."""
    return {
        node: (kind, number)
        for kind in ("fpgas", "cpus")
        for number, part in enumerate(split[kind])
        for node in part["nodes"]
    }


def fits(workload: dict[str, Any], split: dict[str, Any]) -> bool:
    """Whether a split has every node once, keeps classes together, and nodes only where they run and fit."""
    where = devices_of(split)
    nodes = {node["id"]: node for node in workload["nodes"]}
    listed = [node for kind in ("fpgas", "cpus") for part in split[kind] for node in part["nodes"]]
    classes: dict[int, set[tuple[str, int]]] = {}
    for name, node in nodes.items():
        if "colorClass" in node:
            classes.setdefault(node["colorClass"], set()).add(where[name])
    return (
        sorted(listed) == sorted(nodes)
        and all(len(places) == 1 for places in classes.values())
        and all(nodes[name]["supportedOnFpga"] for part in split["fpgas"] for name in part["nodes"])
        and all(
            sum(nodes[name]["size"] for name in part["nodes"]) <= workload["maxSizePerFPGA"] * (1 + 1e-12)
            for part in split["fpgas"]
        )
        and len(split["fpgas"]) <= workload["maxFPGAs"]
        and len(split["cpus"]) <= workload["maxCPUs"]
    )


def largest_load(workload: dict[str, Any], split: dict[str, Any]) -> float:
    """What the busiest device does for one sample; processors pay nothing for what they send and get."""
    where = devices_of(split)
    load = dict.fromkeys(where.values(), 0.0)
    for node in workload["nodes"]:
        place = where[node["id"]]
        load[place] += node["fpgaLatency" if place[0] == "fpgas" else "cpuLatency"]
    sent, got = set(), set()
    for edge in workload["edges"]:
        source, reader = where[edge["sourceId"]], where[edge["destId"]]
        if source != reader:
            sent.add((source, edge["sourceId"], edge["cost"]))
            got.add((reader, edge["sourceId"], edge["cost"]))
    for place, _, cost in [*sent, *got]:
        if place[0] == "fpgas":
            load[place] += cost
    return max(load.values())


def latency(workload: dict[str, Any], split: dict[str, Any]) -> float:
    """The time of one sample; infinite if blocks of accelerators wait for each other."""
    where = devices_of(split)
    before: dict[int, list[int]] = {node["id"]: [] for node in workload["nodes"]}
    cost = {edge["sourceId"]: edge["cost"] for edge in workload["edges"]}
    for edge in workload["edges"]:
        before[edge["destId"]].append(edge["sourceId"])

    def returns(name: int, place: tuple[str, int]) -> int:
        """Blocks of the device up to a node: one more whenever a way comes back to it from elsewhere."""
        own = where[name] == place
        ways = [returns(other, place) + (own and where[other] != place) for other in before[name]]
        return max([int(own), *ways])

    block = {
        name: (*where[name], returns(name, where[name])) if where[name][0] == "fpgas" else name
        for name in where
    }
    nodes = {node["id"]: node for node in workload["nodes"]}
    done: dict[Any, float] = {}
    members: dict[Any, list[int]] = {}
    for name, one in block.items():
        members.setdefault(one, []).append(name)
    while len(done) < len(members):
        was = len(done)
        for one, names in members.items():
            outside = {other for name in names for other in before[name] if block[other] != one}
            if one in done or any(block[other] not in done for other in outside):
                continue
            begin = max((done[block[other]] for other in outside), default=0.0)
            if isinstance(one, tuple):
                work = sum(nodes[name]["fpgaLatency"] for name in names)
                sent = {
                    e["sourceId"]
                    for e in workload["edges"]
                    if e["sourceId"] in names and e["destId"] not in names
                }
                done[one] = begin + work + sum(cost[name] for name in [*outside, *sent])
            else:
                done[one] = begin + nodes[one]["cpuLatency"]
        if len(done) == was:
            return float("inf")
    return max(done.values())


JUDGES = {"throughput": largest_load, "latency": latency}
