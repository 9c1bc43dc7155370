"""``gpuplace calibrate``: measure this machine and save the cost model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def calibrate(arguments: argparse.Namespace) -> int:
    """Measure the machine, save the model, and print its path and source."""
    from gpuplace.cost.calibration.calibrate import calibrate as measure
    from gpuplace.cost.cost_model import calibrated_path

    path = Path(arguments.output) if arguments.output else calibrated_path()
    if not arguments.output:
        path.parent.mkdir(parents=True, exist_ok=True)
    model = measure(lambda text: print(f"measuring {text}", file=sys.stderr), tensorflow=arguments.tensorflow)
    print(f"wrote {model.save(path)}: {model.source}")
    return 0
