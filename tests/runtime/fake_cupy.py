"""Stands in for CuPy where there is no GPU: arrays of a type of its own that refuse to be mixed with NumPy's.

Only what `cupy_backend` and the kernels of the tests call exists; every call of the runtime is noted in `events`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.runtime.fake_elementwise import FakeElementwiseKernel


def _operator(name: str, *, is_swapped: bool = False) -> Callable[..., Any]:
    def call(self: FakeArray, *others: Any) -> Any:
        return getattr(self.fake, name)(*([*others, self] if is_swapped else [self, *others]))

    return call


class FakeArray:
    """An array in the memory of a GPU."""

    __array_ufunc__ = None  # NumPy's scalars leave operators to this class
    __hash__ = None
    fake: Any = None

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

    def set(self, value: Any, stream: Any = None) -> None:
        """Copies from host memory, in the order of the stream."""
        assert stream is not None and isinstance(value, np.ndarray) and value.flags.c_contiguous
        self.inner[...] = value

    def __getitem__(self, key: Any) -> FakeArray:
        return FakeArray(self.inner[key], self.device.id)

    def copy(self) -> FakeArray:
        return self.fake.call("copy", lambda array: array.copy(), (self,))

    def astype(self, dtype: Any) -> FakeArray:
        return self.fake.call("astype", lambda array: array.astype(dtype), (self,))

    __add__, __radd__ = _operator("add"), _operator("add", is_swapped=True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", is_swapped=True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", is_swapped=True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", is_swapped=True)
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("less", "less_equal", "greater", "greater_equal"))
    __eq__, __ne__, __and__, __neg__, __abs__ = map(
        _operator, ("equal", "not_equal", "bitwise_and", "negative", "absolute")
    )


class FakeCupy:
    """The module."""

    ndarray = FakeArray
    __name__ = "cupy"

    def __init__(self, total_bytes: int = 1 << 34) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.current = 0
        self.stream = "default"
        self.limits: dict[int, int] = {}
        self.capture: list[tuple[Any, ...]] | None = None
        self.refused: frozenset[str] = frozenset()
        self.allocator: Any = lambda size: object()
        self.ElementwiseKernel = functools.partial(FakeElementwiseKernel, self)
        FakeArray.fake = self
        outer = self

        class CUDARuntimeError(RuntimeError):
            pass

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

            def begin_capture(self) -> None:
                assert outer.stream is self and outer.capture is None
                outer.capture = []

            def end_capture(self) -> Any:
                captured, outer.capture = outer.capture, None
                if captured is None:
                    raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated")
                outer.events.append(("captured", len(captured)))

                def launch(stream: Any) -> None:
                    assert stream is self and outer.capture is None
                    outer.events.append(("launch", self.name))
                    for function, arguments, options, made in captured:
                        made.inner[...] = function(*map(outer.plain, arguments), **options)

                return SimpleNamespace(launch=launch)

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

        @contextlib.contextmanager
        def using_allocator(allocator: Any) -> Iterator[None]:
            before, self.allocator = self.allocator, allocator
            yield
            self.allocator = before

        self.cuda = SimpleNamespace(
            Device=Device,
            Stream=Stream,
            alloc=alloc,
            get_current_stream=get_current_stream,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=SimpleNamespace(
                memGetInfo=lambda: (total_bytes, total_bytes), CUDARuntimeError=CUDARuntimeError
            ),
            get_allocator=lambda: self.allocator,
            using_allocator=using_allocator,
        )

    def get_default_memory_pool(self) -> Any:
        return SimpleNamespace(set_limit=lambda size: self.limits.__setitem__(self.current, size))

    def array(self, value: Any) -> FakeArray:
        """A copy on the current device, from host memory or another device."""
        assert self.capture is None, "no copies from the host while capturing"
        inner = value.inner if isinstance(value, FakeArray) else np.array(value)
        return FakeArray(inner.copy(), self.current)

    def asnumpy(self, value: FakeArray, stream: Any = None) -> Any:
        """A copy in host memory."""
        assert self.capture is None, "no copies to the host while capturing"
        assert isinstance(value, FakeArray) and (stream is None or value.device.id == int(stream.name[-1]))
        return value.inner.copy()

    def asarray(self, value: Any) -> FakeArray:
        """The array, or a copy of one in host memory."""
        return value if isinstance(value, FakeArray) else self.array(value)

    def __getattr__(self, name: str) -> Any:
        """NumPy's function of that name, for arrays of the current device only."""
        function = getattr(np, name)
        if not callable(function) or isinstance(function, type):
            return function

        return lambda *arguments, **options: self.call(name, function, arguments, options)

    def call(self, name: str, function: Callable[..., Any], arguments: Any, options: Any = {}) -> Any:  # noqa: B006
        """Runs a kernel."""
        for argument in arguments:
            assert not isinstance(argument, np.ndarray), f"{name} was given an array in host memory"
            if isinstance(argument, FakeArray):
                assert argument.device.id == self.current, f"{name} was given an array of another GPU"
        if self.capture is not None and name in self.refused:
            self.capture = None
            raise NotImplementedError(f"{name} cannot be captured")
        self.events.append(("call", name, self.current))
        options = dict(options)
        made = options.pop("out", None)
        with np.errstate(all="ignore"):
            value = function(*map(self.plain, arguments), **options)
        if made is None:
            made = FakeArray(value, self.current)
        else:
            made.inner[...] = value
        if self.capture is not None:
            self.allocator(made.nbytes)
            self.capture.append((function, arguments, options, made))
        return made

    @staticmethod
    def plain(argument: Any) -> Any:
        """The NumPy array of an array, and anything else as it is."""
        return argument.inner if isinstance(argument, FakeArray) else argument
