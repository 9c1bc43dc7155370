"""Tree views: nodes by name scope, nodes by input, Python lines by caller.

Source: tensorflow/core/profiler/internal/tfprof_scope.cc, tfprof_graph.cc and tfprof_code.cc, release 1.15
(counts, shown items, output).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from typing import Any

from gpuplace.tf1.profiling.graph_profile import GraphProfile
from gpuplace.tf1.profiling.messages import GraphNodeProto, MultiGraphNodeProto
from gpuplace.tf1.profiling.nodes import NodeProfile
from gpuplace.tf1.profiling.options import Options, is_any, matches
from gpuplace.tf1.profiling.views.columns import BYTES, legend, memory, micros, number, shapes_text, times
from gpuplace.tf1.profiling.views.items import ROOT, Item, NodeItem, NodesItem, is_shown, ordered, unrolled

__all__ = ["CodeView", "GraphView", "ScopeView", "TreeView"]

_Recursion = Generator[Any, Any, list[Any]]


class TreeView:
    """A tree of items.

    Args:
        profile: the nodes.
    """

    message: Any = GraphNodeProto
    of_groups = False
    """Whether an item stands for several nodes."""
    once = False
    """Whether an item appears only below its first parent; children of items that do not count move up."""

    def __init__(self, profile: GraphProfile) -> None:
        self.profile = profile
        self.root: Any = self._root()
        self._seen: set[str] | None = None

    def _root(self) -> Any:
        raise NotImplementedError

    def show(self, options: Options) -> tuple[str, Any]:
        """Arrange the items.

        Args:
            options: what to count and show, and in which order.

        Returns:
            The text, and the root's message.
        """
        kept = self._first(self._count(self.root.children, options))
        self.root.own = {}
        self.root.add_up(kept, with_own=False)
        start = options.patterns["start_name"]
        if not is_any(start):
            kept = self._first(self._begin(kept, start))
        self.root.kept = kept
        self._first(self._show([self.root], options, 1, 0))
        message = self.message()
        lines = [legend(options.select, self.of_groups)]
        waiting = [(self.root, message)]
        while waiting:
            item, about = waiting.pop()
            item.write(about)
            lines.append(item.line)
            waiting += [(below, about.children.add()) for below in item.kept][::-1]
        return "".join(lines), message

    def _first(self, task: _Recursion) -> list[Any]:
        self._seen = set() if self.once else None
        items: list[Any] = unrolled(task)
        return items

    def _is_new(self, item: Item) -> bool:
        if self._seen is None:
            return True
        new = item.name not in self._seen
        self._seen.add(item.name)
        return new

    def _count(self, items: list[Any], options: Options) -> _Recursion:
        kept = []
        for item in items:
            if not self._is_new(item):
                continue
            below = yield self._count(item.children, options)
            item.count(options)
            if item.counted or (below and not self.once):
                item.kept = below
                item.add_up(below)
                kept.append(item)
            else:
                kept += below
        return kept

    def _begin(self, items: list[Any], start: tuple[str, ...]) -> _Recursion:
        starts: list[Any] = []
        for item in items:
            if not self._is_new(item):
                continue
            starts += [item] if matches(start, item.name) else (yield self._begin(item.kept, start))
        return starts

    def _show(self, items: list[Any], options: Options, depth: int, indent: int) -> _Recursion:
        lines: list[Any] = []
        for item in items:
            if not self._is_new(item):
                continue
            ends = matches(options.patterns["trim_name"], item.name) or depth > options.max_depth
            if ends and self.of_groups:
                continue
            shown = is_shown(item, options, depth, self.of_groups)
            below = [] if ends else (yield self._show(item.kept, options, depth + 1, indent + 2 * shown))
            if not shown:
                lines += below
                continue
            if options.account_displayed_op_only and not self.of_groups:
                item.add_up(below)
            item.kept = ordered(below, options)
            item.line = f"{' ' * indent}{item.name} ({', '.join(self._columns(item, options))})\n"
            lines.append(item)
        return lines

    def _columns(self, item: Any, options: Options) -> list[str]:
        select = options.select
        counts = [
            f"{_pair(item, count, number)} {unit}"
            for name, count, unit in (("params", "parameters", "params"), ("float_ops", "float_ops", "flops"))
            if name in select
        ]
        measured = [
            *(_pair(item, count, memory) for name, (count, _) in BYTES.items() if name in select),
            *(_pair(item, count, micros) for count, _ in times(select)),
        ]
        devices = ["|".join(item.devices)] if "device" in select and item.devices else []
        types = ["|".join(sorted(item.types))] if "op_types" in select else []
        if self.of_groups:
            last = [f"{name} N/A in code view" for name in ("occurrence", "input_shapes") if name in select]
            return [*measured, *counts, *devices, *types, *last]
        shape = item.node.shape if item.node is not None and "params" in select else []
        sizes = ["x".join(map(str, shape))] if shape else []
        last = []
        if "occurrence" in select:
            defined = f"{'1' if item.counted else '--'}/{number(item.total.get('definition_count', 0))}"
            last.append(f"{_pair(item, 'run_count', number)}|{defined}")
        if "input_shapes" in select:
            last.append(shapes_text(sorted(item.shapes.items()), "|"))
        return [*sizes, *counts, *measured, *devices, *types, *last]


def _pair(item: Item, count: str, form: Any) -> str:
    """Return an item's own count and the sum."""
    own = form(item.own.get(count, 0)) if item.counted else "--"
    return f"{own}/{form(item.total.get(count, 0))}"


