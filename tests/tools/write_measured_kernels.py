"""Writes the package's table of measured kernels from DeepBench's results.

Usage: ``python -m tests.tools.write_measured_kernels FOLDER``, with one file a GPU in the folder: a comment line, the
columns ``kind,pass,shape,milliseconds``. What takes several GPUs (``allreduce``) is left out.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from gpuplace.cost.kernel_times.measured import PATH, SHAPES

GPUS = {
    "m40": "Tesla M40",
    "titanx": "GeForce GTX TITAN X",
    "titanx_pascal": "TITAN X (Pascal)",
    "1080ti": "GeForce GTX 1080 Ti",
    "titanxp": "TITAN Xp",
    "v100": "Tesla V100-SXM2-16GB",
    "t4": "Tesla T4",
}
"""Name of the file -> name of the GPU in the catalogue."""

CORRECTED = {("titanx", 2048): 6574, ("titanx", 2560): 10376, ("titanx", 4096): 8935}
"""Name of the file, and m and k of a product -> n in its table, where it should be 7133.

The benchmark multiplies no such matrices (code/kernels/gemm_problems.h in its repository), and the TITAN X would reach
up to 103 % of its data sheet's rate. With n = 7133 the times are 6 % below those of the M40, as everywhere else."""

HEADER = """\
# Times of single calls of cuBLAS and cuDNN, float32, in milliseconds; empty where a GPU's table lacks the call.
# Facts from Baidu's DeepBench, results/train (https://github.com/baidu-research/DeepBench, Apache License 2.0).
# gemm is column-major; a_t and b_t are 1 where the matrix is transposed; conv is NCHW, the best algorithm.
# Written by tests/tools/write_measured_kernels.py.
"""


def table(folder: Path) -> str:
    """The text of the table."""
    rows: dict[tuple[str, str, tuple[int, ...]], dict[str, str]] = {}
    for stem in GPUS:
        with (folder / f"{stem}.csv").open(encoding="utf-8") as stream:
            for row in csv.DictReader(line for line in stream if not line.startswith("#")):
                if row["kind"] not in SHAPES:
                    continue
                shape = dict(part.split("=") for part in row["shape"].split())
                sizes = tuple(
                    {"N": 0, "T": 1}.get(shape[name]) if name.endswith("_t") else int(shape[name])
                    for name in SHAPES[row["kind"]]
                )
                if row["kind"] == "gemm" and CORRECTED.get((stem, sizes[0])) == sizes[1]:
                    sizes = (sizes[0], 7133, *sizes[2:])
                rows.setdefault((row["kind"], row["pass"], sizes), {})[stem] = row["milliseconds"]
    lines = ["kind,pass,shape," + ",".join(GPUS.values())]
    for (kind, direction, sizes), times in sorted(rows.items()):
        found = ",".join(times.get(stem, "") for stem in GPUS)
        lines.append(f"{kind},{direction},{' '.join(map(str, sizes))},{found}")
    return HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(PATH).write_text(table(Path(sys.argv[1])), encoding="utf-8")
