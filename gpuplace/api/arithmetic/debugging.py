"""``tf.debugging``: checks of values, types and shapes, and the log of device placement.

Source: tensorflow/_api/v1/debugging, release 1.15 (names).
"""

from gpuplace.ops.array.reshaping import check_numerics
from gpuplace.ops.array.reshaping import verify_tensor_all_finite as assert_all_finite
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.math.check_ops import *
from gpuplace.ops.math.check_ops import assert_shapes
from gpuplace.ops.math.unary import is_finite, is_inf, is_nan
from gpuplace.runtime.memory.process_state import process_state

__all__ = [
    "Assert", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer",
    "assert_less", "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive",
    "assert_none_equal", "assert_positive", "assert_proper_iterable", "assert_rank", "assert_rank_at_least",
    "assert_rank_in", "assert_same_float_dtype", "assert_scalar", "assert_shapes", "assert_type", "check_numerics",
    "get_log_device_placement", "is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_numeric_tensor",
    "is_strictly_increasing", "set_log_device_placement",
]  # fmt: skip


def get_log_device_placement() -> bool:
    """Return whether sessions without a config log where each node is placed."""
    return bool(process_state.defaults.scalars.get("log_device_placement", False))


def set_log_device_placement(enabled: bool) -> None:
    """Choose whether sessions without a config log where each node is placed.

    Args:
        enabled: whether they log it.

    Raises:
        RuntimeError: the logical devices have been listed already.
    """
    if bool(enabled) != get_log_device_placement() and process_state.defaults.is_fixed:
        raise RuntimeError("Device placement logging must be set at program startup")
    process_state.defaults.scalars["log_device_placement"] = bool(enabled)
