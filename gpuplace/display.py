"""What a notebook shows for an object by itself: the one way up from a class to the package that draws it.

A class that has a rich view says so in a line, ``_repr_mimebundle_ = notebook_view``; what is shown is in
``gpuplace.jupyter.reprs``, which is loaded when a notebook asks.
"""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["notebook_view"]


def notebook_view(
    self: object, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str] | None:
    """HTML and text of an object, as IPython asks for them; see ``gpuplace.jupyter.reprs``."""
    from gpuplace.jupyter.reprs import mimebundle

    return mimebundle(self, include, exclude)
