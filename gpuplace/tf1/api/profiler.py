"""``tf.profiler``: parameters, operations, times and bytes of graphs; loaded with protobuf on first use.

Source: tensorflow/_api/v1/profiler, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names

__all__ = [
    "AdviceProto",
    "GraphNodeProto",
    "MultiGraphNodeProto",
    "OpLogProto",
    "ProfileOptionBuilder",
    "Profiler",
    "advise",
    "profile",
    "write_op_log",
]

if TYPE_CHECKING:
    from gpuplace.tf1.profiling.messages import AdviceProto, GraphNodeProto, MultiGraphNodeProto, OpLogProto
    from gpuplace.tf1.profiling.op_log import write_op_log
    from gpuplace.tf1.profiling.option_builder import ProfileOptionBuilder
    from gpuplace.tf1.profiling.profiler import Profiler, advise, profile
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "gpuplace.tf1.profiling.messages": "AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto",
            "gpuplace.tf1.profiling.op_log": "write_op_log",
            "gpuplace.tf1.profiling.option_builder": "ProfileOptionBuilder",
            "gpuplace.tf1.profiling.profiler": "Profiler advise profile",
        },
    )
