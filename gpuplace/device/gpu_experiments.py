"""Ways to use a real GPU that have never run on one: each is off unless the environment asks for it.

``GPUPLACE_GPU_EXPERIMENTS`` lists them, separated by commas, or is ``all``:

- ``fusion``: elementwise ops that follow each other, and an optimizer's update of a variable, are one kernel.
- ``graphs``: a step of many small kernels is captured as a CUDA graph and launched as a whole.
- ``copy_streams``: copies have streams of their own and run beside kernels.

Without it kernels are called one by one on one stream a GPU, and the host waits for every copy.

>>> sorted(gpu_experiments({"GPUPLACE_GPU_EXPERIMENTS": "graphs, fusion"})), len(gpu_experiments({}))
(['fusion', 'graphs'], 0)
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gpuplace.errors import InvalidArgumentError

ENVIRONMENT_VARIABLE = "GPUPLACE_GPU_EXPERIMENTS"

EXPERIMENTS = frozenset({"fusion", "graphs", "copy_streams"})
"""All there are."""


def gpu_experiments(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """Those that are on.

    Args:
        environ: environment variables; the process's if None.

    Raises:
        InvalidArgumentError: one is asked for that does not exist.
    """
    text = (os.environ if environ is None else environ).get(ENVIRONMENT_VARIABLE, "")
    wanted = frozenset(filter(None, map(str.strip, text.split(","))))
    if wanted == {"all"}:
        return EXPERIMENTS
    if unknown := sorted(wanted - EXPERIMENTS):
        known = [*sorted(EXPERIMENTS), "all"]
        import difflib

        nearest = difflib.get_close_matches(unknown[0], known, n=1)
        raise InvalidArgumentError.of(
            f"{ENVIRONMENT_VARIABLE} names {unknown[0]!r}, which is no experiment.",
            facts={"experiments": ", ".join(known)},
            hint=f"did you mean {nearest[0]}?" if nearest else None,
        )
    return wanted
