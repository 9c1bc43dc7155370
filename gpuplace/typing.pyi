"""Types of what programs hand in and get back, for signatures: ``TensorLike``, ``ShapeLike``, ``DataFrame``, ...

Every layer may name them, also those that belong to a library or a layer above: nothing of these is loaded here but by
type checkers, so that ``import gpuplace`` stays as quick as it is.

>>> from gpuplace.typing import TensorLike
>>> def scaled(x: TensorLike) -> "gpuplace.Tensor": ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict

if TYPE_CHECKING:
    import os
    import types
    from collections.abc import Callable, Sequence

    import numpy as np
    import pandas

    import gpuplace.cost.shapes.graph_shapes
    import gpuplace.findings.finding
    import gpuplace.graph.graph
    import gpuplace.jupyter.explorer.explorer
    import gpuplace.jupyter.pictures
    import gpuplace.model.subject.subject
    import gpuplace.views.logs.logged_placement
    import gpuplace.views.tables.dependency_trace
    import gpuplace.views.tables.placement_view
    import gpuplace.views.timelines.step_timeline
    import gpuplace.why.placement
    from gpuplace.cost.step_estimate import StepEstimate
    from gpuplace.device.device_set import DeviceSet
    from gpuplace.device.machine import Machine
    from gpuplace.device.spec import DeviceSpec
    from gpuplace.dtypes import DType
    from gpuplace.graph.operation import Operation, Tensor
    from gpuplace.graphdef import messages
    from gpuplace.graphdef.model import Model
    from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
    from gpuplace.ops.gradients.indexed_slices import IndexedSlices
    from gpuplace.ops.variables.variables import Variable
    from gpuplace.placer.placement_graph import PlacementGraph
    from gpuplace.shapes import Dimension, TensorShape

# What kernels take

Array: TypeAlias = "np.ndarray[Any, Any]"
"""An array of NumPy or, on a GPU, of CuPy, which has the same interface."""

ArrayModule: TypeAlias = "types.ModuleType"
"""The array library: ``numpy`` or ``cupy``."""

# What ops take

class SupportsArray(Protocol):
    """Anything that NumPy makes an array of."""

    def __array__(self, dtype: Any = None, copy: Any = None, /) -> Any: ...

TensorLike: TypeAlias = (
    "Tensor | Variable | IndexedSlices | TensorShape | Dimension | np.ndarray[Any, Any] | np.generic | SupportsArray |"
    " bool | int | float | complex | str | bytes | Sequence[TensorLike]"
)
"""What becomes a tensor: tensors and variables, arrays, numbers, text, and nested lists of these."""

TensorsLike: TypeAlias = "Iterable[TensorLike]"
"""Several of them."""

SizesLike: TypeAlias = "TensorLike | Sequence[int | None]"
"""What names a shape that an op takes when it runs: sizes, or a tensor of them."""

VariableLike: TypeAlias = "Variable | Tensor"
"""What ops that assign take: a variable, or the reference that one is."""

InitializerLike: TypeAlias = "Callable[..., Any] | type[Any] | TensorLike"
"""What makes a variable's first value: an initializer, its class, a function of the shape, or the value."""

DTypeLike: TypeAlias = "DType | np.dtype[Any] | type[Any] | str | int"
"""What names an element type: ``tf.float32``, ``np.float32``, ``float``, ``"float32"``, TensorFlow's number."""

ShapeLike: TypeAlias = (
    "TensorShape | Dimension | int | Iterable[int | Dimension | np.integer[Any] | None] | None"
)
"""What names a shape that is known while the graph is built, sizes of None being unknown; None for any shape."""

IntsLike: TypeAlias = "int | Sequence[int]"
"""A number for every dimension, or one for all: strides, window sizes."""

Function: TypeAlias = "Callable[..., Any]"
"""A function of the program's own: a regularizer, a getter of variables."""

