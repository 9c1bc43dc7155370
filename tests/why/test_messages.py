"""TensorFlow's sentences, and the facts and advice below them."""

import numpy as np
import pytest

from gpuplace import errors
from gpuplace.device.machine import Machine
from gpuplace.dtypes import as_dtype
from gpuplace.graph.attr_value import TensorValue
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.placer import Placer
from gpuplace.why.node_text import attr_text, node_text
from gpuplace.why.place import place_again
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import node, placement_graph

LOCAL = "/job:localhost/replica:0/task:0/device:"


def error(specs, machine="1x Tesla K40c", release="1.15", soft=False, kind=errors.InvalidArgumentError):
    catalogue = default_catalogue(release)
    with pytest.raises(kind) as caught:
        placer = Placer(
            placement_graph(specs, catalogue),
            catalogue,
            rules="2.21" if release == "2.21" else "1.15",
            release=release,
        )
        place_again(placer, Machine.parse(machine).device_set(environ={}), soft=soft)
    return caught.value


def test_a_missing_device():
    found = error([node("b", "Const", dtype="float32", device="/device:GPU:2")])
    assert found.message.split("\n")[0] == (
        "Cannot assign a device for operation b: {{node b}} was explicitly assigned to /device:GPU:2 but available "
        f"devices are [ {LOCAL}CPU:0, {LOCAL}GPU:0 ]. Make sure the device specification refers to a valid device."
    )
    assert found.facts["requested by"] == "'/device:GPU:2'"
    assert found.facts["available devices"] == f"{LOCAL}CPU:0, {LOCAL}GPU:0"
    assert found.hint == "allow_soft_placement=True, or request a device of the machine (/device:GPU:0)"
    assert "\n  try " in str(found)


@pytest.mark.parametrize(
    ("device", "text"),
    [
        ("/device:GPU:0", " The requested device appears to be a GPU, but CUDA is not enabled."),
        ("/device:TPU:0", ""),
    ],
)
def test_a_cpu_build_says_so_when_a_gpu_is_requested(device, text):
    """The sentences of the package of TensorFlow 1.15.5 on PyPI, which has one device of XLA."""
    found = error([node("b", "Const", dtype="float32", device=device)], "cpu build, 1 XLA_CPU")
    assert found.message.split("\n")[0] == (
        f"Cannot assign a device for operation b: {{{{node b}}}} was explicitly assigned to {device} but available "
        f"devices are [ {LOCAL}CPU:0, {LOCAL}XLA_CPU:0 ]. Make sure the device specification refers to a valid device."
        f"{text}"
    )


def matrices(device="/device:GPU:2"):
    """The guide's graph: two matrices and their product."""
    array = as_dtype("float32")
    builder = PlacementGraphBuilder()
    value = TensorValue.of_array(np.arange(1, 7, dtype=np.float32).reshape(3, 2))
    attrs = {"dtype": array, "value": value}
    for name in "ab":
        builder.add_node(name, "Const", attrs, device=device)
    builder.add_node("c", "MatMul", {"T": array}, ["a", "b"], device=device)
    every = [attrs, attrs, {"T": array, "transpose_a": False, "transpose_b": False}]
    return builder.build(node_attrs=every.__getitem__)


NODE_B = 'Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] values: [1 2][3]...>, _device="/device:GPU:2"]()'


@pytest.mark.parametrize(
    ("release", "sentence"),
    [
        (
            "1.0",
            "Cannot assign a device to node 'b': Could not satisfy explicit device specification '/device:GPU:2' "
            "because no devices matching that specification are registered in this process; available devices: "
            "/job:localhost/replica:0/task:0/cpu:0, /job:localhost/replica:0/task:0/gpu:0",
        ),
        (
            "1.4",
            "Cannot assign a device for operation 'b': Operation was explicitly assigned to /device:GPU:2 but "
            f"available devices are [ {LOCAL}CPU:0, {LOCAL}GPU:0 ]. Make sure the device specification refers to a "
            "valid device.",
        ),
    ],
)
def test_a_missing_device_in_old_releases(release, sentence):
    """As 1.0.1 and 1.4.1 answered; the guide's own sentence is a fact below."""
    placer = Placer(matrices(), default_catalogue("1.15"), release=release)
    with pytest.raises(errors.InvalidArgumentError) as caught:
        place_again(placer, Machine.parse("1x Tesla K40c").device_set(environ={}))
    assert caught.value.message == f"{sentence}\n\t [[Node: b = {NODE_B}]]"
    device = "/gpu:2" if release == "1.0" else "/device:GPU:2"
    assert caught.value.facts["in the guide"] == (
        f"Cannot assign a device to node 'b': Could not satisfy explicit device specification '{device}'\n\t "
        "[[Node: b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] values: 1 2 3...>, "
        f'_device="{device}"]()]]'
    )
    assert node_text(matrices(), 2, "1.4") == (
        'c = MatMul[T=DT_FLOAT, transpose_a=false, transpose_b=false, _device="/device:GPU:2"](a, b)'
    )


