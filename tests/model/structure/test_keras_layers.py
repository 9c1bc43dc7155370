"""Layers of Keras applications: those that are found in a graph are those that Keras names.

Recorded with ``tests/oracle/keras_layers.py`` and ``tests/oracle/record/keras_layers.py``, TensorFlow 2.21.
"""

import json
import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gpuplace.model.structure.structure import structure_of
from gpuplace.views.tables.placement_view import PlacementView

with lzma.open(Path(__file__).parents[2] / "data" / "keras_layers.json.xz", "rt", encoding="utf-8") as file:
    MODELS = json.load(file)


def view_of_columns(columns):
    names = columns["names"]
    zeros = np.zeros(len(names), dtype=np.int64)
    src, src_output, dst, dst_input = (np.array(column, dtype=np.int64) for column in columns["edges"])
    return PlacementView(
        names=names,
        op_types=columns["op_types"],
        op_type=np.array(columns["op_type"], dtype=np.int64),
        requests=[""],
        request=zeros,
        devices=["/device:CPU:0"],
        device=zeros,
        src=src,
        src_output=src_output,
        dst=dst,
        dst_input=dst_input,
    )


@pytest.mark.parametrize("name", MODELS)
def test_the_layers_are_those_of_the_model(name):
    """An operator such as ``x + y`` is a layer ``add`` for Keras, and an op ``Add`` of the graph."""
    structure = structure_of(view_of_columns(MODELS[name]))
    asked = MODELS[name]["layers"]
    found = [layer if layer in asked else layer[:1].lower() + layer[1:] for layer in structure.layers]
    same = sum((Counter(asked) & Counter(found)).values())
    assert same >= 0.95 * len(asked), (asked, found)


@pytest.mark.parametrize("name", MODELS)
def test_the_layers_follow_one_another_as_in_the_model(name):
    """Keras orders layers side by side as they were made, which a graph does not tell: the others must agree."""
    view = view_of_columns(MODELS[name])
    structure = structure_of(view)
    src, dst = structure.layer_of[view.src], structure.layer_of[view.dst]
    linked = {(a, b) for a, b in zip(src.tolist(), dst.tolist(), strict=True) if a >= 0 <= b != a}
    place = {layer: position for position, layer in enumerate(MODELS[name]["layers"])}
    named = [(structure.layers[a], structure.layers[b], a < b) for a, b in linked]
    agreeing = [(place[a] < place[b]) == is_before for a, b, is_before in named if a in place and b in place]
    assert len(agreeing) >= 0.75 * len(place) and sum(agreeing) >= 0.95 * len(agreeing)


@pytest.mark.parametrize("name", MODELS)
def test_every_node_lies_in_one_part(name):
    structure = structure_of(view_of_columns(MODELS[name]))
    assert structure.part_of.min() >= 0 and structure.part_of.max() < len(structure.parts)
    assert len({part.path for part in structure.parts}) == len(structure.parts)
    aside = [part for part in structure.parts if part.kind == "shelf"]
    assert not aside, "plumbing is with the layers that it works for"
