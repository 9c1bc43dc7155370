"""gpuplace in JupyterLab and Notebook 7: opens TensorFlow's files, and shows saved explorers without a kernel.

It is a separate package so that starting a Jupyter server does not load gpuplace; other processes, which do, write the
pages. The scripts for JupyterLab are in ``labextension/``; there is no build step.
"""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": "gpuplace_jupyter"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Add the handlers to a server.

    Args:
        server: the running ``ServerApp``.
    """
    from gpuplace_jupyter.handlers import add_handlers

    add_handlers(server)