NO_KERNEL_FOR_GPU = "because no supported kernel for GPU devices is available."


def colocated(*devices, op="NoOp"):
    """Nodes a, b, ... that are tied to a, with these requests."""
    names = "abcd"[: len(devices)]
    return [
        node(name, op, device=device, **({} if name == "a" else {"_class": (b"loc:@a",)}))
        for name, device in zip(names, devices, strict=True)
    ]


@pytest.mark.parametrize(
    ("specs", "in_1_0", "in_1_4"),
    [
        pytest.param(
            [node("q", "FIFOQueueV2", device="/gpu:0")],
            f"to node 'q': Could not satisfy explicit device specification '/gpu:0' {NO_KERNEL_FOR_GPU}",
            f"for operation 'q': Could not satisfy explicit device specification '/gpu:0' {NO_KERNEL_FOR_GPU}",
            id="no kernel",
        ),
        pytest.param(
            [node("q", "FIFOQueueV2", device="/gpu:0"), node("s", "QueueSizeV2", "q", device="/gpu:0")],
            "to node 'q': Could not satisfy explicit device specification '/gpu:0' "
            f"{NO_KERNEL_FOR_GPU}\nColocation Debug Info:\nColocation group had the following types and devices: \n"
            "FIFOQueueV2: CPU \nQueueSizeV2: GPU CPU ",
            "for operation 'q': Could not satisfy explicit device specification '/gpu:0' "
            f"{NO_KERNEL_FOR_GPU}\nColocation Debug Info:\nColocation group had the following types and devices: \n"
            "FIFOQueueV2: CPU \nQueueSizeV2: GPU CPU ",
            id="no kernel in a group",
        ),
        pytest.param(
            colocated("/job:localhost/device:GPU:7", "/job:localhost"),
            "to node 'b': Could not satisfy explicit device specification '/job:localhost' because the node was "
            "colocated with a group of nodes that required incompatible device '/job:localhost/GPU:7'\n"
            "Colocation Debug Info:\nColocation group had the following types and devices: \nNoOp: GPU CPU ",
            "for operation 'b': Could not satisfy explicit device specification '/job:localhost' because the node was "
            "colocated with a group of nodes that required incompatible device '/job:localhost/device:GPU:7'\n"
            "Colocation Debug Info:\nColocation group had the following types and devices: \nNoOp: GPU CPU ",
            id="another device in the group",
        ),
    ],
)
@pytest.mark.parametrize("release", ["1.0", "1.4"])
def test_requests_that_old_releases_cannot_meet(release, specs, in_1_0, in_1_4):
    found = error(specs, release=release)
    wanted = in_1_0 if release == "1.0" else in_1_4
    assert found.message.partition("\n\t [[Node: ")[0] == f"Cannot assign a device {wanted}"


@pytest.mark.parametrize(
    ("release", "devices", "conflict"),
    [
        ("1.0", ("/device:GPU:0", "/device:CPU:1"), "types: '/CPU:1' and '/GPU:0'"),
        ("1.4", ("/device:GPU:0", "/device:CPU:1"), "types: '/device:CPU:1' and '/device:GPU:0'"),
        ("1.0", ("/job:ps/gpu:0", "/job:w/gpu:0"), "jobs: '/job:w/GPU:0' and '/job:ps/GPU:0'"),
        ("1.4", ("/job:ps/gpu:0", "/job:w/gpu:0"), "jobs: '/job:w/device:GPU:0' and '/job:ps/device:GPU:0'"),
    ],
)
def test_a_colocation_conflict_in_old_releases(release, devices, conflict):
    """Without the second quotation mark, as 1.0.1 and 1.4.1 print it."""
    found = error(colocated(*devices), release=release)
    assert found.message.partition("\n\t [[Node: ")[0] == (
        f"Cannot colocate nodes 'b' and 'a: Cannot merge devices with incompatible {conflict}"
    )
    assert f'b = NoOp[_class=["loc:@a"], _device="{devices[1]}"]()]]' in found.message


@pytest.mark.parametrize("release", ["1.0", "1.4"])
def test_no_kernel_at_all_in_old_releases(release):
    found = error(
        [node("c", "Placeholder", dtype="string"), node("n", "Tan", "c", T="string")], release=release
    )
    assert found.message.startswith(
        "No OpKernel was registered to support Op 'Tan' with these attrs.  Registered devices: [CPU,GPU], Registered "
        "kernels:\n  device='"
    )
    assert found.message.endswith("\n\n\t [[Node: n = Tan[T=DT_STRING](c)]]")


def test_no_kernel_on_the_requested_type():
    found = error(GRAPHS["int32 asked for a GPU"])
    assert (
        "Could not satisfy explicit device specification '/gpu:0' because no supported kernel for GPU devices is "
        "available." in found.message
    )
    assert "Colocation Debug Info:" in found.message
    assert "  p (Pow) /gpu:0" in found.message
    assert "Registered kernels:\n  device='CPU'; T in [" in found.message
    assert found.facts["registered kernels"].endswith("this node: T=int32")
    assert found.hint == "allow_soft_placement=True, or place the node on a CPU"
    old = error(GRAPHS["int32 asked for a GPU"], release="1.0")
    assert old.message.startswith(
        "Cannot assign a device to node 'p': Could not satisfy explicit device specification '/gpu:0' because no "
        "supported kernel for GPU devices is available."
    )


