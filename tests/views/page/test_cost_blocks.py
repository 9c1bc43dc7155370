"""The cost of a step as blocks of a page."""

import pytest

import gpuplace as tf
from gpuplace.views.page.cost_blocks import cost_blocks


@pytest.fixture(scope="module")
def step():
    with tf.Graph().as_default():
        rows = tf.placeholder(tf.float32, [256, 1024], name="rows")
        with tf.device("/gpu:0"):
            hidden = tf.matmul(rows, tf.ones([1024, 1024]))
        with tf.device("/cpu:0"):
            return tf.estimate(tf.reduce_sum(hidden), machine="1x V100")


def test_the_breakdown_is_a_table_whose_shares_add_up(step):
    [table] = [block for block in cost_blocks(step) if block.get("caption") == "Breakdown of the step time"]
    names, shares, times = zip(*table["rows"], strict=True)
    percents = [int(cell["text"].removesuffix("%")) for cell in shares]
    assert sum(percents) == 100 and percents == sorted(percents[:-1], reverse=True) + percents[-1:]
    assert [bar[0] for cell in shares for bar in cell["bar"]] == [percent / 100 for percent in percents]
    parts = [f"{name['strong']} {percent}% ({time})" for name, percent, time in zip(names, percents, times)]
    assert f"Breakdown of the step time: {', '.join(parts)}." in step.explain()


def test_the_text_does_not_repeat_the_breakdown(step):
    texts = [block["text"] for block in cost_blocks(step) if block["kind"] == "text"]
    assert texts and not any("Breakdown" in text for text in texts)
