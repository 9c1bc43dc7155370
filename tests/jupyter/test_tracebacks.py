"""Errors in a notebook's cell: the cell's line, the sentence, and no frame of the package."""

import re

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import gpuplace as tf


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.enabled = False  # no database that outlives the test
    made = InteractiveShell.instance(colors="nocolor", config=config)
    made.user_ns["tf"] = tf
    yield made
    InteractiveShell.clear_instance()


def printed(shell, cell):
    with capture_output() as captured:
        result = shell.run_cell(cell)
    assert not result.success
    return re.sub(r"\x1b\[[0-9;]*m", "", captured.stdout + captured.stderr)


MAKE = "with tf.device('/gpu:9'):\n    a = tf.constant([1.0], name='a')\n"


@pytest.mark.parametrize(
    "line",
    [
        "tf.Session().run(a)",
        "tf.place(tf.get_default_graph(), machine='cpu')",
        "tf.Session().placement",
        "tf.Session(config=tf.ConfigProto(allow_soft_placement=True)).run(tf.add(a, tf.placeholder(tf.float32)))",
    ],
)
def test_a_cell_shows_its_line_and_the_sentence(shell, line):
    shown = printed(shell, MAKE + line)
    assert "----> 3 " in shown and "site-packages" not in shown
    assert not re.search(r"File .*gpuplace/(?!.*tests)", shown)
    assert "direct cause" not in shown and "During handling" not in shown and "{{" not in shown
    where = shown.index("InvalidArgumentError:")
    assert shown[:where].count("\n") < 10 and "created at" in shown[where:] or "requested by" in shown[where:]


def test_a_name_that_is_missing(shell):
    shown = printed(shell, "x = 1\ntf.keras.layers")
    assert "----> 2 " in shown and "__getattr__" not in shown
    assert "gpuplace.explore('saved_model_dir')" in shown.splitlines()[-1]
