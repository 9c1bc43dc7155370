"""Steps on a real GPU beside bare CuPy, and beside PyTorch and JAX where they are installed.

    python -m tests.benchmarks.bench_gpu [--repeat 3]

Every figure ends with a value in host memory, so that the work is done. Without a GPU or CuPy it says so; two towers,
whose products are averaged on the CPU, are measured where there are two GPUs.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

ADDS = 1000
SMALL = np.full((2, 2), 0.5, np.float32)
LARGE = np.random.default_rng(0).random((4096, 4096), np.float32)
"""Also the 16M numbers of the elementwise cases."""

Case = tuple[str, Callable[[], Any]]


def fastest(call: Callable[[], Any], seconds: float = 1.0) -> float:
    """Microseconds of the fastest call within some time, after the calls that get everything ready."""
    for _ in range(5):
        call()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - started)
    return 1e6 * best


def gelu(x: Any, tanh: Callable[[Any], Any]) -> Any:
    """An activation of nine elementwise functions."""
    return 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def adam(xp: Any, var: Any, m: Any, v: Any, grad: Any) -> tuple[Any, Any, Any]:
    """One step of Adam, as the op ``ApplyAdam`` computes it."""
    m = m + (grad - m) * 0.1
    v = v + (grad * grad - v) * 0.001
    return var - 0.001 * m / (xp.sqrt(v) + 1e-8), m, v


class Training:
    """Steps of Adam of a bare library: keeps the variables.

    Args:
        step: ``adam``, bound to the library and perhaps compiled.
        start: the variable, its two moments, and the gradient.
        to_host: gives a number of an array.
    """

    def __init__(self, step: Callable[..., Any], start: list[Any], to_host: Callable[[Any], Any]) -> None:
        self._step, self._to_host = step, to_host
        *self._state, self._grad = start

    def __call__(self) -> Any:
        self._state = list(self._step(*self._state, self._grad))
        return self._to_host(self._state[0][0, 0])


def gpuplace_cases() -> Iterator[Case]:
    tf = importlib.import_module("gpuplace")
    tf.use_machine(tf.Machine.local())
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2, 2])
        total = x
        for _ in range(ADDS):
            total = tf.add(total, x)
        step = tf.Session(config=config).make_callable(total, [x])
    yield "chain, gpuplace", lambda step=step: step(SMALL)
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        v = tf.Variable(LARGE)
        corner = gelu(v.read_value(), tf.tanh)[0, 0]
        session = tf.Session(config=config)
        session.run(v.initializer)
        yield "gelu, gpuplace", session.make_callable(corner)
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        v, grad = tf.Variable(LARGE), tf.Variable(LARGE)
        train = tf.train.AdamOptimizer().apply_gradients([(grad.read_value(), v)])
        with tf.control_dependencies([train]):
            corner = v.read_value()[0, 0]
        session = tf.Session(config=config)
        session.run(tf.global_variables_initializer())
        yield "adam, gpuplace", session.make_callable(corner)
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        a = tf.Variable(LARGE)
        corner = tf.matmul(tf.matmul(a, a), a)[0, 0]
        session = tf.Session(config=config)
        session.run(a.initializer)
        yield "matmul, gpuplace", session.make_callable(corner)
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        a, x = tf.Variable(LARGE), tf.placeholder(tf.float32, LARGE.shape)
        corner = (tf.matmul(tf.matmul(a, a), a) + x)[0, 0]
        session = tf.Session(config=config)
        session.run(a.initializer)
        step = session.make_callable(corner, [x])
        yield "copy beside a product, gpuplace", lambda step=step: step(LARGE)
    if gpu_count() > 1:
        with tf.Graph().as_default():
            products = []
            for tower in range(2):
                with tf.device(f"/gpu:{tower}"):
                    a = tf.Variable(LARGE)
                    products.append(tf.matmul(tf.matmul(a, a), a))
            with tf.device("/cpu:0"):
                mean = tf.add(*products) * 0.5
            session = tf.Session(config=config)
            session.run(tf.global_variables_initializer())
            yield "two towers, gpuplace", session.make_callable(mean)
            yield "one of two towers, gpuplace", session.make_callable(products[0])


def cupy_cases() -> Iterator[Case]:
    cupy = importlib.import_module("cupy")

    def chain() -> Any:
        x = cupy.array(SMALL)
        total = x
        for _ in range(ADDS):
            total = cupy.add(total, x)
        return total.get()

    a = cupy.array(LARGE)
    fused = cupy.fuse(lambda x: gelu(x, cupy.tanh))
    yield "chain, bare CuPy", chain
    yield "gelu, bare CuPy", lambda: gelu(a, cupy.tanh)[0, 0].get()
    yield "gelu, cupy.fuse", lambda: fused(a)[0, 0].get()

    def step(var: Any, m: Any, v: Any, grad: Any) -> Any:
        return adam(cupy, var, m, v, grad)

    for name, run in (("bare CuPy", step), ("cupy.fuse", cupy.fuse(step))):
        yield f"adam, {name}", Training(run, [a, a * 0, a * 0, a], lambda corner: corner.get())
    yield "matmul, bare CuPy", lambda: cupy.matmul(cupy.matmul(a, a), a)[0, 0].get()

    def copy_and_product() -> Any:  # one stream: one after the other
        x = cupy.array(LARGE)
        return (cupy.matmul(cupy.matmul(a, a), a) + x)[0, 0].get()

    yield "copy beside a product, bare CuPy", copy_and_product
    if gpu_count() > 1:
        with cupy.cuda.Device(1):
            others = [a, cupy.array(LARGE)]

        def tower(number: int) -> Any:
            with cupy.cuda.Device(number):
                return cupy.matmul(cupy.matmul(others[number], others[number]), others[number])

        yield "two towers, bare CuPy", lambda: sum([one.get() for one in (tower(0), tower(1))]) * 0.5
        yield "one of two towers, bare CuPy", lambda: tower(0).get()


def torch_cases() -> Iterator[Case]:
    torch = importlib.import_module("torch")

    def chain(x: Any) -> Any:
        total = x
        for _ in range(ADDS):
            total = total + x
        return total

    compiled = torch.compile(chain, mode="reduce-overhead")
    a = torch.tensor(LARGE, device="cuda")
    yield "chain, PyTorch", lambda: chain(torch.tensor(SMALL, device="cuda")).cpu()
    yield "chain, torch.compile", lambda: compiled(torch.tensor(SMALL, device="cuda")).cpu()
    whole = torch.compile(lambda x: gelu(x, torch.tanh))
    yield "gelu, PyTorch", lambda: gelu(a, torch.tanh)[0, 0].cpu()
    yield "gelu, torch.compile", lambda: whole(a)[0, 0].cpu()

    def step(var: Any, m: Any, v: Any, grad: Any) -> Any:
        return adam(torch, var, m, v, grad)

    for name, run in (("PyTorch", step), ("torch.compile", torch.compile(step))):
        yield f"adam, {name}", Training(run, [a, a * 0, a * 0, a], lambda corner: corner.cpu())
    yield "matmul, PyTorch", lambda: (a @ a @ a)[0, 0].cpu()


def jax_cases() -> Iterator[Case]:
    jax = importlib.import_module("jax")

    def chain(x: Any) -> Any:
        total = x
        for _ in range(ADDS):
            total = total + x
        return total

    compiled = jax.jit(chain)
    a = jax.device_put(LARGE)
    product = jax.jit(lambda a: (a @ a @ a)[0, 0])
    yield "chain, jax.jit", lambda: np.asarray(compiled(SMALL))
    whole = jax.jit(lambda x: gelu(x, jax.numpy.tanh))
    yield "gelu, jax.jit", lambda: np.asarray(whole(a)[0, 0])
    step = jax.jit(functools.partial(adam, jax.numpy))
    yield "adam, jax.jit", Training(step, [a, a * 0, a * 0, a], np.asarray)
    yield "matmul, jax.jit", lambda: np.asarray(product(a))


def gpu_count() -> int:
    """How many GPUs CuPy sees; 0 where it is not installed."""
    if importlib.util.find_spec("cupy") is None:
        return 0
    cupy = importlib.import_module("cupy")
    try:
        return cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    options = parser.parse_args()
    if not gpu_count():
        print("No GPU that CuPy can use: not measured.")
        return
    cases = [*gpuplace_cases(), *cupy_cases()]
    for module, more in (("torch", torch_cases), ("jax", jax_cases)):
        if importlib.util.find_spec(module) is None:
            print(f"{module} is not installed", file=sys.stderr)
        else:
            cases += more()
    found = {name: statistics.median([fastest(call) for _ in range(options.repeat)]) for name, call in cases}
    for name, time_us in found.items():
        bare = found[f"{name.partition(',')[0]}, bare CuPy"]
        print(f"{name:36}{time_us:12.1f} us{time_us / bare:8.2f} x bare CuPy")


if __name__ == "__main__":
    main()
