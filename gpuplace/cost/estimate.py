"""`gpuplace.estimate`: predict the time and memory of a step without running it.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.ops.array.constant import placeholder
>>> with Graph().as_default() as graph:
...     rows = placeholder("float32", [None, 4096], name="rows")
...     _ = apply_op("MatMul", "product", a=rows, b=rows, transpose_b=True)
>>> step = estimate(graph, "product:0", {"rows": (4096, 4096)}, machine="1x V100")
>>> 0.005 < step.step_time < 0.2, [copy.tensor for copy in step.copies]
(True, ['rows', 'product'])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpuplace.cost.batches import batch_feeds, open_placeholders
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.grappler.dependency_rewrites import RELEASES_WITHOUT
from gpuplace.cost.node_work import step_work
from gpuplace.cost.partition import Rewrites, unplaced_step
from gpuplace.cost.shapes.step_shapes import StepShapes, step_shapes
from gpuplace.cost.step_clock import StepClock
from gpuplace.cost.step_estimate import StepEstimate, StepRequest
from gpuplace.cost.step_flow import Machinery, UnplacedStep
from gpuplace.device.links import Links
from gpuplace.device.parsed_name import short_name
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.kernels.work.record import Work
from gpuplace.model.subject.step_part import StepPart, single_feeds, step_part
from gpuplace.model.subject.subject import feed_name, subject_of, tensor_feeds
from gpuplace.runtime.plan.schedule.constant_folding import FoldingOptions
from gpuplace.runtime.session.place import place
from gpuplace.typing import ConfigLike, ConfigProto, GraphLike, MachineLike
from gpuplace.why.placement import Placement

ASSUMED_CORES = 16
"""Cores of a simulated machine's host: the number of threads in its inter-op pool."""
_OFF = 2
"""``RewriterConfig.OFF``."""


@without_garbage_collection()
def estimate(
    graph: GraphLike,
    fetches: Any = None,
    feeds: Mapping[Any, Any] | None = None,
    machine: MachineLike | None = None,
    config: ConfigLike | None = None,
    release: str | None = None,
    cost_model: CostModel | None = None,
    trip_counts: Mapping[str, float] | None = None,
    *,
    batch: int | None = None,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    function: str | None = None,
    whole_graph: bool = False,
) -> StepEstimate:
    """Predict the time, copies and memory of one step on a machine, without running it.

    Args:
        graph: as for `gpuplace.place`: a `Graph`, a GraphDef message, its bytes, a path, a SavedModel folder, or a
            `Placement`.
        fetches: what the step fetches or runs, as for ``Session.run``; names are allowed, and output names of a
            signature. None: the outputs of the signature, or one step of the training operation, or the outputs of the
            graph without saver, initializers and summaries. ``subject`` of the result states the choice.
        feeds: tensor, its name, or the name of a signature's input, to the shape that is fed, or an array.
        machine: a `Machine` or its text; None: that of the `Placement`, otherwise the process's machine.
        config: a `ConfigProto`, or any object with its attributes.
        release: which TensorFlow to place as, as for `gpuplace.place`.
        cost_model: the model that times kernels; `CostModel()` if None.
        trip_counts: name of a loop's frame to the number of iterations.
        batch: examples per step: the size of the unknown first dimension of feeds, also of placeholders that are not
            fed explicitly, otherwise of the first dimension that all feeds share. None: as fed, 1 where it is unknown.
        tags, signature, function: the part of a model, as for `gpuplace.place`.
        whole_graph: whether every node of the graph runs; for a SavedModel, whether its whole graph is meant.

    Returns:
        A `StepEstimate`.

    Raises:
        InvalidArgumentError: The graph cannot be placed, a fetch or feed is not in it, shapes do not match, or no
            dimension can be identified as the batch.
        OpError: As for `gpuplace.place`.
        TypeError: `graph`, `machine`, `fetches` or `batch` has the wrong type.
    """
    if cost_model is not None and not isinstance(cost_model, CostModel):
        raise TypeError(f"cost_model must be a CostModel; got {cost_model!r}")
    part_of_model: dict[str, Any] = {
        "tags": tags,
        "signature": signature,
        "function": function,
        "whole_graph": whole_graph,
    }
    if isinstance(graph, Placement) and machine is None:
        placement = place(
            graph,
            graph.device_set,
            config,
            release or graph.release,
            soft_placement=graph.soft or None,
            **part_of_model,
        )
    else:
        placement = place(graph, machine, config, release, **part_of_model)
    request = StepRequest(
        fetches=fetches,
        feeds=single_feeds(tensor_feeds(placement.graph, feeds)),
        config=config,
        trip_counts=trip_counts,
        whole_graph=whole_graph,
    )
    return estimate_request(placement, request, cost_model, batch=batch)


