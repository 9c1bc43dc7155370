"""What a task sends goes in few messages, and from any thread."""

import asyncio
import threading

import numpy as np
import pytest

pytest.importorskip("distributed")

from gpuplace.clusters import event_loop
from gpuplace.clusters.connections import Connections
from gpuplace.clusters.listener import Listener
from gpuplace.clusters.outbox import LARGE_BYTES, Outbox
from gpuplace.clusters.wire import packed, unpacked


class Receiver:
    """Another task, which keeps the messages that come."""

    def __init__(self):
        self.messages = []
        self.listener = Listener("tcp://127.0.0.1:0", {"tensors": self.take})
        self.connections = Connections()

    def take(self, tensors):
        self.messages.append([(name, unpacked(value)) for _, _, name, value in tensors])
        return {"error": None}

    async def begin(self):
        return await self.listener.start()

    async def end(self):
        self.connections.close()
        await self.listener.stop()

    async def have_come(self, count):
        async with asyncio.timeout(10):
            while sum(map(len, self.messages)) < count:
                await asyncio.sleep(0.001)


@pytest.fixture
def receiver():
    made = Receiver()
    made.address = event_loop.wait_for(made.begin())
    yield made
    event_loop.wait_for(made.end())


def busy():
    """Keeps the talking thread busy until what it returns is set."""
    free, begun = threading.Event(), threading.Event()

    def wait():
        begun.set()
        free.wait(10)

    event_loop.event_loop().call_soon_threadsafe(wait)
    begun.wait(10)
    return free


def test_what_is_given_meanwhile_goes_in_one_message(receiver):
    outbox = Outbox(receiver.address, receiver.connections)
    free = busy()
    for index in range(50):
        outbox.send(["session", 1, f"edge_{index}", packed(np.float32(index))], 4)
    free.set()
    event_loop.wait_for(receiver.have_come(50))
    assert len(receiver.messages) == 1
    assert receiver.messages[0] == [(f"edge_{index}", index) for index in range(50)]
    outbox.send(["session", 2, "later", packed(np.float32(1))], 4)
    event_loop.wait_for(receiver.have_come(51))
    assert receiver.messages[1:] == [[("later", 1)]]


def test_a_large_tensor_goes_alone(receiver):
    outbox = Outbox(receiver.address, receiver.connections)
    large = np.arange(LARGE_BYTES // 8)
    free = busy()
    for name, value in (("a", np.int8(1)), ("large", large), ("b", np.int8(2))):
        outbox.send(["session", 1, name, packed(value)], value.nbytes)
    free.set()
    event_loop.wait_for(receiver.have_come(3))
    found = sorted(receiver.messages, key=len)
    assert [[name for name, _ in message] for message in found] == [["large"], ["a", "b"]]
    assert np.array_equal(found[0][0][1], large)


def test_where_nobody_listens_nothing_is_said(receiver, caplog):
    port = receiver.address.rpartition(":")[2]
    event_loop.wait_for(receiver.listener.stop())
    outbox = Outbox(f"tcp://127.0.0.1:{port}", receiver.connections)
    receiver.connections.timeout = 0.05
    outbox.send(["session", 1, "lost", packed(np.int8(1))], 1)

    async def given_up():
        async with asyncio.timeout(10):
            while outbox._sending or outbox._waiting:
                await asyncio.sleep(0.001)

    event_loop.wait_for(given_up())
    assert receiver.messages == [] and not caplog.records
