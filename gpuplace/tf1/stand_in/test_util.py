"""``tensorflow.python.framework.test_util``: test cases, and the decorators that say in which modes a test runs.

There are graphs only: what runs in both modes runs in a graph, and what needs eager execution is skipped.

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
    """A decorator, bare or with arguments, that leaves a test as it is: graphs are all there is."""
    return func if callable(func) else lambda function: function


run_deprecated_v1 = deprecated_graph_mode_only = _unchanged
enable_output_all_intermediates = enable_c_shapes = with_c_shapes = _unchanged
assert_no_new_tensors = assert_no_garbage_created = assert_no_new_pyobjects_executing_eagerly = _unchanged
use_deterministic_cudnn = py_func_if_in_function = also_run_as_tf_function = _unchanged


def enable_control_flow_v2(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for a test in which loops and conditionals are calls of functions.

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
    """A decorator for a test that `with_control_flow_v2` leaves alone.

    Args:
        unused_msg: the reason.
    """

    def wrapper(func: Any) -> Any:
        func._disable_control_flow_v2 = True
        return func

    return wrapper


def with_control_flow_v2(cls: Any) -> Any:
    """Gives a class of tests each of them a second time, with loops and conditionals that are calls of functions.

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
    """Such a decorator that is always called with what it is for."""
    return lambda function: function


disable_xla = no_xla_auto_jit = xla_allow_fallback = enable_tf_xla_constant_folding = _unchanged_for


def run_v1_only(reason: Any = None, func: Any = None) -> Any:
    """A test, or a class of tests, of TensorFlow 1's behaviour: it runs.

    Args:
        reason: why it is one.
        func: the test; None: a decorator is returned.
    """
    return _unchanged(reason if callable(reason) else func)


def _skipped(why: str) -> Callable[[Any], Any]:
    """A decorator for a test that does not run."""

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
    """Runs a test in a graph, with the session of the test as the default one.

    Args:
        func: the test, or a class of which it is one of the methods; None: a decorator is returned.
        config: a ``ConfigProto`` for the session; None: that of ``tf.test.TestCase``.
        use_gpu: let operations without a device go to a GPU.
        reset_test: ignored, as there is no second mode.
        assert_no_eager_garbage: ignored, as there is no second mode.
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
    """A decorator for classes, that decorates each of their tests.

    Args:
        decorator: the decorator of a test, after it is called with the other arguments.
        *args: its arguments.
        **kwargs: its named arguments.
    """

    def decorate(cls: type) -> type:
        for name in dir(cls):
            value = getattr(cls, name)
            if callable(value) and name.startswith("test") and name != "test_session":
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorate


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """``run_in_graph_and_eager_modes`` for every test of a class.

    Args:
        cls: the class.
    """
    return for_all_test_methods(run_in_graph_and_eager_modes)(cls)


def skip_if(condition: TensorLike) -> Callable[[Decorated], Decorated]:
    """A decorator for tests that are left out in some cases.

    Args:
        condition: a bool, or a function without arguments that gives one when the test runs.
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
    """Skips a test where a session has no GPU.

    Args:
        func: the test; None: a decorator is returned.
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
    """A block whose operations request the first GPU where there is one, or the CPU.

    Args:
        use_gpu: whether the GPU is wanted.
    """
    name = "/device:GPU:0" if use_gpu and is_gpu_available() else "/device:CPU:0"
    with get_default_graph().device(name):
        yield


def use_gpu() -> Any:
    """A block whose operations request the first GPU where there is one."""
    return device(use_gpu=True)


def force_gpu() -> Any:
    """A block whose operations request the first GPU."""
    return get_default_graph().device("/device:GPU:0")


def force_cpu() -> Any:
    """A block whose operations request the CPU."""
    return get_default_graph().device("/device:CPU:0")


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Graph) -> dict[str, NodeDef]:
    """Checks that a graph has operations of some types.

    Args:
        expected_ops: name -> type.
        graph: the graph.

    Returns:
        Name -> ``NodeDef``.

    Raises:
        ValueError: one is missing, or of another type.
    """
    found = {op.name: op for op in graph.get_operations() if op.name in expected_ops}
    for name, op in found.items():
        if expected_ops[name] != op.type:
            raise ValueError(f"Expected op for node {name} is different. {expected_ops[name]} vs {op.type}")
    if set(expected_ops) != set(found):
        raise ValueError(f"Not all expected ops are present. Expected {expected_ops}, found {list(found)}")
    return {name: op.node_def for name, op in found.items()}


def assert_meta_graph_protos_equal(tester: Any, a: Any, b: Any) -> None:
    """Checks that two meta graphs are the same; what collections hold is compared as messages.

    Args:
        tester: the test case.
        a: a ``MetaGraphDef``.
        b: another one.

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
    """The node of that name in a ``GraphDef``, or None.

    Args:
        node_name: its name.
        graph_def: the graph.
    """
    return next((node for node in graph_def.node if node.name == node_name), None)


def set_producer_version(graph: Graph, producer_version: int) -> None:
    """Makes a graph one that another release wrote.

    Args:
        graph: the graph.
        producer_version: its GraphDef version.
    """
    graph.versions.producer = producer_version


def IsGoogleCudaEnabled() -> bool:  # noqa: N802 - TensorFlow's name, as are the following
    """True: kernels for CUDA GPUs are always there."""
    return True


def IsMklEnabled() -> bool:  # noqa: N802
    """False: there are no kernels for MKL."""
    return False


def IsBuiltWithROCm() -> bool:  # noqa: N802
    """False: all GPUs here are CUDA GPUs."""
    return False


def GpuSupportsHalfMatMulAndConv() -> bool:  # noqa: N802
    """True: products and convolutions take half precision."""
    return True


def is_xla_enabled() -> bool:
    """False: there is no XLA."""
    return False


_NHWC_TO_NCHW = {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}
_NCHW_TO_NHWC = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def _reordered(value: Any, orders: dict[int, Sequence[int]]) -> Any:
    if isinstance(value, (list, tuple)):
        return [value[index] for index in orders[len(value)]]
    return transpose(value, orders[value.shape.ndims])


def NHWCToNCHW(input_tensor: Any) -> Any:  # noqa: N802
    """A tensor, or a shape, with its channels in front of the rows.

    Args:
        input_tensor: a tensor of rank 4 or 5, or a list of as many sizes.
    """
    return _reordered(input_tensor, _NHWC_TO_NCHW)  # type: ignore[arg-type]


def NCHWToNHWC(input_tensor: Any) -> Any:  # noqa: N802
    """A tensor, or a shape, with its channels last.

    Args:
        input_tensor: a tensor of rank 4 or 5, or a list of as many sizes.
    """
    return _reordered(input_tensor, _NCHW_TO_NHWC)  # type: ignore[arg-type]
