"""The kernel catalogues of both releases and the rules that choose a row."""

import threading

import pytest

from gpuplace import dtypes, errors
from gpuplace.graph.op_def import OpRegistry, op_registry
from gpuplace.kernels.registry import (
    Catalogue,
    KernelRegistry,
    default_catalogue,
    register_kernel,
    register_op,
)

COUNTS = {"1.15": (1190, 9740), "2.21": (1536, 15632)}
F, I = dtypes.float32, dtypes.int32  # noqa: E741


@pytest.mark.parametrize("release", COUNTS)
def test_every_row_of_the_release_parses_and_prints_as_in_the_file(release):
    registry = KernelRegistry.load(release)
    assert registry.facts["tensorflow"].startswith(release)
    names = registry.op_names()
    assert (len(names), sum(len(registry.rows(name)) for name in names)) == COUNTS[release]
    assert [registry.facts["ops"], registry.facts["kernels"]] == list(map(str, COUNTS[release]))
    for name in names:
        assert [str(row) for row in registry.rows(name)] == registry._file.blocks[name].splitlines()


@pytest.mark.parametrize("release", COUNTS)
def test_rows_speak_of_attributes_and_arguments_that_their_ops_have(release):
    """But for two ops whose rows TensorFlow itself never finds: it refuses their nodes."""
    ops, kernels = OpRegistry.load(release), KernelRegistry.load(release)
    strangers = set()
    for name in kernels.op_names():
        op_def = ops.lookup(name)
        arguments = {arg.name for arg in (*op_def.inputs, *op_def.outputs)}
        for row in kernels.rows(name):
            strangers |= {(name, attr) for attr, _ in row.constraints if attr not in op_def.attr_defs}
            assert row.host_memory_args <= arguments, row
    expected = {
        "1.15": {("TileGrad", "Tmultiples")},
        "2.21": {("TileGrad", "Tmultiples"), ("TopK", "index_type")},
    }
    assert strangers == expected[release]


def test_a_row_whose_attribute_the_op_lacks_is_an_error():
    with pytest.raises(
        errors.InvalidArgumentError, match="OpKernel 'TopK' has constraint on attr 'index_type' not in"
    ):
        default_catalogue("2.21").kernels.find("TopK", {"T": F, "k": 1, "sorted": True}, "CPU")


def found(release, op, device_type, **attrs):
    row, _ = default_catalogue(release).kernels.find(op, attrs, device_type)
    return None if row is None else str(row)


@pytest.mark.parametrize("release", COUNTS)
def test_known_rows(release):
    assert found(release, "MatMul", "GPU", T=F) == "GPU T=float"
    assert found(release, "MatMul", "CPU", T=I) == "CPU T=int32"
    assert found(release, "MatMul", "GPU", T=I) is None
    assert found(release, "Add", "GPU", T=I) == "GPU T=int32 host:x,y,z"
    assert found(release, "VariableV2", "GPU", dtype=I) is None
    assert found(release, "VariableV2", "GPU", dtype=F) == "GPU dtype=float"
    assert found(release, "Const", "GPU", dtype=dtypes.string) is None
    assert found(release, "Placeholder", "GPU") is not None
    assert found(release, "StringJoin", "GPU") is None


def test_int32_in_host_memory_moved_to_default_rows():
    assert found("1.15", "Const", "GPU", dtype=I) == "GPU dtype=int32 host:output"
    assert found("2.21", "Const", "GPU", dtype=I) == "DEFAULT dtype=int32 host:output"
    assert found("1.15", "AddN", "GPU", T=I) == "GPU T=int32 host:inputs,sum"
    assert found("2.21", "AddN", "GPU", T=I) == "DEFAULT T=int32 host:inputs,sum"
    assert found("2.21", "AddN", "AnyOther", T=I) == "DEFAULT T=int32 host:inputs,sum"


def test_default_rows_serve_where_no_own_row_does():
    toys = Catalogue()
    toys.register_op("Toy", ["x: T"], ["y: T"], ["T: type"])
    toys.register_kernel("Toy", "GPU", T="float")
    toys.register_kernel("Toy", "DEFAULT", priority=3)
    own, own_mismatch = toys.kernels.find("Toy", {"T": F}, "GPU")
    default, default_mismatch = toys.kernels.find("Toy", {"T": I}, "GPU")
    assert (own.device_type, own_mismatch) == ("GPU", False)
    assert (default.device_type, default_mismatch) == ("DEFAULT", True)
    assert toys.kernels.find("Toy", {"T": I}, "CPU")[0].priority == 3
    assert toys.kernels.find("Toy", {"T": I}, "XLA_CPU_JIT") == (None, False)
    assert found("1.15", "Enter", "XLA_GPU_JIT", T=F) is None


