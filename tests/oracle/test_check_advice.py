"""The comparison of advice with TensorFlow's placer can be imported where there are simulated GPUs."""

import os
import subprocess
import sys


def test_importing_it_hides_no_gpus():
    program = (
        "import os; before = dict(os.environ); import tests.oracle.check_advice; "
        "print(sorted(set(os.environ.items()) ^ set(before.items())))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    done = subprocess.run([sys.executable, "-c", program], check=True, env=environment, capture_output=True)
    assert done.stdout.decode().strip() == "[]"
