"""What a question about a graph is about: the nodes of one step, what it fetches, and the names for its feeds.

Every function, command, page and tab asks here, so that all of them speak of the same step::

    SavedModel         signature serving_default: fetches its outputs, feeds its inputs, under the signature's names
    training graph     one step of the training operation
    another graph      what leads to its outputs, without saver, initialisers and summaries
    fetches=[...]      what these need

Placing does not shrink a graph: every node has a device. The subject says which nodes a step runs.

>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.kernels.registry import default_catalogue
>>> from gpuplace.ops.array.constant import placeholder
>>> from gpuplace.placer.from_graph import placement_graph_of
>>> with Graph().as_default() as graph:
...     rows = placeholder("float32", [None, 4], name="rows")
...     product = apply_op("MatMul", "product", a=rows, b=rows, transpose_b=True)
...     _ = apply_op("HistogramSummary", "summary", tag="rows", values=product.outputs[0])
>>> found = subject_of(placement_graph_of(graph, default_catalogue()), default_catalogue())
>>> found.what, found.count, found.outside
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
"""Prefixes of the op types with which optimizers update variables."""
OTHER = "others"
"""Nodes outside the step that are not bookkeeping."""
_SHOWN = 12
"""Names that an error lists."""
_TRAIN_OP = "train_op"


@dataclass(frozen=True, eq=False)
class Subject:
    """One step of a graph."""

    graph: PlacementGraph
    """The whole graph."""
    what: str
    """What the step is: ``Signature serving_default``, ``Training step 'train'``, ``Output 'logits'``."""
    targets: tuple[tuple[int, int], ...]
    """Fetched tensors as node and output; output -1 for an operation that only runs."""
    fed: frozenset[tuple[int, int]]
    """Tensors that are fed in place of their values, as node and output."""
    is_default: bool
    """Whether it was found without fetches."""

    @cached_property
    def runs(self) -> np.ndarray:
        """[nodes] bool: whether the step runs a node. The inputs of fed nodes do not run for them."""
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
        """Number of nodes that the step runs."""
        return int(self.runs.sum())

    @cached_property
    def outside(self) -> dict[str, int]:
        """Purpose of the nodes outside the step, such as ``saver``, to their number; the largest first."""
        if self.runs.all():
            return {}
        purposes = bookkeeping_of(self.graph)[~self.runs].tolist()
        counts = Counter(SHELVES[purpose] if purpose >= 0 else OTHER for purpose in purposes)
        return dict(counts.most_common())

    @property
    def outside_text(self) -> str:
        """The nodes outside the step in a sentence; "" where there are none."""
        total = sum(self.outside.values())
        if not total:
            return ""
        parts = ", ".join(f"{purpose} {count:,}" for purpose, count in self.outside.items())
        which = "" if list(self.outside) == [OTHER] else f": {parts}"
        return f"{total:,} node{' lies' if total == 1 else 's lie'} outside the step{which}."

    def text(self, release: str) -> str:
        """Return the subject in one line.

        Args:
            release: the TensorFlow that the graph is placed as.
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
    """Return [nodes] the bookkeeping purpose of each node, worked out once for a graph.

    Args:
        graph: the graph.
    """
    found = graph.__dict__.get("_bookkeeping")
    if found is None:
        found = graph.__dict__["_bookkeeping"] = bookkeeping(GraphColumns(graph))
    return found


