"""The rewrite of a graph before placing: calls and functional control flow become plain nodes.

A session places neither a `While` nor an `If`: both are first lowered to the nodes that the executor knows, and the
functions that they call are copied into the graph. `while` with one loop variable becomes

    x ─> while/enter/_2 ─> while/merge/_3 ─┬─> (the cond function) ─> while/LoopCond/_4
                               ^           └─> while/x_switch/_5 <─────────┘
                               │                 │1            │0
       while/next_iteration/_8 ┴─ (the body) <───┘             └─> while/exit/_7 ─> while (IdentityN) and consumers

and a function that is called by node `f` is copied between Identity nodes:

    a ─> Func/f/input/_9 ─> f/MatMul ─> Func/f/output/_10 ─> consumers of f

The numbers come from one counter of the graph, so the names depend on the order in which nodes are rewritten: first
every AccumulateNV2, then calls and control flow in graph order, with the nodes that a rewrite adds after all others,
then every ParallelConcat.

Modules: `branches` (`If`, `Case`), `loops` (`While`), `inlining` (functions), `aggregates` (`AccumulateNV2`,
`ParallelConcat`); `flow_graph` is the graph that they change, `bodies` holds the function library.

Source: tensorflow/core/common_runtime/lower_functional_ops.cc and its neighbors, releases 1.15 and 2.21.
"""

from gpuplace.placer.lowering.bodies import BodyNode, FunctionBody
from gpuplace.placer.lowering.rewrite import is_affected, lower

__all__ = ["BodyNode", "FunctionBody", "is_affected", "lower"]
