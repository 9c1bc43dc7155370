"""Random steps in numbers, and the flow of a split of one, by the definition, for the estimate's own clock."""

import random

import numpy as np

from gpuplace.advisor.problem import Device, Links, Problem
from gpuplace.cost.events import COPY, ON_CPU, ON_GPU, POLL_SECONDS, CopyWay, Flow, run

THREADS = 3
MICRO = 2.0**-20


def random_step(seed: int, most: int = 10, gpus: int = 2) -> Problem:
    """A step of up to `most` nodes, on a host and GPUs of two kinds, with all that a problem can say."""
    chance = random.Random(seed)
    count = chance.randint(2, most)
    pairs = [
        (source, reader)
        for reader in range(count)
        for source in range(reader)
        if chance.random() < 2.5 / count
    ]
    outputs = {
        node: [chance.choice([0, 1, 64, 512]) for _ in range(chance.choice([1, 1, 2]))]
        for node in range(count)
    }
    number, transfer, made = {}, [], []
    for node, sizes in outputs.items():
        for output, size in enumerate(sizes):
            number[node, output] = len(transfer)
            transfer.append(float(size))
            made.append(chance.random() < 0.15)
    tensors = [
        -1 if chance.random() < 0.2 else number[source, chance.randrange(len(outputs[source]))]
        for source, _ in pairs
    ]
    seconds = np.array(
        [[chance.choice([0, 3, 30, 300]), *[chance.choice([0, 5, 50, 200])] * 2] for _ in range(count)]
    )
    seconds = seconds * MICRO * [1.0, 1.0, 1.5]
    for node in range(count):
        if chance.random() < 0.15:
            seconds[node, 0 if chance.random() < 0.5 else slice(1, None)] = np.inf
    held = np.where(np.isinf(seconds[:, 0]), 0.0, seconds[:, 0])
    held *= [chance.choice([0.0, 0.0, 0.3, 1.0]) for _ in range(count)]
    groups = np.array([node if chance.random() < 0.8 else chance.randrange(count) for node in range(count)])
    together = [np.isinf(seconds[groups == group]).any(axis=0).all() for group in groups]
    groups[together] = np.arange(count)[together] + count
    groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
    devices = [Device("host", 0, is_pool=True, workers=THREADS)]
    room = 1.0 + count * chance.choice([0.6, 2.0])
    devices += [Device(f"gpu {one}", 1 + one % 2, room) for one in range(gpus)]
    size = len(devices)
    channel = np.full((size, size), -1)
    shared = np.full((size, size, 2), -1)
    for one in range(size):
        for other in range(size):
            if one != other:
                channel[one, other] = other if one == 0 else size + one if other == 0 else 2 * size + one
                shared[one, other] = [0 if one == 0 else 1, 2 if chance.random() < 0.5 else -1]
    links = Links(
        np.full((size, size), MICRO) * (1 - np.eye(size)),
        np.full((size, size), 8 * MICRO),
        channel,
        shared,
        np.array([0.5, 0.5, 1.0]) * MICRO,
        start=2 * MICRO,
        notice=POLL_SECONDS,
    )
    return Problem(
        tuple(f"node {node}" for node in range(count)),
        seconds,
        np.array([float(chance.random() < 0.7) for _ in range(count)]),
        np.array([float(sum(outputs[node])) for node in range(count)]),
        groups,
        np.array([source for source, _ in pairs], np.int64),
        np.array([reader for _, reader in pairs], np.int64),
        tuple(devices),
        links,
        np.array([[3.0, 8.0, 8.0] for _ in range(count)]) * MICRO,
        np.array([chance.random() < 0.3 for _ in range(count)]),
        np.array(tensors, np.int64),
        np.array(transfer),
        np.array([chance.random() < 0.15 for _ in pairs], bool),
        np.array(made),
        held=held,
    )


