"""Sessions: run parts of a graph on the devices of this process.

::

    run(fetches, feed_dict) ──structure──> signature ──> plan, made once ──> values ──structure──> answer
                                              │
                    graph changed since? ──> place all of it again, stateful nodes where they are

Source: tensorflow/python/client/session.py, core/common_runtime/direct_session.cc and graph_execution_state.cc,
release 1.15.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace import release as releases
from gpuplace.dtypes import as_array, resource, string
from gpuplace.errors import InvalidArgumentError, NotFoundError, OpError
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.stacks import session_stack
from gpuplace.kernels.registry import default_catalogue
from gpuplace.kernels.resources import SessionResources
from gpuplace.placer.log import device_mapping, placement_lines
from gpuplace.placer.placement import Placement
from gpuplace.runtime.executor import Plan
from gpuplace.runtime.fetches import FetchStructure, composite_feed
from gpuplace.runtime.numpy_backend import NumpyBackend
from gpuplace.runtime.partition import PartitionOptions, make_schedule
from gpuplace.runtime.place import place
from gpuplace.runtime.plan import PlanBuilder
from gpuplace.runtime.process_state import session_devices
from gpuplace.runtime.session_errors import interpolated, node_named_in
from gpuplace.runtime.simulated_memory import memory_of

__all__ = ["BaseSession", "InteractiveSession", "Session"]

_CLOSED = "Attempted to use a closed Session."
_EMPTY = "The Session graph is empty. Add operations to the graph before calling run()."


class _Feed:
    """How values for one tensor are checked and converted."""

    __slots__ = ("dtype", "numpy_dtype", "release", "sizes", "tensor")

    def __init__(self, tensor: Tensor, release: str) -> None:
        self.tensor = tensor
        self.release = release
        self.dtype = tensor.dtype.base_dtype
        self.numpy_dtype = None if self.dtype is resource else np.dtype(self.dtype.as_numpy_dtype)
        self.sizes = tensor.shape.sizes

    def convert(self, value: Any, key: Any) -> Any:
        """The value as an array of the tensor's type; TensorFlow's errors where that cannot be."""
        tensor = self.tensor
        if type(value) is not np.ndarray or value.dtype != self.numpy_dtype or self.dtype is string:
            value = self._converted(value, key)
            if value is None:
                return None
        shape = value.shape
        if shape != self.sizes and not tensor.shape.is_compatible_with(shape):
            quoted = (
                (f"{tensor.name!r}", f"'{tensor.shape}'")
                if self.release != "2.21"
                else (tensor.name, str(tensor.shape))
            )
            raise ValueError(
                f"Cannot feed value of shape {shape!r} for Tensor {quoted[0]}, which has shape {quoted[1]}"
            )
        return value

    def _converted(self, value: Any, key: Any) -> Any:
        if isinstance(value, Tensor):
            raise TypeError(
                "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings,"
                f" lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was {value} which was passed to"
                f" the feed with key {key}."
            )
        if self.numpy_dtype is None:
            return np.asarray(value, dtype=object)
        if self.dtype is string:
            return as_array(value, string)
        if isinstance(value, int) and not isinstance(value, bool) and not _fits(value, self.numpy_dtype):
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type"
                f" {self.dtype.as_numpy_dtype}. Try explicitly setting the type of the feed tensor to a larger type (e.g."
                " int64)."
            )
        return np.asarray(value, dtype=self.numpy_dtype)


def _fits(value: int, dtype: np.dtype[Any]) -> bool:
    try:
        return bool(np.asarray(value, dtype=dtype) == value)
    except OverflowError:
        return False


class _Runner:
    """A signature with its plan and the conversions around it."""

    __slots__ = ("build", "feeds", "plan", "run_plan")

    def __init__(self, plan: Plan, feeds: Sequence[_Feed], build: Callable[[Sequence[Any]], Any]) -> None:
        self.plan = plan
        self.run_plan = plan.run
        self.feeds = tuple(feeds)
        self.build = build


class BaseSession:
    """What ``Session`` and ``InteractiveSession`` share.

    Args:
        target: execution engine; only ``""``, this process, exists.
        graph: the graph to run; the default one where None.
        config: a ``ConfigProto``, or anything with its attributes.

    Raises:
        TypeError: an argument of the wrong type.
        OpError: the devices cannot be made with this config.
    """

    def __init__(self, target: Any = "", graph: Graph | None = None, config: Any = None) -> None:
        self._closed = True
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if target is not None and not isinstance(target, str | bytes):
            raise TypeError(f"target must be a string, but got {type(target)}")
        if config is not None and not hasattr(config, "gpu_options"):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph = get_default_graph() if graph is None else graph
        self._target = target.decode() if isinstance(target, bytes) else target or ""
        if self._target:
            raise NotFoundError(
                None,
                None,
                f'No session factory registered for the given session options: {{target: "{self._target}" config: }}'
                " Registered factories are {DIRECT_SESSION}.",
                hint='gpuplace runs graphs in this process: target=""',
            )
        self._config = config
        self._release = releases.get_release()
        self._catalogue = default_catalogue(self._release)
        self._devices = session_devices(config)
        self._types = {device.name: device.device_type for device in self._devices}
        client = self._devices.client_device
        assert client is not None
        self._client = client.name
        self._log_placement = bool(getattr(config, "log_device_placement", False))
        self._backends: dict[str, Any] = {}
        self._resources = SessionResources()
        self._constants: dict[tuple[Operation, bool], Any] = {}
        self._placement: Placement | None = None
        self._device_list: list[str] = []
        self._stateful: dict[str, str] = {}
        self._seen = -1
        self._runners: dict[Any, _Runner] = {}
        self._plans: dict[Any, Plan] = {}
        self._lock = threading.RLock()
        self._closed = False
        if self._log_placement:
            _print(device_mapping(self._devices, self._release))

    # What it is

    @property
    def graph(self) -> Graph:
        """The graph that is run."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a ``GraphDef``."""
        from gpuplace.graphdef.export import as_graph_def

        return as_graph_def(self._graph)

    @property
    def sess_str(self) -> str:
        """The target."""
        return self._target

    @property
    def placement(self) -> Placement:
        """Where every node of the graph, as it is now, runs in this session; placed now if need be.

        Raises:
            InvalidArgumentError: the graph cannot be placed.
        """
        self._check_open()
        with self._lock:
            if self._seen != self._graph._version:
                self._place()
            assert self._placement is not None
            return self._placement

    @property
    def resources(self) -> SessionResources:
        """Variables and other state of this session."""
        return self._resources

    def list_devices(self) -> list[Any]:
        """The session's devices, with ``name``, ``device_type``, ``memory_limit`` and ``incarnation``."""
        self._check_open()
        return list(self._devices)

    def close(self) -> None:
        """Gives up the session's variables and plans; what runs in other threads comes to its end."""
        with self._lock:
            self._closed = True
            self._runners = {}
            self._plans.clear()
            self._constants.clear()
            self._resources.clear()

    def as_default(self) -> Any:
        """Makes this the thread's default session within a ``with`` block, without closing it at the end."""
        return session_stack.push(self)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(_CLOSED)

    # Running

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Runs what ``fetches`` need and returns their values.

        Args:
            fetches: a tensor, operation or name, or lists, tuples, dicts and classes of them.
            feed_dict: tensor (or name) to the value to use in its place.
            options: ``RunOptions``.
            run_metadata: ``RunMetadata`` that is filled in.

        Returns:
            The structure of ``fetches`` with a NumPy array or scalar for every tensor and None for every operation.

        Raises:
            RuntimeError: the session is closed or the graph is empty.
            TypeError, ValueError: something that cannot be fetched or fed.
            OpError: the graph cannot be placed, or a kernel failed.
        """
        if feed_dict is None and options is None and run_metadata is None:
            try:
                runner = self._runners.get(fetches) if type(fetches) is not tuple else None
            except TypeError:
                runner = None
            if runner is not None and self._seen == self._graph._version:
                return runner.build(runner.run_plan(()))
        return self._run(fetches, feed_dict, options, run_metadata)

    def _run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None, options: Any, run_metadata: Any) -> Any:
        self._check_open()
        if not self._graph._operations:
            raise RuntimeError(_EMPTY)
        if (options is None) != (run_metadata is None) and options is None:
            options = _NoOptions
        feeds = self._flat_feeds(feed_dict) if feed_dict else {}
        structure = FetchStructure(self._graph, fetches)
        runner = self._runner(structure, tuple(feeds))
        if not feeds and isinstance(fetches, Tensor | Operation | str):
            self._runners[fetches] = runner
        values = [feed.convert(*pair) for feed, pair in zip(runner.feeds, feeds.values(), strict=True)]
        return runner.build(runner.run_plan(values))

    def _flat_feeds(self, feed_dict: Mapping[Any, Any]) -> dict[Tensor, tuple[Any, Any]]:
        """Tensor to value and key, objects of several tensors taken apart."""
        feeds: dict[Tensor, tuple[Any, Any]] = {}
        for key, value in feed_dict.items():
            for one, part in _nested(key, value):
                parts = None if isinstance(one, Tensor | str | bytes) else composite_feed(one)
                if parts is not None:
                    for tensor, single in zip(parts, part, strict=True):
                        feeds[self._feedable(tensor)] = single, one
                    continue
                feeds[self._feedable(one)] = part, one
        return feeds

    def _feedable(self, key: Any) -> Tensor:
        try:
            tensor = self._graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
        except (TypeError, ValueError, KeyError) as error:
            text = error.args[0] if error.args else error
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {text}") from None
        if not self._graph.is_feedable(tensor):
            raise ValueError(f"Tensor {tensor} may not be fed.")
        return tensor

    def _runner(self, structure: FetchStructure, feeds: tuple[Tensor, ...]) -> _Runner:
        plan = self._plan(structure.tensors, structure.operations, feeds)
        return _Runner(plan, [_Feed(tensor, self._release) for tensor in feeds], structure.build)

    def _plan(
        self, fetches: tuple[Tensor, ...], targets: tuple[Operation, ...], feeds: tuple[Tensor, ...]
    ) -> Plan:
        key = fetches, targets, feeds
        if self._seen == self._graph._version:
            plan = self._plans.get(key)
            if plan is not None:
                return plan
        with self._lock:
            self._check_open()
            if self._seen != self._graph._version:
                self._place()
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plans[key] = self._make_plan(*key)
            return plan

    def _make_plan(
        self, fetches: tuple[Tensor, ...], targets: tuple[Operation, ...], feeds: tuple[Tensor, ...]
    ) -> Plan:
        devices = self._device_list
        options = PartitionOptions(
            lambda op: devices[op.index], self._types, self._catalogue.kernels, self._client
        )
        try:
            schedule = make_schedule(fetches, targets, feeds, options)
            used = {step.device for step in schedule.steps} | {self._client}
            backends = {name: self._backend(name) for name in self._types if name in used}
            code = PlanBuilder(schedule, backends, self._resources, self._constant).build()
        except OpError as error:
            raise self._with_lines(error) from error
        return Plan(schedule, code, self._release)

    def _backend(self, device: str) -> Any:
        backend = self._backends.get(device)
        if backend is None:
            backend = self._backends[device] = self._new_backend(device)
        return backend

    def _new_backend(self, device: str) -> Any:
        kind = self._types[device]
        allocator = self._devices.allocators.get(device)
        if kind == "CPU":
            return NumpyBackend(device, kind)
        if allocator is not None:
            return NumpyBackend(device, kind, memory_of(allocator))
        from gpuplace.runtime.cupy_backend import CupyBackend

        return CupyBackend(self._devices.by_name[device], self._devices.settings)

    def _constant(self, op: Operation, backend: Any, on_host: bool) -> Any:
        """The value of a ``Const``, copied to its device once a session."""
        key = op, on_host
        value = self._constants.get(key)
        if value is None:
            value = op.attrs["value"].array
            if not on_host:
                value = backend.from_host(value)
                if backend.memory is not None:
                    value = backend.memory.note(value, op.name, backend.device)
            self._constants[key] = value
        return value

    # Placement

    def _place(self) -> None:
        """Places the graph as it is now; what holds state stays where it is."""
        version = self._graph._version
        try:
            placement = place(
                self._graph,
                self._devices,
                self._config,
                release=self._release,
                catalogue=self._catalogue,
                assigned=self._stateful,
            )
        except OpError as error:
            raise self._with_lines(error) from error
        operations = self._graph._operations
        names = self._devices.names
        self._device_list = [names[position] for position in placement.devices.tolist()]
        self._stateful = {
            op.name: device
            for op, device in zip(operations, self._device_list)
            if op.op_def is not None and op.op_def.is_stateful
        }
        self._placement = placement
        if self._log_placement:
            _print(placement_lines(placement, self._release))
        self._seen = version

    def _with_lines(self, error: OpError) -> OpError:
        """The error with its node, and the line that made it in place of the node's tag."""
        op = error.op if isinstance(error.op, Operation) else node_named_in(error.message, self._graph)
        message = interpolated(error.message, self._graph, self._release)
        if type(error) is OpError:
            return OpError(op, op, message, error.error_code, facts=error.facts, hint=error.hint)
        return type(error)(op, op, message, facts=error.facts, hint=error.hint)  # type: ignore[call-arg,arg-type]

    # Callables

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs ``fetches``, for many runs of one signature.

        Args:
            fetches: as for ``run``.
            feed_list: the tensors that the function's positional arguments are fed to.
            accept_options: whether it also takes ``options`` and ``run_metadata``.
        """
        self._check_open()
        if feed_list is not None and not isinstance(feed_list, list | tuple):
            raise TypeError("`feed_list` must be a list or tuple.")
        tensors = [self._feedable(key) for key in feed_list or ()]
        structure = FetchStructure(self._graph, fetches)
        count = len(tensors)
        converters = [_Feed(tensor, self._release).convert for tensor in tensors]
        state: list[Any] = [-1, None]

        def ready() -> Callable[[Sequence[Any]], list[Any]]:
            self._check_open()
            state[1] = self._plan(structure.tensors, structure.operations, tuple(tensors)).run
            state[0] = self._seen
            return state[1]

        build, graph = structure.build, self._graph

        def call(*arguments: Any, **options: Any) -> Any:
            if accept_options and options:
                given = dict(zip(tensors, arguments, strict=True))
                return self.run(fetches, given or None, options.get("options"), options.get("run_metadata"))
            if len(arguments) != count:
                raise TypeError(f"Feed list has {count} tensors, and {len(arguments)} values were given.")
            run = state[1] if state[0] == graph._version and not self._closed else ready()
            values = [
                convert(value, tensor) for convert, value, tensor in zip(converters, arguments, tensors)
            ]
            return build(run(values))

        return call


class _NoOptions:
    """Stands for ``RunOptions()`` where the caller gave only ``run_metadata``."""

    trace_level = 0


def _nested(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """Pairs of key and value, tuples of keys taken apart along with their values."""
    if not isinstance(key, tuple | list):
        return [(key, value)]
    if len(key) != len(value):
        raise ValueError(
            f"Could not flatten dictionary. Key had {len(key)} elements, but value had {len(value)} elements. Key: {key},"
            f" value: {value}."
        )
    return [pair for one, part in zip(key, value, strict=True) for pair in _nested(one, part)]


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


class Session(BaseSession):
    """Runs a graph.

    >>> graph = Graph()
    >>> with Session(graph=graph) as session:
    ...     session.graph is graph
    True
    >>> session.run("x")
    Traceback (most recent call last):
    ...
    RuntimeError: Attempted to use a closed Session.
    """

    def __init__(self, target: Any = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._contexts: list[contextlib.ExitStack] = []

    def __enter__(self) -> Session:
        stack = contextlib.ExitStack()
        stack.enter_context(self.graph.as_default())
        stack.enter_context(self.as_default())
        self._contexts.append(stack)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._contexts.pop().__exit__(kind, error, trace)
        self.close()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Resets resource containers of a remote engine; there is none."""
        raise InvalidArgumentError(
            None,
            None,
            "Session.reset needs a distributed session; sessions here keep their variables to themselves.",
        )


class InteractiveSession(BaseSession):
    """A session that is the default one from its creation on; for shells and notebooks.

    As in TensorFlow only the part of the graph that a run needs is placed, and without a config GPU memory grows.
    """

    _active = 0
    _count_lock = threading.Lock()

    def __init__(self, target: Any = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        with InteractiveSession._count_lock:
            if InteractiveSession._active > 0:
                warnings.warn(
                    "An interactive session is already active. This can cause out-of-memory errors in some cases. You must"
                    " explicitly call `InteractiveSession.close()` to release resources held by the other session(s).",
                    stacklevel=2,
                )
            InteractiveSession._active += 1
        session_stack.enforce_nesting = False
        self._stack = contextlib.ExitStack()
        if graph is not None:
            self._stack.enter_context(graph.as_default())
        self._stack.enter_context(self.as_default())

    def close(self) -> None:
        """Closes the session, which is the default one no longer."""
        if not self._closed:
            with InteractiveSession._count_lock:
                InteractiveSession._active -= 1
            super().close()
            self._stack.close()
