"""``gpuplace calibrate``: measures this machine and keeps what was found."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def calibrate(arguments: argparse.Namespace) -> int:
    """Measures, writes the model, and says what it rests on."""
    from gpuplace.cost.calibration.calibrate import calibrate as measure
    from gpuplace.cost.cost_model import calibrated_path

    path = Path(arguments.output) if arguments.output else calibrated_path()
    if not arguments.output:
        path.parent.mkdir(parents=True, exist_ok=True)
    model = measure(lambda text: print(f"measuring {text}", file=sys.stderr), tensorflow=arguments.tensorflow)
    print(f"wrote {model.save(path)}: {model.source}")
    return 0
