"""Placement rules on toy ops and invented devices, in the manner of TensorFlow's own placer tests."""

import pytest

from gpuplace import errors
from gpuplace.testing import Catalogue, ToyGraph, devices_in_error, fake_machine, place, where


@pytest.fixture
def catalogue():
    """Ops with kernels on FakeCPU and FakeGPU as their names say."""
    ops = Catalogue()
    for name, kinds in (
        ("Input", ("FakeCPU",)),
        ("InputBoth", ("FakeCPU", "FakeGPU")),
        ("Relu", ("FakeCPU", "FakeGPU")),
        ("ReluCPU", ("FakeCPU",)),
        ("ReluGPU", ("FakeGPU",)),
        ("Add", ("FakeCPU", "FakeGPU")),
    ):
        inputs = {"Input": (), "InputBoth": (), "Add": ("a: float", "b: float")}.get(name, ("i: float",))
        outputs = ("a: float", "b: float") if name == "Input" else ("o: float",)
        ops.register_op(name, inputs=inputs, outputs=outputs)
        for kind in kinds:
            ops.register_kernel(name, kind)
    ops.register_op("Var", outputs=["ref: Ref(float)"])
    ops.register_op("VarCPU", outputs=["ref: Ref(float)"])
    ops.register_op("Assign", inputs=["ref: Ref(float)", "value: float"], outputs=["o: Ref(float)"])
    ops.register_op("AssignGPU", inputs=["ref: Ref(float)", "value: float"], outputs=["o: Ref(float)"])
    ops.register_op("Handle", outputs=["h: resource"])
    ops.register_op("Use", inputs=["h: resource"], outputs=["o: float"])
    ops.register_op("UseTwo", inputs=["g: resource", "h: resource"], outputs=["o: float"])
    ops.register_op("Shape", inputs=["i: float"], outputs=["s: int32"])
    for name in ("Var", "Assign", "Handle", "Use", "UseTwo", "Shape"):
        ops.register_kernel(name, "FakeCPU")
        ops.register_kernel(name, "FakeGPU")
    ops.register_kernel("VarCPU", "FakeCPU")
    ops.register_kernel("AssignGPU", "FakeGPU")
    return ops


@pytest.fixture
def machine():
    return fake_machine(FakeCPU=3, FakeGPU=11)


class Soft:
    """Stands for a ConfigProto."""

    allow_soft_placement = True


def placed(graph, machine, catalogue, **options):
    return where(place(graph, machine, catalogue=catalogue, release="2.21", **options))


def test_no_constraints(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "Input").add("n0", "Relu", "in").add("n1", "Relu", "in:1")
    assert placed(graph, machine, catalogue) == {"in": "FakeCPU:0", "n0": "FakeGPU:0", "n1": "FakeGPU:0"}


def test_names_are_compared_as_text(catalogue):
    graph = ToyGraph(catalogue).add("in", "Input").add("n", "Relu", "in")
    names = [f"/job:a/replica:0/task:0/device:FakeGPU:{i}" for i in (10, 2)]
    machine = [*names, "/job:a/replica:0/task:0/device:FakeCPU:0"]
    from gpuplace.testing import Machine

    wide = Machine.from_devices(machine, type_priority={"FakeGPU": 2, "FakeCPU": 1})
    assert placed(graph, wide, catalogue)["n"] == "FakeGPU:10"


def test_explicit_and_partial_requests(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "Input", device="/device:FakeCPU:2")
    graph.add("a", "Relu", "in", device="/device:FakeGPU:7").add(
        "b", "Relu", "in", device="/device:FakeCPU:*"
    )
    graph.add("c", "Relu", "in", device="/job:localhost")
    assert placed(graph, machine, catalogue) == {
        "in": "FakeCPU:2",
        "a": "FakeGPU:7",
        "b": "FakeCPU:0",
        "c": "FakeGPU:0",
    }


def test_a_generator_follows_its_only_consumers(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "InputBoth").add("n", "Relu", "in", device="/device:FakeCPU:1")
    assert placed(graph, machine, catalogue)["in"] == "FakeCPU:1"
    graph.add("m", "Relu", "in", device="/device:FakeGPU:1")
    assert placed(graph, machine, catalogue)["in"] == "FakeGPU:0"


def test_metadata_follows_its_input(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "Input").add("n", "Relu", "in", device="/device:FakeGPU:4")
    graph.add("s", "Shape", "n").add("t", "Shape", "n", device="/device:FakeCPU:0")
    result = placed(graph, machine, catalogue)
    assert (result["s"], result["t"]) == ("FakeGPU:4", "FakeCPU:0")


