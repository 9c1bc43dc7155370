"""Programs on two GPUs and the CPU, whose answers do not depend on where they run; values are whole numbers."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator

import numpy as np

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op

Place = Callable[[str], contextlib.AbstractContextManager]


def on_cpu(device: str) -> contextlib.AbstractContextManager:
    return tf.device("/cpu:0")


def answers(program: Callable[[Place], Iterator], place: Place) -> list[np.ndarray]:
    """All that a program yields, at a place."""
    with tf.Graph().as_default():
        return [np.array(value) for value in program(place)]


def assert_same(program: Callable[[Place], Iterator]) -> None:
    """The program gives the same on its devices as on the CPU alone; what it gave at first is not written to later."""
    with tf.Graph().as_default():
        kept = list(program(tf.device))
    for value, expected in zip(kept, answers(program, on_cpu), strict=True):
        np.testing.assert_array_equal(value, expected)
        assert value.dtype == expected.dtype


def numbers(shape: tuple[int, ...], start: int = 0) -> np.ndarray:
    """Small whole numbers, other ones for another start."""
    return ((np.arange(np.prod(shape)) * 7 + start * 13) % 23).reshape(shape).astype(np.float32)


def feeds_and_fetches(place: Place) -> Iterator:
    """Several feeds and fetches of one size; what is taken while others are on their way."""
    with place("/gpu:0"):
        fed = [tf.placeholder(tf.float32, [16, 4]) for _ in range(3)]
        first = fed[0] + fed[1]
        second = first * fed[2]
        third = tf.transpose(second - first)
    with tf.Session() as session:
        for step in range(6):
            values = {one: numbers((16, 4), 3 * step + at) for at, one in enumerate(fed)}
            yield from session.run([third, first, second], values)
            for value in values.values():
                value.fill(-1)  # the caller's own again
            yield session.run(second, {one: numbers((16, 4), at + step) for at, one in enumerate(fed)})


def there_and_back(place: Place) -> Iterator:
    """One value through all memories, with work on each device that takes the memory it leaves."""
    x = tf.placeholder(tf.float32, [8, 8])
    total = x
    side = []
    for turn in range(4):
        for device in ("/gpu:0", "/gpu:1", "/cpu:0", "/gpu:1"):
            with place(device):
                total = tf.transpose(total + float(turn + 1))
                side.append(total * 2.0 + 1.0)
    with place("/gpu:0"):
        everything = tf.add_n(side)
    with tf.Session() as session:
        for step in range(3):
            yield from session.run([everything, total], {x: numbers((8, 8), step)})


def towers(place: Place, variables_on: str = "/cpu:0") -> Iterator:
    """Two towers with gradients of common variables, averaged on the CPU and applied where the variables are."""
    x = tf.placeholder(tf.float32, [8, 4])
    with place(variables_on):
        weights = [tf.Variable(numbers((4, 4), at)) for at in range(3)]
    found = []
    for tower in range(2):
        with place(f"/gpu:{tower}"):
            value = x * float(tower + 1)
            gradients = []
            for weight in weights:
                value = value - tf.add(value, 1.0) * weight[0]
                gradients.append(tf.reduce_sum(value) * weight * 0.0 + weight + float(tower))
            found.append(gradients)
    with place("/cpu:0"):
        means = [tf.add(one, other) * 0.5 for one, other in zip(*found)]
    updates = []
    for weight, mean in zip(weights, means):
        with place(variables_on):
            updates.append(tf.assign_sub(weight, tf.multiply(mean, 2.0)).op)
    train = tf.group(*updates)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(4):
            session.run(train, {x: numbers((8, 4), step)})
            if step % 2:
                yield from session.run(weights)
            yield from session.run([train, *means], {x: numbers((8, 4), step + 9)})[1:]
        yield from session.run(weights)


def towers_with_variables_on_a_gpu(place: Place) -> Iterator:
    return towers(place, "/gpu:1")


def control_edges(place: Place) -> Iterator:
    """Reads of a variable before and after writes, ordered by control edges alone, across devices."""
    x = tf.placeholder(tf.float32, [32])
    with place("/gpu:0"):
        variable = tf.Variable(numbers((32,)), use_resource=True)
        before = variable.read_value() + 0.0
    with place("/cpu:0"), tf.control_dependencies([before]):
        copied = tf.identity(x) * 3.0
    with place("/gpu:0"), tf.control_dependencies([copied]):
        written = variable.assign(x + 1.0)
    with place("/gpu:1"), tf.control_dependencies([written]):
        after = variable.read_value() + copied
    with tf.Session() as session:
        session.run(variable.initializer)
        for step in range(4):
            yield from session.run([before, copied, after], {x: numbers((32,), step)})


def conditionals(place: Place) -> Iterator:
    """Branches on GPUs and the host; the predicate is computed on a GPU, and what a branch takes is on its way."""
    x = tf.placeholder(tf.float32, [16])
    with place("/gpu:0"):
        doubled = x * 2.0
        predicate = tf.less(tf.reduce_sum(doubled), 0.0)
        data = apply_op("Switch", data=doubled, pred=predicate)
    with place("/gpu:1"):
        other = tf.negative(x)
        taken = data.outputs[1] + other
        also = taken * taken
    with place("/cpu:0"):
        host = tf.add(data.outputs[0], other) * 3.0
        again = host + other
    with place("/gpu:1"):
        chosen = apply_op("Merge", inputs=[also, again]).outputs[0]
        last = chosen + other
        noise = x
        for _ in range(4):
            noise = noise + 1.0
    with tf.Session() as session:
        for step in range(6):
            value = numbers((16,), step) * (1 if step % 2 else -1)
            yield from session.run([last, noise, doubled], {x: value})


def branches_of_the_host(place: Place) -> Iterator:
    """Both branches take the same value, which comes from a GPU; so does what follows."""
    x = tf.placeholder(tf.float32, [16])
    yes = tf.placeholder(tf.bool, [])
    with place("/gpu:0"):
        doubled = x * 2.0
    with place("/cpu:0"):
        data = apply_op("Switch", data=tf.identity(x), pred=yes)
        no = data.outputs[0] + doubled
        also = data.outputs[1] * doubled
        chosen = apply_op("Merge", inputs=[no, also]).outputs[0]
    with place("/gpu:1"):
        on_gpu = apply_op("Switch", data=tf.constant(2.0), pred=yes)
        one = on_gpu.outputs[0] * doubled
        other = on_gpu.outputs[1] - doubled
        last = apply_op("Merge", inputs=[one, other]).outputs[0]
    with tf.Session() as session:
        for step in range(4):
            yield from session.run([chosen, last], {x: numbers((16,), step), yes: bool(step % 2)})


def unused(place: Place) -> Iterator:
    """What a branch that is not taken would have taken has been copied all the same, and its memory is used again."""
    x = tf.placeholder(tf.float32, [64])
    y = tf.placeholder(tf.float32, [64])
    no = tf.placeholder(tf.bool, [])
    with place("/gpu:0"):
        made = y * 3.0
    with place("/gpu:1"):
        never = apply_op("Switch", data=tf.constant(1.0), pred=no).outputs[1]
        taken = [x * never, made * never]
        total = tf.add(y, y)
    with place("/cpu:0"):
        also = made * tf.identity(never)
    for _ in range(3):
        with place("/gpu:1"):
            total = total + 1.0
        with place("/cpu:0"):
            total = total * 2.0
        with place("/gpu:0"):
            total = total - 3.0
    targets = [one.op for one in (*taken, also)]
    with tf.Session() as session:
        for step in range(6):
            values = {x: numbers((64,), step), y: numbers((64,), step + 5), no: False}
            yield session.run([total, *targets], values)[0]


def steps_without_fetches(place: Place) -> Iterator:
    """Steps that leave all their work queued when they return; the next one takes their memory."""
    x = tf.placeholder(tf.float32, [128])
    variables = []
    for device in ("/gpu:0", "/gpu:1"):
        with place(device):
            variables.append(tf.Variable(np.zeros(128, np.float32)))
    with place("/gpu:0"):
        first = tf.assign(variables[0], variables[0] + x * 2.0)
    with place("/gpu:1"):
        second = tf.assign(variables[1], first + x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(8):
            session.run(second.op, {x: numbers((128,), step)})
        yield from session.run(variables)


def large_variables(place: Place) -> Iterator:
    """Variables that are large enough to be written to where nobody else has the array, while copies of it are made."""
    x = tf.placeholder(tf.float32, [64, 65])
    with place("/gpu:0"):
        variable = tf.Variable(numbers((64, 65)), use_resource=True)
        read = variable.read_value()
    with place("/gpu:1"):
        other = read + 1.0
    with place("/cpu:0"):
        host = read + 2.0
    with place("/gpu:0"), tf.control_dependencies([other, host]):
        updated = variable.assign_add(x, read_value=False)
    with place("/gpu:0"), tf.control_dependencies([updated]):
        twice = variable.assign_sub(x * 3.0, read_value=False)
    with tf.Session() as session:
        session.run(variable.initializer)
        for step in range(4):
            yield from session.run([other, host, read, twice], {x: numbers((64, 65), step)})[:3]
            session.run([twice], {x: numbers((64, 65), step + 5)})
        yield session.run(variable)


def random_program(seed: int) -> Callable[[Place], Iterator]:
    """Operations of random kinds on random devices, on values of few sizes, with random fetches and targets."""

    def program(place: Place) -> Iterator:
        choose = random.Random(seed)
        shapes = [(16, 4), (4, 16)]
        fed = [tf.placeholder(tf.float32, shapes[0]) for _ in range(2)]
        values = list(fed)
        for number in range(40):
            with place(choose.choice(("/gpu:0", "/gpu:1", "/gpu:0", "/gpu:1", "/cpu:0"))):
                one, other = (choose.choice(values[-8:]) for _ in range(2))
                kind = choose.randrange(6)
                if kind == 0:
                    made = tf.transpose(one)
                elif kind == 1 or one.shape != other.shape:
                    made = one - float(number)
                elif kind == 2:
                    made = tf.maximum(one, other)
                elif kind == 3:
                    made = tf.identity(one)
                else:
                    made = tf.minimum(one + other, 1000.0)
                values.append(made)
        fetches = choose.sample(values, 5)
        targets = [one.op for one in choose.sample(values[2:], 3)]
        with tf.Session() as session:
            for step in range(3):
                feeds = {one: numbers(shapes[0], 2 * step + at) for at, one in enumerate(fed)}
                yield from session.run([*fetches, *targets], feeds)[: len(fetches)]

    return program


PROGRAMS = (
    feeds_and_fetches,
    there_and_back,
    towers,
    towers_with_variables_on_a_gpu,
    control_edges,
    conditionals,
    branches_of_the_host,
    unused,
    steps_without_fetches,
    large_variables,
)
