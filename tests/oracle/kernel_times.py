"""What TensorFlow's own estimator (Grappler's virtual cluster) makes of the measured calls, one node a call.

The estimator is a script beside this project; it runs in a Python that has TensorFlow. Padding is SAME where the
measured call pads and VALID where it does not. Recurrent layers are left out: it knows no op that computes a whole one.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from gpuplace.cost.kernel_times import convolutions
from gpuplace.cost.kernel_times.gpu_times import measured_kinds
from gpuplace.cost.kernel_times.measured import gpus, measured_table
from gpuplace.device.gpu_models import GPUModel, find_model
from gpuplace.kernels.work.record import Convolution, Product
from tests.cost.judging import Errors

_SCRIPT = """
import importlib.util, json, sys
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
spec = importlib.util.spec_from_file_location("estimator", sys.argv[1])
estimator = importlib.util.module_from_spec(spec)
spec.loader.exec_module(estimator)
calls, gpus = json.load(open(sys.argv[2]))
given = lambda shape: tf.raw_ops.VariableV2(shape=shape, dtype=tf.float32)  # what is fed would be allocated
graph = tf.Graph()
with graph.as_default(), tf.device("/job:localhost/replica:0/task:0/device:GPU:0"):
    for number, call in enumerate(calls):
        if call[0] == "product":
            _, m, n, k, a_t, b_t = call
            a, b = given([k, m] if a_t else [m, k]), given([n, k] if b_t else [k, n])
            tf.matmul(a, b, transpose_a=bool(a_t), transpose_b=bool(b_t), name="call%d" % number)
            continue
        _, images, filters, outputs, stride, padding = call
        x, w, y = map(given, (images, filters, outputs))
        how = dict(strides=[1, *stride, 1], padding=padding, name="call%d" % number)
        if call[0] == "forward":
            tf.nn.conv2d(x, w, **how)
        elif call[0] == "backward_input":
            tf.nn.conv2d_backprop_input(images, w, y, **how)
        else:
            tf.nn.conv2d_backprop_filter(x, filters, y, **how)
fetches = ["call%d" % number for number in range(len(calls))]
found = []
for gpu in gpus:
    nodes = estimator.estimate(graph.as_graph_def().SerializeToString(), fetches, 1, gpu)["nodes"]
    found.append([nodes[name][1] if name in nodes else None for name in fetches])
print("ANSWER" + json.dumps(found))
"""


def estimated(kind: type, python: str, estimator: str) -> list[Errors]:
    """The errors of TensorFlow's estimator on every measured GPU.

    Args:
        kind: `Product` or `Convolution`; nothing is found of others.
        python: a Python that has TensorFlow.
        estimator: path of the script with the function `estimate`.
    """
    if kind not in (Product, Convolution):
        return []
    models = [find_model(name) for name in gpus()]
    with tempfile.TemporaryDirectory() as folder:
        script, calls = Path(folder, "script.py"), Path(folder, "calls.json")
        script.write_text(_SCRIPT)
        calls.write_text(json.dumps([_calls(kind), [_described(gpu) for gpu in models]]))
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        result = subprocess.run(
            [python, script, estimator, calls], capture_output=True, text=True, check=False, env=environ
        )
    if result.returncode:
        raise RuntimeError(f"exit code {result.returncode}: {result.stderr[-2000:]}")
    answers = json.loads(result.stdout.split("ANSWER")[1])
    errors = np.array(answers, float).T / measured_kinds()[kind].times - 1.0
    return [Errors(gpu.name, error[~np.isnan(error)]) for gpu, error in zip(models, errors.T)]


def _described(gpu: GPUModel) -> str:
    major, minor = gpu.compute_capability
    return (
        f"{major}.{minor},{gpu.clock_hz / 1e6:.0f},{gpu.sm_count},{gpu.memory_bytes / 2**30:.0f},"
        f"{gpu.memory_bandwidth / 1e9:.0f}"
    )


def _calls(kind: type) -> list[list[object]]:
    if kind is Product:
        return [["product", n, m, k, b_t, a_t] for m, n, k, a_t, b_t in measured_table("gemm").shapes]
    table = measured_table("conv")
    calls: list[list[object]] = []
    for direction, shape in zip(table.passes, table.shapes):
        column = dict(zip(convolutions.COLUMNS, convolutions.measured_columns(direction, shape)))
        stride = [column["stride_h"], column["stride_w"]]
        padding = "SAME" if max(shape[7:9]) else "VALID"
        taken = [column["filter_h"], column["filter_w"]]
        out = [
            -(-size // step) if padding == "SAME" else (size - window) // step + 1
            for size, window, step in zip((column["h"], column["w"]), taken, stride)
        ]
        images = [column["n"], column["h"], column["w"], column["c"]]
        filters = [*taken, column["c"], column["k"]]
        calls.append([direction, images, filters, [column["n"], *out, column["k"]], stride, padding])
    return calls
