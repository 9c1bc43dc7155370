"""TensorFlow's startup messages, which are not about placement: libraries, CPU instructions, plugins.

>>> is_startup("2024-05-01 10:11:12.1: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on. You")
True
>>> is_startup("E0000 00:00:1714558272.1    1234 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting")
True
>>> is_startup("loss: 0.3"), why_no_gpu("W gpu_device.cc:2344] Cannot dlopen some GPU libraries. Please make sure")
(False, 'CUDA libraries are missing')

Source: the start of TensorFlow 2.4 to 2.21, with and without GPUs.
"""

from __future__ import annotations

import re

__all__ = ["is_startup", "why_no_gpu"]

_FILES = (
    "port.cc|cpu_feature_guard.cc|cpu_utils.cc|cuda_fft.cc|cuda_dnn.cc|cuda_blas.cc|cuda_diagnostics.cc|cuda_executor.cc|"
    "cuda_driver.cc|cuda_gpu_executor.cc|computation_placer.cc|gpu_timer.cc|dso_loader.cc|default_dso_loader.cc|"
    "cudart_stub.cc|py_utils.cc|mlir_graph_optimization_pass.cc|tensorrt/utils.cc|xla_service.cc|service.cc|"
    "device_compiler.h|numa_node.cc|gpu_utils.cc|cuda_solvers.cc|process_util.cc|subprocess.cc|service.cc|"
    "platform_util.cc|device_context.cc|xla_cpu_device.cc|xla_gpu_device.cc"
)
_MAX_LENGTH = 600
"""Number of characters of a line that are matched; the patterns take quadratic time on longer lines."""
_STARTUP = re.compile(
    rf"\s*(?:\d{{4}}-\d\d-\d\d [\d:.]+: )?[IWEF](?:\d{{4}} [\d:.]+\s+\d+)? \S*(?:{_FILES}):\d+\]"
    r"|\s*WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR"
    r"|\s*To enable (?:the following|them) .*rebuild TensorFlow"
    r"|\s*To enable them in other operations, rebuild TensorFlow"
    r"|\s*Skipping registering GPU devices\.\.\."
    r"|\s*INFO:tensorflow:(?:Using \w*Strategy with devices |Reduce to /\S* then broadcast |batch_all_reduce: )"
    r"|\S*\s*.*gpu_device\.cc:\d+\] (?:Cannot dlopen some GPU libraries|Adding visible gpu devices)"
)
_NO_GPU = (
    (
        re.compile(r"Cannot dlopen some GPU libraries|Skipping registering GPU devices"),
        "CUDA libraries are missing",
    ),
    (re.compile(r"failed call to cuInit.*NO_DEVICE|no NVIDIA GPU device is present"), "CUDA finds no GPU"),
    (
        re.compile(r"failed call to cuInit|kernel driver does not appear to be running"),
        "the GPU driver does not work",
    ),
    (re.compile(r"Could not find cuda drivers on your machine"), "the CUDA driver is not installed"),
)


def is_startup(text: str) -> bool:
    """Return whether a line is one of TensorFlow's startup messages.

    Args:
        text: the line.
    """
    return _STARTUP.match(text[:_MAX_LENGTH]) is not None


def why_no_gpu(text: str) -> str:
    """Return why TensorFlow uses no GPU, if a startup message states it, otherwise ``""``.

    Args:
        text: the line.
    """
    head = text[:_MAX_LENGTH]
    return next((reason for pattern, reason in _NO_GPU if pattern.search(head)), "")
