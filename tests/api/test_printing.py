"""`tf.print` and `tf.strings.format`: texts, streams and files."""

import re
import sys
from collections import namedtuple

import numpy as np
import pytest

import gpuplace as tf


def template_of(operation):
    return operation.inputs[0].op.get_attr("template").decode()


FORMATTED = [
    (lambda: tf.range(7), 3, "[0 1 2 ... 4 5 6]"),
    (lambda: tf.range(6), 3, "[0 1 2 3 4 5]"),
    (lambda: tf.range(3), -1, "[0 1 2]"),
    (lambda: tf.range(3), 0, "[ ...]"),
    (lambda: tf.constant(7), 3, "7"),
    (lambda: [[1.5, 2], [3, 4]], 3, "[[1.5 2]\n [3 4]]"),
    (lambda: tf.reshape(tf.range(16), [2, 4, 2]), 1, "[[[0 1]\n  ...\n  [6 7]]\n\n [[8 9]\n  ...\n  [14 15]]]"),
    (lambda: [True, False], 3, "[1 0]"),
    (lambda: [1.0, 0.1, 1e-8, np.nan, np.inf, 123456789.0, -0.0], -1, "[1 0.1 1e-08 nan inf 123456792 -0]"),
    (lambda: tf.constant([0.1, 1 / 3], tf.float16), 3, "[0.0999755859 0.333251953]"),
    (lambda: tf.constant([0.1, 1e16], tf.float64), 3, "[0.1 1e+16]"),
    (lambda: ["a", 'b"\n'], 3, '["a" "b\\"\\n"]'),
    (lambda: "x", 3, '"x"'),
    (lambda: b"\xff\x00", 3, '"\\377\\000"'),
]  # fmt: skip


@pytest.mark.parametrize(("value", "entries", "text"), FORMATTED)
def test_values_in_a_text(value, entries, text):
    tensor = tf.convert_to_tensor(value())
    with tf.Session() as session:
        assert session.run(tf.strings.format("<{}>", tensor, summarize=entries)).decode() == f"<{text}>"
        assert (
            session.run(tf.strings.format("%|%", [tensor, tensor], "%", entries)).decode() == f"{text}|{text}"
        )


def test_as_many_placeholders_as_tensors():
    with pytest.raises(
        ValueError, match=re.escape("2 placeholder(s) in template does not match 1 tensor(s)")
    ):
        tf.strings.format("{} {}", tf.constant(1))


def test_what_is_printed_and_where(capfd, tmp_path):
    x, path = tf.constant([1, 2]), tmp_path / "printed"
    streams = [None, sys.stdout, tf.logging.warning, f"file://{path}"]
    with tf.Session() as session:
        session.run([tf.print("x", x, 3, output_stream=one, sep="-", end="!\n") for one in streams])
        session.run(tf.print(tf.constant("plain"), output_stream=f"file://{path}"))
        with tf.control_dependencies([tf.print("before")]):
            session.run(tf.identity(x))
    out, errors = capfd.readouterr()
    assert out == "x-[1 2]-3!\n"
    assert sorted(errors.splitlines()) == ["W: x-[1 2]-3!", "before", "x-[1 2]-3!"]
    assert path.read_text() == "x-[1 2]-3!\nplain\n"


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: ["{}", x], r"\{\} \{\}\d"),
        (lambda x: [Pair(x, 2), (x,), np.array([1.0])], r"Pair\(a=\{\}, b=2\) \(\{\},\) array\(\[1\.\]\)"),
        (lambda x: [{"b": [x], "a": "text"}], r"\{'a': 'text', 'b': \[\{\}\]\}"),
        (lambda x: [[tf.SparseTensor([[0]], [1], [2])]], r"\['SparseTensor\(indices=\{\}, values=.*\)'\]"),
    ],
)  # fmt: skip
def test_structures_of_tensors(make, text):
    assert re.fullmatch(text, template_of(tf.print(*make(tf.constant(1)))))


def test_streams_that_are_not_there():
    with pytest.raises(ValueError, match=r"Unsupported output stream.*Supported streams are sys\.stdout"):
        tf.print(1, output_stream="printed.txt")
