"""GPU options that environment variables override.

>>> allow_growth_value(True, {}), garbage_collection_value({"TF_ENABLE_GPU_GARBAGE_COLLECTION": "false"})
(True, False)

Source: tensorflow/core/common_runtime/gpu/gpu_bfc_allocator.cc, release 1.15.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

_logger = logging.getLogger(__name__)


def allow_growth_value(allow_growth: bool, environ: Mapping[str, str]) -> bool:
    """Return ``allow_growth``, as overridden by TF_FORCE_GPU_ALLOW_GROWTH."""
    variable = "TF_FORCE_GPU_ALLOW_GROWTH"
    forced = environ.get(variable)
    if forced is None:
        return allow_growth
    if forced in ("true", "false"):
        if allow_growth != (forced == "true"):
            _logger.warning(
                "Overriding allow_growth setting because the %s environment variable is set. Original config value "
                "was %d.",
                variable,
                allow_growth,
            )
        return forced == "true"
    _logger.error(
        'The %s environment variable is set but could not be parsed: "%s". Valid values are "true" or "false". '
        "Using original config value of %d.",
        variable,
        forced,
        allow_growth,
    )
    return allow_growth


def garbage_collection_value(environ: Mapping[str, str]) -> bool:
    """Return TF_ENABLE_GPU_GARBAGE_COLLECTION as a bool; True by default."""
    variable = "TF_ENABLE_GPU_GARBAGE_COLLECTION"
    text = environ.get(variable, "true")
    if text not in ("true", "false"):
        _logger.error(
            'The %s environment variable is set but could not be parsed: "%s". Valid values are "true" or "false". '
            'Using the default value "true".',
            variable,
            text,
        )
    return text != "false"
