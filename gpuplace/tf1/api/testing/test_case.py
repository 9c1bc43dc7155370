"""``tf.test.TestCase``: a unittest case, through absl, with sessions and comparisons of tensors and arrays.

A test starts with a fresh default graph with a fixed seed. ``self.cached_session()`` returns one session for the whole
test; ``self.evaluate`` uses the default session, or otherwise that one.

Source: tensorflow/python/framework/test_util.py (TensorFlowTestCase), release 1.15 (names, arguments, messages).
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from absl.testing import absltest

from gpuplace.errors import OpError
from gpuplace.graph import stacks
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import nest
from gpuplace.ops.gradients.indexed_slices import IndexedSlices, IndexedSlicesValue
from gpuplace.runtime.session.session import Session
from gpuplace.tf1.api.testing.benchmark import benchmark_pattern, run_benchmarks
from gpuplace.typing import Graph, TensorLike

__all__ = ["CheckedThread", "TestCase", "get_temp_dir", "main", "test_src_dir_path"]

RANDOM_SEED = 87654321
_temp_dir: list[str] = []


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the script, and exit; with ``--benchmarks=PATTERN``, run its benchmarks.

    Args:
        argv: the command line; None: ``sys.argv``.

    Raises:
        SystemExit: always, with status 0 if all tests pass.
    """
    pattern = benchmark_pattern(sys.argv if argv is None else argv)
    if pattern is not None:
        run_benchmarks(pattern)
        raise SystemExit(0)
    absltest.main(argv=argv)


def get_temp_dir() -> str:
    """Return a folder for test files of this process; it is deleted when the process ends."""
    if not _temp_dir:
        _temp_dir.append(tempfile.mkdtemp(prefix="gpuplace_test_"))
        import atexit

        atexit.register(shutil.rmtree, _temp_dir[0], ignore_errors=True)
    return _temp_dir[0]


def test_src_dir_path(relative_path: str) -> str:
    """Return the path of a file or folder beside the tested sources.

    Args:
        relative_path: path relative to the folder of the sources.
    """
    folder = os.environ.get("TEST_SRCDIR", "")
    return os.path.join(folder, "org_tensorflow", "tensorflow", relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined] # a name that pytest would collect


