"""Records what the lesson "Your own TensorFlow program" shows where there is no TensorFlow.

    python tests/oracle/record/own_program.py

run with TensorFlow 2.21 and gpuplace in one environment writes the log of the lesson's program and its model to
``notebooks/recorded``. The program is the cell of the notebook that imports TensorFlow, so that both are the same.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
RUN = """
import gpuplace
import numpy as np
with gpuplace.capture_log():
    model.predict(np.ones((4, 28, 28), np.float32), verbose=0)
model.export(sys.argv[1], verbose=False)
"""


def main():
    """Run the program with its output in a file, and write both recordings."""
    cells = json.loads((NOTEBOOKS / "18-your-own-program.ipynb").read_text())["cells"]
    (program,) = (
        "".join(cell["source"]) for cell in cells if "import tensorflow as tf" in "".join(cell["source"])
    )
    program = f"import sys\nHAS_TENSORFLOW = True\n{program}{RUN}"
    with tempfile.TemporaryDirectory() as folder, open(Path(folder, "log"), "w+b") as log:
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "0"}
        words = [sys.executable, "-c", program, folder]
        subprocess.run(words, stdout=log, stderr=log, env=environment, check=True)
        log.seek(0)
        lines = [line for line in log.read().splitlines(keepends=True) if b"/job:" in line]
        for name, data in {
            "predict.log.gz": b"".join(lines),
            "model.pb.gz": Path(folder, "saved_model.pb").read_bytes(),
        }.items():
            (NOTEBOOKS / "recorded" / name).write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    main()
