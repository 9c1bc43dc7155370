"""The function ``kernels``, in its own module: a package has the same name, so it must be assigned later."""

from __future__ import annotations

from gpuplace.typing import DataFrame


def kernels(op: str, release: str | None = None) -> DataFrame:
    """Return the kernels of an op type as a pandas ``DataFrame``: device type, attribute values, host memory.

    Args:
        op: an op type, such as ``"MatMul"``.
        release: release of the catalogue; None: that of the process.

    Raises:
        NotFoundError: the op does not exist.
    """
    from gpuplace.jupyter.frames.placement_frames import kernels_frame

    return kernels_frame(op, release)