def test_a_colocation_conflict_names_both_members_and_the_group():
    found = error(GRAPHS["colocation clash"])
    assert found.message.split("\n")[0] == (
        "Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: Cannot merge devices with incompatible "
        "types: '/device:GPU:0' and '/device:CPU:0'"
    )
    assert found.facts["conflict between"] == (
        "b (NoOp on GPU/CPU, requested on /gpu:0) and a (NoOp on GPU/CPU, requested on /cpu:0)"
    )
    assert found.facts["tied by"] == "_class of b: loc:@a"
    assert "allow_soft_placement=True ignores the colocation" in str(found)


def test_no_kernel_at_all_in_both_releases():
    specs = [node("s", "Const", dtype="string"), node("n", "Sin", "s", T="string")]
    old, new = error(specs), error(specs, release="2.21")
    assert (
        "No OpKernel was registered to support Op 'Sin' used by {{node n}}with these attrs: " in old.message
    )
    assert new.message.startswith("Value for attr 'T' of string is not in the list of allowed values: ")
    assert "Registered devices: [CPU, GPU]" in old.message


@pytest.mark.parametrize(
    ("request_", "hint"),
    [
        ("gpu:0", "write '/device:GPU:0'"),
        ("/gpu", "write '/device:GPU:0'"),
        ("/tpu:0", "write one of '/device:CPU:0', '/device:GPU:0', or request no device"),
    ],
)
def test_a_malformed_device(request_, hint):
    found = error([node("a", "NoOp", device=request_)])
    assert found.message.startswith(
        f"Malformed device specification '{request_}' in node: {{name:'a' id:2 op"
    )
    assert found.hint == hint


@pytest.mark.parametrize(
    ("release", "devices"), [("1.15", ""), ("2.21", "requested: '/device:GPU:', assigned: ''")]
)
def test_a_malformed_device_is_repeated_in_newer_releases(release, devices):
    message = error([node("x", "NoOp", device="/device:GPU:")], release=release).message
    assert message.startswith("Malformed device specification '/device:GPU:' in node: {name:'x' id:2 op ")
    assert f" device:{{{devices}}} def:" in message


def test_an_unknown_op_lists_similar_ones():
    found = error([node("a", "MatMull")], kind=errors.NotFoundError)
    assert found.message.startswith("Op type not registered 'MatMull' in binary running on")
    assert "MatMul" in found.hint
    assert found.facts["node"] == "a"


@pytest.mark.parametrize(
    ("value", "release", "text"),
    [
        ([1.5, 2.25, 1 / 3], "1.15", "1.5 2.25 0.333333343"),
        ([1, 2, 3, 4], "1.15", "1 2 3..."),
        ([[1, 2], [3, 4], [5, 6]], "1.15", "[1 2][3...]..."),
        ([[1, 2], [3, 4], [5, 6]], "1.4", "[1 2][3]..."),
        ([[1, 2], [3, 4], [5, 6]], "guide", "1 2 3..."),
        ([[1, 2, 3, 4]], "1.4", "[1 2 3]..."),
        ([[1], [2], [3], [4]], "1.0", "[1][2][3]..."),
        ([[[1.5, 2], [3, 4]], [[5, 6], [7, 8]]], "1.4", "[[1.5 2][3]]..."),
        ([[[1.5], [3]], [[5], [7]]], "1.0", "[[1.5][3]][[5]]..."),
        ([["a", "b"], ["c", "d'e"]], "1.4", "a b c..."),
        ([1 / 3, 123456789.0], "1.4", "0.333333343 123456792"),
        ([1 / 3, 123456789.0], "1.0", "0.33333334 1.2345679e+08"),
        (1e-9, "1.15", "1e-09"),
        ([True, False], "1.15", "1 0"),
        ([], "1.15", ""),
    ],
)
def test_values_of_a_tensor(value, release, text):
    array = np.array(value)
    array = array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))
    assert attr_text(TensorValue.of_array(array), release).partition("values: ")[2] == text + ">"


@pytest.mark.parametrize("kind", ["VariableV2", "VarHandleOp"])
def test_a_part_of_a_variable_names_the_variable(kind):
    specs = [
        node("w/v/Initializer/zeros", "NoOp", device="/gpu:7"),
        node("w/v", kind, dtype="float32", shape=[2]),
    ]
    assert error(specs).facts["node"] == "w/v/Initializer/zeros (NoOp), a part of the variable w/v"
    alone = [node("v/Initializer/zeros", "NoOp", device="/gpu:7"), node("v", "NoOp")]
    assert error(alone).facts["node"] == "v/Initializer/zeros (NoOp)"
