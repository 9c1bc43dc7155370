"""What ran beside what gpuplace predicts: nodes on another device, each with the likely reason, and the step.

A log or a ``RunMetadata`` names the nodes of functions, and a prediction those of the graph into which the functions
are inlined: ``StatefulPartitionedCall/dense/MatMul`` there is ``dense/MatMul`` here. Nodes are matched by their names
without such prefixes.
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
from gpuplace.typing import ConfigLike, DataFrame, GraphLike, MachineLike
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
"""Lists in which TensorFlow's tracers repeat what the devices' lists hold."""
_REWRITTEN = re.compile(
    r"(?:^|/)(?:ArithmeticOptimizer|ConstantFolding|LayoutOptimizer|Fused|_Mkl|loop_optimizer|remapper)|-\d+-\w+-\w+Optimizer"
)
"""Names that TensorFlow's graph optimizer, Grappler, gives."""
_STEP_FILES = (".pb", ".pbtxt", ".textproto", ".json")
_SHOWN = 12


class RunDifference(NamedTuple):
    """A node that ran on another device than predicted."""

    node: str
    """Its name in the prediction."""
    type: str
    """Op type in the prediction."""
    predicted: str
    """Full name of the device."""
    ran: str
    """Full name of the device that it ran on, in the form of 1.15."""
    reason: str
    """The likely reason; "" where none is known."""


