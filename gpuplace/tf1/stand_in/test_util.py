"""``tensorflow.python.framework.test_util``: test cases, and decorators for the modes in which a test runs.

There are only graphs: tests for both modes run in a graph, and tests for eager execution are skipped.

Source: tensorflow/python/framework/test_util.py, release 1.15 (names, arguments).
"""

from __future__ import annotations

import contextlib
import functools
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.ops.array.reshaping import transpose
from gpuplace.ops.flow import control_flow_util
from gpuplace.runtime.session.device_lib import gpu_device_name, is_gpu_available
from gpuplace.saving.meta_graph import proto_class
from gpuplace.tf1.api.testing.graphs import assert_equal_graph_def
from gpuplace.tf1.api.testing.local_cluster import create_local_cluster
from gpuplace.tf1.api.testing.test_case import TestCase, main
from gpuplace.typing import ConfigProto, GraphDef, NodeDef, TensorLike

__all__ = [
    "TensorFlowTestCase",
    "assert_equal_graph_def",
    "assert_meta_graph_protos_equal",
    "assert_ops_in_graph",
    "create_local_cluster",
    "device",
    "for_all_test_methods",
    "force_cpu",
    "force_gpu",
    "get_node_def_from_graph",
    "gpu_device_name",
    "is_gpu_available",
    "main",
    "run_deprecated_v1",
    "run_in_graph_and_eager_modes",
    "run_v1_only",
    "run_v2_only",
    "set_producer_version",
    "skip_if",
    "use_gpu",
]

TensorFlowTestCase = TestCase
Decorated = Callable[..., Any]


def _unchanged(func: Any = None, *arguments: Any, **options: Any) -> Any:
    """Return a decorator, with or without arguments, that leaves a test unchanged, because there are only graphs."""
    return func if callable(func) else lambda function: function


run_deprecated_v1 = deprecated_graph_mode_only = _unchanged
enable_output_all_intermediates = enable_c_shapes = with_c_shapes = _unchanged
assert_no_new_tensors = assert_no_garbage_created = assert_no_new_pyobjects_executing_eagerly = _unchanged
use_deterministic_cudnn = py_func_if_in_function = also_run_as_tf_function = _unchanged


