"""The subject: the nodes of one step of a graph, its fetches and its feeds.

Every function, command, page and tab uses it, so that all of them describe the same step::

    SavedModel         signature serving_default: fetches its outputs, feeds its inputs, by the signature's names
    training graph     one step of the training operation
    other graphs       all nodes that its outputs need, without saver, initializers and summaries
    fetches=[...]      all nodes that these fetches need

Placing assigns a device to every node of a graph. The subject defines which nodes a step runs.

>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.kernels.registry import default_catalogue
>>> from gpuplace.ops.array.constant import placeholder
>>> from gpuplace.placer.from_graph import placement_graph_of
>>> with Graph().as_default() as graph:
...     rows = placeholder("float32", [None, 4], name="rows")
...     product = apply_op("MatMul", "product", a=rows, b=rows, transpose_b=True)
...     _ = apply_op("HistogramSummary", "summary", tag="rows", values=product.outputs[0])
>>> subject = subject_of(placement_graph_of(graph, default_catalogue()), default_catalogue())
>>> subject.what, subject.count, subject.outside
("Output 'product'", 2, {'summaries': 2})

Source: tensorflow/core/graph/subgraph.cc, release 1.15 (pruning).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import NOT_FOR_THEIR_RESULTS, PLACEHOLDERS
from gpuplace.graph.operation import Operation
from gpuplace.graphdef.model import PlacedPart
from gpuplace.kernels.registry import Catalogue
from gpuplace.model.subject.bookkeeping import SHELVES, GraphColumns, bookkeeping
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph, split_tensor_name
from gpuplace.runtime.session.fetches import parts_of_fetch
from gpuplace.why.names import suggestions

UPDATES = ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply")
"""Prefixes of the op types by which optimizers update variables."""
OTHER = "others"
"""The purpose of nodes outside the step that are not bookkeeping."""
_SHOWN = 12
"""Number of names that an error lists."""
_TRAIN_OP = "train_op"


@dataclass(frozen=True, eq=False)
class Subject:
    """One step of a graph."""

    graph: PlacementGraph
    """The whole graph."""
    what: str
    """A name for the step: ``Signature serving_default``, ``Training step 'train'``, ``Output 'logits'``."""
    targets: tuple[tuple[int, int], ...]
    """Fetched tensors as node and output; output -1 for an operation that is run without a fetch."""
    fed: frozenset[tuple[int, int]]
    """Fed tensors as node and output."""
    is_default: bool
    """Whether the step was chosen without explicit fetches."""

    @cached_property
    def runs(self) -> np.ndarray:
        """[nodes] bool: whether the step runs a node; nodes needed only by fed nodes do not run."""
        graph = self.graph
        start, src = graph.in_start.tolist(), graph.src.tolist()
        cut = {node for node, _ in self.fed}
        seen = [False] * len(graph)
        stack = [node for node, _ in self.targets]
        for node in stack:
            seen[node] = True
        while stack:
            node = stack.pop()
            if node in cut:
                continue
            for other in src[start[node] : start[node + 1]]:
                if not seen[other]:
                    seen[other] = True
                    stack.append(other)
        return np.array(seen, dtype=bool)

    @property
    def count(self) -> int:
        """The number of nodes that the step runs."""
        return int(self.runs.sum())

    @cached_property
    def outside(self) -> dict[str, int]:
        """Purpose, such as ``saver``, -> number of nodes outside the step; the largest first."""
        if self.runs.all():
            return {}
        purposes = bookkeeping_of(self.graph)[~self.runs].tolist()
        counts = Counter(SHELVES[purpose] if purpose >= 0 else OTHER for purpose in purposes)
        return dict(counts.most_common())

    @property
    def outside_text(self) -> str:
        """A sentence about the nodes outside the step; "" if there are none."""
        total = sum(self.outside.values())
        if not total:
            return ""
        parts = ", ".join(f"{purpose} {count:,}" for purpose, count in self.outside.items())
        which = "" if list(self.outside) == [OTHER] else f": {parts}"
        return f"{total:,} node{' is' if total == 1 else 's are'} outside the step{which}."

    def text(self, release: str) -> str:
        """Return the subject in one line.

        Args:
            release: the TensorFlow release that the graph is placed as.
        """
        total, count = len(self.graph), self.count
        nodes = (
            f"{count:,} node{'' if count == 1 else 's'}"
            if count == total
            else f"{count:,} of {total:,} nodes"
        )
        of = f" of {name}" if (name := model_name(self.graph)) else ""
        return f"{self.what}{of}, {nodes}, placed as TensorFlow {release}"


def model_name(graph: PlacementGraph) -> str:
    """Return the name of the file or folder that a graph was read from; "" for a graph of this process.

    Args:
        graph: the graph.
    """
    if not isinstance(graph.source, PlacedPart):
        return ""
    model = graph.source.model
    return os.path.basename(os.path.normpath(model.path)) if model.path else model.name


def bookkeeping_of(graph: PlacementGraph) -> np.ndarray:
    """Return the bookkeeping purpose of each node, [nodes], computed once per graph.

    Args:
        graph: the graph.
    """
    purposes = graph.__dict__.get("_bookkeeping")
    if purposes is None:
        purposes = graph.__dict__["_bookkeeping"] = bookkeeping(GraphColumns(graph))
    return purposes


def subject_of(
    graph: PlacementGraph,
    catalogue: Catalogue,
    fetches: Any = None,
    feeds: Iterable[Any] = (),
    *,
    whole_graph: bool = False,
) -> Subject:
    """Return the subject for the given fetches and feeds.

    Args:
        graph: the graph as it is placed.
        catalogue: op definitions.
        fetches: names, tensors, operations, or lists and dicts of them; for a signature also the names of its outputs.
            None selects the default.
        feeds: names of fed tensors, tensors or operations.
        whole_graph: whether every node runs.

    Raises:
        InvalidArgumentError: the graph is empty, or a fetch or feed is not in it; the message lists similar names.
        TypeError: ``fetches`` contains an object that cannot be fetched.
    """
    if not len(graph):
        raise InvalidArgumentError.of("The graph has no nodes, so there is no step to run.")
    feeds = list(feeds)
    is_default = fetches is None and not whole_graph
    cached: Subject | None = graph.__dict__.get("_subject")
    if is_default and not feeds and cached is not None:
        return cached
    if whole_graph:
        what, targets = "Whole graph", _ends(graph, np.ones(len(graph), dtype=bool))
    elif fetches is not None:
        names = [
            tensor
            for name in fetch_names(fetches)
            for tensor in signature_tensors(graph)[1].get(name, (name,))
        ]
        shown = [name.removeprefix("^") for name in names]
        what, targets = _listed("Fetch", shown), [_tensor(graph, name, "fetch", catalogue) for name in names]
    else:
        what, targets = _default(graph, catalogue)
    if not targets:
        raise InvalidArgumentError.of(
            "Must specify at least one target to fetch or execute.", hint="fetches=['train_op']"
        )
    fed = frozenset(_tensor(graph, feed_name(key), "feed", catalogue) for key in feeds)
    subject = Subject(graph, what, tuple(targets), fed, is_default)
    if is_default and not feeds:
        graph.__dict__["_subject"] = subject
    return subject


def signature_tensors(graph: PlacementGraph) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return the inputs and outputs of a graph's signature: names in the signature -> tensor names.

    Args:
        graph: the graph; both are empty unless it is a signature of a model.
    """
    tensors: Any = graph.__dict__.get("_signature_tensors")
    if tensors is None:
        source = graph.source
        is_signature = isinstance(source, PlacedPart) and source.part.signature and not source.part.function
        tensors = source.model.signature_tensors(source.part) if is_signature else ({}, {})
        graph.__dict__["_signature_tensors"] = tensors
    return tensors


