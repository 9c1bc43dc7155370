"""Compare a run with gpuplace's prediction: nodes on other devices, each with its likely reason, and the step.

A log or a ``RunMetadata`` contains the nodes of functions, while the prediction is about the graph into which functions
are inlined: ``StatefulPartitionedCall/dense/MatMul`` in one is ``dense/MatMul`` in the other. Nodes are matched by
their names without such prefixes.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from gpuplace import release as releases
from gpuplace.cost.comparison import Comparison
from gpuplace.cost.estimate import estimate
from gpuplace.display import above, with_safe_text
from gpuplace.errors import InvalidArgumentError, OpError
from gpuplace.graph.op_sets import ENDS_OF_FUNCTIONS
from gpuplace.graphdef.measured.run_metadata import load_run_metadata
from gpuplace.runtime.session.place import graph_or_model, place, release_of
from gpuplace.typing import ConfigLike, DataFrame, GraphLike, MachineLike, RunMetadata
from gpuplace.views.logs.capture import NO_PLACEMENT, LogCapture
from gpuplace.views.logs.log_diff import full_name
from gpuplace.views.logs.logged_placement import LoggedNode, LoggedPlacement
from gpuplace.views.logs.parser import parse_log
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.text import counted, table_text
from gpuplace.why.placement import Placement

_INLINED = re.compile(r"(?:(?:Stateful)?PartitionedCall(?:_\d+)?/)+")
_LABEL = re.compile(r"(\S+) = (\w+)\(")
_TRACED = re.compile(r"^/host:|/stream:|/memcpy$|/sync$")
"""Device lists in which TensorFlow's tracers repeat the content of other lists."""
_REWRITTEN = re.compile(
    r"(?:^|/)(?:ArithmeticOptimizer|ConstantFolding|LayoutOptimizer|Fused|_Mkl|loop_optimizer|remapper)|-\d+-\w+-\w+Optimizer"
)
"""Names that Grappler, TensorFlow's graph optimizer, generates."""
_STEP_FILES = (".pb", ".pbtxt", ".textproto", ".json")
_SHOWN = 12


class RunDifference(NamedTuple):
    """A node that ran on another device than predicted."""

    node: str
    """Its name in the prediction."""
    type: str
    """Op type in the prediction."""
    predicted: str
    """Full name of the predicted device."""
    ran: str
    """Full name of the device that it ran on, in the format of 1.15."""
    reason: str
    """The likely reason; "" if none is known."""


@dataclass(frozen=True, eq=False)
class RunComparison:
    """A run compared with its prediction."""

    placement: Placement
    """The predicted placement."""
    log: LoggedPlacement
    """The recorded run."""
    differences: tuple[RunDifference, ...]
    """Nodes on another device, in the order in which they ran."""
    same: int
    """Number of nodes on the predicted device."""
    only_ran: Mapping[str, int]
    """Reason why nodes that ran are not in the prediction -> number of nodes."""
    only_predicted: int
    """Number of predicted nodes that did not run under their own names: folded, fused, or part of another call."""
    step: Comparison | None
    """The predicted step compared with the measured one; None without a measured step."""
    no_step: str
    """Why there is no measured step to compare; "" if there is one."""

    @property
    def unexplained(self) -> tuple[RunDifference, ...]:
        """Differences without a known reason."""
        return tuple(row for row in self.differences if not row.reason)

    def frame(self) -> DataFrame:
        """Return a ``DataFrame`` with one row per difference; see ``log_frames.run_comparison_frame``."""
        return above("gpuplace.jupyter.frames.log_frames", "run_comparison_frame")(self)

    @with_safe_text
    def __repr__(self) -> str:
        return (
            f"<RunComparison: {counted(self.same, 'node')} on the predicted device, "
            f"{len(self.differences):,} on another, {len(self.unexplained):,} unexplained>"
        )

    @with_safe_text
    def __str__(self) -> str:
        lines = [repr(self)[1:-1]]
        if self.differences:
            rows = [
                (
                    row.node,
                    row.type,
                    device_label(row.predicted),
                    device_label(row.ran),
                    row.reason or "unknown",
                )
                for row in self.differences
            ]
            lines.append(table_text(("node", "op", "predicted", "ran", "likely reason"), rows, _SHOWN))
        lines += [f"{counted(count, 'node')} only in the run: {why}" for why, count in self.only_ran.items()]
        if self.only_predicted:
            nodes = counted(self.only_predicted, "node")
            lines.append(f"{nodes} only in the prediction: folded, fused or not called")
        return "\n".join([*lines, self.no_step or str(self.step)])


