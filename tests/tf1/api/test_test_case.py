"""``tf.test``: test cases with sessions, comparisons, and gradients by differences."""

import re
import unittest

import numpy as np
import pytest

import gpuplace as tf


@pytest.fixture
def case():
    class Case(tf.test.TestCase):
        def runTest(self):  # noqa: N802 - unittest's name
            """So that a case can be made without a test."""

    made = Case()
    made.setUp()
    yield made
    made.tearDown()


def failures(test):
    """Runs one test function as a case of its own; returns the texts of its failures and errors."""

    class Case(tf.test.TestCase):
        def runTest(self):  # noqa: N802
            test(self)

    result = unittest.TestResult()
    Case().run(result)
    return [text for _, text in [*result.failures, *result.errors]]


def test_evaluate_uses_the_default_session_or_that_of_the_test(case):
    v = tf.Variable(3.0)
    case.evaluate(v.initializer)
    assert case.evaluate([v, {"twice": v * 2}]) == [3.0, {"twice": 6.0}]
    with tf.Session() as session:
        session.run(v.assign(5.0))
        assert case.evaluate(v) == 5.0
    assert case.evaluate(v) == 3.0


def test_one_session_is_kept_for_a_test_and_closed_behind_it():
    seen = []

    def test(self):
        with self.cached_session() as first, self.test_session() as second:
            assert first is second
        seen.append(first)
        with self.session() as other:
            assert other is not first
        with pytest.raises(ValueError, match="different than the one"):
            with self.cached_session(graph=tf.Graph()):
                pass

    assert failures(test) == []
    with pytest.raises(RuntimeError, match="closed"):
        seen[0].run([])


def test_every_test_starts_from_a_fresh_graph_with_the_same_seed():
    drawn = []

    def test(self):
        assert not tf.get_default_graph().get_operations()
        drawn.append((self.evaluate(tf.random_uniform([2])).tolist(), np.random.rand()))

    assert failures(test) == failures(test) == []
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("use", "device"), [({}, "CPU:0"), ({"use_gpu": True}, "GPU:0"), ({"force_gpu": True}, "GPU:0")]
)
def test_operations_go_where_the_session_says(case, use, device):
    tf.use_machine("1x Tesla K40c")
    with case.session(graph=tf.Graph(), **use) as session:
        x = tf.constant([1.0])
        assert session.placement[x.op.name].endswith(device)


FINE = [
    lambda t: t.assertAllClose([1.0, 2.0], np.array([1.0, 2.0 + 1e-7])),
    lambda t: t.assertAllClose({"a": [1.0], "b": (2.0, [3.0, 4.0])}, {"a": [1.0], "b": (2.0, [3.0, 4.0])}),
    lambda t: t.assertAllClose(tf.constant([1.0, np.nan]), [1.0, np.nan]),
    lambda t: t.assertAllCloseAccordingToType(np.float16([1.0]), np.float16([1.001])),
    lambda t: t.assertAllEqual(tf.constant([[1, 2]]), [[1, 2]]),
    lambda t: t.assertAllEqual([b"a"], tf.constant(["a"])),
    lambda t: t.assertArrayNear([1.0, 2.0], [1.1, 1.9], 0.2),
    lambda t: t.assertNear(1.0, 1.5, 0.5),
    lambda t: t.assertShapeEqual(np.zeros([2, 3]), tf.zeros([2, 3])),
    lambda t: t.assertDeviceEqual("/gpu:1", "/device:GPU:1"),
    lambda t: t.assertProtoEquals("name: 'x' op: 'NoOp'", tf.no_op(name="x").node_def),
    lambda t: t.assertNotAllClose([1.0], [2.0]),
    lambda t: t.assertNotAllEqual([1], [2]),
    lambda t: t.assertAllInRange(tf.constant([1, 2]), 1, 2),
    lambda t: t.assertAllInSet([1, 2, 1], {1, 2}),
    lambda t: t.assertAllGreater([2, 3], 1),
    lambda t: t.assertNDArrayNear(np.ones(3), np.ones(3) + 0.01, 0.1),
    lambda t: t.assertItemsEqual([2, 1], [1, 2]),
]