def tensor_feeds(graph: PlacementGraph, feeds: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Return feeds by tensor; names of a signature's inputs are replaced by tensor names.

    Args:
        graph: the graph.
        feeds: name, tensor or operation -> shape or array.

    Raises:
        InvalidArgumentError: an input of the signature consists of several tensors.
        TypeError: the feeds are not a mapping.
    """
    if not isinstance(feeds or {}, Mapping):
        raise TypeError(f"feeds must be a dict from tensors or names to shapes or arrays; got {feeds!r}")
    inputs = signature_tensors(graph)[0]
    by_tensor: dict[Any, Any] = {}
    for key, value in (feeds or {}).items():
        tensors = inputs.get(key, ()) if isinstance(key, str) else ()
        if len(tensors) > 1:
            raise InvalidArgumentError.of(
                f"Input '{key}' of the signature consists of {len(tensors)} tensors.",
                facts={"tensors": ", ".join(tensors)},
                hint="feed each of these tensors by its name",
            )
        by_tensor[tensors[0] if tensors else key] = value
    return by_tensor


def fetch_names(fetches: Any) -> list[str]:
    """Return the names in any structure that ``Session.run`` accepts; ``^name`` is an operation without results.

    Args:
        fetches: a name, tensor, operation or variable, or lists, tuples and dicts of them.

    Raises:
        TypeError: it contains an object that cannot be fetched.
    """
    if isinstance(fetches, bytes):
        return [fetches.decode()]
    if isinstance(fetches, str):
        return [fetches]
    if isinstance(fetches, Mapping):
        return [name for part in fetches.values() for name in fetch_names(part)]
    if isinstance(fetches, list | tuple | set | frozenset):
        return [name for part in fetches for name in fetch_names(part)]
    parts = parts_of_fetch(fetches)
    if parts is not None:
        return [name for part in parts for name in fetch_names(part)]
    name = getattr(fetches, "name", None)
    if isinstance(name, str):
        return [f"^{name}" if isinstance(fetches, Operation) else name]
    if isinstance(fetches, Iterable):
        return [name for part in fetches for name in fetch_names(part)]
    raise TypeError(
        f"Fetch argument {fetches!r} has invalid type {type(fetches)}, must be a string or Tensor, an operation, or "
        "lists and dicts of them"
    )


def feed_name(key: object) -> str:
    """Return the name of a feed.

    Args:
        key: a name, tensor or operation.

    Raises:
        TypeError: the key is of another type.
    """
    name = (
        key.decode()
        if isinstance(key, bytes)
        else key
        if isinstance(key, str)
        else getattr(key, "name", None)
    )
    if not isinstance(name, str):
        raise TypeError(f"the key of a feed must be a name, a tensor or an operation; got {key!r}")
    return name


def _tensor(graph: PlacementGraph, name: str, use: str, catalogue: Catalogue) -> tuple[int, int]:
    """Return node and output of a name; output -1 if it names an operation."""
    text = name.removeprefix("^")
    if text in graph.index:
        node = graph.index[text]
        op_def = catalogue.ops.get(graph.op_type(node))
        has_outputs = op_def is None or bool(op_def.outputs)
        if use == "feed" and not (has_outputs and _has_output(graph, node)):
            raise _not_fed(graph, text)
        return node, CONTROL if use == "fetch" and (name.startswith("^") or not has_outputs) else 0
    node_name, output = split_tensor_name(text)
    if node_name not in graph.index:
        inputs, outputs = signature_tensors(graph)
        own = [*(inputs if use == "feed" else outputs)]
        similar = suggestions(node_name, [*own, *graph.names])
        facts = {"requested as": f"a {use}"}
        if own:
            facts[f"{'inputs' if use == 'feed' else 'outputs'} of the signature"] = ", ".join(own[:_SHOWN])
        if use == "feed":
            facts["placeholders"] = ", ".join(_placeholders(graph)[:_SHOWN]) or "none, so no feed is needed"
        elif not own:
            _, targets = _default(graph, catalogue)
            facts["outputs of the graph"] = ", ".join(graph.names[node] for node, _ in targets[:_SHOWN])
        raise InvalidArgumentError.of(
            f"Tensor {name}, specified in either feed_devices or fetch_devices was not found in the Graph",
            facts=facts,
            hint=", ".join(similar) or None,
        )
    node = graph.index[node_name]
    if use == "feed" and not _has_output(graph, node):
        raise _not_fed(graph, node_name)
    return node, output


def _not_fed(graph: PlacementGraph, name: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"The operation '{name}' cannot be fed: it has no outputs.",
        facts={"placeholders": ", ".join(_placeholders(graph)[:_SHOWN]) or "none, so no feed is needed"},
        hint="feed a tensor by its name",
    )


def _has_output(graph: PlacementGraph, node: int) -> bool:
    """Return whether a node has an output, as far as the graph contains this information."""
    if graph.tensor_info is None:
        return True
    try:
        graph.tensor_info(node, 0)
    except IndexError:
        return False
    return True


def _placeholders(graph: PlacementGraph) -> list[str]:
    return [graph.names[node] for node in np.flatnonzero(graph.of_types(PLACEHOLDERS)).tolist()]


def _default(graph: PlacementGraph, catalogue: Catalogue) -> tuple[str, list[tuple[int, int]]]:
    """Return the name and the targets of the step without explicit fetches."""
    source = graph.source
    if isinstance(source, PlacedPart):
        outputs = [name for names in signature_tensors(graph)[1].values() for name in names]
        if outputs:
            targets = [_tensor(graph, name, "fetch", catalogue) for name in outputs]
            return f"Signature {source.part.signature}", targets
        if source.part.function:
            return f"Function {source.part.function}", _ends(graph, np.ones(len(graph), dtype=bool))
    for name in _train_ops(graph):
        return f"Training step '{name}'", [(graph.index[name], CONTROL)]
    updates = graph.of_types(lambda name: name.startswith(UPDATES))
    is_model = bookkeeping_of(graph) < 0
    if updates.any():
        targets = _ends(graph, _reached(graph, updates) & is_model) or _ends(graph, _reached(graph, updates))
        return _listed("Training step", [graph.names[node] for node, _ in targets]), targets
    has_result = ~graph.of_types(NOT_FOR_THEIR_RESULTS)
    targets = _ends(graph, is_model, is_model & has_result) or _ends(graph, np.ones(len(graph), dtype=bool))
    return _listed("Output", [graph.names[node] for node, _ in targets]), targets


def _train_ops(graph: PlacementGraph) -> Iterable[str]:
    """Return the operations of the collection ``train_op`` that are in the graph."""
    collection = getattr(graph.source, "get_collection", None)
    if collection is not None:
        names = [split_tensor_name(getattr(op, "name", str(op)))[0] for op in collection(_TRAIN_OP)]
    else:
        names = graph.source.model.collection(_TRAIN_OP) if isinstance(graph.source, PlacedPart) else []
    return (name for name in names if name in graph.index)


def _reached(graph: PlacementGraph, starts: np.ndarray) -> np.ndarray:
    """Return which nodes depend on the given nodes, including these, [nodes] bool."""
    reached = starts.copy()
    order, start, dst = graph.out_order, graph.out_start, graph.dst
    stack = np.flatnonzero(starts).tolist()
    while stack:
        node = stack.pop()
        for other in dst[order[start[node] : start[node + 1]]].tolist():
            if not reached[other]:
                reached[other] = True
                stack.append(other)
    return reached


def _ends(
    graph: PlacementGraph, among: np.ndarray, chosen: np.ndarray | None = None
) -> list[tuple[int, int]]:
    """Return the operations among some nodes whose results none of these nodes consumes.

    Args:
        graph: the graph.
        among: [nodes] bool: the nodes whose edges count.
        chosen: [nodes] bool: the nodes that may be ends; None for all of ``among``.
    """
    is_consumed = np.zeros(len(graph), dtype=bool)
    is_consumed[graph.src[among[graph.dst]]] = True
    may_end = among if chosen is None else chosen
    is_end = may_end & ~is_consumed
    if graph.origin is not None:  # an inlined call is represented by the node that kept its name
        own = np.array([graph.origin(node) is None for node in range(len(graph))], dtype=bool)
        read_by_own = np.zeros(len(graph), dtype=bool)
        read_by_own[graph.src[own[graph.dst] & among[graph.dst]]] = True
        is_end = is_end & own if (is_end & own).any() else may_end & own & ~read_by_own
    return [(node, CONTROL) for node in np.flatnonzero(is_end).tolist()]


def _listed(what: str, names: Sequence[str]) -> str:
    """Join names: ``Outputs 'a', 'b' and 3 more``."""
    shown = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    plural = "" if len(names) == 1 or what.endswith("step") else "es" if what.endswith("ch") else "s"
    return f"{what}{plural} {shown}"
