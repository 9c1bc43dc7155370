"""``tf.contrib``: what there is of it, loaded when it is first used.

Source: tensorflow/contrib/__init__.py, release 1.15 (names).
"""

from typing import TYPE_CHECKING, Any

__all__ = ["learn", "lookup", "staging"]

if TYPE_CHECKING:
    from gpuplace.api import contrib_learn as learn
    from gpuplace.api import contrib_lookup as lookup
    from gpuplace.api import contrib_staging as staging
else:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return import_module(f"gpuplace.api.contrib_{name}")