def step_seconds(problem: Problem, device_of: list[int]) -> float:
    """What the estimate's clock says of a split."""
    links, devices = problem.links, problem.devices
    gpu = {device: at for at, device in enumerate(at for at, one in enumerate(devices) if not one.is_pool)}
    count = problem.node_count
    copies, edges = set(), []
    for edge, (source, reader) in enumerate(zip(problem.sources.tolist(), problem.readers.tolist())):
        tensor, here, there = int(problem.tensors[edge]), device_of[source], device_of[reader]
        from_host = devices[here].is_pool or (tensor >= 0 and bool(problem.host_made[tensor]))
        to_host = devices[there].is_pool or tensor < 0 or bool(problem.host_reads[edge])
        if here != there or (tensor >= 0 and not devices[here].is_pool and from_host != to_host):
            key = source, tensor, there, to_host
            copies.add((key, from_host))
            edges.append((key, reader))
        else:
            edges.append((source, reader))
    ordered = sorted(copies)
    number = {key: count + at for at, (key, _) in enumerate(ordered)}
    flat = [(number.get(source, source), reader) for source, reader in edges]
    flat += [(key[0], number[key]) for key, _ in ordered]
    ways, way_of = [], []
    for (source, tensor, there, to_host), from_host in ordered:
        begin = 0 if from_host and tensor >= 0 else device_of[source]
        end = 0 if to_host else there
        way_of.append(len(ways))
        if begin == end:
            ways.append(CopyWay(-1, (), (), (), 1.0, 0.0, False))
            continue
        shared = [one for one in links.shared[begin, end].tolist() if one >= 0]
        ways.append(
            CopyWay(
                len(gpu) + int(links.channel[begin, end]),
                tuple(gpu[one] for one in sorted({begin, end}) if one in gpu),
                tuple(shared),
                tuple(1 / links.pace[one] for one in shared),
                1 / links.per_unit[begin, end],
                float(links.latency[begin, end]),
                False,
            )
        )
    kinds = [devices[device].kind for device in device_of]
    is_pool = [devices[device].is_pool for device in device_of]
    first = np.concatenate(
        ([0], np.cumsum(np.bincount([one for one, _ in flat], minlength=count + len(ordered))))
    )
    return run(
        Flow(
            kind=[ON_CPU if one else ON_GPU for one in is_pool] + [COPY] * len(ordered),
            host=[float(problem.starts[node, kind]) for node, kind in enumerate(kinds)]
            + [links.start] * len(ordered),
            kernel=[float(problem.seconds[node, kind]) for node, kind in enumerate(kinds)]
            + [0.0] * len(ordered),
            stream=[gpu.get(device, 0) for device in device_of] + way_of,
            nbytes=[0.0] * count
            + [float(problem.tensor_transfer[key[1]]) if key[1] >= 0 else 0.0 for key, _ in ordered],
            is_expensive=[pool and not inline for pool, inline in zip(is_pool, problem.is_inline.tolist())]
            + [is_pool[key[0]] for key, _ in ordered],
            held=[held if pool else 0.0 for held, pool in zip(problem.held.tolist(), is_pool)]
            + [0.0] * len(ordered),
            waits=np.bincount([reader for _, reader in flat], minlength=count + len(ordered)).tolist(),
            first=first.tolist(),
            after=[reader for _, reader in sorted(flat, key=lambda edge: edge[0])],
            ways=ways,
            streams=len(gpu) + int(links.channel.max()) + 1,
            links=len(links.pace),
        ),
        THREADS,
    ).total


def random_split(problem: Problem, chance: random.Random) -> list[int] | None:
    """Devices that can run the nodes."""
    kinds = [device.kind for device in problem.devices]
    device = []
    for group in range(problem.group_count):
        runs = problem.seconds[problem.groups == group][:, kinds]
        device.append(chance.choice(np.flatnonzero(np.isfinite(runs).all(axis=0)).tolist()))
    return [device[group] for group in problem.groups]
