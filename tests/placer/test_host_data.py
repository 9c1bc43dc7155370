"""Nodes that stay on the CPU for what variants carry (2.21); all answers are those of TensorFlow's placer."""

import pytest

from gpuplace.device.machine import Machine
from gpuplace.kernels.registry import default_catalogue
from gpuplace.why.place import place_graph
from tests.support.node_specs import node, placement_graph

PLACEHOLDER = node("p", "Placeholder", dtype="variant")
NUMBER = node("z", "Const", dtype="int64")
DATASET = node("e", "RangeDataset", "z", "z", "z", output_types=("int32",))
SHAPE = node("s", "Const", dtype="int32")
LIST = node("e", "EmptyTensorList", "s", "s", element_dtype="string", shape_type="int32")


def where(*specs, rules="2.21"):
    catalogue = default_catalogue(rules)
    devices = Machine.parse("2x Tesla K40c").device_set(environ={})
    placement = place_graph(placement_graph(list(specs), catalogue), devices, catalogue, rules=rules)
    return {name: device.rpartition(":")[0].rpartition(":")[2] for name, device in placement.items()}


@pytest.mark.parametrize("op", ["Identity", "Merge", "NextIteration"])
@pytest.mark.parametrize("made", [(NUMBER, DATASET), (SHAPE, LIST)], ids=["dataset", "list of strings"])
def test_a_control_edge_is_enough_for_what_passes_variants_on(op, made):
    found = where(PLACEHOLDER, *made, node("w", op, "p", "^e", T="variant"))
    assert found["w"] == found["p"] == "CPU"


def test_in_1_15_it_is_not():
    found = where(PLACEHOLDER, SHAPE, LIST, node("w", "Identity", "p", "^e", T="variant"), rules="1.15")
    assert found["w"] == "GPU"


def test_others_and_nodes_further_on_are_free():
    free = node("free", "NoOp", "^e")
    assert where(PLACEHOLDER, NUMBER, DATASET, node("w", "TensorListLength", "p", "^e"))["w"] == "GPU"
    assert (
        where(PLACEHOLDER, NUMBER, DATASET, free, node("w", "Merge", "p", "^free", T="variant"))["w"] == "GPU"
    )


def test_only_tensors_tell_their_reader_what_it_is():
    by_data = node("m", "Identity", "e", T="variant")
    by_control = node("m", "Identity", "q", "^e", T="variant")
    last = node("w", "Identity", "p", "^m", T="variant")
    other = node("q", "Placeholder", dtype="variant")
    assert where(PLACEHOLDER, NUMBER, DATASET, by_data, last)["w"] == "CPU"
    found = where(PLACEHOLDER, other, NUMBER, DATASET, by_control, last)
    assert (found["m"], found["q"], found["w"]) == ("CPU", "CPU", "GPU")


def test_datasets_by_another_name_and_results_of_functions():
    reader = node("e", "SnapshotNestedDatasetReader", "q", N=1, output_types=("bool",))
    other = node("q", "Placeholder", dtype="variant")
    found = where(PLACEHOLDER, other, reader, node("w", "Identity", "p", "^e", T="variant"))
    assert (found["p"], found["w"]) == ("CPU", "CPU")
    result = node("w", "_Retval", "p", "^e", T="variant", index=0)
    assert where(PLACEHOLDER, NUMBER, DATASET, result)["w"] == "CPU"
    assert where(PLACEHOLDER, node("w", "_Retval", "p", T="variant", index=0))["w"] == "GPU"
