"""Registering functions that compute ops, and binding them to operations."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpuplace import dtypes, errors
from gpuplace.graph.op_def import make_op_def
from gpuplace.kernels import compute as module
from gpuplace.kernels.compute import (
    bind,
    binder,
    computable_ops,
    compute,
    compute_defs,
    find_compute,
    has_compute,
    ops_that_are,
    traits_of,
)
from gpuplace.kernels.resources import SessionResources


@pytest.fixture(autouse=True)
def _empty_registry(monkeypatch):
    monkeypatch.setattr(module, "_registered", {})


def operation(op_def, **attrs):
    return SimpleNamespace(
        name="scope/node", type=op_def.name, op_def=op_def, attrs=attrs, source="train.py:14"
    )


SCALE = make_op_def("Scale", ["x: T"], ["y: T"], ["T: type", "by: int", "mode: string = 'up'"])


def test_attributes_are_read_once_and_defaults_filled_in():
    @compute("Scale")
    def scale(xp, x, *, by, mode):
        return xp.multiply(x, by), mode

    run = bind("Scale", "CPU", np, operation(SCALE, T=dtypes.float32, by=3), None)
    assert run(np.float32(2)) == (6, b"up")
    with pytest.raises(errors.InvalidArgumentError, match="NodeDef missing attr 'by' from Op<name=Scale>"):
        bind("Scale", "CPU", np, operation(SCALE, T=dtypes.float32), None)


def test_a_binder_gives_the_bare_callable():
    @binder("Add")
    def add(xp, attrs, op):
        return xp.add

    add_def = make_op_def("Add", ["x: T", "y: T"], ["z: T"], ["T: type"])
    assert bind("Add", "CPU", np, operation(add_def, T=dtypes.float32), None) is np.add


def test_context():
    @compute("Scale")
    def scale(xp, x, *, ctx):
        return ctx

    resources = SessionResources()
    op = operation(SCALE, by=1)
    context = bind("Scale", "GPU", np, op, resources, device="/device:GPU:1")(0)
    assert context.op is op
    assert context.session is resources
    assert (context.device, context.device_type, context.xp) == ("/device:GPU:1", "GPU", np)


def test_list_inputs_arrive_as_lists():
    @compute("Sum", "Mixed", "Pair")
    def gather(xp, *inputs):
        return inputs

    total = make_op_def("Sum", ["xs: N * T"], ["y: T"], ["N: int", "T: type"])
    mixed = make_op_def(
        "Mixed", ["a: T", "xs: N * T", "ys: Ts"], ["y: T"], ["N: int", "T: type", "Ts: list(type)"]
    )
    types = {"T": dtypes.float32, "N": 2, "Ts": (dtypes.int32,)}
    assert bind("Sum", "CPU", np, operation(total, **types), None)(1, 2) == ([1, 2],)
    assert bind("Mixed", "CPU", np, operation(mixed, **types), None)(1, 2, 3, 4) == (1, [2, 3], [4])
    pair = make_op_def("Pair", ["a: T", "b: T"], ["y: T"], ["T: type"])
    assert bind("Pair", "CPU", np, operation(pair, **types), None)(1, 2) == (1, 2)


def test_a_variant_goes_before_the_common_function():
    @compute("Scale")
    def common(xp, x):
        return "common"

    @compute("Scale", device_types=("GPU",))
    def on_gpu(xp, x):
        return "gpu"

    op = operation(SCALE, by=1)
    assert bind("Scale", "CPU", np, op, None)(0) == "common"
    assert bind("Scale", "GPU", np, op, None)(0) == "gpu"
    assert [entry.device_type for entry in compute_defs("Scale")] == ["", "GPU"]
    assert find_compute("Scale", "TPU").function is common


def test_two_functions_for_one_op_are_an_error_that_names_both():
    @compute("Scale")
    def first(xp, x):
        return x

    with pytest.raises(ValueError, match=r"Two functions compute 'Scale': \S+\.first and \S+\.second"):

        @compute("Scale")
        def second(xp, x):
            return x

    @compute("Scale", device_types=["GPU"])
    def third(xp, x):
        return x

    with pytest.raises(ValueError, match=r"Two functions compute 'Scale' on GPU: \S+\.third and \S+\.fourth"):

        @binder("Scale", device_types=["CPU", "GPU"])
        def fourth(xp, attrs, op):
            return xp.add


def test_the_same_cell_run_again_replaces_its_function():
    def cell(result):
        @compute("Scale")
        def scale(xp, x):
            return result

    cell(1)
    cell(2)
    assert bind("Scale", "CPU", np, operation(SCALE, by=1), None)(0) == 2


def test_listing():
    @compute("B", "A")
    def both(xp):
        return None

    @compute("C", device_types=["GPU"])
    def gpu_only(xp):
        return None

    assert computable_ops() == ("A", "B", "C")
    assert has_compute("C")
    assert has_compute("C", "GPU")
    assert not has_compute("C", "CPU")
    assert not has_compute("D")


def test_an_op_without_a_function_can_be_placed_and_not_run():
    with pytest.raises(errors.UnimplementedError) as caught:
        bind("Scale", "GPU", np, operation(SCALE, by=1), None)
    text = str(caught.value)
    assert caught.value.message.startswith(
        "No OpKernel was registered to support Op 'Scale' used by {{node scope/node}} on GPU"
    )
    assert "created at" in text
    assert "train.py:14" in text
    assert "gpuplace.place(graph)" in text


def test_an_op_with_a_function_elsewhere_says_where():
    @compute("Scale", device_types=["GPU"])
    def scale(xp, x):
        return x

    with pytest.raises(errors.UnimplementedError) as caught:
        bind("Scale", "CPU", np, operation(SCALE, by=1), None)
    assert caught.value.facts["has a function on"] == "GPU"
    assert caught.value.hint == "place the node on a device of type GPU"


def test_what_an_op_is_like_is_declared_with_its_function():
    @compute("Scale", "Shift", elementwise=True, slow=True)
    def scale(xp, x):
        return x

    @compute("Look", forwards=True)
    def look(xp, x):
        return x

    assert traits_of("Scale").fresh and traits_of("Shift").slow
    assert traits_of("Look").shares and not traits_of("Look").fresh
    assert traits_of("Unheard") == traits_of("Scale").__class__()
    assert ops_that_are("elementwise") == {"Scale", "Shift"}


def test_traits_that_do_not_go_together():
    with pytest.raises(ValueError, match="return new arrays .fresh. and share its inputs"):
        compute("Scale", fresh=True, shares=True)
    with pytest.raises(TypeError, match="fluffy"):
        compute("Scale", fluffy=True)


def test_a_variant_declares_no_traits():
    with pytest.raises(ValueError, match="function that serves all device types"):

        @compute("Scale", device_types=("GPU",), fresh=True)
        def scale(xp, x):
            return x