def estimate_request(
    placement: Placement,
    request: StepRequest,
    cost_model: CostModel | None = None,
    *,
    batch: int | None = None,
) -> StepEstimate:
    """Predict the step of a request.

    Args:
        placement: the placed graph.
        request: the step.
        cost_model: the model that times kernels; `CostModel()` if None.
        batch: as for `estimate`.

    Raises:
        As `estimate`.
    """
    catalogue = placement.placer.catalogue
    subject = subject_of(
        placement.graph, catalogue, request.fetches, request.feeds, whole_graph=request.whole_graph
    )
    part = step_part(placement, subject)
    if batch is not None:
        request = replace(request, feeds=batch_feeds(request.feeds, batch, open_placeholders(part)))
    fed = {key: shape for key, shape in request.feeds.items() if _is_in(part, feed_name(key))}
    shapes = step_shapes(part.graph, fed, trip_counts=request.trip_counts, catalogue=catalogue)
    _check_outputs(part, shapes)
    return _run(placement, part, shapes, step_work(shapes), cost_model or _usual_model(), request, {})


def estimate_again(
    step: StepEstimate,
    machine: Any = None,
    config: ConfigProto | None = None,
    soft_placement: bool | None = None,
) -> StepEstimate:
    """Predict the step of an estimate on another machine, or with other options.

    Args:
        step: the estimate.
        machine: the other machine; None for the same.
        config: the other ``ConfigProto``; None for the same.
        soft_placement: value that overrides ``allow_soft_placement`` of the config; None to keep it.
    """
    request = step.request if config is None else replace(step.request, config=config)
    devices = step.placement.device_set if machine is None else machine
    placement = place(
        step.placement, devices, request.config, step.placement.release, soft_placement=soft_placement
    )
    return estimate_placed(step, placement, request)


def estimate_placed(
    step: StepEstimate, placement: Placement, request: StepRequest | None = None
) -> StepEstimate:
    """Predict the step of an estimate with its nodes on other devices.

    Args:
        step: the estimate.
        placement: another placement of the same nodes, in the same order.
        request: the step, if its options changed; None for that of the estimate.
    """
    part = replace(step.part, device=placement.devices[step.part.nodes])
    is_same = request is None and placement.device_set is step.placement.device_set
    return _run(
        placement,
        part,
        step.shapes,
        step.works,
        step.cost_model,
        request or step.request,
        step.memory_requests,
        step.flow.step if is_same else None,
    )


def estimate_with(step: StepEstimate, cost_model: CostModel) -> StepEstimate:
    """Predict the step of an estimate with another cost model.

    Args:
        step: the estimate.
        cost_model: the model of kernel and host times.
    """
    return _run(
        step.placement,
        step.part,
        step.shapes,
        step.works,
        cost_model,
        step.request,
        step.memory_requests,
        step.flow.step,
    )


def step_time_by(step: StepEstimate) -> Callable[[CostModel], float]:
    """Return a function from a cost model to the predicted seconds of a step, which reuses everything else.

    Args:
        step: an estimate of the step.
    """
    device = step.part.device
    clock = StepClock(step.flow.step, step.cost_model, 1, device)

    def seconds(model: CostModel) -> float:
        threads, _ = _threads(step.request.config, step.placement, model, step.machinery)
        return clock.timed(model, threads).seconds(device)

    return seconds


def step_clock(step: StepEstimate) -> StepClock:
    """Return the clock of a step, for any devices of its nodes.

    Args:
        step: an estimate of the step.
    """
    return StepClock(step.flow.step, step.cost_model, step_threads(step))


def step_threads(step: StepEstimate) -> int:
    """Return the number of threads in the inter-op pool that runs a step.

    Args:
        step: an estimate of the step.
    """
    return _threads(step.request.config, step.placement, step.cost_model, step.machinery)[0]


def estimate_batch(step: StepEstimate, batch: int) -> StepEstimate:
    """Predict the step of an estimate with another batch size.

    Args:
        step: the estimate.
        batch: examples per step, as for `estimate`.

    Raises:
        InvalidArgumentError: No dimension can be identified as the batch, or the graph fixes it.
    """
    return estimate_request(step.placement, step.request, step.cost_model, batch=batch)


_models: list[CostModel] = []


def _usual_model() -> CostModel:
    """Return the default model: one shared object, whose cache of kernel times stays useful."""
    model = CostModel()
    if not _models or not _models[0].is_same(model):
        _models[:] = [model]
    return _models[0]


def _check_outputs(part: StepPart, shapes: StepShapes) -> None:
    """Raise InvalidArgumentError if a fetched output does not exist."""
    for node, output in part.fetches:
        count = len(shapes.sizes[node])
        if output >= count > 0 or (output > 0 and not count):
            name = part.graph.names[node]
            raise InvalidArgumentError.of(
                f"The name '{name}:{output}' refers to a Tensor which does not exist. The operation, '{name}', exists "
                f"but only has {count} outputs.",
                hint=f"{name}:0" if count else name,
            )