def subject_of(
    graph: PlacementGraph,
    catalogue: Catalogue,
    fetches: Any = None,
    feeds: Iterable[Any] = (),
    *,
    whole_graph: bool = False,
) -> Subject:
    """Return the subject of a question.

    Args:
        graph: the graph, as it is placed.
        catalogue: op definitions.
        fetches: names, tensors, operations, or lists and dicts of them; of a signature also the names of its outputs;
            None: the default.
        feeds: names of tensors that are fed, tensors or operations.
        whole_graph: whether every node runs.

    Raises:
        InvalidArgumentError: the graph is empty, or a fetch or feed is not in it; lists the names there are.
        TypeError: ``fetches`` holds an object that cannot be fetched.
    """
    if not len(graph):
        raise InvalidArgumentError.of("The graph has no nodes: there is no step to run.")
    feeds = list(feeds)
    is_default = fetches is None and not whole_graph
    known: Subject | None = graph.__dict__.get("_subject")
    if is_default and not feeds and known is not None:
        return known
    if whole_graph:
        what, targets = "Whole graph", _ends(graph, np.ones(len(graph), dtype=bool))
    elif fetches is not None:
        names = [
            one for name in fetch_names(fetches) for one in signature_tensors(graph)[1].get(name, (name,))
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
    found = Subject(graph, what, tuple(targets), fed, is_default)
    if is_default and not feeds:
        graph.__dict__["_subject"] = found
    return found


def signature_tensors(graph: PlacementGraph) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return inputs and outputs of the signature that a graph is: name in the signature to names of tensors.

    Args:
        graph: the graph; both are empty unless it is a signature of a model.
    """
    found: Any = graph.__dict__.get("_signature_tensors")
    if found is None:
        source = graph.source
        is_signature = isinstance(source, PlacedPart) and source.part.signature and not source.part.function
        found = source.model.signature_tensors(source.part) if is_signature else ({}, {})
        graph.__dict__["_signature_tensors"] = found
    return found


def tensor_feeds(graph: PlacementGraph, feeds: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Return feeds by tensor: names of a signature's inputs become names of tensors.

    Args:
        graph: the graph.
        feeds: name, tensor or operation to a shape or an array.

    Raises:
        InvalidArgumentError: an input of the signature consists of several tensors.
        TypeError: the feeds are no mapping.
    """
    if not isinstance(feeds or {}, Mapping):
        raise TypeError(f"feeds: tensors, or their names, with shapes or arrays, in a dict; got {feeds!r}")
    inputs = signature_tensors(graph)[0]
    found: dict[Any, Any] = {}
    for key, value in (feeds or {}).items():
        tensors = inputs.get(key, ()) if isinstance(key, str) else ()
        if len(tensors) > 1:
            raise InvalidArgumentError.of(
                f"Input '{key}' of the signature consists of {len(tensors)} tensors: feed each of them",
                facts={"tensors": ", ".join(tensors)},
            )
        found[tensors[0] if tensors else key] = value
    return found


def fetch_names(fetches: Any) -> list[str]:
    """Return the names in whatever structure ``Session.run`` accepts; ``^name`` is an operation without a result.

    Args:
        fetches: a name, tensor, operation or variable, or lists, tuples and dicts of them.

    Raises:
        TypeError: it holds an object that cannot be fetched.
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


def feed_name(key: Any) -> str:
    """Return the name of a feed.

    Args:
        key: a name, tensor or operation.

    Raises:
        TypeError: it is nothing of the kind.
    """
    name = (
        key.decode()
        if isinstance(key, bytes)
        else key
        if isinstance(key, str)
        else getattr(key, "name", None)
    )
    if not isinstance(name, str):
        raise TypeError(f"a feed is named by a name, a tensor or an operation; got {key!r}")
    return name


def _tensor(graph: PlacementGraph, name: str, use: str, catalogue: Catalogue) -> tuple[int, int]:
    """Return node and output of a name; output -1 where it names an operation."""
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
        alike = suggestions(node_name, [*own, *graph.names])
        facts = {"requested as": f"a {use}"}
        if own:
            facts[f"{'inputs' if use == 'feed' else 'outputs'} of the signature"] = ", ".join(own[:_SHOWN])
        if use == "feed":
            facts["placeholders"] = ", ".join(_placeholders(graph)[:_SHOWN]) or "none: nothing has to be fed"
        elif not own:
            _, targets = _default(graph, catalogue)
            facts["outputs of the graph"] = ", ".join(graph.names[node] for node, _ in targets[:_SHOWN])
        raise InvalidArgumentError.of(
            f"Tensor {name}, specified in either feed_devices or fetch_devices was not found in the Graph",
            facts=facts,
            hint=", ".join(alike) or None,
        )
    node = graph.index[node_name]
    if use == "feed" and not _has_output(graph, node):
        raise _not_fed(graph, node_name)
    return node, output


def _not_fed(graph: PlacementGraph, name: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"The operation '{name}' cannot be fed: it has no outputs.",
        facts={"placeholders": ", ".join(_placeholders(graph)[:_SHOWN]) or "none: nothing has to be fed"},
        hint="feed a tensor, by its name",
    )


def _has_output(graph: PlacementGraph, node: int) -> bool:
    """Whether a node has an output, as far as the graph tells."""
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
    """Return what a step of the graph is where nothing is fetched explicitly, and its targets."""
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
    """The operations of the collection ``train_op`` that are in the graph."""
    collection = getattr(graph.source, "get_collection", None)
    if collection is not None:
        names = [split_tensor_name(getattr(op, "name", str(op)))[0] for op in collection(_TRAIN_OP)]
    else:
        names = graph.source.model.collection(_TRAIN_OP) if isinstance(graph.source, PlacedPart) else []
    return (name for name in names if name in graph.index)


def _reached(graph: PlacementGraph, starts: np.ndarray) -> np.ndarray:
    """[nodes] bool: some nodes and everything that depends on them."""
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
    """Return the operations among some nodes that no other of these nodes consumes.

    Args:
        graph: the graph.
        among: [nodes] bool: the nodes whose edges count.
        chosen: [nodes] bool: the nodes that may be ends; None: all of ``among``.
    """
    is_consumed = np.zeros(len(graph), dtype=bool)
    is_consumed[graph.src[among[graph.dst]]] = True
    may_end = among if chosen is None else chosen
    found = may_end & ~is_consumed
    if graph.origin is not None:  # a call stands for all nodes that inlining added for it
        own = np.array([graph.origin(node) is None for node in range(len(graph))], dtype=bool)
        read_by_own = np.zeros(len(graph), dtype=bool)
        read_by_own[graph.src[own[graph.dst] & among[graph.dst]]] = True
        found = found & own if (found & own).any() else may_end & own & ~read_by_own
    return [(node, CONTROL) for node in np.flatnonzero(found).tolist()]


def _listed(what: str, names: Sequence[str]) -> str:
    """``Outputs 'a', 'b' and 3 more``."""
    shown = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    plural = "" if len(names) == 1 or what.endswith("step") else "es" if what.endswith("ch") else "s"
    return f"{what}{plural} {shown}"
