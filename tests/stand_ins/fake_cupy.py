"""Stands in for CuPy where there is no GPU, so that whatever lacks a wait goes wrong.

Nothing that is queued is done at once: every stream is a queue, and its work is done later, in an order that only keeps
the order within a stream, events, and what the host waits for. Which order that is the seed decides; some seeds do as
little as possible, some everything else first, some prefer certain streams. Memory is CuPy's: a block belongs to the
stream that was current when it was taken, is given out again as soon as the last array over it is gone, and from then
on anything queued on that stream may overwrite it. Here that stream overwrites it with NaNs. Copies from and to
host memory are waited for by the host, as CUDA does with memory that is not page-locked.

Arrays are of a type of its own that refuses to be mixed with NumPy's. Only what the runtime and the kernels of the
tests call exists; calls of kernels, launches, waiting and takings in advance are noted in `events`.
"""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.stand_ins.fake_cuda import (
    ILLEGAL_ADDRESS,
    POISON,
    ROUNDED,
    CUDARuntimeError,
    Device,
    Event,
    Local,
    Memory,
    OutOfMemoryError,
    Pointer,
    Stream,
)


def _operator(name: str, *, is_swapped: bool = False) -> Callable[..., Any]:
    def call(self: FakeArray, *others: Any) -> Any:
        return getattr(self.fake, name)(*([*others, self] if is_swapped else [self, *others]))

    return call


class FakeArray:
    """An array in the memory of a GPU: a block, and which part of it."""

    def __init__(self, fake: FakeCupy, memory: Memory, part: np.ndarray, base: Any = None) -> None:
        self.fake, self.memory, self.part, self.base = fake, memory, part, base
        self.device = SimpleNamespace(id=memory.device)

    shape = property(lambda self: self.part.shape)
    ndim = property(lambda self: self.part.ndim)
    dtype = property(lambda self: self.part.dtype)
    nbytes = property(lambda self: self.part.nbytes)
    size = property(lambda self: self.part.size)
    flags = property(lambda self: self.part.flags)
    data = property(lambda self: Pointer(self.fake, self.part.ctypes.data, self.memory.device))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def view_of(self, part: np.ndarray) -> FakeArray:
        return FakeArray(self.fake, self.memory, part, self if self.base is None else self.base)

    def reshape(self, *shape: Any) -> FakeArray:
        return self.fake.reshape(self, shape[0] if len(shape) == 1 else shape)

    def astype(self, dtype: Any) -> FakeArray:
        return self.fake.call("astype", lambda array: array.astype(dtype), (self,))

    def copy(self) -> FakeArray:
        return self.fake.call("copy", lambda array: array.copy(), (self,))

    def __getitem__(self, key: Any) -> FakeArray:
        key = key if isinstance(key, tuple) else (key,)
        if not any(one is Ellipsis for one in key):
            key = (*key, Ellipsis)  # an array, also of rank 0
        return self.view_of(self.part[key])

    __array_ufunc__ = None  # NumPy's scalars leave operators to this class
    __hash__ = None

    __add__, __radd__ = _operator("add"), _operator("add", is_swapped=True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", is_swapped=True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", is_swapped=True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", is_swapped=True)
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("less", "less_equal", "greater", "greater_equal"))
    __eq__, __ne__, __and__, __neg__, __abs__ = map(
        _operator, ("equal", "not_equal", "bitwise_and", "negative", "absolute")
    )


