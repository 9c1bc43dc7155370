"""The view by op type: one line for each type, with its share and the share of all types from there on.

Source: tensorflow/core/profiler/internal/tfprof_op.cc and tfprof_show_multi.cc, release 1.15 (counts, shown
items, output).
"""

from __future__ import annotations

from typing import Any

from gpuplace.tf1.profiling.graph_profile import GraphProfile
from gpuplace.tf1.profiling.messages import MultiGraphNodeProto
from gpuplace.tf1.profiling.options import Options, is_any, matches
from gpuplace.tf1.profiling.views.columns import BYTES, legend, memory, micros, number, shapes_text, times
from gpuplace.tf1.profiling.views.items import ROOT, NodesItem, is_shown, ordered

__all__ = ["OpView"]


class OpView:
    """Op types.

    Args:
        profile: the nodes.
    """

    def __init__(self, profile: GraphProfile) -> None:
        self.root = NodesItem(ROOT, profile)
        types: dict[str, NodesItem] = {}
        for name, node in profile.nodes.items():
            types.setdefault(node.op, NodesItem(node.op, profile)).nodes[name] = node
        self._items = [types[name] for name in sorted(types)]

    def show(self, options: Options) -> tuple[str, Any]:
        """Arrange the op types.

        Args:
            options: what to count and show, and in which order.

        Returns:
            The text, and the root's message, in which each type is below the previous one.
        """
        self.root.own = dict.fromkeys(self.root.own, 0)
        for item in self._items:
            item.count(options)
            item.add_up(())
        counted = [item for item in ordered(self._items, options) if item.counted]
        self._add_up_from_below(counted)
        shown = []
        for depth, item in enumerate(counted[self._start(counted, options) :]):
            if matches(options.patterns["trim_name"], item.name) or depth > options.max_depth:
                break
            if len(item.counted_nodes) >= options.least["run_count"] and is_shown(item, options, depth, True):
                shown.append(item)
        if options.account_displayed_op_only:
            self._add_up_from_below(shown)
        lines = [legend(options.select, True), *(self._line(item, options) for item in shown)]
        if not self._items:
            lines = [self._line(self.root, options)]
        message = above = MultiGraphNodeProto()
        self.root.write(message)
        for item in shown:
            above = above.children.add()
            item.write(above)
        return "".join(lines), message

    def _add_up_from_below(self, items: list[NodesItem]) -> None:
        """Compute the sums from the last type to the first, and to the root."""
        below: list[NodesItem] = []
        for item in reversed(items):
            item.add_up(below)
            below = [item]
        self.root.add_up(below, with_own=False)

    def _start(self, items: list[NodesItem], options: Options) -> int:
        """Return the index of the first type that the options select."""
        start = options.patterns["start_name"]
        if not start or is_any(start):
            return 0
        return next((at for at, item in enumerate(items) if matches(start, item.name)), len(items))

    def _share(self, item: NodesItem, count: str, text: str, where: dict[str, int]) -> str:
        """Return a column: the count, the share of all types from here on, and its own; 0 if not in ``where``."""
        all_of_it = self.root.total.get(count, 0)
        total, own = item.total.get(count, 0), item.own.get(count, 0)
        shares = (100 * total / all_of_it, 100 * own / all_of_it) if where.get(count, 0) > 0 else (0.0, 0.0)
        return f"{f'{text} ({shares[0]:.2f}%, {shares[1]:.2f}%)':>30}"

    def _line(self, item: NodesItem, options: Options) -> str:
        select, own = options.select, item.own
        columns = [
            self._share(item, count, memory(own.get(count, 0)), own)
            for name, (count, _) in BYTES.items()
            if name in select
        ]
        columns += [
            self._share(item, count, micros(own.get(count, 0)), item.total) for count, _ in times(select)
        ]
        columns += [
            self._share(item, count, f"{number(own.get(count, 0))} {unit}", item.total)
            for name, count, unit in (
                ("params", "parameters", "params"),
                ("float_ops", "float_ops", "float_ops"),
            )
            if name in select
        ]
        if "device" in select:
            columns.append("|".join(item.devices))
        if "op_types" in select:
            columns.append("|".join(sorted(item.types)))
        if "occurrence" in select:
            runs = sum(one.own["run_count"] for one in item.counted_nodes)
            columns.append(f"{f'{runs}|{len(item.counted_nodes)}':>10}")
        line = f"{item.name:<25}{', '.join(columns)}\n"
        shapes = _shapes(item) if "input_shapes" in select else ""
        return f"{line}\n{shapes}\n\n" if shapes else line


def _shapes(item: NodesItem) -> str:
    """Return the different input shapes of a type's nodes, the most frequent first."""
    kinds: dict[str, list[int]] = {}
    for node in item.counted_nodes:
        kind = kinds.setdefault(
            f"input_type: {shapes_text(sorted(node.shapes.items()), f',{chr(9)}')}", [0, 0, 0]
        )
        kind[0] += node.own["run_count"]
        kind[1] += 1
        kind[2] += node.own["exec_micros"]
    return "\n".join(
        f"{text}\t(run*{runs}|defined*{defined})\texec_time: {micros(took)}"
        for text, (runs, defined, took) in sorted(sorted(kinds.items()), key=lambda one: -one[1][0])
    )
