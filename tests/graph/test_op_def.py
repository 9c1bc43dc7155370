"""Op definitions: the catalogues of both releases, lookups, registration."""

import pytest

from gpuplace import dtypes, errors
from gpuplace.graph.op_def import Deprecation, OpRegistry, make_op_def, op_registry
from gpuplace.graph.op_notation import NO_DEFAULT
from gpuplace.shapes import TensorShape

COUNTS = {"1.15": 1400, "2.21": 1910}


@pytest.mark.parametrize("release", COUNTS)
def test_every_op_of_the_release_parses_and_prints_as_in_the_file(release):
    registry = OpRegistry.load(release)
    assert len(registry) == COUNTS[release] == int(registry._file.facts["ops"])
    assert registry._file.facts["tensorflow"].startswith(release)
    for name in registry.names():
        op_def = registry.lookup(name)
        lines = [f"< {arg}" for arg in op_def.inputs] + [f"> {arg}" for arg in op_def.outputs]
        lines += [f"c {output}" for output in op_def.control_outputs] + [f": {attr}" for attr in op_def.attrs]
        assert lines == [line for line in registry._file.blocks[name].splitlines() if line[0] != "!"]


@pytest.mark.parametrize("release", COUNTS)
def test_known_signatures(release):
    registry = op_registry(release)
    matmul = registry.lookup("MatMul")
    assert str(matmul) == "MatMul(a: T, b: T) -> (product: T)"
    assert matmul.attr_defs["transpose_a"].default is False
    assert dtypes.float32 in matmul.attr_defs["T"].allowed
    assert dtypes.string not in matmul.attr_defs["T"].allowed
    variable = registry.lookup("VariableV2")
    assert variable.is_stateful
    assert variable.outputs[0].is_ref
    assert variable.defaults == {"container": b"", "shared_name": b""}
    assert registry.lookup("Assign").allows_uninitialized_input
    assert registry.lookup("AddN").is_aggregate
    assert registry.lookup("AddN").is_commutative
    assert registry.lookup("Placeholder").attr_defs["shape"].default == TensorShape(None)
    assert registry.lookup("Pack").attr_defs["N"].minimum == 1
    assert registry.lookup("Conv2D").attr_defs["padding"].allowed[:2] == (b"SAME", b"VALID")
    assert registry.lookup("Conv2D").attr_defs["dilations"].default == (1, 1, 1, 1)
    assert registry.lookup("TensorArrayUnpack").deprecation == Deprecation(
        20, "Use TensorArrayScatterV3 with RangeOp"
    )
    assert registry.lookup("NoOp").deprecation is None
    color = registry.lookup("ImageSummary").attr_defs["bad_color"].default
    assert color.dtype is dtypes.uint8
    assert color.array.tolist() == [255, 0, 0, 255]


def test_releases_differ():
    assert dtypes.bfloat16 in op_registry("2.21").lookup("AddV2").attr_defs["T"].allowed
    assert "XlaLaunch" in op_registry("2.21")
    assert "NcclReduce" in op_registry("1.15")
    assert op_registry("1.0") is op_registry("1.4") is op_registry("1.15")
    assert op_registry("2.21").lookup("CollectiveReduce").is_distributed_communication


def test_types_of_a_node_with_lists_and_references():
    registry = op_registry("1.15")
    identity_n = registry.lookup("IdentityN")
    attrs = {"T": (dtypes.float32, dtypes.string)}
    assert identity_n.input_types(attrs) == (dtypes.float32, dtypes.string)
    concat = registry.lookup("ConcatV2")
    attrs = {"N": 3, "T": dtypes.float16, "Tidx": dtypes.int32}
    assert concat.input_types(attrs) == (dtypes.float16,) * 3 + (dtypes.int32,)
    assert concat.input_ranges(attrs) == {"values": range(0, 3), "axis": range(3, 4)}
    assign = registry.lookup("Assign")
    assert assign.input_types({"T": dtypes.int64}) == (dtypes.int64._as_ref, dtypes.int64)
    assert assign.output_types({"T": dtypes.int64}) == (dtypes.int64._as_ref,)
    with pytest.raises(KeyError, match="Tidx"):
        concat.input_types({"N": 3, "T": dtypes.float16})


def test_unknown_op_says_what_is_similar():
    with pytest.raises(errors.NotFoundError) as caught:
        op_registry("1.15").lookup("Matmul")
    assert caught.value.message.startswith("Op type not registered 'Matmul' in binary running on ")
    assert "MatMul" in str(caught.value)
    assert op_registry("1.15").get("Matmul") is None


def test_registration_is_private_repeatable_and_conflict_free():
    registry = OpRegistry()
    assert len(registry) == 0
    toy = make_op_def("Toy", ["x: T"], ["y: Ref(T)"], ["T: {float, int32} = DT_INT32"], is_stateful=True)
    assert registry.register(toy) is registry.register(
        make_op_def("Toy", ["x: T"], ["y: Ref(T)"], ["T: {float, int32} = DT_INT32"], is_stateful=True)
    )
    assert registry.names() == ("Toy",)
    assert "Toy" not in op_registry("1.15")
    with pytest.raises(errors.AlreadyExistsError, match="Op with name Toy"):
        registry.register(make_op_def("Toy"))
    with pytest.raises(errors.AlreadyExistsError, match="Op with name MatMul"):
        OpRegistry.load("1.15").register(make_op_def("MatMul"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("has space",), "Invalid name 'has space'"),
        (("A", ["x: T"]), "'T' is neither a type nor an attribute, for Op A"),
        (("A", ["x: N * float"], [], ["N: float"]), "'N' is not an attribute of type int"),
        (("A", ["x: T"], [], ["T: shape"]), "attribute 'T' is shape, not a type"),
        (("A", ["x float"]), "write 'name: type'"),
        (("A", ["x: float", "x: int32"]), "Duplicate input name 'x' in Op A"),
        (("A", [], [], ["T: type", "T: int"]), "Duplicate attr name 'T' in Op A"),
    ],
)
def test_malformed_definitions(arguments, words):
    with pytest.raises(ValueError, match=words.replace("*", r"\*")):
        make_op_def(*arguments)


def test_no_default_is_told_from_values():
    attr = make_op_def("A", attrs=["T: type"]).attrs[0]
    assert attr.default is NO_DEFAULT
    assert not attr.has_default
    assert repr(NO_DEFAULT) == "NO_DEFAULT"
