"""HiGHS (https://highs.dev), which solves linear programs and comes with the extra ``gpuplace[advise]``."""

from __future__ import annotations

import importlib.util
from typing import Any


def has_solver() -> bool:
    """Whether it is installed."""
    return importlib.util.find_spec("highspy") is not None


def quiet_solver() -> Any:
    """A solver on one thread that prints nothing, not even its name, as it does when it is made."""
    import highspy

    plain: Any = highspy.Highs

    class Quiet(plain):  # type: ignore[misc]
        def enableCallbacks(self) -> None:  # noqa: N802
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    solver = Quiet()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    return solver
