"""``tf.distribute``: strategies that copy a model to several devices.

Source: tensorflow/python/distribute, release 1.15 (names).
"""

from __future__ import annotations

from gpuplace.ops.distribute.contexts import ReduceOp
from gpuplace.tf1.distribute.contexts import ReplicaContext
from gpuplace.tf1.distribute.cross_device import CrossDeviceOps, NcclAllReduce, ReductionToOneDevice
from gpuplace.tf1.distribute.current import (
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from gpuplace.tf1.distribute.inputs import InputContext
from gpuplace.tf1.distribute.strategy import Strategy, StrategyExtended
from gpuplace.tf1.training.mirrored_strategy import MirroredStrategy, OneDeviceStrategy

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
