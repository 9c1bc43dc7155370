"""Predicted beside published times of nets' forward and backward passes on five GPUs.

Usage: ``python -m tests.benchmarks.bench_net_passes [GPU ...]``
"""

from __future__ import annotations

import argparse

import numpy as np

from tests.benchmarks.net_passes import PASSES, seconds_of_passes


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gpu", nargs="*", choices=[*PASSES, []])
    for gpu in parser.parse_args().gpu or PASSES:
        print(
            f"{gpu:<24}{'forward ms':>12}{'predicted':>10}{'off':>6}{'backward ms':>13}{'predicted':>10}{'off':>6}"
        )
        errors = []
        for net, published in PASSES[gpu].items():
            line = f"    {net:<20}"
            for width, milliseconds, seconds in zip(
                (12, 13), published, seconds_of_passes(net, gpu), strict=True
            ):
                errors.append(1e3 * seconds / milliseconds - 1)
                line += f"{milliseconds:>{width}.1f}{1e3 * seconds:>10.1f}{errors[-1]:>+6.0%}"
            print(line, flush=True)
        print(f"    mean |error| {np.mean(np.abs(errors)):.1%}, worst {max(map(abs, errors)):.0%}")


if __name__ == "__main__":
    main()
