"""Contents of a ``RunMetadata``: statistics of the step, partition graphs and the cost graph.

They are selected by the ``RunOptions`` (``trace_level``, ``output_partition_graphs``) and the session's config
(``graph_options.build_cost_model``).

Source: tensorflow/core/common_runtime/direct_session.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.graph import Graph
from gpuplace.runtime.tracing.cost_graph import CostModel, fill_cost_graph
from gpuplace.runtime.tracing.partition_graphs import fill_partition_graphs
from gpuplace.runtime.tracing.step_stats import Trace, fill_step_stats
from gpuplace.typing import ConfigProto, RunMetadata


class CostModels:
    """Cost models of a session, one per signature.

    Args:
        config: ``ConfigProto``, or an object with its attributes.
    """

    def __init__(self, config: ConfigProto) -> None:
        options = getattr(config, "graph_options", None)
        self.every: int = max(getattr(options, "build_cost_model", 0), 0)
        """Interval of measured steps; 0 for none."""
        self._after: int = getattr(options, "build_cost_model_after", 0)
        self._models: dict[Any, CostModel] = {}

    def due(self, signature: Any) -> CostModel | None:
        """Count a step; return its cost model if it is to be measured."""
        if not self.every:
            return None
        model = self._models.setdefault(signature, CostModel(self.every, self._after))
        return model if model.is_due() else None


def fill_run_metadata(
    run_metadata: RunMetadata,
    options: Any,
    plan: Any,
    graph: Graph,
    rules: str,
    trace: Trace | None,
    costs: CostModel | None,
) -> None:
    """Fill in the message.

    Args:
        run_metadata: the message; None if only the cost model is updated.
        options: ``RunOptions``, or None.
        plan: the executed plan.
        graph: the whole graph.
        rules: ``"1.15"`` or ``"2.21"``.
        trace: trace of the step; None if it was not traced.
        costs: cost model for which the step was measured, or None.
    """
    if run_metadata is None:
        from gpuplace.graphdef.messages import RunMetadata

        run_metadata = RunMetadata()
    run_metadata.Clear()
    if trace is not None:
        level = getattr(options, "trace_level", 0)
        fill_step_stats(run_metadata.step_stats, trace, plan.first_transfer, level, rules)
    wants_graphs = getattr(options, "output_partition_graphs", False)
    graphs = run_metadata.partition_graphs
    if wants_graphs or costs is not None:
        fill_partition_graphs(graphs, plan.schedule, graph, plan.first_transfer, rules)
    if costs is not None:
        fill_cost_graph(run_metadata.cost_graph, graphs, run_metadata.step_stats, plan.schedule, costs, rules)
    if not wants_graphs:
        del graphs[:]
