"""How far kernel times on GPUs are off, beside the data sheet alone and (on request) TensorFlow's own estimator.

Usage: ``python -m tests.benchmarks.bench_kernel_times [--tensorflow PYTHON ESTIMATOR]``
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from gpuplace import CostModel
from gpuplace.cost.work import Product, Work
from gpuplace.device.gpu_models import find_model
from tests.cost.judging import KINDS, WAYS, Errors, judged, pooled, roofline


def table(kind: type, columns: dict[str, list[Errors]]) -> list[str]:
    """Lines with median and 90th percentile of the errors, a GPU a line."""
    lines = [f"{KINDS[kind]:22}" + "".join(f"{title:>24}" for title in columns)]
    lines.append(" " * 22 + f"{'median   90 %   bias':>24}" * len(columns))
    for name in [errors.gpu for errors in next(iter(columns.values()))]:
        cells = []
        for found in columns.values():
            errors = next((errors for errors in found if errors.gpu == name), None)
            cells.append(
                f"{errors.median:12.1%} {errors.p90:5.0%} {np.median(errors.signed):+5.0%}" if errors else ""
            )
        lines.append(f"{name:22}" + "".join(f"{cell:>24}" for cell in cells))
    return lines


def speed() -> str:
    """How long timing 10,000 different products takes."""
    sizes = np.random.default_rng(0).integers(1, 4096, (10_000, 3))
    works = [
        Work("float32", 2.0 * m * n * k, 4.0, 4.0, kernel=Product(m, n, k)) for m, n, k in sizes.tolist()
    ]
    model = CostModel()
    model.kernel_times(works[:1], find_model("V100"))
    started = time.perf_counter()
    model.kernel_times(works, find_model("V100"))
    return f"10,000 different products: {time.perf_counter() - started:.3f} s"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tensorflow", nargs=2, metavar=("PYTHON", "ESTIMATOR"))
    arguments = parser.parse_args()
    for kind in KINDS:
        columns = {way: judged(kind, way) for way in WAYS} | {"data sheet alone": roofline(kind)}
        if arguments.tensorflow:
            from tests.oracle.kernel_times import estimated

            columns["TensorFlow's estimator"] = estimated(kind, *arguments.tensorflow)
        for found in columns.values():
            if found:
                found.append(pooled(found))
        print("\n".join(table(kind, columns)), end="\n\n")
    print(speed())


if __name__ == "__main__":
    main()
