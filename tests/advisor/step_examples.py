"""Random steps in numbers, and random splits of them."""

import random

import numpy as np

from gpuplace.advisor.problem import Device, Links, Problem
from gpuplace.cost.item_times import POLL_SECONDS

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


def random_split(problem: Problem, chance: random.Random) -> list[int] | None:
    """Devices that can run the nodes."""
    kinds = [device.kind for device in problem.devices]
    device = []
    for group in range(problem.group_count):
        runs = problem.seconds[problem.groups == group][:, kinds]
        device.append(chance.choice(np.flatnonzero(np.isfinite(runs).all(axis=0)).tolist()))
    return [device[group] for group in problem.groups]