WRONG = [
    (lambda t: t.assertAllClose([1.0, 2.0], [1.0, 2.1]), "not close where"),
    (lambda t: t.assertAllClose({"a": [1.0]}, {"a": [2.0]}), r"a\[a\] is different from b\[a\]"),
    (lambda t: t.assertAllClose({"a": 1.0}, {"b": 1.0}), "mismatched keys"),
    (lambda t: t.assertAllClose([1.0], [1.0, 2.0]), r"expected \(1,\), got \(2,\) with contents \[1. 2.\]"),
    (lambda t: t.assertAllCloseAccordingToType(np.float32([1.0]), np.float32([1.001])), "not close where"),
    (lambda t: t.assertAllEqual([1, 2], [1, 3]), "not equal where"),
    (lambda t: t.assertArrayNear([1.0], [1.5], 0.2), r"1.0 != 1.5 \+/- 0.2"),
    (lambda t: t.assertNear(1.0, 2.0, 0.5, "far"), "far"),
    (lambda t: t.assertShapeEqual(np.zeros([2]), tf.zeros([3])), "not equal"),
    (lambda t: t.assertDeviceEqual("/gpu:1", "/gpu:0"), "Devices"),
    (lambda t: t.assertProtoEquals("name: 'y' op: 'NoOp'", tf.no_op(name="x").node_def), "name"),
    (lambda t: t.assertNotAllClose([1.0], [1.0]), "close at all elements"),
    (lambda t: t.assertNotAllEqual([1], [1]), "equal at all elements"),
    (lambda t: t.assertAllInRange([1, 3], 1, 2), r"\[3\] is not in the range \[1, 2\]"),
    (lambda t: t.assertAllInRange([True], 0, 1), r"\[ True\] does not have an ordered numeric type"),
    (lambda t: t.assertAllInRange([1j], 0, 1), r"instead it has type: complex128"),
    (
        lambda t: t.assertAllClose([0.0, 2.0], [1.0, 2.0]),
        r"lhs = \[0.\]\nnot close rhs = \[1.\]\nnot close dif = \[1.\]",
    ),
    (
        lambda t: t.assertAllClose([{"a": 1.0}], [{"a": 2.0}]),
        r"a\[0\]\[a\] is different .*\n.*\n.*\n.*dif = 1.0\n.*3e-06",
    ),
    (
        lambda t: t.assertAllEqual(["a", "b"], ["a", "c"], "why"),
        r"why\nnot equal where = .*\nnot equal lhs = \['b'\]",
    ),
    (lambda t: t.assertAllInSet([1, 5], {1}), r"\[5\] is not in"),
    (lambda t: t.assertAllLess([1, 3], 2), r"\[3\] is not less than 2"),
]


@pytest.mark.parametrize("number", range(len(FINE)))
def test_assertions_that_hold(case, number):
    FINE[number](case)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_assertions_that_fail_say_why(case, number):
    test, words = WRONG[number]
    with pytest.raises(AssertionError, match=words):
        test(case)


def test_errors_of_a_run_are_matched_with_their_operation(case):
    x = tf.placeholder(tf.float32, name="x")
    with case.assertRaisesOpError("You must feed a value for placeholder tensor 'x'"):
        case.evaluate(x)
    with case.assertRaisesWithPredicateMatch(ValueError, "of no kind"):
        raise ValueError("it is of no kind")
    with case.assertRaisesWithPredicateMatch(ValueError, lambda error: "b" in str(error)):
        raise ValueError("ab")
    with pytest.raises(AssertionError, match="ValueError not raised"):
        with case.assertRaisesWithPredicateMatch(ValueError, "x"):
            pass
    with pytest.raises(AssertionError, match="other"):
        with case.assertRaisesWithPredicateMatch(ValueError, "x"):
            raise ValueError("other")


def test_a_thread_that_fails_fails_the_test():
    def fails(self):
        def work():
            raise ValueError("in the thread")

        thread = self.checkedThread(work)
        thread.start()
        thread.join()

    def forgets(self):
        self.checkedThread(lambda: None).start()

    def works(self):
        found = []
        thread = self.checkedThread(found.append, args=(1,))
        thread.start()
        thread.join()
        assert found == [1]

    assert "in the thread" in failures(fails)[0]
    assert "was not joined" in failures(forgets)[0]
    assert failures(works) == []


def test_gradients_by_differences():
    x = tf.placeholder(tf.float64, [2, 3])
    y = tf.matmul(tf.square(x), tf.ones([3, 2], tf.float64))
    with tf.Session():
        theoretical, numeric = tf.test.compute_gradient(x, [2, 3], y, [2, 2], delta=1e-4)
        assert theoretical.shape == numeric.shape == (6, 4)
        np.testing.assert_allclose(theoretical, numeric, rtol=1e-6)
        assert np.any(theoretical)
        assert tf.test.compute_gradient_error(x, [2, 3], y, [2, 2]) < 1e-6
        pairs = tf.test.compute_gradient([x, x], [[2, 3], [2, 3]], y, [2, 2])
        assert len(pairs) == 2


