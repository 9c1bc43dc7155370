"""``tf.config.optimizer``: how the graphs of sessions that are given no config are optimized.

Source: tensorflow/python/framework/config.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.runtime.memory.process_state import process_state

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]


def get_jit() -> bool:
    """Whether XLA compiles graphs; here it never does, the choice is kept."""
    return bool(process_state.defaults.jit)


def set_jit(enabled: bool) -> None:
    """Chooses whether XLA compiles graphs.

    Args:
        enabled: whether it does.
    """
    process_state.defaults.jit = bool(enabled)


def get_experimental_options() -> dict[str, Any]:
    """The optimizers of Grappler that were turned on or off, by name, and its other options."""
    flags = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    return {**flags, **process_state.defaults.rewrites}


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Turns optimizers of Grappler on or off.

    Args:
        options: name, such as ``"constant_folding"`` or ``"dependency_optimization"``, to True or False.
    """
    process_state.defaults.set_rewrites(options)