def test_a_reference_edge_binds_and_the_consumer_yields(catalogue, machine):
    graph = ToyGraph(catalogue).add("v", "Var", device="/device:FakeGPU:1").add("in", "Input")
    graph.add("w", "Assign", "v", "in", device="/device:FakeCPU:0")
    assert placed(graph, machine, catalogue)["w"] == "FakeGPU:1"


def test_kernels_that_exclude_each_other_across_a_reference_edge(catalogue, machine):
    graph = ToyGraph(catalogue).add("v", "VarCPU").add("in", "Input").add("w", "AssignGPU", "v", "in")
    for config in (None, Soft()):
        with pytest.raises(errors.InvalidArgumentError, match="reference or resource connection") as caught:
            place(graph, machine, config, catalogue=catalogue, release="2.21")
        assert "no device type supports both of those nodes" in caught.value.message
        assert "v" in caught.value.facts["conflict between"]
        assert "reference edge v -> w" in caught.value.facts["tied by"]


def test_two_handles_asked_to_different_devices(catalogue, machine):
    graph = ToyGraph(catalogue).add("g", "Handle", device="/device:FakeCPU:0")
    graph.add("h", "Handle", device="/device:FakeGPU:0").add("u", "UseTwo", "g", "h")
    for config in (None, Soft()):
        with pytest.raises(errors.InvalidArgumentError, match="incompatible resource devices"):
            place(graph, machine, config, catalogue=catalogue, release="2.21")


def test_colocation(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "Input").add("a", "Relu", "in", device="/device:FakeGPU:3")
    graph.add("b", "Relu", "in", colocate_with="a").add("c", "Relu", "in", colocate_with="b")
    result = placed(graph, machine, catalogue)
    assert result["b"] == result["c"] == "FakeGPU:3"
    old = where(place(graph, machine, catalogue=catalogue, release="1.15"))
    assert (old["b"], old["c"]) == ("FakeGPU:3", "FakeGPU:0")


def test_a_colocation_that_no_device_type_serves(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "Input").add("a", "ReluCPU", "in")
    graph.add("b", "ReluGPU", "in", colocate_with="a")
    with pytest.raises(errors.InvalidArgumentError, match="because no device type supports both"):
        place(graph, machine, catalogue=catalogue)
    assert placed(graph, machine, catalogue, config=Soft()) == {
        "in": "FakeCPU:0",
        "a": "FakeCPU:0",
        "b": "FakeGPU:0",
    }


def test_soft_placement(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "Input").add("a", "ReluCPU", "in", device="/device:FakeGPU:0")
    graph.add("b", "Relu", "in", device="/device:FakeGPU:99")
    with pytest.raises(errors.InvalidArgumentError, match="because no supported kernel for FakeGPU devices"):
        place(graph, machine, catalogue=catalogue)
    result = placed(graph, machine, catalogue, config=Soft())
    assert (result["a"], result["b"]) == ("FakeCPU:0", "FakeGPU:0")


def test_soft_placement_keeps_job_and_task(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "Input", device="/job:elsewhere/device:FakeCPU:0")
    with pytest.raises(errors.InvalidArgumentError, match="was explicitly assigned to /job:elsewhere"):
        place(graph, machine, Soft(), catalogue=catalogue)


def test_kernel_priority_beats_device_type(catalogue, machine):
    catalogue.register_op("Host", inputs=["i: float"], outputs=["o: float"])
    catalogue.register_kernel("Host", "FakeCPU", priority=1)
    catalogue.register_kernel("Host", "FakeGPU")
    graph = ToyGraph(catalogue).add("in", "Input").add("n", "Host", "in")
    graph.add("r", "Relu", "in", colocate_with="n")
    result = placed(graph, machine, catalogue)
    assert (result["n"], result["r"]) == ("FakeCPU:0", "FakeCPU:0")


def test_conflicting_priorities_cancel_out(catalogue, machine):
    for name, kind in (("LikesCPU", "FakeCPU"), ("LikesGPU", "FakeGPU")):
        catalogue.register_op(name, inputs=["i: float"], outputs=["o: float"])
        for other in ("FakeCPU", "FakeGPU"):
            catalogue.register_kernel(name, other, priority=2 if other == kind else 1)
    graph = ToyGraph(catalogue).add("in", "Input").add("c", "LikesCPU", "in")
    assert placed(graph, machine, catalogue)["c"] == "FakeCPU:0"
    graph.add("g", "LikesGPU", "in", colocate_with="c")
    assert placed(graph, machine, catalogue)["c"] == "FakeGPU:0"