def test_a_wrong_gradient_is_found():
    with tf.get_default_graph().gradient_override_map({"Square": "TestCaseWrongSquare"}):
        x = tf.constant([1.0, 2.0])
        y = tf.square(x)
    tf.RegisterGradient("TestCaseWrongSquare")(lambda op, grad: grad)
    with tf.Session():
        assert tf.test.compute_gradient_error(x, [2], y, [2], x_init_value=np.float32([1, 2])) > 1


def test_gradients_of_rows_and_of_complex_numbers():
    table = tf.placeholder(tf.float32, [4, 2])
    rows = tf.gather(table, [1, 1, 3])
    z = tf.placeholder(tf.complex128, [2])
    with tf.Session():
        assert tf.test.compute_gradient_error(table, [4, 2], rows, [3, 2]) < 1e-3
        assert tf.test.compute_gradient_error(z, [2], tf.real(z * z), [2]) < 1e-6


def test_there_has_to_be_a_session_and_a_fitting_value():
    x = tf.placeholder(tf.float32, [2])
    with pytest.raises(ValueError, match="default session"):
        tf.test.compute_gradient(x, [2], x * 2, [2])
    with tf.Session(), pytest.raises(ValueError, match="x_init_value"):
        tf.test.compute_gradient(x, [2], x * 2, [2], x_init_value=np.zeros(3))


def test_folders_for_files(case):
    assert case.get_temp_dir() == case.get_temp_dir() != tf.test.get_temp_dir()
    assert case.get_temp_dir().startswith(tf.test.get_temp_dir())


def test_scalars_that_differ():
    with pytest.raises(AssertionError, match="not equal lhs = 3\nnot equal rhs = 2"):
        tf.test.TestCase("test_session").assertAllEqual(3, 2)


def test_graphs_that_differ():
    graphs = []
    for names in ({"five": 5, "seven": 7}, {"seven": 7, "five": 5}, {}, {"seven": 8, "five": 5}):
        with tf.Graph().as_default() as graph:
            for name, value in names.items():
                tf.constant(value, name=name)
        graphs.append(graph.as_graph_def())
    both, swapped, empty, other = graphs
    tf.test.assert_equal_graph_def(both, swapped)
    of_seven = re.escape("seven}} = Const[dtype=DT_INT32, value=Tensor<type: int32 shape: [] values: 7>]()")
    with pytest.raises(AssertionError, match="^Found unexpected node '.*" + of_seven):
        tf.test.assert_equal_graph_def(both, empty)
    with pytest.raises(AssertionError, match=r"^Did not find expected node '.*five}} = Const"):
        tf.test.assert_equal_graph_def(empty, both)
    with pytest.raises(
        AssertionError, match=r"^Node named 'seven' has attr 'value' with value: .*: 7> that .*: 8>"
    ):
        tf.test.assert_equal_graph_def(both, other)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda node: setattr(node, "op", "Sub"), "Node named 'y' has op 'Add' that is not expected 'Sub'"),
        (
            lambda node: setattr(node, "device", "/cpu:0"),
            "Node named 'y' has device '' that is not expected '/cpu:0'",
        ),
        (
            lambda node: node.input.pop(),
            "Node named 'y' has inputs 'x, x, ^z' that don't match expected 'x, x'",
        ),
        (
            lambda node: node.input.__setitem__(1, "z"),
            "Node named 'y' has input 1 'x' that doesn't match expected 'z'",
        ),
        (lambda node: node.input.__setitem__(2, "^x"), "Node named 'y' missing expected control input '^x'"),
        (
            lambda node: node.attr["T"].Clear(),
            "Node named 'y' has attr 'T' with value: DT_FLOAT that does not match",
        ),
        (lambda node: node.attr.pop("T"), "Node named 'y' has unexpected attr 'T' with value: DT_FLOAT"),
        (
            lambda node: setattr(node.attr["own"], "b", True),
            "Node named 'y' missing expected attr 'own' with value: true",
        ),
    ],
)
def test_nodes_that_differ(change, message):
    x = tf.ones([2], name="x")
    with tf.control_dependencies([tf.zeros([2], name="z")]):
        tf.add(x, x, name="y")
    graph, other = (tf.get_default_graph().as_graph_def() for _ in range(2))
    other.node[-1].attr["_own"].b = True
    tf.test.assert_equal_graph_def(graph, other)
    change(other.node[-1])
    with pytest.raises(AssertionError, match=re.escape(message)):
        tf.test.assert_equal_graph_def(graph, other)