class CheckedThread:
    """A thread whose exception fails the test when it is joined.

    Args:
        testcase: the test.
        target: function that the thread calls.
        args: its positional arguments.
        kwargs: its keyword arguments, or None.
    """

    def __init__(
        self,
        testcase: TestCase,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._testcase = testcase
        self._target = target
        self._args = tuple(args)
        self._kwargs = dict(kwargs or {})
        self._thread = threading.Thread(target=self._run)
        self._error: Exception | None = None
        self._is_joined = False

    def _run(self) -> None:
        try:
            self._target(*self._args, **self._kwargs)
        except Exception as error:  # raised again by join
            self._error = error

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the thread; raise AssertionError if it raised an exception."""
        self._is_joined = True
        self._thread.join()
        if self._error is not None:
            raise self._testcase.failureException(f"Error in checkedThread: {self._error}") from self._error

    def is_alive(self) -> bool:
        """Return whether the thread is running."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Raise AssertionError if the thread was not joined."""
        if self._is_joined:
            return
        if self.is_alive():
            raise self._testcase.failureException(
                "Thread was not joined with main thread, and is still running."
            )
        raise self._testcase.failureException("Thread was not joined with main thread.")


class TestCase(absltest.TestCase):
    """A test case with sessions and with comparisons of tensors and arrays."""

    def __init__(self, methodName: str = "runTest") -> None:  # noqa: N803 - unittest's name
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._folder: str | None = None
        self._cached: Session | None = None
        self._cached_arguments: tuple[Any, ...] = ()

    def setUp(self) -> None:  # noqa: N802 - unittest's name
        """Set up a fresh default graph with a fixed seed."""
        super().setUp()
        self._close_cached()
        random.seed(RANDOM_SEED)
        np.random.seed(RANDOM_SEED)
        stacks.graph_stack.reset()
        stacks.reset_default_graph()
        get_default_graph().seed = RANDOM_SEED

    def tearDown(self) -> None:  # noqa: N802 - unittest's name
        """Check that threads were joined, and close the session."""
        for thread in self._threads:
            thread.check_termination()
        self._close_cached()
        super().tearDown()

    def _close_cached(self) -> None:
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    def get_temp_dir(self) -> str:
        """Return this test's own folder, created on first use."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
        return self._folder

    # Sessions

    def session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Any:
        """Open a block with a new default session, which is closed at the end.

        Args:
            graph: the graph to run; None: the default one.
            config: a ``ConfigProto``; None: the default for tests, with soft placement.
            use_gpu: whether operations without a device may go to a GPU; otherwise they go to the CPU.
            force_gpu: whether to request the first GPU for them.
        """
        return self._session(graph, config, use_gpu, force_gpu)

    @contextlib.contextmanager
    def _session(self, graph: Any, config: Any, use_gpu: bool, force_gpu: bool) -> Iterator[Session]:
        with Session(graph=graph, config=self._config(config, force_gpu)) as session:
            with self._on_device(session, use_gpu, force_gpu):
                yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Session]:
        """Open a block with the session of this test, created on first use; it stays open.

        Args:
            graph: as for ``session``; all calls of a test must have the same arguments.
            config: as for ``session``.
            use_gpu: as for ``session``.
            force_gpu: as for ``session``.

        Raises:
            ValueError: an argument differs from the first call.
        """
        arguments = (graph, config, force_gpu)
        if self._cached is None:
            self._cached = Session(graph=graph, config=self._config(config, force_gpu))
            self._cached_arguments = arguments
        for name, was, now in zip(
            ("graph", "config", "force_gpu"), self._cached_arguments, arguments, strict=True
        ):
            if was is not now and was != now:
                words = (
                    "The graph used to get the cached session is different than the one that was used to create it."
                    if name == "graph"
                    else f"The {name} used to get the cached session is different than the one that was used to"
                    " create it."
                )
                raise ValueError(f"{words} Maybe create a new session with self.session()")
        session = self._cached
        with session.graph.as_default(), session.as_default(), self._on_device(session, use_gpu, force_gpu):
            yield session

    def test_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Any:
        """``session`` if a graph is given, otherwise ``cached_session``; deprecated in favor of these.

        Args:
            graph: as for ``session``.
            config: as for ``session``.
            use_gpu: as for ``session``.
            force_gpu: as for ``session``.
        """
        if self._testMethodName == "test_session":  # unittest collects this method as a test
            self.skipTest("Not a test.")
        make = self.cached_session if graph is None else self.session
        return make(graph, config, use_gpu, force_gpu)

    def _config(self, config: Any, force_gpu: bool) -> Any:
        if config is not None:
            return config
        from gpuplace.graphdef.messages import ConfigProto

        proto = ConfigProto(allow_soft_placement=not force_gpu)
        proto.gpu_options.per_process_gpu_memory_fraction = 0.3
        return proto

    def _on_device(self, session: Session, use_gpu: bool, force_gpu: bool) -> Any:
        if force_gpu:
            gpus = [device.name for device in session.list_devices() if device.device_type == "GPU"]
            return session.graph.device(gpus[0] if gpus else "/device:GPU:0")
        return contextlib.nullcontext() if use_gpu else session.graph.device("/device:CPU:0")

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors, in the default session or that of the test.

        Args:
            tensors: a structure of fetches, as for ``Session.run``.
        """
        session = stacks.get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as current:
            return current.run(tensors)

    # Threads

    def checkedThread(  # noqa: N802 - TensorFlow's name, as are the following
        self, target: Callable[..., Any], args: Sequence[Any] | None = None, kwargs: Any = None
    ) -> CheckedThread:
        """Return a thread whose exception fails the test when it is joined; the test has to join it.

        Args:
            target: function that the thread calls.
            args: its positional arguments, or None.
            kwargs: its keyword arguments, or None.
        """
        thread = CheckedThread(self, target, args or (), kwargs)
        self._threads.append(thread)
        return thread

    # Comparisons of messages

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None
    ) -> None:  # noqa: N802
        """Fail unless two messages are equal.

        Args:
            expected_message_maybe_ascii: a message, or its text format.
            message: a message.
            msg: an addition to the failure message.
        """
        if isinstance(expected_message_maybe_ascii, str):
            from gpuplace.graphdef.messages import text_format

            expected = text_format.Parse(expected_message_maybe_ascii, type(message)())
        elif type(expected_message_maybe_ascii) is type(message):
            expected = expected_message_maybe_ascii
        else:
            self.fail(
                f"Can't compare protos of type {type(expected_message_maybe_ascii)} and {type(message)}"
            )
        self.assertEqual(str(expected), str(message), msg)
        self.assertEqual(expected, message, msg)

    def assertProtoEqualsVersion(  # noqa: N802
        self,
        expected: Any,
        actual: Any,
        producer: int | None = None,
        min_consumer: int = 0,
        msg: str | None = None,
    ) -> None:
        """Fail unless a ``GraphDef`` has the given text and versions.

        Args:
            expected: its text format without ``versions``.
            actual: the ``GraphDef``.
            producer: its producer version; None: that of this release.
            min_consumer: its minimum consumer version.
            msg: an addition to the failure message.
        """
        from gpuplace.graph.graph import Graph

        version = Graph().versions.producer if producer is None else producer
        oldest = f" min_consumer: {min_consumer}" if min_consumer else ""
        self.assertProtoEquals(f"versions {{ producer: {version}{oldest} }}\n{expected}", actual, msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless a text begins with another.

        Args:
            actual: the text.
            expected_start: its beginning.
            msg: an addition to the failure message.
        """
        if not actual.startswith(expected_start):
            self.fail(self._formatMessage(msg, f"{actual!r} does not start with {expected_start!r}"))

    # Comparisons of numbers

    def _array(self, value: Any) -> Any:
        """Return a value as an array; tensors are evaluated."""
        if isinstance(value, (Tensor, Operation)) or hasattr(value, "_as_graph_element"):
            value = self.evaluate(value)
        if isinstance(value, (IndexedSlices, IndexedSlicesValue)):
            value = self.evaluate(value) if isinstance(value, IndexedSlices) else value
        if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in nest.flatten(value)):
            value = self.evaluate(value)
        return value if isinstance(value, np.ndarray) else np.array(value)

    _GetNdArray = _array
    """TensorFlow's name, which third-party test cases call."""

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless two numbers differ by at most ``err``.

        Args:
            f1: a number.
            f2: a number.
            err: the largest difference allowed.
            msg: an addition to the failure message.
        """
        self.assertTrue(
            f1 == f2 or abs(f1 - f2) <= err,
            f"{f1!r} != {f2!r} +/- {err!r}{' (' + msg + ')' if msg is not None else ''}",
        )

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless the numbers of two lists differ by at most ``err``.

        Args:
            farray1: a list or vector of numbers.
            farray2: another list, of the same length.
            err: the largest difference allowed.
            msg: an addition to the failure message.
        """
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless the norm of the difference of two arrays is below ``err``.

        Args:
            ndarray1: an array.
            ndarray2: another array, of the same shape.
            err: the upper limit, exclusive.
            msg: an addition to the failure message.
        """
        self.assertTrue(np.linalg.norm(ndarray1 - ndarray2) < err, msg)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Tensor, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless an array and a tensor have the same shape.

        Args:
            np_array: an array.
            tf_tensor: a tensor of a known shape.
            msg: an addition to the failure message.

        Raises:
            TypeError: the arguments are not an array and a tensor.
        """
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError("np_array must be a Numpy ndarray or Numpy scalar")
        if not isinstance(tf_tensor, Tensor):
            raise TypeError("tf_tensor must be a Tensor")
        self.assertAllEqual(np_array.shape, tf_tensor.shape.as_list(), msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless two device names are equivalent.

        Args:
            device1: a name, or an object with ``to_string``.
            device2: another device.
            msg: an addition to the failure message.
        """
        from gpuplace.device.spec import canonical_name

        one, other = map(canonical_name, (device1 or "", device2 or ""))
        self.assertEqual(one, other, f"Devices {one} and {other} are not equal. {msg or ''}")

    def assertAllClose(  # noqa: N802
        self, a: TensorLike, b: TensorLike, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Fail unless all numbers of two structures of arrays and tensors are close: ``|a - b| <= atol + rtol |b|``.

        Args:
            a: an array, tensor, number, or a structure of these.
            b: the expected values, in the same structure.
            rtol: relative tolerance.
            atol: absolute tolerance.
            msg: an addition to the failure message.
        """
        self._close(a, b, rtol, atol, msg, [])

    def _close(self, a: Any, b: Any, rtol: float, atol: float, msg: str | None, path: list[str]) -> None:
        place = "".join(path)
        where = f"structure {place}" if path else ""
        a, b = (dict(array._asdict()) if hasattr(array, "_asdict") else array for array in (a, b))
        if isinstance(a, Mapping) is not isinstance(b, Mapping):
            raise ValueError(
                f"Can't compare dict to non-dict, a{''.join(path)} vs b{''.join(path)}. {msg or ''}"
            )
        if isinstance(a, Mapping):
            self.assertCountEqual(a.keys(), b.keys(), f"mismatched keys: {where} {msg or ''}")
            for key in a:
                self._close(a[key], b[key], rtol, atol, msg, [*path, f"[{key}]"])
            return
        if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
            try:  # as a whole first: lists of numbers are arrays
                one, other = self._array(a), self._array(b)
                if one.dtype != object and other.dtype != object:
                    self._arrays_close(one, other, rtol, atol, place, msg)
                    return
            except (ValueError, TypeError):
                pass
            if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
                self.assertEqual(len(a), len(b), f"Mismatched length: {where} {msg or ''}")
                for index, (one, other) in enumerate(zip(a, b, strict=True)):
                    self._close(one, other, rtol, atol, msg, [*path, f"[{index}]"])
                return
        self._arrays_close(self._array(a), self._array(b), rtol, atol, place, msg)

    def _arrays_close(self, a: Any, b: Any, rtol: float, atol: float, place: str, msg: str | None) -> None:
        self._same_shape(a, b, msg)
        a, b = (x.astype(np.float32) if x.dtype.name in ("bfloat16", "float16") else x for x in (a, b))
        if np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            return
        lines = [f"Mismatched value: a{place} is different from b{place}. {msg or ''}"]
        with np.errstate(invalid="ignore"):
            outside = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
            if a.ndim:
                lines.append(f"not close where = {np.where(outside)}")
            left, right = (a[outside], b[outside]) if a.ndim else (a, b)
            lines += [f"not close lhs = {left}", f"not close rhs = {right}"]
            lines += [
                f"not close dif = {np.abs(left - right)}",
                f"not close tol = {atol + rtol * np.abs(right)}",
            ]
        lines.append(f"dtype = {a.dtype}, shape = {a.shape}")
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg="\n".join(lines))

    def assertAllCloseAccordingToType(  # noqa: N802
        self,
        a: TensorLike,
        b: TensorLike,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """``assertAllClose`` with tolerances for the less precise of the two dtypes.

        Args:
            a: an array or tensor.
            b: the expected values.
            rtol: relative tolerance of double precision.
            atol: absolute tolerance of double precision.
            float_rtol: relative tolerance of single precision.
            float_atol: absolute tolerance of single precision.
            half_rtol: relative tolerance of half precision.
            half_atol: absolute tolerance of half precision.
            bfloat16_rtol: relative tolerance of bfloat16.
            bfloat16_atol: absolute tolerance of bfloat16.
            msg: an addition to the failure message.
        """
        one, other = self._array(a), self._array(b)
        names = {one.dtype.name, other.dtype.name}
        for kinds, relative, absolute in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if names & kinds:
                rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(one, other, rtol, atol, msg)

    def assertNotAllClose(self, a: TensorLike, b: TensorLike, **kwargs: Any) -> None:  # noqa: N802
        """Fail if all numbers are close.

        Args:
            a: as for ``assertAllClose``.
            b: as for ``assertAllClose``.
            **kwargs: as for ``assertAllClose``.
        """
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise self.failureException("The two values are close at all elements")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless two arrays or tensors are equal; NaN equals NaN.

        Args:
            a: an array or tensor.
            b: the expected values.
            msg: an addition to the failure message.
        """
        one, other = self._array(a), self._array(b)
        self._same_shape(one, other, msg)
        same = one == other
        if one.dtype.kind in "fc" and other.dtype.kind in "fc":
            same = np.logical_or(same, np.logical_and(np.isnan(one), np.isnan(other)))
        if not np.all(same):
            outside = np.logical_not(same)
            lines = [msg or ""]
            if one.ndim:
                lines.append(f"not equal where = {np.where(outside)}")
            left, right = (one[outside], other[outside]) if one.ndim else (one, other)
            lines += [f"not equal lhs = {left}", f"not equal rhs = {right}"]
            np.testing.assert_array_equal(one, other, err_msg="\n".join(lines))

    def _same_shape(self, one: Any, other: Any, msg: str | None) -> None:
        contents = f" with contents {other}" if other.size <= 10 else ""
        text = f"Shape mismatch: expected {one.shape}, got {other.shape}{contents}. {msg or ''}"
        self.assertEqual(one.shape, other.shape, text.rstrip())

    def assertNotAllEqual(self, a: TensorLike, b: TensorLike, msg: str | None = None) -> None:  # noqa: N802
        """Fail if two arrays or tensors are equal.

        Args:
            a: an array or tensor.
            b: another value.
            msg: an addition to the failure message.
        """
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise self.failureException(f"The two values are equal at all elements. {msg or ''}")

    def _assert_all(self, target: Any, holds: Callable[[Any], Any], description: str) -> None:
        array = self._array(target)
        fine = holds(array)
        if not np.all(fine):
            values = np.extract(np.logical_not(fine), array)
            raise self.failureException(
                f"{values.tolist()} {'is' if values.size == 1 else 'are'} not {description}"
            )

    def assertAllGreater(self, a: TensorLike, comparison_target: Any) -> None:  # noqa: N802
        """Fail unless all elements are greater than a number.

        Args:
            a: an array or tensor.
            comparison_target: a number.
        """
        self._assert_all(a, lambda array: array > comparison_target, f"greater than {comparison_target}")

    def assertAllLess(self, a: TensorLike, comparison_target: Any) -> None:  # noqa: N802
        """Fail unless all elements are less than a number.

        Args:
            a: an array or tensor.
            comparison_target: a number.
        """
        self._assert_all(a, lambda array: array < comparison_target, f"less than {comparison_target}")

    def assertAllGreaterEqual(self, a: TensorLike, comparison_target: Any) -> None:  # noqa: N802
        """Fail unless all elements are greater than or equal to a number.

        Args:
            a: an array or tensor.
            comparison_target: a number.
        """
        self._assert_all(a, lambda array: array >= comparison_target, f"at least {comparison_target}")

    def assertAllLessEqual(self, a: TensorLike, comparison_target: Any) -> None:  # noqa: N802
        """Fail unless all elements are less than or equal to a number.

        Args:
            a: an array or tensor.
            comparison_target: a number.
        """
        self._assert_all(a, lambda array: array <= comparison_target, f"at most {comparison_target}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:  # noqa: N802
        """Fail unless all elements are in a set.

        Args:
            target: an array or tensor.
            expected_set: the values allowed.
        """
        allowed = list(expected_set)
        self._assert_all(target, lambda array: np.isin(array, allowed), f"in {allowed}")

    def assertAllInRange(  # noqa: N802
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fail unless all elements are in a range.

        Args:
            target: an array or tensor of numbers.
            lower_bound: the range's lower end.
            upper_bound: its upper end.
            open_lower_bound: whether the lower end is not in the range.
            open_upper_bound: whether the upper end is not in the range.
        """
        array = self._array(target)
        if array.dtype.kind not in "fiu":
            raise AssertionError(
                f"The value of {array} does not have an ordered numeric type, instead it has type: {array.dtype}"
            )
        text = f"{'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}{')' if open_upper_bound else ']'}"

        def holds(values: TensorLike) -> Any:
            above = values > lower_bound if open_lower_bound else values >= lower_bound
            below = values < upper_bound if open_upper_bound else values <= upper_bound
            return above & below

        self._assert_all(array, holds, f"in the range {text}")

    # Errors

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]  # noqa: N802
        self, exception_type: Any, expected_err_re_or_predicate: str | Callable[[Any], bool]
    ) -> Iterator[None]:
        """Open a block that must raise a given error whose message matches a pattern or a predicate.

        Args:
            exception_type: the class of the error.
            expected_err_re_or_predicate: a pattern for the message (of an ``OpError`` with its op), or a predicate.
        """
        expected = expected_err_re_or_predicate

        def matches(error: Any) -> bool:
            if callable(expected):
                return expected(error)
            text = str(error)
            if isinstance(error, OpError):
                text = error.message
                op = error.op
                while op is not None:
                    text += f"\nCaused by: {op.name}"
                    op = getattr(op, "_original_op", None)
            return re.search(expected, text) is not None

        try:
            yield
        except Exception as error:
            if not isinstance(error, exception_type) or not matches(error):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            return
        self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: str | Callable[[Any], bool]) -> Any:  # noqa: N802
        """``assertRaisesWithPredicateMatch`` for ``OpError``.

        Args:
            expected_err_re_or_predicate: as for ``assertRaisesWithPredicateMatch``.
        """
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    assertItemsEqual = absltest.TestCase.assertCountEqual  # noqa: N815

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:  # noqa: N802
        """Fail unless all values have a dtype.

        Args:
            target: an array, a tensor, or a list of them.
            expected_dtype: a NumPy dtype, or an argument of ``np.dtype``.
        """
        for item in target if isinstance(target, (list, tuple)) else [target]:
            self.assertEqual(self._array(item).dtype, np.dtype(expected_dtype))

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Any]:  # noqa: N802
        """Open a block that captures output to a stream of the process, including output of native code.

        Args:
            stream: ``sys.stdout``, ``sys.stderr`` or another stream with a file descriptor.

        Returns:
            A context manager; the ``contents()`` of its value return the text after the block.
        """
        stream.flush()
        descriptor = stream.fileno()
        saved = os.dup(descriptor)
        with tempfile.TemporaryFile(dir=self.get_temp_dir()) as file:
            caught = _CapturedOutput()
            try:
                os.dup2(file.fileno(), descriptor)
                yield caught
            finally:
                stream.flush()
                os.dup2(saved, descriptor)
                os.close(saved)
                file.seek(0)
                caught.text = file.read().decode()


class _CapturedOutput:
    """Output captured by a block."""

    def __init__(self) -> None:
        self.text = ""

    def contents(self) -> str:
        """Return the text."""
        return self.text
