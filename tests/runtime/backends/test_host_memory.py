"""Freed memory is kept for the next step."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import resource
import numpy as np
import gpuplace as tf
x = tf.placeholder(tf.float32, [1 << 21])
y = tf.stop_gradient(x + 1.0) * x
with tf.Session() as session:
    value = np.ones(1 << 21, np.float32)
    call = session.make_callable(tf.reduce_sum(y), [x])
    for _ in range(3):
        call(value)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        call(value)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
@pytest.mark.parametrize("own, is_kept", [(None, True), ({"MALLOC_MMAP_THRESHOLD_": "65536"}, False)])
def test_steps_need_no_new_pages(own, is_kept):
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MALLOC_")}
    environment.pop("GLIBC_TUNABLES", None)
    environment.update(own or {}, PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    assert (int(done.stdout) < 20) is is_kept
