"""Choose the content of a picture: boxes, edges and a legend, with at most a few hundred boxes.

::

    PlacementView ──scopes──> which scopes are open ──> boxes (ops, closed scopes, bundles) ──> edges between boxes
                              as asked, or as many
                              as fit below the cap

- A closed scope is one box with its number of nodes and the share of each device.
- If there are still too many boxes, equal sibling scopes (towers, layers) become one *bundle*, and so do ops with the
  same type, device and scope. A bundle opens like a scope.
- Edges between the same two boxes become one edge with counts. Between layers of a model, only the forward flow and
  copies between devices are drawn: without gradients, the layout of a training graph takes hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from gpuplace.typing import PlacementLike
from gpuplace.views.picture.outline import Outline, outline
from gpuplace.views.tables.palette import device_style
from gpuplace.views.tables.placement_view import PlacementView, TensorFact, view_of
from gpuplace.views.tables.scopes import ROOT, ScopeTree
from gpuplace.views.tables.text import sizes_text
from gpuplace.web.rules import RULES, words

__all__ = [
    "AUTO_CAP",
    "HARD_CAP",
    "Box",
    "Cluster",
    "Drawing",
    "Link",
    "draw",
    "link_of",
    "links_of",
]

_FOLDING = RULES["folding"]
AUTO_CAP: int = _FOLDING["opened"]
"""Maximum number of boxes in a first view."""
HARD_CAP: int = _FOLDING["most_boxes"]
"""Maximum number of boxes in any picture."""
BUNDLE_FROM: int = _FOLDING["bundle_from"]
"""Number of boxes from which equal ones are bundled."""
LEAST_ALIKE: int = _FOLDING["least_alike"]
"""Minimum number of boxes in a bundle."""


@dataclass(frozen=True, slots=True)
class Box:
    """One box: an op, a closed scope, or a bundle of either."""

    id: str
    """``n12`` for the op at position 12, ``s3`` for scope 3, ``b7`` for a bundle."""
    kind: str
    """``"op"``, ``"scope"`` or ``"bundle"``."""
    label: str
    """Name inside its scope."""
    name: str
    """Full name of the op, path of the scope, or key that opens the bundle."""
    op_type: str
    """Op type of the op, or of all ops in a bundle; ``""`` otherwise."""
    cluster: int
    """Scope that contains it."""
    nodes: int
    """Number of nodes in the box."""
    shares: tuple[tuple[str, int], ...]
    """``(full device name, nodes)``, the largest first; ``""`` for no device."""
    requests: tuple[str, ...]
    """Devices requested inside, as written."""
    unmet: int
    """Number of nodes whose device request was overridden."""
    guilty: int
    """Number of nodes that an error names."""
    copies: int = 1
    """Number of equal scopes in a bundle."""
    share_of: int | None = None
    """For a box in a device lane: its number of nodes on all devices; None otherwise."""

    @property
    def device(self) -> str:
        """Device of most nodes."""
        return self.shares[0][0] if self.shares else ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An open scope, drawn as a frame."""

    scope: int
    path: str
    label: str
    parent: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Link:
    """All edges from one box to another."""

    src: str
    dst: str
    tensors: int
    """Number of data edges."""
    controls: int
    """Number of control edges."""
    copies: int
    """Copies between devices: a tensor counts once for each device that it goes to."""
    numbers: frozenset[int]
    """Positions of these copies in ``view.copies``."""
    size: str
    """Size of the copies as text; ``""`` without copies."""
    tensor: TensorFact | None
    """The tensor, if there is exactly one."""
    name: str
    """``a:0 → MatMul`` for a single edge, counts for several."""
    rank: int
    """1 if the target is below the source, -1 if above (against the flow), 0 if either is allowed."""

    @property
    def below(self) -> tuple[tuple[str, str], ...]:
        """Ids of the upper and the lower box; empty if the order is free."""
        ends = (self.src, self.dst)
        return () if not self.rank else (ends if self.rank > 0 else ends[::-1],)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture as records."""

    boxes: tuple[Box, ...]
    clusters: tuple[Cluster, ...]
    links: tuple[Link, ...]
    legend: tuple[tuple[str, int], ...]
    """``(full device name, nodes)`` of the whole graph, all devices of the machine, in the legend's order."""
    opened: tuple[str, ...]
    """Paths of open scopes and keys of open bundles."""
    nodes: int
    edges: int
    copies: int
    """Copies between devices in a step."""
    size: str
    """Size of the copies as text; ``""`` without copies."""
    unmet: int
    guilty: int
    shelved: frozenset[str]
    """Ids of the closed bookkeeping shelves, which have no links."""
    backward: bool
    """Whether links of gradients and updates between layers are drawn."""
    box_of: np.ndarray = field(repr=False)
    """[nodes] position of each node's box."""
    view: PlacementView = field(repr=False)
    """The drawn view."""
    whole: Drawing | None = field(default=None, repr=False)
    """For a drawing by device: the drawing before the split by device."""


