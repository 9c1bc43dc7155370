"""``kernels``, apart from the other tools: a package has that name too, which the function has to come after."""

from __future__ import annotations

from gpuplace.typing import DataFrame


def kernels(op: str, release: str | None = None) -> DataFrame:
    """Returns the kernels of an op type as a pandas ``DataFrame``: device type, attribute values, host memory.

    Args:
        op: an op type, such as ``"MatMul"``.
        release: whose catalogue; None: the process's release.

    Raises:
        NotFoundError: there is no such op.
    """
    from gpuplace.jupyter.frames.placement_frames import kernels_frame

    return kernels_frame(op, release)
