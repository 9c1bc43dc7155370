"""What waits until it is asked for: modules of ops, and names of the package."""

import subprocess
import sys

import pytest

import gpuplace as tf

MISSED = """
import gpuplace as tf
from gpuplace import lazy
{code}
print(len(lazy._waiting) == 0)
"""


def imports_them(code: str) -> bool:
    """Whether a fresh interpreter has imported the modules that wait after `code`."""
    result = subprocess.run(
        [sys.executable, "-c", MISSED.format(code=code)], capture_output=True, text=True, check=True
    )
    return result.stdout.splitlines()[-1] == "True"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("", False, id="import"),
        pytest.param(
            "x = tf.get_variable('x', [2])\n"
            "y = tf.cond(x[0] > 0, lambda: x * 2, lambda: x)\n"
            "z = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])\n"
            "with tf.Session() as sess:\n"
            "    sess.run(x.initializer)\n"
            "    sess.run([tf.gradients(y, x), z, tf.nn.relu(y)])",
            False,
            id="a step with branches, loops and gradients",
        ),
        pytest.param(
            "tf.raw_ops.ResizeBilinear(images=tf.zeros([1, 2, 2, 3]), size=[4, 4])", True, id="shape"
        ),
        pytest.param("tf.kernels('Relu')", False, id="kernels that ordinary nets need"),
        pytest.param("tf.kernels('ResizeBilinear')", True, id="kernels"),
        pytest.param(
            "tf.RegisterGradient('MyRelu')(lambda op, grad: grad)", True, id="a gradient of one's own"
        ),
        pytest.param("tf.NotDifferentiable('MyRelu')", True, id="no gradient"),
    ],
)
def test_modules_of_ops_are_imported_for_a_type_that_is_missed(code, expected):
    assert imports_them(code) == expected


def test_a_gradient_of_an_op_that_waits_is_a_second_one():
    code = "import gpuplace as tf\ntf.RegisterGradient('ResizeBilinear')(lambda op, grad: grad)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "KeyError: \"Registering two gradient with name 'ResizeBilinear'!\"" in result.stderr


def test_all_modules_that_register_are_imported_or_wait():
    counted = (
        "import importlib, pkgutil, sys, gpuplace as tf, gpuplace.ops, gpuplace.tf1\n"
        "from gpuplace import lazy\n"
        "compute = importlib.import_module('gpuplace.kernels.compute')\n"
        "shapes = importlib.import_module('gpuplace.graph.shape_inference')\n"
        "gradients = importlib.import_module('gpuplace.ops.gradients.registry')\n"
        "lazy.import_waiting()\n"
        "def types():\n"
        "    return [set(d) for d in (compute._registered, shapes._functions, gradients._functions)]\n"
        "before = types()\n"
        "for package in (gpuplace.ops, gpuplace.tf1):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(module.name)\n"
        "print([sorted(now - then) for now, then in zip(types(), before)])"
    )
    result = subprocess.run([sys.executable, "-c", counted], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[[], [], []]"


def test_threads_that_miss_at_once_all_find_it():
    code = (
        "import threading, gpuplace as tf\n"
        "from gpuplace.kernels.compute import has_compute\n"
        "found = []\n"
        "ask = lambda: found.append(has_compute('ResizeBilinear'))\n"
        "threads = [threading.Thread(target=ask) for _ in range(8)]\n"
        "[t.start() for t in threads]\n"
        "[t.join() for t in threads]\n"
        "print(found)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str([True] * 8)


def test_every_public_name_is_there():
    assert [name for name in tf.__all__ if not hasattr(tf, name)] == []
