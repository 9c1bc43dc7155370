"""``tf.distribute``: strategies that copy a model to several devices.

Source: tensorflow/python/distribute, release 1.15 (names).
"""

from __future__ import annotations

from gpuplace.ops.distribute.contexts import (
    ReplicaContext,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from gpuplace.ops.distribute.cross_device import CrossDeviceOps, NcclAllReduce, ReduceOp, ReductionToOneDevice
from gpuplace.ops.distribute.inputs import InputContext
from gpuplace.ops.distribute.strategy import Strategy, StrategyExtended
from gpuplace.training.mirrored_strategy import MirroredStrategy, OneDeviceStrategy

__all__ = [
    "CrossDeviceOps",
    "InputContext",
    "MirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "Strategy",
    "StrategyExtended",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