def enable_control_flow_v2(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator for a test in which loops and conditionals are function calls.

    Args:
        fn: the test.
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        before = control_flow_util.ENABLE_CONTROL_FLOW_V2
        control_flow_util.ENABLE_CONTROL_FLOW_V2 = True
        try:
            return fn(*args, **kwargs)
        finally:
            control_flow_util.ENABLE_CONTROL_FLOW_V2 = before

    return wrapper


def disable_control_flow_v2(unused_msg: str) -> Callable[[Any], Any]:
    """Return a decorator for a test that ``with_control_flow_v2`` does not repeat.

    Args:
        unused_msg: the reason.
    """

    def wrapper(func: Any) -> Any:
        func._disable_control_flow_v2 = True
        return func

    return wrapper


def with_control_flow_v2(cls: Any) -> Any:
    """Repeat each test of a class with loops and conditionals as function calls.

    Args:
        cls: the class.
    """
    if control_flow_util.ENABLE_CONTROL_FLOW_V2:
        return cls
    for name, value in list(vars(cls).items()):
        is_test = callable(value) and name.startswith(unittest.TestLoader.testMethodPrefix)
        if is_test and not getattr(value, "_disable_control_flow_v2", False):
            setattr(cls, f"{name}WithControlFlowV2", enable_control_flow_v2(value))
    return cls


def _unchanged_for(description: Any = None) -> Callable[[Any], Any]:
    """Return a decorator that leaves a test unchanged and takes a description."""
    return lambda function: function


disable_xla = no_xla_auto_jit = xla_allow_fallback = enable_tf_xla_constant_folding = _unchanged_for


def run_v1_only(reason: Any = None, func: Any = None) -> Any:
    """Return a test, or a class of tests, for TensorFlow 1's behavior unchanged.

    Args:
        reason: the reason for the restriction.
        func: the test; None to return a decorator.
    """
    return _unchanged(reason if callable(reason) else func)


def _skipped(why: str) -> Callable[[Any], Any]:
    """Return a decorator that skips a test."""

    def decorate(func: Any = None, **options: Any) -> Any:
        skip = unittest.skip(why)
        return skip(func) if callable(func) else skip

    return decorate


run_v2_only = _skipped("Test is only compatible with v2")
build_as_function_and_v1_graph = _unchanged


def run_in_graph_and_eager_modes(
    func: Any = None,
    config: ConfigProto | None = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """Run a test in a graph, with the test's session as the default.

    Args:
        func: the test, a method of a test class; None to return a decorator.
        config: a ``ConfigProto`` for the session; None for that of ``tf.test.TestCase``.
        use_gpu: whether operations without a requested device go to a GPU.
        reset_test: ignored, because there is no second mode.
        assert_no_eager_garbage: ignored, because there is no second mode.
    """

    def decorate(function: Decorated) -> Decorated:
        if isinstance(function, type):
            raise ValueError("`run_in_graph_and_eager_modes` only supports test methods.")

        @functools.wraps(function)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            with self.test_session(use_gpu=use_gpu, config=config):
                function(self, *args, **kwargs)

        return run

    return decorate if func is None else decorate(func)


def for_all_test_methods(decorator: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[type], type]:
    """Return a class decorator that decorates each test of a class.

    Args:
        decorator: function that returns the decorator of a test.
        *args: its arguments.
        **kwargs: its keyword arguments.
    """

    def decorate(cls: type) -> type:
        for name in dir(cls):
            value = getattr(cls, name)
            if callable(value) and name.startswith("test") and name != "test_session":
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorate


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Apply ``run_in_graph_and_eager_modes`` to every test of a class.

    Args:
        cls: the class.
    """
    return for_all_test_methods(run_in_graph_and_eager_modes)(cls)


def skip_if(condition: TensorLike) -> Callable[[Decorated], Decorated]:
    """Return a decorator that skips tests under a condition.

    Args:
        condition: a bool, or a function without arguments that returns one when the test runs.
    """

    def decorate(function: Decorated) -> Decorated:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if condition() if callable(condition) else condition:
                return None
            return function(*args, **kwargs)

        return run

    return decorate


def run_gpu_only(func: Any = None) -> Any:
    """Skip a test if a session has no GPU.

    Args:
        func: the test; None to return a decorator.
    """

    def decorate(function: Decorated) -> Decorated:
        @functools.wraps(function)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_gpu_available():
                self.skipTest("Test requires GPU")
            return function(self, *args, **kwargs)

        return run

    return decorate if func is None else decorate(func)


run_cuda_only = run_gpu_only


@contextlib.contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """A block whose operations request the first GPU if there is one, otherwise the CPU.

    Args:
        use_gpu: whether to request the GPU.
    """
    name = "/device:GPU:0" if use_gpu and is_gpu_available() else "/device:CPU:0"
    with get_default_graph().device(name):
        yield


def use_gpu() -> Any:
    """Return a block whose operations request the first GPU if there is one."""
    return device(use_gpu=True)


def force_gpu() -> Any:
    """Return a block whose operations request the first GPU."""
    return get_default_graph().device("/device:GPU:0")


def force_cpu() -> Any:
    """Return a block whose operations request the CPU."""
    return get_default_graph().device("/device:CPU:0")


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Graph) -> dict[str, NodeDef]:
    """Check that a graph has operations of given types.

    Args:
        expected_ops: dict from name to type.
        graph: the graph.

    Returns:
        Dict from name to ``NodeDef``.

    Raises:
        ValueError: an operation is missing, or has another type.
    """
    nodes = {op.name: op for op in graph.get_operations() if op.name in expected_ops}
    for name, op in nodes.items():
        if expected_ops[name] != op.type:
            raise ValueError(f"Expected op for node {name} is different. {expected_ops[name]} vs {op.type}")
    if set(expected_ops) != set(nodes):
        raise ValueError(f"Not all expected ops are present. Expected {expected_ops}, found {list(nodes)}")
    return {name: op.node_def for name, op in nodes.items()}


def assert_meta_graph_protos_equal(tester: Any, a: Any, b: Any) -> None:
    """Check that two meta graphs are equal; collections are compared as messages.

    Args:
        tester: the test case.
        a: a ``MetaGraphDef``.
        b: another ``MetaGraphDef``.

    Raises:
        AssertionError: they differ.
    """
    tester.assertEqual(set(a.collection_def), set(b.collection_def))
    for key in a.collection_def:
        kind = a.collection_def[key].WhichOneof("kind")
        tester.assertEqual(kind, b.collection_def[key].WhichOneof("kind"))
        if kind == "bytes_list" and proto_class(key) is not None:
            pairs = zip(
                a.collection_def[key].bytes_list.value, b.collection_def[key].bytes_list.value, strict=True
            )
            for one, other in pairs:
                message = proto_class(key)
                tester.assertProtoEquals(message.FromString(one), message.FromString(other))
        else:
            tester.assertEqual(a.collection_def[key], b.collection_def[key])
    assert_equal_graph_def(a.graph_def, b.graph_def)
    rest = []
    for meta_graph in (a, b):
        copy = type(meta_graph)()
        copy.CopyFrom(meta_graph)
        copy.ClearField("collection_def")
        copy.ClearField("graph_def")
        rest.append(copy)
    tester.assertProtoEquals(*rest)


def get_node_def_from_graph(node_name: str, graph_def: GraphDef) -> NodeDef | None:
    """Return the node of a given name in a ``GraphDef``, or None.

    Args:
        node_name: its name.
        graph_def: the graph.
    """
    return next((node for node in graph_def.node if node.name == node_name), None)


def set_producer_version(graph: Graph, producer_version: int) -> None:
    """Make a graph look as if another release had written it.

    Args:
        graph: the graph.
        producer_version: its GraphDef version.
    """
    graph.versions.producer = producer_version


def IsGoogleCudaEnabled() -> bool:  # noqa: N802 - TensorFlow's name, as are the following
    """Return True, because kernels for CUDA GPUs are always registered."""
    return True


def IsMklEnabled() -> bool:  # noqa: N802
    """Return False, because there are no MKL kernels."""
    return False


def IsBuiltWithROCm() -> bool:  # noqa: N802
    """Return False, because all GPUs here are CUDA GPUs."""
    return False


def GpuSupportsHalfMatMulAndConv() -> bool:  # noqa: N802
    """Return True, because matrix products and convolutions support half precision."""
    return True


def is_xla_enabled() -> bool:
    """Return False, because there is no XLA."""
    return False


_NHWC_TO_NCHW = {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}
_NCHW_TO_NHWC = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def _reordered(value: Any, orders: dict[int, Sequence[int]]) -> Any:
    if isinstance(value, (list, tuple)):
        return [value[index] for index in orders[len(value)]]
    return transpose(value, orders[value.shape.ndims])


def NHWCToNCHW(input_tensor: Any) -> Any:  # noqa: N802
    """Return a tensor, or a shape, with its channels before the rows.

    Args:
        input_tensor: a tensor of rank 4 or 5, or a list of 4 or 5 sizes.
    """
    return _reordered(input_tensor, _NHWC_TO_NCHW)  # type: ignore[arg-type]


def NCHWToNHWC(input_tensor: Any) -> Any:  # noqa: N802
    """Return a tensor, or a shape, with its channels last.

    Args:
        input_tensor: a tensor of rank 4 or 5, or a list of 4 or 5 sizes.
    """
    return _reordered(input_tensor, _NCHW_TO_NHWC)  # type: ignore[arg-type]
