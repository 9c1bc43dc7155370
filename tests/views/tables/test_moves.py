"""Two placements side by side."""

import gpuplace as tf
from gpuplace.views.tables.moves import moves_between
from gpuplace.views.tables.placement_view import view_of
from gpuplace.why.rules import Rule
from tests.jupyter.programs import towers

LOCAL = "/job:localhost/replica:0/task:0/device:"
SOFT = tf.ConfigProto(allow_soft_placement=True)


def test_placements_tell_the_cause():
    before = tf.place(towers(), machine="4x Tesla K20m", config=SOFT)
    after = tf.place(towers(), machine="3x Tesla K20m", config=SOFT)
    moves = moves_between(before, after)
    assert moves.by_cause() == [("generator", 2), ("soft placement", 1)]
    assert moves.by_devices() == [(f"{LOCAL}GPU:3", f"{LOCAL}GPU:0", 3)]
    assert moves.meanings == {rule.value: rule.meaning for rule in (Rule.GENERATOR, Rule.SOFT_PLACEMENT)}
    assert {row.note for row in moves.rows} == {
        "asks for '/device:GPU:3', which the machine does not have; before: asks for '/device:GPU:3'",
        "follows MatMul_1; before: asks for '/device:GPU:3'",
    }


def test_views_tell_from_where_to_where_and_releases_write_one_device_in_several_ways():
    before = tf.place(towers(), machine="4x Tesla K20m", config=SOFT)
    log = tf.parse_log(before.log("1.0"))
    assert moves_between(log, before).rows == ()
    after = tf.place(towers(), machine="cpu", config=SOFT)
    moves = moves_between(view_of(before), after)
    assert moves.by_cause() == [("GPU:2 to CPU:0", 3), ("GPU:3 to CPU:0", 3)]
    assert moves.meanings == {}