def draw(
    placement: PlacementLike,
    opened: Iterable[str] | None = None,
    *,
    cap: int = AUTO_CAP,
    hard_cap: int = HARD_CAP,
    backward: bool = False,
) -> Drawing:
    """Choose the content of a picture of a placement.

    Args:
        placement: a `Placement` or a `PlacementView`.
        opened: paths of scopes and keys of bundles to open; None: as many as fit.
        cap: maximum number of boxes if ``opened`` is None.
        hard_cap: maximum number of boxes in any case.
        backward: whether lines of gradients and updates between layers of a model are drawn too.
    """
    view = view_of(placement)
    tree = outline(view)
    keys = frozenset(opened or ())
    if opened is None:
        scopes = tree.first_view(min(cap, hard_cap))
    else:
        requested = sorted(scope for scope in map(tree.position, keys) if scope is not None)
        scopes = tree.with_parents(requested)
    if len(scopes) > hard_cap // 2:  # each open scope shows at least one box
        scopes = frozenset(sorted(scopes, key=lambda scope: (tree.depth[scope], scope))[: hard_cap // 2])
    boxes, box_of = _Boxes(view, tree, scopes, keys, hard_cap).result()
    links = links_of(view, tree, boxes, box_of, backward=backward)
    order = sorted(view.counts, key=lambda device: device_style(device).order)
    return Drawing(
        boxes=tuple(boxes),
        clusters=tuple(_clusters(tree, scopes, boxes)),
        links=tuple(links),
        legend=tuple((device, view.counts[device]) for device in order),
        opened=tuple(
            sorted(
                {tree.paths[scope] for scope in scopes} - {""}
                | {key for key in keys if tree.position(key) is None}
            )
        ),
        nodes=len(view),
        edges=len(view.src),
        copies=sum(copy.runs for copy in view.copies),
        size=sizes_text(view, view.copies) if view.copies else "",
        unmet=int(view.is_unmet.sum()),
        guilty=len(view.guilty),
        shelved=frozenset(f"s{shelf}" for shelf in tree.shelves) & {box.id for box in boxes},
        backward=backward,
        box_of=box_of,
        view=view,
    )


class _Boxes:
    """Assign nodes to boxes."""

    def __init__(
        self, view: PlacementView, tree: ScopeTree, scopes: frozenset[int], keys: Collection[str], cap: int
    ) -> None:
        self.view, self.tree, self.scopes, self.keys = view, tree, scopes, keys
        self.shown, self.closed = tree.representative(scopes)
        self.groups: list[tuple[str, str, list[int], int]] = []  # kind, key, scopes or nodes, cluster
        members: dict[int, list[int]] = {}
        inside: dict[int, list[int]] = {}
        for scope in np.unique(self.shown[self.closed]).tolist():  # in flow order
            inside.setdefault(int(tree.parent[scope]), []).append(scope)
        open_nodes = np.flatnonzero(~self.closed)
        for node, scope in zip(open_nodes.tolist(), self.shown[open_nodes].tolist(), strict=True):
            members.setdefault(scope, []).append(node)
        count = sum(map(len, inside.values())) + sum(map(len, members.values()))
        wide = sorted(
            {*inside, *members}, key=lambda scope: -len(inside.get(scope, ())) - len(members.get(scope, ()))
        )
        self.fair = max(1, cap // max(1, len(wide)))
        for scope in wide:
            closed, nodes = inside.get(scope, []), members.get(scope, [])
            if count > min(cap, BUNDLE_FROM):
                count -= self._bundle(scope, closed, nodes, cap, count)
            else:
                self._plain(scope, closed, nodes)

    def _plain(self, cluster: int, closed: Iterable[int], nodes: Iterable[int]) -> None:
        self.groups += [("scope", self.tree.paths[scope], [scope], cluster) for scope in closed]
        self.groups += [("op", self.view.names[node], [node], cluster) for node in nodes]

    def _bundle(self, cluster: int, closed: list[int], nodes: list[int], cap: int, count: int) -> int:
        """Bundle equal boxes in a scope; return the number of boxes saved."""
        before, first, path = len(closed) + len(nodes), len(self.groups), self.tree.paths[cluster]
        bundled: set[int] = set()
        for alike_scopes in self.tree.repeats(cluster, self.view.op_type) if closed else ():
            key = f"{self.tree.paths[alike_scopes[0]]}*"
            run = [scope for scope in alike_scopes if scope not in self.scopes]
            if key not in self.keys and len(run) >= LEAST_ALIKE:
                bundled.update(run)
                self.groups.append(("bundle of scopes", key, run, cluster))
        self._plain(cluster, [scope for scope in closed if scope not in bundled], ())
        alike: dict[tuple[int, int], list[int]] = {}
        for node in nodes:
            alike.setdefault((int(self.view.op_type[node]), int(self.view.device[node])), []).append(node)
        for (op_type, device), same in alike.items():
            key = f"{path}/:{self.view.op_types[op_type]}:{self.view.labels[device]}"
            if len(same) >= LEAST_ALIKE and key not in self.keys:
                self.groups.append(("bundle of ops", key, same, cluster))
            else:
                self._plain(cluster, (), same)
        room = max(self.fair, cap - (count - before))
        bundles = self.groups[first:]
        if len(bundles) > room:  # no boxes are alike: bundle the rest
            kept, rest = bundles[: room - 1], bundles[room - 1 :]
            nodes_left = [node for group in rest for node in self._nodes(group)]
            self.groups[first:] = [*kept, ("bundle of rest", f"{path}/:rest", nodes_left, cluster)]
        return before - (len(self.groups) - first)

    def _nodes(self, group: tuple[str, str, list[int], int]) -> list[int]:
        kind, _, members, _ = group
        if kind in ("scope", "bundle of scopes"):
            return np.flatnonzero(self.closed & np.isin(self.shown, members)).tolist()
        return members

    def result(self) -> tuple[list[Box], np.ndarray]:
        """Return the boxes, and [nodes] the position of each node's box."""
        view, tree = self.view, self.tree
        box_of = np.full(len(view), -1, dtype=np.int64)
        of_scope = np.full(len(tree), -1, dtype=np.int64)
        for position, (kind, _, members, _) in enumerate(self.groups):
            if kind in ("scope", "bundle of scopes"):
                of_scope[members] = position
            else:
                box_of[members] = position
        by_scope = self.closed & (box_of < 0)
        box_of[by_scope] = of_scope[self.shown[by_scope]]
        count = len(self.groups)
        devices = len(view.devices)
        share = np.zeros((count, devices + 1), dtype=np.int64)
        np.add.at(share, (box_of, view.device), 1)
        unmet = np.bincount(box_of[view.is_unmet], minlength=count).tolist()
        guilty = (
            np.bincount(box_of[sorted(view.guilty)], minlength=count).tolist() if view.guilty else [0] * count
        )
        requests_of: list[set[int]] = [set() for _ in range(count)]
        distinct = max(1, len(view.requests))
        for code in np.flatnonzero(np.bincount(box_of * distinct + view.request)).tolist():
            requests_of[code // distinct].add(code % distinct)
        full = [*view.devices, ""]
        boxes = []
        for position, (kind, key, members, cluster) in enumerate(self.groups):
            shares = sorted(
                ((full[device], int(n)) for device, n in enumerate(share[position]) if n),
                key=lambda item: -item[1],
            )
            requests = sorted(
                view.requests[request] for request in requests_of[position] if view.requests[request]
            )
            identity, label, op_type = self._names(position, kind, key, members)
            boxes.append(
                Box(
                    id=identity,
                    kind=kind.partition(" ")[0],
                    label=label,
                    name=key,
                    op_type=op_type,
                    cluster=cluster,
                    nodes=sum(n for _, n in shares),
                    shares=tuple(shares),
                    requests=tuple(requests),
                    unmet=unmet[position],
                    guilty=guilty[position],
                    copies=len(members) if kind == "bundle of scopes" else 1,
                )
            )
        return boxes, box_of

    def _names(self, position: int, kind: str, key: str, members: list[int]) -> tuple[str, str, str]:
        """Return id, label and op type."""
        view, tree = self.view, self.tree
        if kind == "op":
            return f"n{members[0]}", tree.local_name(members[0]), view.op_type_of(members[0])
        if kind == "scope":
            return f"s{members[0]}", tree.name(members[0]), ""
        if kind == "bundle of scopes":
            return f"b{members[0]}", f"{tree.name(members[0])} … {tree.name(members[-1])}", ""
        if kind == "bundle of ops":
            op_type = view.op_type_of(members[0])
            return f"m{members[0]}", op_type, op_type
        return f"r{members[0]}", words("everything_else"), ""


def _clusters(tree: ScopeTree, scopes: frozenset[int], boxes: list[Box]) -> list[Cluster]:
    """Return the open scopes that contain a box, parents first."""
    needed: set[int] = set()
    for box in boxes:
        scope = box.cluster
        while scope != ROOT and scope not in needed:
            needed.add(scope)
            scope = int(tree.parent[scope])
    return [
        Cluster(scope, tree.paths[scope], tree.name(scope), int(tree.parent[scope]), tree.size(scope))
        for scope in sorted(needed & scopes)
    ]


def links_of(
    view: PlacementView, tree: Outline, boxes: list[Box], box_of: np.ndarray, *, backward: bool = False
) -> list[Link]:
    """Return the links between boxes; shelves have no links to other boxes.

    Args:
        view: view to draw.
        tree: scopes of the view.
        boxes: the boxes.
        box_of: [nodes] position of each node's box.
        backward: whether lines of gradients and updates between layers of a model are drawn too.
    """
    if not len(view.src):
        return []
    count = len(boxes)
    src, dst = box_of[view.src], box_of[view.dst]
    shelf = tree.shelf_of[tree.scope_of]
    is_shown = (src != dst) & (shelf[view.src] == shelf[view.dst])
    # Between layers only forward flow and copies are drawn; control edges and gradients only within a layer.
    is_aside = tree.is_training[view.src] | tree.is_training[view.dst] | (view.is_control & tree.has_layers)
    cluster = np.array([box.cluster for box in boxes])
    if not backward:
        is_layer = np.array([box.kind == "scope" and tree.is_layer[tree.index[box.name]] for box in boxes])
        is_inside = (cluster[src] == cluster[dst]) & ~(is_layer[src] & is_layer[dst]) & (cluster[src] != ROOT)
        is_shown &= ~is_aside | view.is_copy | is_inside
    between = np.flatnonzero(is_shown)
    is_training = np.bincount(box_of[~tree.is_training], minlength=count) == 0
    forward = np.flatnonzero((src != dst) & ~is_aside)
    is_on_way = np.bincount(np.concatenate([src[forward], dst[forward]]), minlength=count) > 0
    is_apart = np.array([tree.is_outside(box.cluster) for box in boxes]) & is_training
    codes, inverse = np.unique(src[between] * count + dst[between], return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(len(codes) + 1)).tolist()

    def rank(start: int, end: int, edges: np.ndarray) -> int:
        """Return `Link.rank`: gradients and updates are below their layers, within a scope or outside all layers.

        A result of gradients alone is below them.
        """
        if not is_aside[edges].all() or not (is_on_way[end] or is_training[end]):
            return 1
        trained, is_near = (is_training[start], is_training[end]), cluster[start] == cluster[end]
        if not any(trained) or not (is_near or is_apart[start] or is_apart[end]):
            return 0
        return -1 if trained == (True, False) else 1

    links = []
    for k, code in enumerate(codes.tolist()):
        edges = between[order[starts[k] : starts[k + 1]]]
        start, end = code // count, code % count
        links.append(link_of(view, boxes[start].id, boxes[end].id, edges, rank(start, end, edges)))
    return links


def link_of(view: PlacementView, src: str, dst: str, edges: np.ndarray, rank: int = 1) -> Link:
    """Combine edges into the link between two boxes."""
    controls = int(view.is_control[edges].sum())
    sent = view.copies_along(edges)
    data = edges[~view.is_control[edges]]
    carried = set(zip(view.src[data].tolist(), view.src_output[data].tolist(), strict=True))
    only = next(iter(carried)) if len(carried) == 1 else None
    if len(edges) == 1:
        node, output = int(view.src[edges[0]]), int(view.src_output[edges[0]])
        start = f"^{view.names[node]}" if output < 0 else f"{view.names[node]}:{output}"
        name = f"{start} → {view.names[int(view.dst[edges[0]])]}"
    else:
        name = f"{len(data)} tensors, {controls} control edges"
    return Link(
        src=src,
        dst=dst,
        tensors=len(data),
        controls=controls,
        copies=sum(copy.runs for copy in sent),
        numbers=frozenset(view.copy_of_edge[edges].tolist()) - {-1},
        size=sizes_text(view, sent) if sent else "",
        tensor=view.tensor_of(*only) if only is not None else None,
        name=name,
        rank=rank,
    )