@dataclass(frozen=True, eq=False)
class RunComparison:
    """What ran beside what was predicted."""

    placement: Placement
    """The prediction."""
    log: LoggedPlacement
    """What ran."""
    differences: tuple[RunDifference, ...]
    """Nodes on another device, in the order in which they ran."""
    same: int
    """Nodes on the predicted device."""
    only_ran: Mapping[str, int]
    """Why nodes that ran are not in the prediction -> how many."""
    only_predicted: int
    """Nodes of the prediction that did not run under a name of their own: folded, fused, or of another call."""
    step: Comparison | None
    """The predicted step beside the measured one; None without one."""
    no_step: str
    """Why there is no measured step to compare; "" where there is one."""

    @property
    def unexplained(self) -> tuple[RunDifference, ...]:
        """Differences without a known reason."""
        return tuple(row for row in self.differences if not row.reason)

    def frame(self) -> DataFrame:
        """A row a difference; see ``gpuplace.jupyter.frames.log_frames.run_comparison_frame``."""
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
        lines += [f"{counted(count, 'node')} only ran: {why}" for why, count in self.only_ran.items()]
        if self.only_predicted:
            nodes = counted(self.only_predicted, "node")
            lines.append(
                f"{nodes} of the prediction ran under no name of their own: folded, fused or not called"
            )
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
    """Compare what TensorFlow did with what gpuplace predicts.

    Args:
        graph: what `gpuplace.place` takes; of a ``tf.function``, the body of its trace is compared.
        ran: a log as for `gpuplace.parse_log`, what `gpuplace.capture_log` or `parse_log` gave, ``RunMetadata``, or a
            file that `gpuplace.timeline` reads: a measured step (``*.pb``) or a profile of TensorFlow 2
            (``*.xplane.pb``, ``*.trace.json.gz``, or the log folder).
        machine: a `Machine` or its text; None: one with the devices that ran.
        config: the ``ConfigProto`` of the session.
        release: which TensorFlow ran; None: the one that wrote the graph.
        soft_placement: if soft placement was on; None: what `config` says, and without one as TensorFlow 2 does.
        batch: examples in the measured step, as for `gpuplace.estimate`.

    Returns:
        A `RunComparison`: ``.differences``, ``.unexplained``, ``.step`` (predicted beside measured, for
        ``RunMetadata``) and ``.frame()``; ``print`` shows all.

    Raises:
        InvalidArgumentError: `ran` names no device, or the graph cannot be placed.
        OpError, TypeError: as `gpuplace.place` and `gpuplace.parse_log`.
    """
    if isinstance(ran, str | os.PathLike) and _names_step(ran):
        ran = load_run_metadata(ran)
    log = _log_of(ran)
    if not log.device_names:
        raise InvalidArgumentError.of(
            "What ran names no device, so there is nothing to compare", hint=NO_PLACEMENT
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
    # A variable that a function has captured stays where it was made; its device is no request in the graph.
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
    step, no_step = None, "The log measures no step."
    if stats is not None and (times := _most_times(ran)) > 1 and not ran.partition_graphs:
        no_step = f"What was measured ran {times} times: a step is compared if it is measured alone."
    elif stats is not None and stats.dev_stats:
        try:
            step, no_step = estimate(placement, batch=batch).compare(_renamed(ran, _own_names(placement))), ""
        except (OpError, ValueError) as error:
            no_step = str(error)
    return _compared(placement, log, others, step, no_step)


def _names_step(path: str | os.PathLike[str]) -> bool:
    """Whether a path is that of a measured step, and not of a log."""
    return os.path.isdir(path) or os.fspath(path).lower().removesuffix(".gz").endswith(_STEP_FILES)


def _most_times(metadata: Any) -> int:
    """How often the node ran that ran most often."""
    return max(Counter((row.name, row.device) for row in _rows(metadata)).values(), default=0)


def _body(graph: Any) -> Any:
    """The graph whose names TensorFlow logs: of a function with a trace, the trace's."""
    if hasattr(graph, "get_concrete_function") and hasattr(graph, "_list_all_concrete_functions"):
        traces = graph._list_all_concrete_functions()
        graph = traces[0] if len(traces) == 1 else graph
    is_trace = hasattr(graph, "structured_outputs") and hasattr(graph, "captured_inputs")
    return graph.graph if is_trace else graph


def _captured(body: Any) -> dict[str, str]:
    """Devices of what a function of TensorFlow's has captured, by the nodes that stand for it."""
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


def _rows(metadata: Any) -> Iterable[LoggedNode]:
    """The nodes of run metadata, with the devices on which they ran."""
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
    """Match the nodes, and look for the reason of each difference."""
    by_name = _own_names(placement)
    types = {name: placement.graph.op_type(number) for name, number in placement.graph.index.items()}
    ran: dict[str, dict[str, str]] = {}
    only_ran: Counter[str] = Counter()
    for row in log.rows:
        node = _found(row.name, by_name)
        if node is None:
            only_ran[_why_only_ran(row)] += 1
        else:
            ran.setdefault(node, {})[full_name(row.device)] = row.type
    differences = []
    made: dict[str, Placement] = {}
    for node, devices in ran.items():
        if placement[node] not in devices:
            device, op_type = next(iter(devices.items()))
            reason = _reason(node, device, op_type, types[node], others, made, placement)
            differences.append(RunDifference(node, types[node], placement[node], device, reason))
    same = len(ran) - len(differences)
    return RunComparison(
        placement, log, tuple(differences), same, dict(only_ran), len(placement) - len(ran), step, no_step
    )


def _own_names(placement: Placement) -> dict[str, str]:
    """Names of a placement's nodes, and these without the functions they were inlined from, to the former."""
    return {_INLINED.sub("", name): name for name in placement} | {name: name for name in placement}


def _found(name: str, by_name: Mapping[str, str]) -> str | None:
    return by_name.get(name) or by_name.get(_INLINED.sub("", name))


def _renamed(metadata: Any, by_name: Mapping[str, str]) -> Any:
    """The measured step under the names of the prediction."""
    step = type(metadata)()
    step.CopyFrom(metadata)
    for device in step.step_stats.dev_stats:
        for node in device.node_stats:
            old = node.node_name
            name = _found(old, by_name)
            if name is not None and name != old:
                node.node_name = name
                if node.timeline_label.startswith(f"{old} = "):
                    node.timeline_label = name + node.timeline_label[len(old) :]
    return step


def _why_only_ran(row: LoggedNode) -> str:
    """Why a node that ran is not in the graph."""
    if row.type.replace("_Device", "_") in ENDS_OF_FUNCTIONS or row.name.startswith(("_arg_", "_retval_")):
        return "arguments and results of functions"
    if re.match(r"_(?:Host)?(?:Send|Recv)", row.type) or row.name in ("_SOURCE", "_SINK", "RecvTensor"):
        return "copies, and marks of the runtime"
    if _REWRITTEN.search(row.name) or row.type.startswith("_"):
        return "Grappler made them"
    return "of other functions of the program, or ops that ran eagerly"


def _reason(
    node: str,
    device: str,
    op_type: str,
    own_type: str,
    others: Mapping[str, Callable[[], Placement]],
    made: dict[str, Placement],
    placement: Placement,
) -> str:
    """The likely reason for a device; "" if none is known."""
    if device not in placement.device_set.names:
        return "the machine of the prediction has no such device"
    if op_type and op_type != own_type:
        return f"Grappler made it a {op_type}"
    for reason, place_otherwise in others.items():
        if reason not in made:
            made[reason] = place_otherwise()
        if made[reason].get(node) == device:
            return reason
    return ""