def test_default_kernels_serve_any_type(catalogue, machine):
    catalogue.register_op("Any", inputs=["i: float"], outputs=["o: float"])
    catalogue.register_kernel("Any", "DEFAULT")
    graph = ToyGraph(catalogue).add("in", "Input").add("n", "Any", "in", device="/device:FakeGPU:2")
    assert placed(graph, machine, catalogue)["n"] == "FakeGPU:2"


def test_assigned_nodes_keep_their_device_and_bind_their_group(catalogue, machine):
    graph = ToyGraph(catalogue).add("v", "Var").add("in", "Input").add("w", "Assign", "v", "in")
    gpu = "/job:localhost/replica:0/task:0/device:FakeGPU:5"
    assert placed(graph, machine, catalogue, assigned={"v": gpu})["w"] == "FakeGPU:5"


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("/job:localhost/replica:0/task:0/device:FakeGPU:50", "does not match any device"),
        ("/gpu", "Malformed assigned device '/gpu'"),
        (
            "/job:localhost/replica:0/task:0/device:FakeGPU:0",
            "does not have registered OpKernel support for ReluCPU",
        ),
    ],
)
def test_bad_assignments_are_internal_errors(catalogue, machine, device, sentence):
    graph = ToyGraph(catalogue).add("in", "Input").add("n", "ReluCPU", "in")
    with pytest.raises(errors.InternalError, match=sentence):
        place(graph, machine, catalogue=catalogue, assigned={"n": device})


def test_the_default_local_device_goes_first(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "Input").add("n", "Relu", "in")
    device = "/job:localhost/replica:0/task:0/device:FakeCPU:1"
    result = placed(graph, machine, catalogue, default_local_device=device)
    assert result == {"in": "FakeCPU:1", "n": "FakeCPU:1"}


def test_an_op_without_kernels(catalogue, machine):
    catalogue.register_op("Nowhere", outputs=["o: float"])
    graph = ToyGraph(catalogue).add("n", "Nowhere")
    with pytest.raises(
        errors.InvalidArgumentError, match="No OpKernel was registered to support Op 'Nowhere'"
    ):
        place(graph, machine, catalogue=catalogue)
    elsewhere = graph.add("m", "Relu", "n") and ToyGraph(catalogue).add(
        "n", "Nowhere", device="/job:other/device:FakeGPU:0"
    )
    with pytest.raises(errors.InvalidArgumentError, match="was explicitly assigned to /job:other"):
        place(elsewhere, machine, catalogue=catalogue)


def test_an_op_unknown_here_may_run_in_another_task(catalogue):
    from gpuplace.testing import Machine

    catalogue.register_op("Remote", outputs=["o: float"])
    names = ["/job:a/replica:0/task:0/device:FakeCPU:0", "/job:a/replica:0/task:1/device:FakeCPU:0"]
    graph = ToyGraph(catalogue).add("n", "Remote", device="/job:a/task:1")
    placement = place(graph, Machine.from_devices(names), catalogue=catalogue)
    assert placement["n"] == names[1]


def test_no_devices(catalogue):
    from gpuplace.testing import DeviceSet

    with pytest.raises(errors.FailedPreconditionError, match="No devices are registered"):
        place(ToyGraph(catalogue).add("in", "Input"), DeviceSet([]), catalogue=catalogue)


def test_kept_errors_leave_the_rest_placed(catalogue, machine):
    graph = ToyGraph(catalogue).add("in", "Input").add("a", "Relu", "in", device="/device:FakeGPU:99")
    graph.add("b", "Relu", "in").add("c", "ReluCPU", "in", device="/device:FakeGPU:0")
    placement = place(graph, machine, catalogue=catalogue, on_error="keep")
    assert where(placement) == {"in": "FakeCPU:0", "b": "FakeGPU:0"}
    assert [type(error).__name__ for error in placement.errors] == ["InvalidArgumentError"] * 2
    assert "operation a" in placement.errors[0].message and "operation c" in placement.errors[1].message
    assert "a" not in placement and len(placement) == 2
    assert devices_in_error(placement.errors[0])[0].endswith("FakeCPU:0")
    with pytest.raises(ValueError, match="on_error"):
        place(graph, machine, catalogue=catalogue, on_error="ignore")
