"""The explorer of rules: its rows, its controls as a browser moves them, and what a saved notebook keeps."""

import re

import pytest
import traitlets

import gpuplace as tf
from gpuplace.why.rules import Rule


def product(dtype):
    x = tf.placeholder(dtype, [2, 2], name="x")
    return tf.matmul(x, x, name="product")


@pytest.fixture
def rules():
    return tf.explore_rules(product, ["float32", "int32", "bool"], machine="2x Tesla K40c")


def choose(rules, title, value):
    """What a browser sends when the user chooses an entry, or checks a box."""
    (choice,) = [choice for choice in rules.choices if choice["label"] == title]
    assert choice["options"] is None or value in dict(choice["options"])
    rules.set_state({choice["name"]: value})


def shown(rules):
    """Rule, and devices left and struck out, of each row on the page."""
    page = rules.rules
    rows = re.findall(r"<tr><td.*?</tr>", page)
    text = [re.sub(r"<[^>]*>", "|", row) for row in rows]
    return [
        (next(filter(None, line.split("|"))), re.findall(r"<del[^>]*>(.*?)</del>", row))
        for line, row in zip(text, rows, strict=True)
    ]


def test_it_starts_without_a_request_in_this_release(rules):
    assert rules.explanation.device.endswith("GPU:0") and rules.release == "1.15"
    assert shown(rules) == [("kernel", []), ("type priority", ["CPU:0"]), ("name order", ["GPU:1"])]
    assert list(dict(rules.choices[0]["options"])) == ["", "/cpu:0", "/gpu:0", "/gpu:1", "/gpu:2"]


def test_each_control_changes_what_is_struck_out(rules):
    choose(rules, "tf.device", "/gpu:1")
    assert rules.request == "/gpu:1" and rules.explanation.rule is Rule.REQUEST
    assert shown(rules)[-1] == ("request", ["CPU:0", "GPU:0"])
    choose(rules, "dtype", "int32")
    assert shown(rules)[0] == ("kernel", ["GPU:0", "GPU:1"]) and shown(rules)[1] == ("request", ["CPU:0"])
    assert rules.explanation.rule is Rule.FAILED and rules.explanation.device == ""
    choose(rules, "soft placement", True)
    assert rules.explanation.rule is Rule.SOFT_PLACEMENT and rules.explanation.device.endswith("CPU:0")
    assert shown(rules) == [("kernel", ["GPU:0", "GPU:1"]), ("request", ["CPU:0"]), ("soft placement", [])]


def test_the_release_decides():
    def same(dtype):
        return tf.identity(tf.matmul(*[tf.constant([[1]], dtype)] * 2), name="same")

    rules = tf.explore_rules(same, ["int32"], machine="1x V100")
    devices = {}
    for release in ("1.15", "2.21"):
        choose(rules, "TensorFlow", release)
        devices[release] = rules.explanation.device[-5:]
    assert devices == {"1.15": "GPU:0", "2.21": "CPU:0"}


def test_the_rows_are_those_of_explain(rules):
    rules.request, rules.dtype = "/cpu:0", "int32"
    with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
        product(tf.int32)
    assert rules.explanation.steps == tf.place(graph, "2x Tesla K40c").explain("product").steps


def test_an_error_of_the_program_is_shown_and_gone_with_the_next_choice(rules):
    choose(rules, "dtype", "bool")
    assert rules.explanation is None and isinstance(rules.error, TypeError)
    assert 'role="alert"' in rules.rules and "DataType bool" in rules.rules
    choose(rules, "dtype", "float32")
    assert rules.error is None and rules.explanation.device


def test_a_saved_notebook_keeps_the_last_choice(rules):
    rules.request = "/gpu:1"
    bundle = rules._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert bundle["text/plain"] == f"{rules.text}\n{rules.explanation}"
    first = "tf.device('/gpu:1'), float32, TensorFlow 1.15, without soft placement"
    assert rules.text == first and rules.rules in bundle["text/html"]
    assert "<script" not in bundle["text/html"]


def test_a_setting_that_does_not_exist_is_an_error(rules):
    with pytest.raises(traitlets.TraitError, match="'/tpu:0' is none of the requests: '', '/cpu:0'"):
        rules.request = "/tpu:0"
    with pytest.raises(traitlets.TraitError, match="release"):
        rules.release = "1.16"
    assert rules.request == "" and rules.explanation.device


def test_many_devices_are_not_struck_out_one_by_one():
    rules = tf.explore_rules(product, machine="16x V100")
    assert shown(rules) == [("kernel", []), ("type priority", []), ("name order", [])]
    assert "+9" in rules.rules