def test_a_mismatch_is_told_from_no_row():
    kernels = default_catalogue("2.21").kernels
    assert kernels.find("MatMul", {"T": I}, "GPU") == (None, True)
    assert kernels.find("MatMul", {"T": F}, "FPGA") == (None, False)
    assert kernels.find("NoSuchOp", {}, "CPU") == (None, False)


def test_labels_choose_among_rows():
    attrs = {"T": F, "data_format": b"NHWC"}
    assert found("2.21", "Conv2DBackpropFilter", "CPU", **attrs) == "CPU T=float"
    assert (
        found("2.21", "Conv2DBackpropFilter", "CPU", **attrs, _kernel=b"custom")
        == 'CPU T=float data_format="NHWC" label:custom'
    )
    assert found("2.21", "Conv2DBackpropFilter", "CPU", **attrs, _kernel=b"no such label") is None


def test_constraints_on_strings():
    assert found("2.21", "SpaceToDepth", "CPU", T=F, data_format=b"NHWC") == 'CPU T=float data_format="NHWC"'
    assert found("2.21", "SpaceToDepth", "CPU", T=F, data_format=b"NCHW") is None


def test_lists_of_types_need_every_element():
    toys = Catalogue()
    toys.register_op("Toy", ["x: Ts"], [], ["Ts: list(type)"])
    toys.register_kernel("Toy", "GPU", Ts=["float", "int32"])
    assert toys.kernels.find("Toy", {"Ts": (F, I)}, "GPU")[0] is not None
    assert toys.kernels.find("Toy", {"Ts": [F, I]}, "GPU")[0] is not None
    assert toys.kernels.find("Toy", {"Ts": (F, dtypes.string)}, "GPU") == (None, True)


def two_rows(catalogue, priorities):
    catalogue.register_op("Twice", ["x: T"], [], ["T: type"])
    catalogue.register_kernel("Twice", "GPU", priorities[0], T="float")
    catalogue.register_kernel("Twice", "GPU", priorities[1], T=["float", "int32"])
    return catalogue.kernels


def test_two_rows_for_one_node_are_an_error_that_names_both():
    kernels = two_rows(Catalogue.load("2.21"), (0, 0))
    assert kernels.find("Twice", {"T": I}, "GPU")[0] is not None
    with pytest.raises(errors.InvalidArgumentError) as caught:
        kernels.find("Twice", {"T": F}, "GPU", node="scope/twice")
    assert caught.value.message == (
        "Multiple OpKernel registrations match NodeDef at the same priority '{{node scope/twice}}': 'op: \"Twice\""
        ' device_type: "GPU" constraint { name: "T" allowed_values { list { type: DT_FLOAT } } }\' and \'op: "Twice"'
        ' device_type: "GPU" constraint { name: "T" allowed_values { list { type: DT_FLOAT type: DT_INT32 } } }\''
    )
    assert caught.value.facts == {"first row": "GPU T=float", "second row": "GPU T=float,int32"}


def test_priority_decides_between_two_rows_only_in_2_21():
    assert two_rows(Catalogue.load("2.21"), (0, 1)).find("Twice", {"T": F}, "GPU")[0].priority == 1
    assert two_rows(Catalogue.load("2.21"), (2, 1)).find("Twice", {"T": F}, "GPU")[0].priority == 2
    with pytest.raises(
        errors.InvalidArgumentError, match="Multiple OpKernel registrations match NodeDef 'Twice'"
    ):
        two_rows(Catalogue.load("1.15"), (0, 1)).find("Twice", {"T": F}, "GPU")


def test_two_default_rows_are_an_error_whatever_their_priority():
    toys = Catalogue()
    toys.register_op("Toy")
    toys.register_kernel("Toy", "DEFAULT", 1)
    toys.register_kernel("Toy", "DEFAULT", 2)
    with pytest.raises(
        errors.InvalidArgumentError, match="Multiple Default OpKernel registrations match NodeDef 'Toy'"
    ):
        toys.kernels.find("Toy", {}, "GPU")


def test_a_missing_attribute_is_named():
    with pytest.raises(errors.InvalidArgumentError, match="has constraint on attr 'T' not in NodeDef"):
        default_catalogue("2.21").kernels.find("MatMul", {}, "GPU")


def test_answers_change_when_a_row_is_added():
    toys = Catalogue()
    toys.register_op("Toy")
    assert toys.kernels.find("Toy", {}, "GPU") == (None, False)
    row = toys.register_kernel("Toy", "GPU", priority=1)
    assert toys.kernels.find("Toy", {}, "GPU") == (row, False)


def test_a_private_catalogue_knows_only_its_own():
    toys = Catalogue()
    assert toys.release is None
    assert toys.ops.get("MatMul") is None
    assert toys.kernels.rows("MatMul") == ()
    with pytest.raises(errors.NotFoundError, match="Op type not registered 'MatMul'"):
        toys.register_kernel("MatMul", "GPU")