class FakeCupy:
    """The module.

    Args:
        seed: decides in which order work is done.
        total_bytes: memory of every GPU.
    """

    ndarray = FakeArray
    __name__ = "cupy"

    def __init__(self, seed: int = 0, total_bytes: int = 1 << 34) -> None:
        self.lock = threading.RLock()
        self.random = random.Random(seed)
        self.policy = ("lazy", "others first", "priorities", "random")[seed % 4]
        self.eagerness = self.random.choice((0.0, 0.0, 0.2, 0.7))
        self.streams: list[Stream] = []
        self.events: list[tuple[Any, ...]] = []
        self.limits: dict[int, int] = {}
        self.capacity: dict[int, int] = {}
        """Bytes that a GPU's pool may have at most; where absent there is no end to it."""
        self.fault: CUDARuntimeError | None = None
        """What every synchronisation reports, once something has gone wrong."""
        self.failing_copy = ""
        """Which kind of copy goes wrong: from host, to host, peer."""
        self._raw: list[np.ndarray] = []
        self._arenas: dict[tuple[int, Stream], list[np.ndarray]] = {}
        self._taken: dict[int, int] = {}
        self.local = Local()
        self._defaults: dict[int, Stream] = {}
        self.cuda = SimpleNamespace(
            Device=lambda number=None: Device(self, number),
            Stream=self._new_stream,
            Event=self._new_event,
            alloc=self._taken_in_advance,
            get_current_stream=self.current_stream,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=SimpleNamespace(
                memGetInfo=lambda: (total_bytes, total_bytes),
                CUDARuntimeError=CUDARuntimeError,
                memcpyPeerAsync=self._copy_to_peer,
            ),
        )

    # Threads have a current device, and current streams

    @property
    def current(self) -> int:
        return self.local.device

    @current.setter
    def current(self, number: int) -> None:
        self.local.device = number

    @property
    def stream(self) -> Any:
        """The current stream, "default" for the default one."""
        stream = self.current_stream()
        return "default" if stream.name.startswith("default") else stream

    def current_stream(self) -> Stream:
        return self.local.streams.get(self.current) or self._default(self.current)

    def _default(self, device: int) -> Stream:
        with self.lock:
            if device not in self._defaults:
                self._defaults[device] = Stream(self, device, f"default of {device}")
            return self._defaults[device]

    def _new_stream(self, non_blocking: bool = False) -> Stream:
        assert non_blocking, "else the default stream waits for it"
        return Stream(self, self.current, f"stream {len(self.streams)} of {self.current}")

    def _new_event(self, block: bool = False, disable_timing: bool = False) -> Event:
        assert disable_timing and not block
        return Event(self, self.current)

    # Doing what is queued

    def play(self) -> None:
        """Does some of what is queued, or nothing."""
        with self.lock:
            while self.random.random() < self.eagerness and (runnable := self._runnable()):
                self._advance(self.random.choice(runnable))

    def run_until(self, stream: Stream | None, is_over: Callable[[], bool]) -> None:
        """Does what is queued until something is over that ``stream`` has to do; what else is done the seed decides."""
        with self.lock:
            while not is_over():
                assert stream is not None
                runnable = self._runnable()
                needed = self._needed(stream)
                assert needed & set(runnable), "streams wait for each other"
                if self.policy == "lazy":
                    runnable = [one for one in runnable if one in needed]
                elif self.policy == "others first":
                    runnable = [one for one in runnable if one not in needed] or runnable
                if self.policy == "priorities":
                    self._advance(max(runnable, key=lambda one: one.priority))
                else:
                    self._advance(self.random.choice(runnable))
            if self.fault is not None:
                raise self.fault

    def drain(self) -> None:
        """Does all that is queued."""
        for stream in list(self.streams):
            self.run_until(stream, lambda stream=stream: not stream.queue)

    def assert_one_arena(self) -> None:
        """All memory of a GPU was taken with the same stream as the current one."""
        assert len({device for device, _ in self._arenas}) == len(self._arenas)

    def _runnable(self) -> list[Stream]:
        return [stream for stream in self.streams if stream.queue and stream.is_blocked_by() is None]

    def _needed(self, stream: Stream) -> set[Stream]:
        needed: set[Stream] = set()
        left = [stream]
        while left:
            one = left.pop()
            if one not in needed:
                needed.add(one)
                blocking = one.is_blocked_by()
                if blocking is not None:
                    assert blocking.stream is not None
                    left.append(blocking.stream)
        return needed

    def _advance(self, stream: Stream) -> None:
        kind, what, version = stream.queue.popleft()
        if kind == "work":
            what()
        elif kind == "record":
            what.over = max(what.over, version)

    # Memory

    def malloc(self, size: int) -> Memory:
        """A block of the current device and stream: the smallest that is free, the last one given back among equals."""
        size = -(-max(size, 1) // ROUNDED) * ROUNDED
        device, stream = self.current, self.current_stream()
        with self.lock:
            free = self._arenas.setdefault((device, stream), [])
            fitting = [raw for raw in reversed(free) if raw.nbytes >= size]
            if fitting:
                raw = min(fitting, key=lambda one: one.nbytes)
                free[:] = [one for one in free if one is not raw]
            else:
                taken = self._taken.get(device, 0) + size
                if taken > self.capacity.get(device, taken):
                    raise OutOfMemoryError(f"Out of memory allocating {size} bytes")
                self._taken[device] = taken
                raw = np.full(size, POISON, np.uint8)
                self._raw.append(raw)  # for good: what is queued has addresses only
        return Memory(self, raw, device, stream)

    def give_back(self, raw: np.ndarray, device: int, stream: Stream) -> None:
        """The block is free; from now on work of its stream may write to it."""
        with self.lock:
            self._arenas.setdefault((device, stream), []).append(raw)
            stream.queue.append(("work", lambda: raw.fill(POISON), None))

    def get_default_memory_pool(self) -> Any:
        return SimpleNamespace(set_limit=lambda size: self.limits.__setitem__(self.current, size))

    def _taken_in_advance(self, nbytes: int) -> object:
        self.events.append(("alloc", self.current, nbytes))
        return object()

    # Copies

    def copy(self, target: int, source: int, size: int, stream: Stream, kind: str) -> None:
        """Queues a copy."""
        if not size:
            return
        staged = ctypes.create_string_buffer(size) if kind == "from host" else None
        if staged is not None:  # CUDA returns when it has read all of it
            ctypes.memmove(staged, source, size)
        done = []

        def work() -> None:
            done.append(True)
            if self.failing_copy == kind:
                self.fault = CUDARuntimeError(ILLEGAL_ADDRESS, "cudaErrorIllegalAddress: an illegal access")
            else:
                ctypes.memmove(target, source if staged is None else staged, size)

        stream.add("work", work)
        if kind == "to host":  # CUDA returns when it is there
            self.run_until(stream, lambda: bool(done))

    def _copy_to_peer(
        self, target: int, receiver: int, source: int, sender: int, size: int, stream_ptr: int
    ) -> None:
        self.copy(target, source, size, self.streams[stream_ptr - 1], "peer")
        self.events.append(("peer copy", sender, receiver))

    # Arrays and kernels

    def empty(self, shape: Any, dtype: Any = float) -> FakeArray:
        sample = np.empty(shape, dtype)
        memory = self.malloc(sample.nbytes)
        return FakeArray(self, memory, memory.raw[: sample.nbytes].view(dtype).reshape(sample.shape))

    def asarray(self, value: Any, dtype: Any = None) -> FakeArray:
        """A host value on the current device, by a copy that CuPy queues with the kernels."""
        if isinstance(value, FakeArray):
            return value
        value = np.array(value, dtype)
        return self.call("asarray", lambda: value, ())

    array = asarray

    def asnumpy(self, value: FakeArray) -> Any:
        """A copy in host memory, by a copy that waits for the current stream."""
        assert value.device.id == self.current
        self.current_stream().synchronize()
        return value.part.copy()

    def call(self, name: str, function: Callable[..., Any], arguments: Any, options: Any = {}) -> Any:  # noqa: B006
        """Queues a kernel; one that gives a part of its argument gives it at once."""
        out = options.get("out")
        options = {key: value for key, value in options.items() if key != "out"}
        samples = []
        for argument in arguments:
            assert not isinstance(argument, np.ndarray), f"{name} was given an array in host memory"
            if isinstance(argument, FakeArray):
                assert argument.device.id == self.current, f"{name} was given an array of another GPU"
                argument = (
                    np.zeros(argument.shape, argument.dtype) if argument.flags.c_contiguous else argument.part
                )
            samples.append(argument)
        stream = self.current_stream()
        self.events.append(("call", name, self.current))
        with np.errstate(all="ignore"):
            sample = np.asanyarray(function(*samples, **options))
        parts = [one.part if isinstance(one, FakeArray) else one for one in arguments]
        for argument, shown in zip(arguments, samples, strict=True):
            if isinstance(argument, FakeArray) and np.shares_memory(sample, shown):
                return argument.view_of(function(*parts, **options))
        made = self.empty(sample.shape, sample.dtype) if out is None else out

        def work() -> None:
            with np.errstate(all="ignore"):
                try:
                    made_part[...] = function(*parts, **options)
                except Exception:  # it read what is not there yet: a GPU does not notice
                    made_part.view(np.uint8).fill(POISON)

        made_part = made.part
        stream.add("work", work)
        return made

    def __getattr__(self, name: str) -> Any:
        """NumPy's function of that name, for arrays of the current device only."""
        function = getattr(np, name)
        if not callable(function) or isinstance(function, type):
            return function
        return lambda *arguments, **options: self.call(name, function, arguments, options)