DeviceLike: TypeAlias = "str | DeviceSpec | Callable[[Operation], Any] | None"
"""What ``tf.device`` takes: a name, a ``DeviceSpec``, a function of the operation, or None."""

OperationLike: TypeAlias = "Operation | Tensor | Variable | IndexedSlices | TensorArray | str"
"""What names an operation: itself, what it makes, or its name."""

# What sessions and tools take

FetchLike: TypeAlias = "Tensor | Operation | Variable | IndexedSlices | TensorArray | str | Iterable[Any]"
"""What can be fetched: tensors, operations, variables, names, and nested lists, tuples and dicts of these."""

FeedDict: TypeAlias = Mapping[Any, Any]
"""Tensor, or its name -> the value that stands for it."""

class HasGraph(Protocol):
    """A session, a placement, or anything else with a graph."""

    @property
    def graph(self) -> Any: ...

class SerializedBy(Protocol):
    """A message, TensorFlow's own too."""

    def SerializeToString(self) -> bytes: ...

class ConfigLike(Protocol):
    """A ``ConfigProto``, TensorFlow's own too, or anything with its attributes."""

    @property
    def gpu_options(self) -> Any: ...

Graph: TypeAlias = "gpuplace.graph.graph.Graph"
"""A graph, for what it is made of: operations, scopes, stacks."""

GraphLike: TypeAlias = (
    "Graph | PlacementGraph | HasGraph | SerializedBy | Model | bytes | str | os.PathLike[str]"
)
"""What holds a graph: a `Graph`, a ``GraphDef``, its bytes, a path, an opened model, a session, a placement."""

PlacementLike: TypeAlias = (
    "gpuplace.why.placement.Placement | gpuplace.views.tables.placement_view.PlacementView |"
    " gpuplace.views.logs.logged_placement.LoggedPlacement"
)
"""What shows where nodes are: a `Placement`, one read from a log, or a view of either."""

MachineLike: TypeAlias = "Machine | DeviceSet | str"
"""What names a machine: a `Machine` or its text."""

VisibleDevices: TypeAlias = "str | Iterable[int]"
"""The GPUs of a machine that TensorFlow sees: their numbers, or the value of CUDA_VISIBLE_DEVICES."""

# What tools give back, of libraries and layers above

DataFrame: TypeAlias = "pandas.DataFrame"
Explorer: TypeAlias = "gpuplace.jupyter.explorer.explorer.Explorer"
Findings: TypeAlias = "gpuplace.findings.finding.Findings"
Picture: TypeAlias = "gpuplace.jupyter.pictures.Picture"
RuleExplorer: TypeAlias = "gpuplace.jupyter.rule_explorer.RuleExplorer"
StepTimeline: TypeAlias = "gpuplace.views.timelines.step_timeline.StepTimeline"
TensorShapeFact: TypeAlias = "gpuplace.cost.shapes.graph_shapes.TensorShapeFact"
Subject: TypeAlias = "gpuplace.model.subject.subject.Subject"
Trace: TypeAlias = "gpuplace.views.tables.dependency_trace.Trace"
ConfigProto: TypeAlias = "messages.ConfigProto"
GraphDef: TypeAlias = "messages.GraphDef"
NodeDef: TypeAlias = "messages.NodeDef"
RunMetadata: TypeAlias = "messages.RunMetadata"
RunOptions: TypeAlias = "messages.RunOptions"
TensorProto: TypeAlias = "messages.TensorProto"
VersionDef: TypeAlias = "messages.VersionDef"

class PictureOptions(TypedDict, total=False):
    """Keyword arguments of ``placement.picture()``; see ``gpuplace.jupyter.pictures.placement_picture``."""

    open: Iterable[str] | None
    colour: str | None
    color: str | None
    run_metadata: RunMetadata | None
    estimate: StepEstimate | None
    against: Any
    critical_path: bool | str
    find: str | None
    trace: str | None
    of: Any
    backward: bool
    patterns: bool
    theme: str
    direction: str
    legend: bool
    cap: int
    table: bool
    time_limit_s: float
