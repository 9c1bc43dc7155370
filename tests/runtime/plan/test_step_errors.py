"""Texts of errors, release by release."""

import pytest

import gpuplace as tf
from gpuplace.errors import InternalError, InvalidArgumentError, OpError, ResourceExhaustedError
from gpuplace.runtime.plan.step_errors import failed_step_error, node_named_in, with_lines, with_tag


@pytest.fixture
def op():
    with tf.Graph().as_default(), tf.device("/gpu:1"):
        return tf.constant(1.0, name="scope/a").op


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ("1.0", "[[Node: a]]"),
        ("1.4", "[[Node: a]]"),
        ("1.15", "[[{{node a}}]]"),
        ("2.21", "[[{{node a}}]]"),
    ],
)
def test_the_line_that_names_a_node(release, line):
    assert with_tag("It failed", "a", release) == f"It failed\n\t {line}"
    assert with_tag("It failed\n\t [[b]]", "a", release) == "It failed\n\t [[b]]"


@pytest.mark.parametrize(
    ("release", "device", "first", "second"),
    [
        ("1.0", "/job:localhost/replica:0/task:0/cpu:0", "_recv_a_0", "_recv_b_0"),
        ("1.4", "/job:localhost/replica:0/task:0/device:CPU:0", "_arg_a_0_0", "_arg_b_0_1"),
    ],
)
def test_old_releases_print_the_whole_node(release, device, first, second):
    """As 1.0.1 and 1.4.1 answered, what is fed under the names that they give it."""
    tf.use_machine("cpu")
    tf.set_release(release)
    a, b, c = (tf.placeholder(tf.float32, [None, None], name=name) for name in "abc")
    total = tf.matmul(a, b, name="m") + c
    feeds = {c: [[1.0, 1.0]], b: [[1.0, 1.0], [1.0, 1.0]], a: [[1.0, 1.0, 1.0]]}
    with pytest.raises(InvalidArgumentError) as caught:
        tf.Session().run(total, feeds)
    assert caught.value.message == (
        "Matrix size-incompatible: In[0]: [1,3], In[1]: [2,2]\n\t [[Node: m = MatMul[T=DT_FLOAT, transpose_a=false, "
        f'transpose_b=false, _device="{device}"]({first}, {second})]]'
    )
    assert caught.value.op is a.graph.get_operation_by_name("m")


@pytest.mark.parametrize(
    ("release", "shape", "told", "attr"),
    [
        ("1.0", None, "", "[]"),
        ("1.4", None, "", "<unknown>"),
        ("1.0", [None, 2], "", "[]"),
        ("1.4", [None, 2], " and shape [?,2]", "[?,2]"),
        ("1.0", [3, 2], " and shape [3,2]", "[3,2]"),
    ],
)
def test_what_old_releases_say_of_a_missing_feed(release, shape, told, attr):
    """1.0 drops a shape that is not known in full."""
    tf.use_machine("cpu")
    tf.set_release(release)
    a = tf.placeholder(tf.float32, shape, name="a")
    with pytest.raises(InvalidArgumentError) as caught:
        tf.Session().run(a + 1.0)
    kind = "cpu:0" if release == "1.0" else "device:CPU:0"
    assert caught.value.message == (
        f"You must feed a value for placeholder tensor 'a' with dtype float{told}\n\t [[Node: a = Placeholder["
        f'dtype=DT_FLOAT, shape={attr}, _device="/job:localhost/replica:0/task:0/{kind}"]()]]'
    )


def test_tags_become_lines_of_the_program(op):
    text = with_lines("{{node scope/a}} and {{colocation_node scope/a}} and {{node other}}", op.graph, "1.15")
    block = op.device_scopes[0]
    devices = (
        "Device assignments active during op 'scope/a' creation:\n"
        f"  with tf.device({block.shown}): <{block.filename}:{block.lineno}>"
    )
    assert text == (
        f"node scope/a (defined at {op.source})  and node scope/a (defined at {op.source}) placed on device {devices}"
        "  and {{node other}}Additional information about colocations:"
        f"No node-device colocations were active during op 'scope/a' creation.\n{devices}"
    )
    assert with_lines("{{node scope/a}}", op.graph, "1.4") == "{{node scope/a}}"


def test_2_21_puts_the_lines_before_the_sentence(op):
    lines = with_lines("Bad: {{node scope/a}}", op.graph, "2.21").splitlines()
    assert lines[0] == "Graph execution error:"
    assert lines[2] == "Detected at node 'scope/a' defined at (most recent call last):"
    assert lines[-3].startswith('    File "') and lines[-2:] == ["Node: 'scope/a'", "Bad: {{node scope/a}}"]
    assert with_lines("Bad", op.graph, "2.21") == "Graph execution error:\n\nBad"


@pytest.mark.parametrize(
    "text", ["[[scope/a]]", "[[{{node scope/a}}]]", "[[Node: scope/a = Const[dtype=DT_FLOAT]()]]"]
)
def test_the_node_of_a_message(op, text):
    assert node_named_in(f"It failed\n\t {text}", op.graph) is op
    assert node_named_in("It failed", op.graph) is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("bad"), InvalidArgumentError),
        (KeyError("bad"), InvalidArgumentError),
        (IndexError("bad"), InvalidArgumentError),
        (ZeroDivisionError("bad"), InvalidArgumentError),
        (MemoryError("bad"), ResourceExhaustedError),
        (RuntimeError("bad"), InternalError),
    ],
)
def test_python_errors_become_tensorflows(op, error, kind):
    made = failed_step_error(error, op, "/device:GPU:1", [], "1.15")
    assert type(made) is kind and made.op is op
    assert made.message == f"bad\n\t [[node scope/a (defined at {op.source}) ]]"
    assert made.facts["raised"] == f"{type(error).__name__} in the function that computes Const"


def test_facts_and_hint_of_an_op_error_stay(op):
    error = OpError(None, None, "bad", 77, facts={"device": "elsewhere"}, hint="this")
    made = failed_step_error(error, op, "/device:GPU:1", [], "1.15")
    assert (made.error_code, made.facts["device"], made.hint) == (77, "elsewhere", "this")