def test_additions_to_a_loaded_catalogue_stay_in_it():
    mine = Catalogue.load("1.15")
    mine.register_op("OnlyHere", outputs="o: float")
    mine.register_kernel("MatMul", "FPGA", T="float")
    assert mine.kernels.find("MatMul", {"T": F}, "FPGA")[0] is not None
    assert default_catalogue("1.15").kernels.find("MatMul", {"T": F}, "FPGA") == (None, False)
    assert "OnlyHere" not in op_registry("1.15")


def test_process_wide_additions_reach_every_release():
    register_op("TestProcessWide", ["x: T"], ["y: T"], ["T: type"])
    row = register_kernel("TestProcessWide", "GPU", priority=2, T="float")
    for release in ("1.0", "1.15", "2.21"):
        catalogue = default_catalogue(release)
        assert catalogue.ops.lookup("TestProcessWide").name == "TestProcessWide"
        assert catalogue.kernels.find("TestProcessWide", {"T": F}, "GPU")[0] == row
    with pytest.raises(errors.NotFoundError, match="Op type not registered 'TestNowhere'"):
        register_kernel("TestNowhere", "GPU")


def test_default_catalogue_is_one_per_rules():
    assert default_catalogue("1.0") is default_catalogue("1.15")
    assert default_catalogue("1.15") is not default_catalogue("2.21")
    assert default_catalogue("2.21").ops is op_registry("2.21")


def test_deciding_attributes():
    kernels = default_catalogue("2.21").kernels
    assert kernels.deciding_attrs("MatMul") == ("T",)
    assert set(kernels.deciding_attrs("SpaceToDepth")) == {"T", "data_format"}
    assert kernels.deciding_attrs("NoOp") == ()


def host(release, op, device_type, **attrs):
    catalogue = default_catalogue(release)
    op_def = catalogue.ops.lookup(op)
    attrs = {**op_def.defaults, **attrs}
    inputs, outputs = catalogue.kernels.host_memory(op_def, attrs, device_type)
    return set(inputs), set(outputs)


@pytest.mark.parametrize("release", COUNTS)
def test_host_memory_arguments(release):
    assert host(release, "Reshape", "GPU", T=F, Tshape=I) == ({1}, set())
    assert host(release, "Reshape", "GPU", T=I, Tshape=I) == ({0, 1}, {0})
    assert host(release, "Reshape", "CPU", T=F, Tshape=I) == ({1}, set())
    assert host(release, "AddN", "GPU", N=3, T=I) == ({0, 1, 2}, {0})
    assert host(release, "ConcatV2", "GPU", N=3, T=F, Tidx=I) == ({3}, set())
    assert host(release, "Shape", "GPU", T=F, out_type=I) == (set(), {0})
    assert host(release, "ReadVariableOp", "GPU", dtype=F) == ({0}, set())
    assert host(release, "Identity", "GPU", T=dtypes.string) == ({0}, {0})


def test_host_memory_without_a_row_and_by_attribute():
    assert host("2.21", "MatMul", "GPU", T=I) == ({0, 1}, {0})
    assert host("2.21", "ApplyGradientDescent", "GPU", T=I) == ({1, 2}, set())
    assert host("2.21", "AddV2", "GPU", T=F, _input_hostmem=(1,), _output_hostmem=(0,)) == ({1}, {0})


def test_function_calls_keep_int32_in_host_memory():
    types = {"Tin": (I, F), "Tout": (F, I)}
    for release in COUNTS:
        assert host(release, "PartitionedCall", "GPU", **types) == ({0}, {1})
    assert host("2.21", "StatelessWhile", "GPU", T=(F, I)) == ({1}, {1})
    assert host("1.15", "StatelessWhile", "GPU", T=(F, I)) == (set(), set())


def test_the_list_below_registered_kernels():
    text = default_catalogue("1.15").kernels.registered_text("MatMul")
    assert "  device='GPU'; T in [DT_FLOAT]\n" in text
    assert "  device='CPU'; label='eigen'; T in [DT_FLOAT]\n" in text
    assert text.count("\n") == len(default_catalogue("1.15").kernels.rows("MatMul"))
    assert default_catalogue("1.15").kernels.registered_text("NoSuchOp") == "  <no registered kernels>\n"


def test_threads_get_the_same_answers():
    registry = KernelRegistry.load("2.21")
    names = registry.op_names()[::8]
    answers: list[dict[str, tuple[str, ...]]] = []

    def read():
        answers.append({name: tuple(map(str, registry.rows(name))) for name in names})

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert all(answer == answers[0] for answer in answers)
