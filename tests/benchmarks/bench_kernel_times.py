"""Errors of predicted kernel times on GPUs, beside the data sheet alone and (on request) TensorFlow's own estimator.

Usage: ``python -m tests.benchmarks.bench_kernel_times [--classes] [--tensorflow PYTHON ESTIMATOR]``

A table for each kind of call shows the median and the 90th percentile of the absolute errors, and the mean of the
errors with their signs. With ``--classes``, another table breaks down the errors on GPUs whose tables the model has not
seen. All measured calls are float32.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from gpuplace import CostModel
from gpuplace.device.gpu_models import find_model
from gpuplace.kernels.work.record import Product, Work
from tests.cost.judging import KINDS, WAYS, Errors, classes, judged, pooled, roofline


def table(title: str, columns: dict[str, list[Errors]], width: int = 22) -> list[str]:
    """Lines with median and 90th percentile of the errors and their mean, a GPU a line."""
    lines = [f"{title:{width}}" + "".join(f"{name:>24}" for name in columns)]
    lines.append(" " * width + f"{'median   90 %   mean':>24}" * len(columns))
    for gpu in [errors.gpu for errors in next(iter(columns.values()))]:
        cells = []
        for found in columns.values():
            errors = next((errors for errors in found if errors.gpu == gpu), None)
            cells.append(f"{errors.median:12.1%} {errors.p90:5.0%} {errors.mean:+5.0%}" if errors else "")
        lines.append(f"{gpu:{width}}" + "".join(f"{cell:>24}" for cell in cells))
    return lines


def class_table(kind: type) -> list[str]:
    """Lines with the errors on GPUs left out, a class and GPU a line."""
    title, lines = KINDS[kind], []
    for name, rows in classes(kind).items():
        found = judged(kind, "GPU left out", rows)
        lines += table(f"{title}: {name}", {"GPU left out": [*found, pooled(found)]}, width=52)
    return lines


def speed() -> str:
    """The time that 10,000 different products take to predict."""
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
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", action="store_true", help="also the errors by class of calls")
    parser.add_argument("--tensorflow", nargs=2, metavar=("PYTHON", "ESTIMATOR"))
    arguments = parser.parse_args()
    for kind, title in KINDS.items():
        columns = {way: judged(kind, way) for way in WAYS} | {"data sheet alone": roofline(kind)}
        if arguments.tensorflow:
            from tests.oracle.kernel_times import estimated

            columns["TensorFlow's estimator"] = estimated(kind, *arguments.tensorflow)
        for found in columns.values():
            if found:
                found.append(pooled(found))
        print("\n".join(table(title, columns)), end="\n\n")
        if arguments.classes:
            print("\n".join(class_table(kind)), end="\n\n")
    print(speed())


if __name__ == "__main__":
    main()
