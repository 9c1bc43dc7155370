"""Stands in for CuPy where there is no GPU: arrays of a type of its own that refuse to be mixed with NumPy's.

Only what `cupy_backend` and the kernels of the tests call exists; every call of the runtime is noted in `events`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class FakeArray:
    """An array in the memory of a GPU."""

    def __init__(self, value: Any, device: int) -> None:
        self.inner = np.asarray(value)
        self.device = SimpleNamespace(id=device)

    shape = property(lambda self: self.inner.shape)
    ndim = property(lambda self: self.inner.ndim)
    dtype = property(lambda self: self.inner.dtype)
    nbytes = property(lambda self: self.inner.nbytes)
    size = property(lambda self: self.inner.size)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def reshape(self, *shape: Any) -> FakeArray:
        return FakeArray(self.inner.reshape(*shape), self.device.id)

    def __getitem__(self, key: Any) -> FakeArray:
        return FakeArray(self.inner[key], self.device.id)


class FakeCupy:
    """The module."""

    ndarray = FakeArray

    def __init__(self, total_bytes: int = 1 << 34) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.current = 0
        self.stream = "default"
        self.limits: dict[int, int] = {}
        outer = self

        class OutOfMemoryError(MemoryError):
            pass

        class Device:
            def __init__(self, number: int | None = None) -> None:
                self.id = outer.current if number is None else number

            def use(self) -> None:
                outer.current = self.id

            def __enter__(self) -> None:
                self.before = outer.current
                outer.current = self.id

            def __exit__(self, *error: Any) -> None:
                outer.current = self.before

        class Stream:
            def __init__(self, non_blocking: bool = False) -> None:
                self.name = f"stream {outer.current}"

            def use(self) -> None:
                outer.stream = self

            def record(self) -> str:
                assert outer.current == int(self.name[-1]), "an event belongs to the stream's device"
                return f"event of {self.name}"

            def wait_event(self, event: str) -> None:
                outer.events.append(("wait", self.name, event))

            def __enter__(self) -> None:
                self.before = outer.stream
                outer.stream = self

            def __exit__(self, *error: Any) -> None:
                outer.stream = self.before

        class Default:
            def use(self) -> None:
                outer.stream = "default"

        def get_current_stream() -> Any:
            return Default() if outer.stream == "default" else outer.stream

        def alloc(nbytes: int) -> object:
            self.events.append(("alloc", self.current, nbytes))
            return object()

        self.cuda = SimpleNamespace(
            Device=Device,
            Stream=Stream,
            alloc=alloc,
            get_current_stream=get_current_stream,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=SimpleNamespace(memGetInfo=lambda: (total_bytes, total_bytes)),
        )

    def get_default_memory_pool(self) -> Any:
        return SimpleNamespace(set_limit=lambda size: self.limits.__setitem__(self.current, size))

    def array(self, value: Any) -> FakeArray:
        """A copy on the current device, from host memory or another device."""
        inner = value.inner if isinstance(value, FakeArray) else np.array(value)
        return FakeArray(inner.copy(), self.current)

    def asnumpy(self, value: FakeArray, stream: Any = None) -> Any:
        """A copy in host memory."""
        assert isinstance(value, FakeArray) and value.device.id == int(stream.name[-1])
        return value.inner.copy()

    def __getattr__(self, name: str) -> Any:
        """NumPy's function of that name, for arrays of the current device only."""
        function = getattr(np, name)
        if not callable(function) or isinstance(function, type):
            return function

        def call(*arguments: Any, **options: Any) -> Any:
            for argument in arguments:
                assert not isinstance(argument, np.ndarray), f"{name} was given an array in host memory"
                if isinstance(argument, FakeArray):
                    assert argument.device.id == self.current, f"{name} was given an array of another GPU"
            self.events.append(("call", name, self.current))
            plain = [
                argument.inner if isinstance(argument, FakeArray) else argument for argument in arguments
            ]
            return FakeArray(function(*plain, **options), self.current)

        return call
