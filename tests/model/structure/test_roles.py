"""Roles: what programs made each of their nodes for."""

import pytest

import gpuplace as tf
from gpuplace.model.structure.roles import ROLES, Roles
from gpuplace.model.subject.bookkeeping import bookkeeping
from gpuplace.views.tables.placement_view import PlacementView, view_of
from tests.model.structure.programs import training

PROGRAMS = (
    ("perceptron", "sgd", {}),
    ("perceptron", "adam", {"clip": "norm"}),
    ("perceptron", "momentum", {"penalty": True}),
    ("perceptron", "by hand", {"aside": False}),
    ("residual", "momentum", {}),
    ("residual", "adam", {"towers": 2}),
    ("residual", "sgd", {"towers": 4, "penalty": True}),
    ("residual", "rmsprop", {"clip": "value"}),
    ("recurrent", "adam", {"clip": "norm"}),
    ("recurrent", "sgd", {"towers": 2}),
    ("without_scopes", "sgd", {"aside": False}),
    ("without_scopes", "by hand", {"towers": 2}),
)


@pytest.mark.parametrize(("net", "optimizer", "options"), PROGRAMS, ids=lambda part: str(part))
def test_roles_are_those_that_nodes_were_made_for(net, optimizer, options):
    program = training(net, optimizer, **options)
    view = view_of(tf.place(program.graph, "4x Tesla V100", tf.ConfigProto(allow_soft_placement=True)))
    roles = [ROLES[role] for role in Roles(view, bookkeeping(view)).role]
    wrong = [
        (name, role, program.roles[name])
        for name, role in zip(view.names, roles, strict=True)
        if role != program.roles[name]
    ]
    assert len(wrong) <= 0.01 * len(view), wrong[:40]


def test_a_graph_that_only_serves_has_no_roles_of_training():
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [8, 4], name="rows")
        tf.nn.softmax(tf.matmul(rows, tf.get_variable("w", (4, 2))))
    view = view_of(tf.place(graph, "1x Tesla K20m"))
    roles = {ROLES[role] for role in Roles(view, bookkeeping(view)).role}
    assert roles == {"input", "forward", "variable"}


def test_gradients_are_found_without_their_names():
    program = training("residual", "sgd", aside=False)
    view = view_of(tf.place(program.graph, "1x Tesla V100"))
    number = {name: f"n{position}" for position, name in enumerate(view.names)}
    rows = [(number[name], view.op_type_of(node), "", "") for node, name in enumerate(view.names)]
    edges = [
        (f"n{src}", output, f"n{dst}", place)
        for src, output, dst, place in zip(
            *(column.tolist() for column in (view.src, view.src_output, view.dst, view.dst_input)),
            strict=True,
        )
    ]
    renamed = PlacementView.of_columns(rows, edges)
    roles = [ROLES[role] for role in Roles(renamed, bookkeeping(renamed)).role]
    asked = [program.roles[name] for name in view.names]
    found = [role for role, truth in zip(roles, asked, strict=True) if truth == "backward"]
    assert found.count("backward") >= 0.9 * len(found)
    kept = [role for role, truth in zip(roles, asked, strict=True) if truth == "forward"]
    assert kept.count("forward") >= 0.9 * len(kept)