def compare(
    graph: GraphLike,
    ran: Any,
    machine: MachineLike | None = None,
    config: ConfigLike | None = None,
    release: str | None = None,
    *,
    soft_placement: bool | None = None,
    batch: int | None = None,
) -> RunComparison:
    """Compare a TensorFlow run with gpuplace's prediction.

    Args:
        graph: a graph as for `gpuplace.place`; for a ``tf.function``, the body of its trace.
        ran: a log as for `gpuplace.parse_log`, the result of `gpuplace.capture_log` or `parse_log`, a ``RunMetadata``,
            or a file as for `gpuplace.timeline`: a measured step (``*.pb``) or a TensorFlow 2 profile (``*.xplane.pb``,
            ``*.trace.json.gz``, or the log folder).
        machine: a `Machine` or its text; None for a machine with the devices of the run.
        config: the ``ConfigProto`` of the session.
        release: the TensorFlow release that ran; None for the release that wrote the graph.
        soft_placement: whether soft placement was on; None to use `config`, or TensorFlow 2's default without one.
        batch: number of examples in the measured step, as for `gpuplace.estimate`.

    Returns:
        A `RunComparison`: ``.differences``, ``.unexplained``, ``.step`` (predicted beside measured, for
        ``RunMetadata``) and ``.frame()``; ``print`` shows all.

    Raises:
        InvalidArgumentError: `ran` names no device, or the graph cannot be placed.
        OpError, TypeError: as for `gpuplace.place` and `gpuplace.parse_log`.
    """
    if isinstance(ran, str | os.PathLike) and _names_step(ran):
        ran = load_run_metadata(ran)
    log = _log_of(ran)
    if not log.device_names:
        raise InvalidArgumentError.of(
            "The run names no device, so there is nothing to compare", hint=NO_PLACEMENT
        )
    body = _body(graph)
    source = graph_or_model(body)
    name = releases.resolve(release, release_of(source))
    devices = machine if machine is not None else log.machine()
    soft = soft_placement
    if soft is None and config is None:
        soft = releases.rules(name) == "2.21"

    placed = partial(place, source, devices, config, soft_placement=soft)
    placement = placed(name)
    # A captured variable stays where it was created; the graph contains no request for its device.
    captured = {node: device for node, device in _captured(body).items() if node in placement}
    if captured and set(captured.values()) <= set(placement.device_set.names):
        placed = partial(placed, assigned=captured)
        placement = placed(name)
    others = {
        f"TensorFlow {version} places it there": partial(placed, version)
        for version in ("1.15", "2.21")
        if version != releases.rules(name)
    }
    stats = getattr(ran, "step_stats", None)
    step, no_step = None, "The log contains no measured step."
    if stats is not None and (times := _most_times(ran)) > 1 and not ran.partition_graphs:
        no_step = f"The measurement covers {times} steps; measure a single step to compare it."
    elif stats is not None and stats.dev_stats:
        try:
            step, no_step = estimate(placement, batch=batch).compare(_renamed(ran, _own_names(placement))), ""
        except (OpError, ValueError) as error:
            no_step = str(error)
    return _compared(placement, log, others, step, no_step)