def _is_in(part: StepPart, name: str) -> bool:
    """Whether the step contains a fed node: as in a session, an unused feed does no harm."""
    return name in part.graph.index or name.rpartition(":")[0] in part.graph.index


def _run(
    placement: Placement,
    part: StepPart,
    shapes: StepShapes,
    works: Sequence[Work],
    model: CostModel,
    request: StepRequest,
    memory_requests: dict[Hashable, Any],
    unplaced: UnplacedStep | None = None,
) -> StepEstimate:
    config = request.config
    machinery = machinery_of(placement)
    threads, thread_notes = _threads(config, placement, model, machinery)
    if unplaced is None:
        rewrites = _rewrites(config, placement.release)
        unplaced = unplaced_step(placement, part, shapes, works, machinery, rewrites)
    flow, times = StepClock(unplaced, model, threads, part.device).run(part.device)
    assumed = [*shapes.assumed, *unplaced.assumed]
    fused = int((flow.computed_by >= 0).sum())
    if fused and not unplaced.times.runs_in_a_line(model):
        assumed.append(
            f"Remapping is on by default: {fused} nodes are fused into the kernels of earlier nodes."
        )
    assumed += thread_notes
    unknown = [
        device.name
        for device, is_gpu in zip(placement.device_set, machinery.is_gpu.tolist(), strict=True)
        if device.device_type != "CPU" and not is_gpu
    ]
    if unknown:
        assumed.append(
            f"The hardware of {unknown[0]} is unknown: it is assumed to be as fast as the CPU, with free copies to it."
        )
    if unplaced.folded.any():
        assumed.append(
            f"Constant folding is on by default: {int(unplaced.folded.sum())} nodes are folded before the step."
        )
    notes = tuple(dict.fromkeys(assumed))
    return StepEstimate(
        placement, part, shapes, works, machinery, model, flow, times, request, notes, memory_requests
    )


def machinery_of(placement: Placement) -> Machinery:
    """Return the machine of a placement as the executor sees it.

    Args:
        placement: the placement.
    """
    devices = placement.device_set
    machine = getattr(devices.origin, "machine", None)
    gpus = () if machine is None else machine.gpus
    links = Links(()) if machine is None else machine.links
    is_gpu, physical, hosts, models = [], [], [], []
    tasks = {} if machine is None else {name: number for number, (name, _) in enumerate(machine.tasks)}
    for device in devices:
        hosts.append(-1 - tasks.get(device.name.rpartition("/device:")[0], 0))
        is_known_gpu = device.physical_id is not None and device.physical_id < len(gpus)
        is_gpu.append(is_known_gpu)
        physical.append(device.physical_id if is_known_gpu and device.physical_id is not None else hosts[-1])
        models.append(
            gpus[device.physical_id].model if is_known_gpu and device.physical_id is not None else None
        )
    labels = tuple(short_name(device.name) for device in devices)
    return Machinery(np.array(is_gpu, dtype=bool), physical, hosts, models, links, labels)


def _rewrites(config: ConfigProto, release: str) -> Rewrites:
    """Return the rewrites that Grappler applies to a step before it runs."""
    rewriter = getattr(getattr(config, "graph_options", None), "rewrite_options", None)
    all_off = bool(getattr(rewriter, "disable_meta_optimizer", False))

    def is_on(optimizer: str) -> bool:
        return not all_off and getattr(rewriter, optimizer, 0) != _OFF

    has_others = release not in RELEASES_WITHOUT
    return Rewrites(
        folding=FoldingOptions.of(config),
        empties=has_others and is_on("dependency_optimization"),
        fuses=has_others and is_on("remapping"),
    )


def _threads(
    config: ConfigProto, placement: Placement, model: CostModel, machinery: Machinery
) -> tuple[int, list[str]]:
    """Return the number of threads in the inter-op pool, and the assumptions made."""
    if model.in_a_line and not machinery.is_gpu.any():
        return 1, []
    configured = int(getattr(config, "inter_op_parallelism_threads", 0) or 0)
    machine = getattr(placement.device_set.origin, "machine", None)
    if configured > 0:
        return configured * max(len(machine.tasks) if machine is not None else 1, 1), []
    machines = [] if machine is None else [host for _, host in machine.tasks] or [machine]
    if machine is not None and (machine.is_local or (machine.tasks and machine.links.is_one_host)):
        return os.cpu_count() or 1, []
    count = sum(os.cpu_count() or 1 if host.is_local else ASSUMED_CORES for host in machines) or ASSUMED_CORES
    owner = "Every host has" if len(machines) > 1 else "The host has"
    return count, [f"{owner} {ASSUMED_CORES} cores, and its pool {ASSUMED_CORES} threads that run ops."]
