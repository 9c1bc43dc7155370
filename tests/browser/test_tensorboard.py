"""Summaries of all kinds in TensorBoard's own pages."""

import numpy as np
import pytest

import gpuplace as tf
from tests.browser.jupyterlab import Watch
from tests.browser.test_trace_viewers import tensorboard

pytestmark = pytest.mark.browser

STEPS = 20


def write_summaries(folder):
    """A training program on two simulated GPUs that summarises everything that can be."""
    tf.use_machine("2x Tesla K40c")
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    with tf.device("/gpu:0"), tf.variable_scope("dense"):
        weights = tf.get_variable("weights", [4, 3], initializer=tf.random_normal_initializer(seed=1))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights)), name="loss")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    tf.summary.scalar("curve", loss)
    tf.summary.scalar("twice", loss * 2.0, family="family")
    tf.summary.histogram("spread", weights)
    tf.summary.image("ramp", tf.tile(tf.reshape(tf.linspace(0.0, 1.0, 32), [1, 1, 32, 1]), [2, 16, 1, 3]))
    tf.summary.audio("tone", tf.sin(tf.reshape(tf.linspace(0.0, 2000.0, 8000), [1, 8000])), 8000)
    tf.summary.text("note", tf.constant("some **bold** words"))
    merged = tf.summary.merge_all()
    draw = np.random.RandomState(1)
    with tf.Session() as session, tf.summary.FileWriter(folder, session.graph) as writer:
        session.run(tf.global_variables_initializer())
        for step in range(STEPS):
            summary, _ = session.run([merged, train], {x: draw.randn(8, 4)})
            writer.add_summary(summary, step)


def test_every_kind_is_shown(browser, tmp_path, screenshots):
    from playwright.sync_api import expect

    write_summaries(tmp_path / "events")
    with tensorboard(tmp_path / "events", tmp_path / "log") as base:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        watch = Watch(base).over(page)

        def opened(tab, shown):
            page.goto(f"{base}/#{tab}")
            page.reload()
            shown.first.wait_for()
            page.wait_for_timeout(1000)
            page.screenshot(path=screenshots / f"tensorboard_{tab}.png")
            return shown.first

        scalars = page.locator("tf-scalar-card")
        opened("scalars", scalars)
        expect(page.locator("body")).to_contain_text("curve")
        expect(page.locator("body")).to_contain_text("family")
        opened("histograms", page.locator("tf-histogram-loader svg"))
        image = opened("images", page.locator("tf-image-loader img"))
        assert image.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [32, 16]
        opened("audio", page.locator("tf-audio-loader audio"))
        opened("text", page.locator("tf-text-loader strong", has_text="bold"))
        opened("graphs", page.locator("g.node[data-name=dense]"))
        page.close()
    assert watch.errors == [] and watch.elsewhere == []