def _names_step(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is that of a measured step, not of a log."""
    return os.path.isdir(path) or os.fspath(path).lower().removesuffix(".gz").endswith(_STEP_FILES)


def _most_times(metadata: RunMetadata) -> int:
    """Return how often the most frequent node ran."""
    return max(Counter((row.name, row.device) for row in _rows(metadata)).values(), default=0)


def _body(graph: Any) -> Any:
    """Return the graph whose names TensorFlow logs: for a traced function, the graph of its trace."""
    if hasattr(graph, "get_concrete_function") and hasattr(graph, "_list_all_concrete_functions"):
        traces = graph._list_all_concrete_functions()
        graph = traces[0] if len(traces) == 1 else graph
    is_trace = hasattr(graph, "structured_outputs") and hasattr(graph, "captured_inputs")
    return graph.graph if is_trace else graph


def _captured(body: Any) -> dict[str, str]:
    """Return the devices of the tensors that a TensorFlow function captures, by the nodes that represent them."""
    return {
        inside.op.name: full_name(outside.device)
        for outside, inside in getattr(body, "captures", ())
        if getattr(outside, "device", "")
    }


def _log_of(ran: Any) -> LoggedPlacement:
    if isinstance(ran, LoggedPlacement):
        return ran
    if isinstance(ran, LogCapture):
        return ran.placement
    stats = getattr(ran, "step_stats", None)
    return parse_log(ran) if stats is None else LoggedPlacement(tuple(_rows(ran)))


def _rows(metadata: RunMetadata) -> Iterable[LoggedNode]:
    """Yield the nodes in run metadata with the devices on which they ran."""
    types = {node.name: node.op for graph in metadata.partition_graphs for node in graph.node}
    for device in metadata.step_stats.dev_stats:
        if not _TRACED.search(device.device):
            for stat in device.node_stats:
                label = _LABEL.match(stat.timeline_label)
                op_type = types.get(stat.node_name, str(label[2]) if label is not None else "")
                yield LoggedNode(stat.node_name, op_type, device.device, 0, 0)


def _compared(
    placement: Placement,
    log: LoggedPlacement,
    others: Mapping[str, Callable[[], Placement]],
    step: Comparison | None,
    no_step: str,
) -> RunComparison:
    """Match the nodes, and find the reason for each difference."""
    by_name = _own_names(placement)
    types = {name: placement.graph.op_type(number) for name, number in placement.graph.index.items()}
    ran: dict[str, dict[str, str]] = {}
    only_ran: Counter[str] = Counter()
    for row in log.rows:
        node = _matching_name(row.name, by_name)
        if node is None:
            only_ran[_why_only_ran(row)] += 1
        else:
            ran.setdefault(node, {})[full_name(row.device)] = row.type
    differences = []
    alternatives: dict[str, Placement] = {}
    for node, devices in ran.items():
        if placement[node] not in devices:
            device, op_type = next(iter(devices.items()))
            reason = _reason(node, device, op_type, types[node], others, alternatives, placement)
            differences.append(RunDifference(node, types[node], placement[node], device, reason))
    same = len(ran) - len(differences)
    return RunComparison(
        placement, log, tuple(differences), same, dict(only_ran), len(placement) - len(ran), step, no_step
    )


def _own_names(placement: Placement) -> dict[str, str]:
    """Map names with and without the prefixes of inlined functions to names in the placement."""
    return {_INLINED.sub("", name): name for name in placement} | {name: name for name in placement}


def _matching_name(name: str, by_name: Mapping[str, str]) -> str | None:
    return by_name.get(name) or by_name.get(_INLINED.sub("", name))


def _renamed(metadata: RunMetadata, by_name: Mapping[str, str]) -> RunMetadata:
    """Return the measured step with the prediction's node names."""
    step = type(metadata)()
    step.CopyFrom(metadata)
    for device in step.step_stats.dev_stats:
        for node in device.node_stats:
            old = node.node_name
            name = _matching_name(old, by_name)
            if name is not None and name != old:
                node.node_name = name
                if node.timeline_label.startswith(f"{old} = "):
                    node.timeline_label = name + node.timeline_label[len(old) :]
    return step


def _why_only_ran(row: LoggedNode) -> str:
    """Return why a node that ran is not in the graph."""
    if row.type.replace("_Device", "_") in ENDS_OF_FUNCTIONS or row.name.startswith(("_arg_", "_retval_")):
        return "arguments and results of functions"
    if re.match(r"_(?:Host)?(?:Send|Recv)", row.type) or row.name in ("_SOURCE", "_SINK", "RecvTensor"):
        return "copies, and markers of the runtime"
    if _REWRITTEN.search(row.name) or row.type.startswith("_"):
        return "created by Grappler"
    return "in other functions of the program, or run eagerly"


def _reason(
    node: str,
    device: str,
    op_type: str,
    own_type: str,
    others: Mapping[str, Callable[[], Placement]],
    alternatives: dict[str, Placement],
    placement: Placement,
) -> str:
    """Return the likely reason for a device; "" if none is known."""
    if device not in placement.device_set.names:
        return "the predicted machine has no such device"
    if op_type and op_type != own_type:
        return f"Grappler replaced it with a {op_type}"
    for reason, place_otherwise in others.items():
        if reason not in alternatives:
            alternatives[reason] = place_otherwise()
        if alternatives[reason].get(node) == device:
            return reason
    return ""