class ScopeView(TreeView):
    """Nodes below their name scope, or below the node with its name."""

    def _root(self) -> NodeItem:
        items: dict[str, NodeItem] = {}
        for name, node in self.profile.nodes.items():
            items.setdefault(name, NodeItem(name, self.profile, node))
            while "/" in name:
                name = name.rpartition("/")[0]
                items.setdefault(name, NodeItem(name, self.profile, None, "_kTFScopeParent"))
        root = NodeItem(ROOT, self.profile, None, "_kTFScopeParent")
        for name in sorted(items):
            above = items[name.rpartition("/")[0]] if "/" in name else root
            above.children.append(items[name])
        return root


class GraphView(TreeView):
    """Nodes below the nodes that consume their outputs; nodes without consumers are at the top."""

    once = True

    def _root(self) -> NodeItem:
        items = {name: NodeItem(name, self.profile, node) for name, node in self.profile.nodes.items()}
        consumed: set[str] = set()
        for name, node in self.profile.nodes.items():
            consumed.update(node.inputs)
            items[name].children = [items[one] for one in node.inputs if one in items]
        root = NodeItem(ROOT, self.profile, None, "_TFGraphParent")
        root.children = [item for name, item in items.items() if name not in consumed]
        return root


_LONG = 20
"""Function names are cut after this number of characters."""

_GRADIENT = re.compile(r"(?s).*?gradients/(.+?)_grad/")


class CodeView(TreeView):
    """Python lines, each below the line that calls it; nodes are at the line that created them.

    Nodes of gradients are at the lines that created the original node, marked with `` (gradient)``.
    """

    message = MultiGraphNodeProto
    of_groups = True

    def _root(self) -> NodesItem:
        root = NodesItem(ROOT, self.profile)
        gradients: dict[str, list[NodeProfile]] = {}
        nodes = {name: node for name, node in self.profile.nodes.items() if node.trace and node.trace.traces}
        forward = {}
        for name, node in nodes.items():
            match = _GRADIENT.match(name)
            if match is not None:
                gradients.setdefault(match[1], []).append(node)
            else:
                forward[name] = self._leaf(root, node, "")
        lost = 0
        for name, gradient_nodes in sorted(gradients.items()):
            if name not in forward:
                lost += 1
                continue
            leaf = self._leaf(root, nodes[name], " (gradient)", own=False)
            leaf.nodes.update({node.name: node for node in gradient_nodes})
        if lost:
            print(f"{lost} gradient nodes not accounted", file=sys.stderr)
        return root

    def _leaf(self, root: NodesItem, node: NodeProfile, suffix: str, own: bool = True) -> NodesItem:
        at = root
        for trace in node.trace.traces:
            function = self.profile.texts[trace.function_id]
            if len(function) >= _LONG:
                function = f"{function[: _LONG - 3]}..."
            file = os.path.basename(self.profile.texts[trace.file_id])
            line = f"{file}:{trace.lineno}:{function}{suffix}"
            below = next((item for item in at.children if item.name == line), None)
            if below is None:
                below = NodesItem(line, self.profile)
                at.children.append(below)
            at = below
        if own:
            at.nodes[node.name] = node
        return at

    def show(self, options: Options) -> tuple[str, Any]:
        if options.account_displayed_op_only:
            print("Note: code view ignores account_displayed_op_only", file=sys.stderr)
        return super().show(options)
