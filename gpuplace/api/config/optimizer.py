"""``tf.config.optimizer``: graph optimization in sessions without a config.

Source: tensorflow/python/framework/config.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.runtime.memory.process_state import process_state

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]


def get_jit() -> bool:
    """Return whether XLA compilation is on; gpuplace stores the setting but never compiles with XLA."""
    return bool(process_state.defaults.jit)


def set_jit(enabled: bool) -> None:
    """Turn XLA compilation on or off.

    Args:
        enabled: whether it is on.
    """
    process_state.defaults.jit = bool(enabled)


def get_experimental_options() -> dict[str, Any]:
    """Return the explicitly set Grappler optimizers and options, by name."""
    flags = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    return {**flags, **process_state.defaults.rewrites}


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Turn Grappler optimizers on or off.

    Args:
        options: name, such as ``"constant_folding"`` or ``"dependency_optimization"`` -> bool.
    """
    process_state.defaults.set_rewrites(options)
