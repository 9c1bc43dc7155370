"""Devices by scope: every op asks for a device that it may ask for, and no shorter text says so."""

import itertools

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.advisor.steps.scope_rules import device_by, python_text, scope_rules, shortest_rules

NAMES = ("a", "a/x", "a/x/y", "a/z", "b/x", "b/z", "c")
DEVICES = (None, "/device:CPU:0", "/device:GPU:10")


def all_rules(names):
    """Every set of rules for some ops and the scopes that they are in."""
    scopes = {""} | {"/".join(name.split("/")[:depth]) for name in names for depth in range(1, 4)}
    for chosen in itertools.product(("", *DEVICES), repeat=len(scopes)):
        yield {scope: device for scope, device in zip(sorted(scopes), chosen, strict=True) if device != ""}


def length(rules):
    return sum(len(f"{scope!r}, ") for scope in rules)


@pytest.mark.parametrize("seed", range(6))
def test_no_rules_are_shorter(seed):
    rng = np.random.default_rng(seed)
    names = sorted(rng.choice(NAMES, 4, replace=False).tolist())
    may = {name: frozenset(rng.choice(DEVICES, rng.integers(1, 3), replace=False).tolist()) for name in names}
    rules = shortest_rules(may)
    assert all(device_by(rules, name) in fits for name, fits in may.items())
    others = (
        length(other)
        for other in all_rules(names)
        if all(device_by(other, name) in fits for name, fits in may.items())
    )
    assert length(rules) == min(others)


def test_the_text_gives_what_the_rules_say():
    long = [f"{'deep/' * number}layer-{'x' * number}" for number in range(60)]  # a line breaks at no hyphen
    rules = {"": "/device:CPU:0", "a": "/device:GPU:1", "a/x": None, "a/x/y/z": "/device:GPU:0"}
    rules |= dict.fromkeys(long, "/device:GPU:2")
    made = {}
    lines = python_text(rules).partition("with tf.device")[0].removeprefix("import tensorflow as tf")
    exec(lines, made)
    for name in ("a", "a/x", "a/x/y", "a/x/y/z", "a/x/y/z/w", "a/b", "ab", "c/a", *long):
        op = type("Op", (), {"name": name, "device": "/device:GPU:7"})
        assert made["advised_device"](op) == (device_by(rules, name) or "/device:GPU:7")


def test_one_rule_is_for_all_sums_of_gradients():
    """Sums of what several devices have, which get names of their own, are among the ops that a scope's rule is for."""
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            weights = [tf.get_variable(f"weights_{number}", (4, 4)) for number in range(6)]
        losses = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                top = tf.ones([4, 4])
                for matrix in weights:
                    top = tf.matmul(top, matrix)
                losses.append(tf.reduce_sum(top))
        with tf.device("/cpu:0"):
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            optimizer.minimize(tf.add_n(losses), colocate_gradients_with_ops=True, name="train")
    asked = tf.place(graph, "2x V100")
    gpu = asked.device_labels.index("GPU:1")
    is_sum = np.array(
        [name.startswith("gradients/AddN") and "/" not in name[10:] for name in asked.graph.names]
    )
    assert is_sum.sum() == 6 and (asked.devices[is_sum] != gpu).all()
    rules = scope_rules(asked, np.where(is_sum, gpu, asked.devices), {})
    towers = {"tower_0": "/device:GPU:0", "tower_1": "/device:GPU:1"}
    assert rules == {"": "/device:CPU:0", "gradients": "/device:GPU:1", **towers}
