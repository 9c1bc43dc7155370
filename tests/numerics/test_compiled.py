"""Compiled loops: the bits of NumPy's way, and when a loop is there."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.numerics.compiled import dispatch
from gpuplace.ops.nn import conv_arithmetic, pool_arithmetic
from gpuplace.ops.nn.windows import Window

SINGLE = np.dtype(np.float32)


@pytest.fixture
def both_ways(monkeypatch):
    """Calls a function with NumPy alone and with the loops, and compares the bits."""
    pytest.importorskip("numba")
    found = {
        (name, dtype): dispatch.compile_now(name, dtype) for name in dispatch._ARGUMENTS for dtype in [SINGLE]
    }

    def call(function):
        monkeypatch.setattr(dispatch, "_ready", dict.fromkeys(found))
        monkeypatch.setattr(dispatch, "_calls", {})
        plain = function()
        monkeypatch.setattr(dispatch, "_calls", dict.fromkeys(found, dispatch.ROUNDED_FROM))
        called = []
        for key, loop in found.items():
            monkeypatch.setitem(
                dispatch._ready, key, lambda *given, k=key, f=loop: (called.append(k[0]), f(*given))
            )
        quick = function()
        assert plain.dtype == quick.dtype and plain.shape == quick.shape
        if dispatch._ROUNDED.isdisjoint(called):
            assert plain.tobytes() == quick.tobytes()
        elif called == ["largest"]:
            np.testing.assert_array_equal(quick, plain)
        else:
            close = 1e-6 * np.abs(plain[np.isfinite(plain)]).max()
            np.testing.assert_allclose(quick, plain, rtol=1e-5, atol=close)
        return set(called)

    return call


WINDOWS = [
    Window(2, 2, (2, 2), padding="SAME"),
    Window(3, 3, (2, 2), padding="SAME"),
    Window(3, 2, (1, 1), padding="VALID"),
    Window(2, 3, (3, 1), padding="SAME"),
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("special, channels", [(False, 5), (True, 5), (True, 37), (False, 16)])
def test_poolings_and_their_gradients(window, special, channels, both_ways, monkeypatch):
    random = np.random.default_rng(0)
    images = np.round(random.standard_normal((3, 9, 8, channels)), 1).astype(np.float32)
    if special:
        images[random.random(images.shape) < 0.1] = np.nan
        images[random.random(images.shape) < 0.4] = -np.inf
    pooled = pool_arithmetic.largest(np, images, window)
    grad = random.standard_normal(pooled.shape).astype(np.float32)
    grad[0] = -0.0
    grad[1, 0] = np.inf
    wanted = both_ways(lambda: pool_arithmetic.largest_gradient(np, images, pooled, grad, window))
    assert wanted == {"largest_gradient"}
    monkeypatch.setattr(pool_arithmetic, "WHOLE_BYTES", 0)
    assert both_ways(lambda: pool_arithmetic.largest(np, images, window)) == {"largest"}


@pytest.mark.parametrize("window", WINDOWS)
def test_gradients_of_images(window, both_ways):
    random = np.random.default_rng(0)
    images = random.standard_normal((3, 9, 8, 10)).astype(np.float32)
    filter = random.standard_normal((window.rows, window.columns, 10, 6)).astype(np.float32)
    grad = conv_arithmetic.convolve(np, images, filter, window)
    called = both_ways(lambda: conv_arithmetic.images_gradient(np, images.shape, filter, grad, window))
    assert called == (set() if window.strides == (1, 1) else {"scatter"})


SHAPES = [  # batch, height, width, channels, filters, window
    (3, 9, 8, 5, 16, Window(3, 3, (1, 1), padding="SAME")),
    (1, 40, 33, 3, 10, Window(3, 5, (2, 2), padding="SAME")),
    (2, 12, 17, 4, 33, Window(2, 3, (1, 2), (2, 1), padding="VALID")),
    (2, 7, 6, 9, 40, Window(3, 3, (1, 1), padding="EXPLICIT", explicit=((2, 1), (0, 3)))),
    (1, 90, 70, 8, 64, Window(5, 1, (1, 1), padding="SAME")),
    (5, 11, 70, 1, 8, Window(4, 4, (3, 1), (3, 1), padding="SAME")),
    (4, 8, 8, 24, 48, Window(1, 3, (1, 1), padding="EXPLICIT", explicit=((0, 0), (6, 0)))),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch, height, width, channels, filters, window", SHAPES)
def test_convolutions(dtype, batch, height, width, channels, filters, window, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(conv_arithmetic, "_LEAST_TERMS", 0)
    random = np.random.default_rng(0)
    images = random.standard_normal((batch, height, width, channels)).astype(dtype)
    filter = random.standard_normal((window.rows, window.columns, channels, filters)).astype(dtype)
    names = ("convolution", "filter_gradient")
    loops = {(name, np.dtype(dtype)): dispatch.compile_now(name, np.dtype(dtype)) for name in names}
    called = []
    ways = []
    for found in (dict.fromkeys(loops), loops):
        noting = {
            k: f and (lambda *given, k=k, f=f: (called.append(k[0]), f(*given))) for k, f in found.items()
        }
        monkeypatch.setattr(dispatch, "_ready", noting)
        monkeypatch.setattr(dispatch, "_calls", dict.fromkeys(found, dispatch.ROUNDED_FROM))
        result = conv_arithmetic.convolve(np, images, filter, window)
        grad = np.cos(result)
        ways.append((
            result,
            conv_arithmetic.filter_gradient(np, images, filter.shape, grad, window),
            conv_arithmetic.images_gradient(np, images.shape, filter, grad, window),
        ))  # fmt: skip
    assert set(called) == set(names)
    for plain, quick in zip(*ways, strict=True):
        assert plain.dtype == quick.dtype
        close = 1e-5 if dtype is np.float32 else 1e-13
        np.testing.assert_allclose(quick, plain, rtol=close, atol=close * np.abs(plain).max())


def test_bias_and_relu_of_a_convolution(both_ways):
    random = np.random.default_rng(0)
    images = random.standard_normal((4, 24, 24, 8)).astype(np.float32)
    images[0, 0, 0, 0] = np.nan

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            weights = np.cos(np.arange(9 * 8 * 20, dtype=np.float32))
            x = tf.placeholder(tf.float32, images.shape)
            h = tf.nn.conv2d(x, weights.reshape(3, 3, 8, 20), strides=[1, 1, 1, 1], padding="SAME")
            h = tf.nn.relu(tf.nn.bias_add(h, np.linspace(-1, 1, 20, dtype=np.float32)))
            h = tf.nn.conv2d(h, weights.reshape(3, 3, 20, 8), strides=[1, 2, 2, 1], padding="SAME")
            return session.run(tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), {x: images})

    assert "convolution" in both_ways(run)


@pytest.mark.parametrize(
    "optimizer, loop",
    [
        (lambda: tf.train.GradientDescentOptimizer(0.1), "descent"),
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9), "momentum"),
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), None),
        (lambda: tf.train.AdamOptimizer(0.1), "adam"),
    ],
)
def test_steps_of_training(optimizer, loop, both_ways):
    def train():
        with tf.Graph().as_default(), tf.Session() as session:
            start = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
            variable = tf.Variable(start)
            step = optimizer().minimize(tf.reduce_sum(tf.nn.relu(variable) * start))
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(step)
            return session.run(variable)

    assert both_ways(train) == {"relu_gradient", loop} - {None}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["Sigmoid", "Tanh"])
def test_functions_of_small_arrays(name, dtype, monkeypatch):
    pytest.importorskip("numba")
    quick = dispatch.element_function(f"{name.lower()}_gradient", np.dtype(dtype))
    monkeypatch.setattr(dispatch, "_ready", {})
    monkeypatch.setattr(quick, "function", None)
    monkeypatch.setattr(quick, "_asked", 0)
    random = np.random.default_rng(0)
    y, dy = random.standard_normal((2, 17, 40)).astype(dtype)
    y[0, :2], dy[1, :3] = (np.nan, np.inf), (np.nan, -np.inf, -0.0)
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(y.dtype, [17, 23]), tf.placeholder(y.dtype, [17, 23])]
        gradient = getattr(tf.raw_ops, f"{name}Grad")(y=fed[0], dy=fed[1])
        feeds = dict(zip(fed, (y[:, 5:28], dy[:, ::-1][:, :23]), strict=True))
        plain = session.run(gradient, feeds)
        assert quick.function is None
        made = dispatch.compile_now(f"{name.lower()}_gradient", np.dtype(dtype))
        dispatch._ready[f"{name.lower()}_gradient", np.dtype(dtype)] = made
        monkeypatch.setattr(quick, "_asked", dispatch.ENOUGH_SMALL)
        assert session.run(gradient, feeds).tobytes() == plain.tobytes()
        assert quick.function is made


def test_arrays_that_no_loop_takes(monkeypatch):
    monkeypatch.setattr(dispatch, "_ready", {("relu_gradient", SINGLE): print})
    x = np.zeros((4, 4), np.float32)
    assert dispatch.compiled("relu_gradient", x, x) is print
    assert dispatch.compiled("relu_gradient", x, x.T) is None
    assert dispatch.compiled("relu_gradient", x, x.astype(np.float64)) is None


def test_a_loop_is_there_after_enough_kernels_and_not_without_numba(monkeypatch):
    made = threading.Event()
    monkeypatch.setattr(dispatch, "compile_now", lambda name, dtype: made.set() or print)
    x = np.zeros(4, np.float32)
    for is_there in (False, True):
        monkeypatch.setattr(dispatch, "_ready", {})
        monkeypatch.setattr(dispatch._compiler, "requests", 0)
        monkeypatch.setattr(dispatch._compiler, "is_usable", is_there)
        for _ in range(dispatch.ENOUGH - 1):
            assert dispatch.compiled("descent", x) is None
        assert not made.is_set() and not dispatch._ready
        dispatch.compiled("descent", x)
        assert made.wait(10) == is_there if is_there else not made.is_set()
    assert dispatch.compiled("descent", x.astype(np.int32)) is None


def test_a_loop_that_rounds_otherwise_is_used_from_the_same_call_on(monkeypatch):
    compiling = threading.Event()
    monkeypatch.setattr(dispatch, "compile_now", lambda name, dtype: compiling.wait(10) and print)
    for name in ("_ready", "_made", "_calls"):
        monkeypatch.setattr(dispatch, name, {})
    monkeypatch.setattr(dispatch._compiler, "requests", 0)
    monkeypatch.setattr(dispatch._compiler, "is_usable", True)
    x = np.zeros(4, np.float32)
    compiling.set()
    assert [dispatch.compiled("convolution", x) for _ in range(dispatch.ROUNDED_FROM)] == [
        None
    ] * dispatch.ROUNDED_FROM
    assert dispatch.compiled("convolution", x) is print
    monkeypatch.setattr(dispatch, "_calls", {("filter_gradient", SINGLE): dispatch.ROUNDED_FROM})
    compiling.clear()
    threading.Timer(0.05, compiling.set).start()
    assert dispatch.compiled("filter_gradient", x) is print  # which waits


def test_small_programs_do_not_load_numba():
    program = (
        "import sys, gpuplace as tf\n"
        "x = tf.Variable(tf.zeros([64, 64]))\n"
        "step = tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.nn.relu(x)))\n"
        "with tf.Session() as session:\n"
        "    session.run(tf.global_variables_initializer())\n"
        "    for _ in range(100): session.run(step)\n"
        "sys.exit('numba' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0
