"""Base class of sessions: runs parts of a graph on the devices of this process.

::

    run(fetches, feed_dict) ──structure──> signature ──> plan, compiled once ──> values ──structure──> result
                                               │
                     graph changed since? ──> place it again; stateful nodes keep their devices

>>> from gpuplace.graph.convert import convert_to_tensor
>>> graph = Graph()
>>> with graph.as_default():
...     x = convert_to_tensor([1.0, 2.0])
>>> session = BaseSession(graph=graph)
>>> session.run({"x": x, "name": "Const:0"})
{'x': array([1., 2.], dtype=float32), 'name': array([1., 2.], dtype=float32)}
>>> session.close()
>>> session.run(x)
Traceback (most recent call last):
...
RuntimeError: Attempted to use a closed Session.

Source: tensorflow/python/client/session.py and core/common_runtime/direct_session.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace import release as releases
from gpuplace.callers import OwnFramesHidden, hide_own_frames
from gpuplace.display import above, notebook_view
from gpuplace.errors import CancelledError, OpError, ResourceExhaustedError
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.stacks import Pushed, session_stack
from gpuplace.kernels.cancellation import limited
from gpuplace.kernels.registry import session_catalogue
from gpuplace.kernels.resources import SessionResources
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variables.variables import RefVariable
from gpuplace.runtime.backends.host_memory import keep_freed_memory
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
from gpuplace.runtime.memory.process_state import process_state, session_devices
from gpuplace.runtime.plan.compile import PLAIN, PlanCompiler, PlanOptions, Signature
from gpuplace.runtime.plan.executor import Plan
from gpuplace.runtime.plan.step_errors import error_with_lines, with_lines
from gpuplace.runtime.session.feeds import Feed, feedable, feedable_parts, flat_feeds
from gpuplace.runtime.session.fetches import FetchStructure
from gpuplace.runtime.session.function_runs import SessionFunctions
from gpuplace.runtime.session.partial_run import PartialRuns
from gpuplace.runtime.session.run_options import (
    FULL_TRACE,
    StepOptions,
    deadline_check,
    error_with_usage,
    limit_ms_of,
    pools_of_threads,
    step_limits,
)
from gpuplace.runtime.session.session_device import SessionDevice
from gpuplace.runtime.session.session_placement import Located, SessionPlacement
from gpuplace.runtime.tracing.run_metadata import CostModels, fill_run_metadata
from gpuplace.runtime.tracing.step_stats import Trace
from gpuplace.typing import (
    ConfigLike,
    DataFrame,
    FeedDict,
    FetchLike,
    GraphDef,
    RunMetadata,
    RunOptions,
    StepTimeline,
)
from gpuplace.why.placement import Placement

_ATOMS = frozenset((Tensor, Operation, str, RefVariable, ResourceVariable))
"""Types of fetches and feed keys for which runners are cached."""


_WAIT_ENDED = "operation was cancelled"
"""Part of the error messages of kernels that were waiting when they were cancelled."""


class _Runner(NamedTuple):
    """Compiled plan for a structure of fetches and feed keys."""

    run: Callable[[Sequence[Any]], list[Any]]
    """The plan."""
    build: Callable[[Sequence[Any]], Any]
    """Converts the list of values to the structure of the fetches."""
    converters: Sequence[Callable[[Any, Any], Any]]
    """For each feed key, a function from the value and the key to an array."""


def _runner_key(fetches: Any, feed_dict: Any) -> Any:
    """Return a key that is equal for calls of ``run`` with the same runner; it may not be hashable."""
    cls = type(fetches)
    if cls is list or cls is tuple:
        key = cls, *fetches
    else:
        key = (cls, *fetches.items()) if cls is dict else fetches
    return (key, tuple(feed_dict)) if feed_dict else key


class BaseSession:
    """Session that runs a graph; ``Session`` and ``InteractiveSession`` also manage the default session.

    Args:
        target: execution engine: ``""`` for this process, or the ``"grpc://host:port"`` of a ``tf.train.Server``.
        graph: the graph to run; None: the default graph.
        config: a ``ConfigProto``, or an object with its attributes; None: its defaults.

    Raises:
        TypeError: an argument has the wrong type.
        NotFoundError: the ``target`` does not exist.
        OpError: the devices cannot be created with this config, or the cluster cannot be used.
    """

    _place_pruned: bool | None = None

    def __init__(
        self, target: str | bytes = "", graph: Graph | None = None, config: ConfigLike | None = None
    ) -> None:
        self._closed = True
        self._release = releases.get_release()
        self._rules = releases.rules(self._release)
        self._check_arguments(target, graph, config)
        if config is None:
            config = process_state.default_config()
        self._graph = get_default_graph() if graph is None else graph
        self._target = target.decode() if isinstance(target, bytes) else target or ""
        self._catalogue = session_catalogue(self._release)
        self._config = config
        keep_freed_memory()
        self._resources = SessionResources()
        self._runners: dict[Any, _Runner] = {}
        self._plans: dict[Signature, Plan] = {}
        self._other_plans: dict[tuple[Signature, PlanOptions], Plan] = {}
        self._costs = CostModels(config)
        self._timeout_ms = limit_ms_of(config)
        self._pools = pools_of_threads(config)
        self._lock = threading.RLock()
        with OwnFramesHidden(OpError):
            if self._target:
                open_session = above("gpuplace.clusters.master", "open_session")
                self._compiler = open_session(self._target, config, self._graph, self._release)
                self._devices = self._compiler.devices
                self._timeout_ms = self._compiler.limit_ms
                self._config = config = self._compiler.config
            else:
                self._devices = session_devices(config)
                self._resources.allocators = self._devices.allocators
                self._compiler = PlanCompiler(
                    self._devices,
                    self._catalogue.kernels,
                    config,
                    self._release,
                    self._resources,
                    self._lock,
                    self._other_plans,
                    self._pools[0],
                )
                self._resources.functions = SessionFunctions(self._compiler)
        self._placer = SessionPlacement(
            self._graph,
            self._devices,
            config,
            self._catalogue,
            self._release,
            self._place_pruned,
            lowers=not self._target,
        )
        self._partial_runs = PartialRuns(self._graph, self._release, bool(self._target))
        self._closed = False

    def _check_arguments(self, target: Any, graph: Any, config: Any) -> None:
        def wrong(name: str, expected: str, value: Any) -> TypeError:
            if self._release == "2.21":
                return TypeError(f'Argument `{name}` must be a {expected}, but got "{type(value).__name__}"')
            return TypeError(f"{name} must be a {expected}, but got {type(value)}")

        if graph is not None and not isinstance(graph, Graph):
            raise wrong("graph", "tf.Graph", graph)
        if target is not None and not isinstance(target, str | bytes):
            raise wrong("target", "string", target)
        if config is not None and not hasattr(config, "gpu_options"):
            raise wrong("config", "tf.ConfigProto", config)

    # Notebook views

    def frame(self, table: str = "nodes", *, depth: int | None = None) -> DataFrame:
        """Return a table of the session's placement, or of the current contents of its GPUs' allocators.

        Args:
            table: a table of ``placement.frame``, or ``"memory"`` or ``"chunks"`` for the allocators.
            depth: as in ``placement.frame``.

        Raises:
            ValueError: there is no such table.
        """
        session_frame = above("gpuplace.jupyter.frames.machine_frames", "session_frame")

        return session_frame(self, table, depth=depth)

    def timeline(self, fetches: FetchLike, feed_dict: FeedDict | None = None) -> StepTimeline:
        """Run `fetches` once with ``FULL_TRACE`` and return the timeline of that step.

        Args:
            fetches: as in ``run``.
            feed_dict: as in ``run``.

        Returns:
            A `gpuplace.views.timelines.step_timeline.StepTimeline`.

        Raises:
            OpError: as in ``run``.
        """
        from gpuplace.graphdef.messages import RunMetadata, RunOptions

        step_timeline = above("gpuplace.views.timelines.reader", "step_timeline")

        metadata = RunMetadata()
        options = RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True)
        self.run(fetches, feed_dict, options, metadata)
        return step_timeline(metadata, self.placement)

    _repr_mimebundle_ = notebook_view

    # Properties

    @property
    def graph(self) -> Graph:
        """The session's graph."""
        return self._graph

    @property
    def graph_def(self) -> GraphDef:
        """The graph as a ``GraphDef``, with output shapes if the config sets ``infer_shapes``."""
        from gpuplace.graphdef.export import as_graph_def

        options = getattr(self._config, "graph_options", None)
        return as_graph_def(self._graph, add_shapes=bool(getattr(options, "infer_shapes", False)))

    @property
    def sess_str(self) -> str:
        """The target."""
        return self._target

    @property
    def placement(self) -> Placement:
        """Placement of the current graph in this session; computed if necessary.

        Raises:
            InvalidArgumentError: the graph cannot be placed.
        """
        self._check_open()
        with self._lock, OwnFramesHidden(OpError):
            return self._placer.current()

    @property
    def resources(self) -> SessionResources:
        """Variables and other state of this session."""
        return self._resources

    @property
    def allocators(self) -> dict[str, BFCAllocator]:
        """Memory allocators of the simulated GPUs, by full device name; all sessions of a process share them."""
        return dict(self._devices.allocators)

    def list_devices(self) -> list[SessionDevice]:
        """Return the session's devices.

        Returns:
            A list of ``SessionDevice``: full name, type, memory limit in bytes and incarnation.

        Raises:
            CancelledError: the session is closed.
        """
        if self._closed:
            raise CancelledError.of("Session has been closed.")
        return [
            SessionDevice(device.name, device.device_type, device.memory_limit, device.incarnation)
            for device in self._devices
        ]

    def close(self) -> None:
        """Free the session's variables and plans; steps in other threads are cancelled before their next node."""
        self._resources.is_closed = True
        self._resources.cancellation.cancel()
        with self._lock:
            self._closed = True
            self._runners = {}
            self._plans = {}
            self._compiler.close()
            self._resources.clear()

    def as_default(self) -> Pushed[Any]:
        """Make this the thread's default session within a ``with`` block, without closing it at the end.

        Returns:
            A context manager whose value is the session.
        """
        return session_stack.push(self)

    def _check_not_cancelled(self, error: OpError) -> None:
        """Raise CancelledError if the session was closed while it ran, unless a waiting kernel already raised one."""
        if self._resources.is_closed and not (
            isinstance(error, CancelledError) and _WAIT_ENDED in error.message
        ):
            message = with_lines("Run call was cancelled", self._graph, self._release)
            raise CancelledError.of(message) from None

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")

    # Running

    def run(
        self,
        fetches: FetchLike,
        feed_dict: FeedDict | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run the operations that ``fetches`` need and return the values of ``fetches``.

        Args:
            fetches: a tensor, operation, variable or name, or lists, tuples, dicts and classes of them.
            feed_dict: from tensor (or name) to the value that replaces it, an array of its dtype and shape or an object
                that converts to one; None: nothing is fed.
            options: ``RunOptions``, or an object with its attributes (``timeout_in_ms`` in milliseconds); None: its
                defaults.
            run_metadata: ``RunMetadata`` to fill in; None: nothing is measured.

        Returns:
            The structure of ``fetches`` with a NumPy array or scalar for each tensor and None for each operation.

        Raises:
            RuntimeError: the session is closed or the graph is empty.
            TypeError: a fetch or feed has the wrong type, or ``feed_dict`` is not a dict.
            ValueError: a fetch is from another graph, or a fed value has the wrong shape or type.
            InvalidArgumentError: the graph cannot be placed, or a placeholder is not fed.
            DeadlineExceededError: the step exceeded its time limit.
            CancelledError: the session was closed during the step.
            OpError: a kernel failed; see the error class.
        """
        try:
            if options is None and run_metadata is None:
                runner = self._runner_of(fetches, feed_dict)
                if runner is not None:
                    if not feed_dict:
                        return runner.build(runner.run(()))
                    pairs = zip(runner.converters, feed_dict.items())
                    return runner.build(runner.run([convert(value, key) for convert, (key, value) in pairs]))
            return self._run(fetches, feed_dict, options, run_metadata)
        except OpError as error:
            self._check_not_cancelled(error)
            hide_own_frames(error)
            raise

    def _run(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        """Run a step without a cached runner."""
        self._check_open()
        if not len(self._graph):
            gap = " " if self._release == "2.21" else "  "
            raise RuntimeError(
                f"The Session graph is empty.{gap}Add operations to the graph before calling run()."
            )
        with OwnFramesHidden(TypeError, ValueError):
            feeds = flat_feeds(self._graph, feed_dict, self._release) if feed_dict else {}
            structure = FetchStructure(self._graph, fetches, self._release, self)
            converters = [Feed(tensor, self._release).convert for tensor in feeds]
            values = [convert(*pair) for convert, pair in zip(converters, feeds.values(), strict=True)]
        signature = structure.tensors, structure.operations, tuple(feeds)
        if options is not None or run_metadata is not None or self._costs.every or self._timeout_ms:
            return structure.build(self._run_with_options(signature, values, options, run_metadata))
        plan = self._plan(signature)
        self._remember(fetches, feed_dict, _Runner(plan.run, structure.build, converters))
        return structure.build(plan.run(values))

    def _runner_of(self, fetches: Any, feed_dict: Any) -> _Runner | None:
        """Return the cached runner for these fetches and feed keys, unless the graph has changed since."""
        if self._placer.version != self._graph.modification_count:
            return None
        try:
            return self._runners.get(_runner_key(fetches, feed_dict))
        except TypeError:  # not hashable, so not remembered
            return None

    def _remember(self, fetches: Any, feed_dict: Any, runner: _Runner) -> None:
        """Cache a runner if the fetches are atoms or a list, tuple or dict of atoms, and the feed keys are atoms."""
        cls = type(fetches)
        if cls is dict:
            are_atoms = all(type(key) is str and type(fetch) in _ATOMS for key, fetch in fetches.items())
        elif cls is list or cls is tuple:
            are_atoms = all(type(fetch) in _ATOMS for fetch in fetches)
        else:
            are_atoms = cls in _ATOMS
        keys = feed_dict or ()
        if are_atoms and len(runner.converters) == len(keys) and all(type(key) in _ATOMS for key in keys):
            with self._lock:
                if not self._closed:
                    self._runners[_runner_key(fetches, feed_dict)] = runner

    def _run_with_options(
        self, signature: Signature, values: list[Any], options: Any, run_metadata: Any
    ) -> list[Any]:
        """Run a step with ``options`` and the session's config, and fill in ``run_metadata``."""
        step_options = StepOptions.of(options, self._timeout_ms, self._pools, self._graph, self._release)
        if self._target:
            return self._run_on_tasks(signature, values, step_options, options, run_metadata)
        costs = self._costs.due(signature)
        is_traced = costs is not None or (step_options.trace_level > 0 and run_metadata is not None)
        plan = self._plan(
            signature, PlanOptions(is_traced, step_options.limit_ms > 0, step_options.most_lanes)
        )
        trace = Trace(plan.schedule, self._compiler.backends, feeds=values) if is_traced else None
        watchers: list[Callable[..., None]] = []
        limits = step_limits(step_options.limit_ms, self._graph, self._release)
        if step_options.limit_ms:
            watchers.append(deadline_check(limits, plan.schedule))
        if trace is not None:
            watchers.append(trace.record)
        allocators = self._devices.allocators.values()
        first_allocation = {allocator.name: allocator.next_allocation_id() for allocator in allocators}
        try:
            with limited(limits):
                fetched = plan.run([*watchers, *values])
        except ResourceExhaustedError as error:
            if not step_options.lists_tensors:
                raise
            raise error_with_usage(error, first_allocation) from error.__cause__
        if trace is not None:
            trace.end()
        if run_metadata is not None or costs is not None:
            fill_run_metadata(run_metadata, options, plan, self._graph, self._rules, trace, costs)
        return fetched

    def _run_on_tasks(
        self,
        signature: Signature,
        values: list[Any],
        step_options: StepOptions,
        options: Any,
        run_metadata: Any,
    ) -> list[Any]:
        """Run a step on a cluster; only ``FULL_TRACE`` records a trace, as with TensorFlow's servers."""
        is_traced = run_metadata is not None and step_options.trace_level == FULL_TRACE
        # The limit includes the registration of the plan with the tasks.
        with limited(step_limits(step_options.limit_ms, self._graph, self._release)):
            plan: Any = self._plan(signature, PlanOptions(is_traced))
            if run_metadata is None:
                return list(plan.run(values))
            wants_graphs = bool(getattr(options, "output_partition_graphs", False))
            return list(plan.run_with_metadata(values, run_metadata, wants_graphs))

    def _plan(self, signature: Signature, options: PlanOptions = PLAIN) -> Plan:
        """Return the plan of a signature, compiled on first use; as in TensorFlow it is kept when the graph grows."""
        plans: dict[Any, Plan] = self._plans if options == PLAIN else self._other_plans
        key = signature if options == PLAIN else (signature, options)
        if self._placer.version == self._graph.modification_count:
            plan = plans.get(key)
            if plan is not None:
                return plan
        with self._lock, without_garbage_collection():
            self._check_open()
            version = self._graph.modification_count
            if not self._placer.place_pruned:
                self._placer.current()
            plan = plans.get(key)
            if plan is None:
                try:
                    located = self._placer.located(signature)
                    plan = plans[key] = self._compiler.make(*located, options)
                except OpError as error:
                    if error.op is None or "{{node" in error.message:
                        raise error_with_lines(error, self._graph, self._release) from error.__cause__
                    raise
            if self._placer.place_pruned:
                self._placer.version = version
            return plan

    def partial_run_setup(self, fetches: FetchLike, feeds: Sequence[Any] | None = None) -> str:
        """Set up a step that feeds and fetches in several calls.

        Args:
            fetches: all fetches, as in ``run``.
            feeds: all tensors (or names, or objects of several tensors) to be fed, or None.

        Returns:
            The handle for ``partial_run``.

        Raises:
            RuntimeError: the session is closed.
            TypeError: a fetch or feed has the wrong type.
            InvalidArgumentError: there is nothing to fetch.
        """
        self._check_open()
        structure = FetchStructure(self._graph, fetches, self._release)
        tensors = [tensor for key in feeds or () for tensor in feedable_parts(self._graph, key)]
        signature = structure.tensors, structure.operations, tuple(tensors)
        with OwnFramesHidden(OpError), self._lock:
            return self._partial_runs.set_up(signature, self._placer.located_in_whole)

    def partial_run(self, handle: str, fetches: FetchLike, feed_dict: FeedDict | None = None) -> Any:
        """Feed and fetch a part of a step set up by ``partial_run_setup``; each node runs once.

        Args:
            handle: the handle from ``partial_run_setup``.
            fetches: some of its fetches, without operations.
            feed_dict: from tensor (or name) to value, for some of its feeds; None: nothing is fed.

        Returns:
            The structure of ``fetches`` with a NumPy array or scalar for each tensor.

        Raises:
            RuntimeError: the session is closed, or ``fetches`` contains operations.
            InvalidArgumentError: a feed or fetch was not set up or is repeated, or a fetch needs more feeds.
        """
        self._check_open()
        structure = FetchStructure(self._graph, fetches, self._release)
        if structure.operations:
            raise RuntimeError("partial_run() requires empty target_list.")
        feeds = flat_feeds(self._graph, feed_dict, self._release) if feed_dict else {}
        values = {tensor: Feed(tensor, self._release).convert(*pair) for tensor, pair in feeds.items()}
        with OwnFramesHidden(OpError):
            return structure.build(self._partial_runs.run(handle, structure.tensors, values, self._run_part))

    def _run_part(
        self, located: Located, feeds: Mapping[Tensor, Any], done: frozenset[Operation]
    ) -> list[Any]:
        with self._lock:
            self._check_open()
            self._placer.current()
            plan = self._compiler.make(*located, done=done)
        if not self._target:
            return plan.run(list(feeds.values()))
        try:
            return plan.run(list(feeds.values()))
        finally:
            plan.close()

    def make_callable(
        self, fetches: FetchLike, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs ``fetches``, for many steps with the same signature.

        Args:
            fetches: as in ``run``.
            feed_list: the tensors (or names) fed with the function's positional arguments, or None.
            accept_options: whether the function also accepts the keyword arguments ``options`` and ``run_metadata``.

        Returns:
            A function that returns what ``run`` would.

        Raises:
            RuntimeError: the session is closed.
            TypeError: ``feed_list`` is not a list or tuple, or an item cannot be fed.
        """
        self._check_open()
        if feed_list is not None and not isinstance(feed_list, list | tuple):
            received = f" Received: feed_list={feed_list}" if self._release == "2.21" else ""
            raise TypeError(f"`feed_list` must be a list or tuple.{received}")
        tensors = [feedable(self._graph, key) for key in feed_list or ()]
        structure = FetchStructure(self._graph, fetches, self._release)
        signature = structure.tensors, structure.operations, tuple(tensors)
        converters = [(Feed(tensor, self._release).convert, tensor) for tensor in tensors]
        build, graph, placer, count = structure.build, self._graph, self._placer, len(tensors)
        ready: list[Any] = [None]

        def plan() -> Callable[[Sequence[Any]], list[Any]]:
            self._check_open()
            ready[0] = self._plan(signature).run
            return ready[0]

        if self._timeout_ms or self._costs.every:  # the time limit and cost model need a full run
            return lambda *arguments, **options: self.run(
                fetches, dict(zip(tensors, arguments, strict=True)) or None, **options
            )

        def call() -> Any:
            try:
                run = ready[0]
                if run is None or self._closed or placer.version != graph.modification_count:
                    run = plan()
                return build(run(()))
            except OpError as error:
                hide_own_frames(error)
                raise

        def call_fed(*arguments: Any, **options: Any) -> Any:
            if options or len(arguments) != count:
                return self.run(fetches, dict(zip(tensors, arguments, strict=False)) or None, **options)
            try:
                run = ready[0]
                if run is None or self._closed or placer.version != graph.modification_count:
                    run = plan()
                return build(
                    run([convert(value, key) for (convert, key), value in zip(converters, arguments)])
                )
            except OpError as error:
                hide_own_frames(error)
                raise

        return call_fed if tensors or accept_options else call
