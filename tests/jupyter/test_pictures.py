"""Pictures: what they hold, what they are saved as, and the program behind them."""

import base64
import re
import subprocess
import sysconfig
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from graphviz.backend import ExecutableNotFound

import gpuplace as tf
from gpuplace.jupyter import render
from gpuplace.jupyter.pictures import legend_chips, placement_picture
from gpuplace.views.tables.html import both_themes
from gpuplace.views.tables.text import placement_text
from gpuplace.why.diff import PlacementDiff
from tests.jupyter.programs import layered, towers
from tests.placer.corpus_files import folder
from tests.views.tables.views import training

PURE = Path(sysconfig.get_path("scripts")) / "graphviz-pure"


@pytest.fixture
def placement():
    return tf.place(towers(), machine="4x Tesla K20m")


@pytest.fixture(params=[pytest.param("dot", marks=pytest.mark.dot), str(PURE)], ids=["dot", "graphviz-pure"])
def program(request, monkeypatch):
    """Both programs that pictures are laid out with."""
    monkeypatch.setenv(render.DOT_VARIABLE, request.param)
    render.layout.cache_clear()


def test_a_picture_is_one_svg_with_an_id_for_every_op(placement, program):
    svg = placement.picture().svg
    root = ElementTree.fromstring(svg)
    ids = {group.get("id") for group in root.iter("{http://www.w3.org/2000/svg}g")}
    assert {f"n{node}" for node in range(7)} <= ids
    assert svg.startswith("<svg") and "script" not in svg
    assert "Liberation Sans" in svg


def test_a_notebook_keeps_image_table_and_text(placement):
    bundle = placement.picture()._repr_mimebundle_()
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', bundle["text/html"])[1]
    assert base64.b64decode(data).decode() == both_themes(
        placement.picture().svg, placement.picture(theme="dark").svg
    )
    assert 'alt="Placement graph. 7 nodes: ' in bundle["text/html"]
    assert bundle["text/plain"].splitlines()[0] == (
        "7 nodes: 1 on CPU:0, 3 on GPU:2, 3 on GPU:3; 2 copies between devices, 32 B"
    )
    assert "<table>" not in placement.picture(table=False)._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.dot", b"digraph")]
)
def test_save(placement, tmp_path, name, start, program):
    path = placement.picture(colour="cause", patterns=True).save(tmp_path / name)
    assert path.read_bytes().startswith(start)


def test_save_needs_an_ending(placement, tmp_path):
    with pytest.raises(ValueError, match=r"\.svg, \.png, \.pdf or \.dot"):
        placement.picture().save(tmp_path / "picture")


def test_options(placement):
    assert placement.picture(theme="dark").dot != placement.picture().dot
    assert "rankdir=LR" in placement.picture(direction="LR").dot
    with pytest.raises(ValueError, match="Unknown theme"):
        placement.picture(theme="blue")
    folded = tf.place(layered(4), machine="2x Tesla K40c")
    assert len(folded.picture(open=[]).drawing.boxes) == 2
    assert len(folded.picture(open="tower_1").drawing.boxes) == 6
    with pytest.raises(ValueError, match="no name scope 'tower_7'"):
        folded.picture(open=["tower_7"])


def test_a_layout_that_takes_too_long_is_given_up():
    picture = placement_picture(training(towers=4, layers=40), cap=300, time_limit_s=0.001)
    with pytest.raises(render.LayoutTimeout, match="took more than 0.001 s"):
        _ = picture.svg
    assert "took more than 0.001 s" in picture._repr_mimebundle_()["text/html"]


def test_without_dot_the_package_that_is_always_there_draws(placement, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(render.DOT_VARIABLE, raising=False)
    assert Path(render.dot_program()) == PURE
    render.layout.cache_clear()
    assert placement.picture().svg.startswith("<svg")


def test_without_any_program_it_is_said_what_to_do(placement, monkeypatch, tmp_path):
    monkeypatch.setenv(render.DOT_VARIABLE, "/no/such/dot")
    render.layout.cache_clear()
    picture = placement.picture()
    with pytest.raises(
        ExecutableNotFound,
        match=r"The layout program '/no/such/dot' was not found.*\n  try  pip install graphviz-pure",
    ):
        _ = picture.svg
    with pytest.raises(render.NoLayoutProgram):
        picture.save(tmp_path / "a.png")
    assert picture.save(tmp_path / "a.dot").read_text(encoding="utf-8").startswith("digraph")
    shown = picture._repr_mimebundle_()
    assert "pip install graphviz-pure" in shown["text/html"] and "<table>" in shown["text/html"]


def test_a_format_that_the_program_does_not_write(placement, tmp_path, program):
    with pytest.raises(ValueError, match="cannot write 'xyz': Format"):
        placement.picture().save(tmp_path / "a.xyz")


def test_formats_are_checked():
    with pytest.raises(ValueError, match="Unknown picture format"):
        render.render("digraph {}", "svg -o /etc/passwd")


def test_the_repr_says_what_is_drawn(placement):
    assert repr(placement.picture()).startswith("<Picture: 7 nodes: 1 on CPU:0")


def test_colours(placement):
    assert [row["label"] for row in legend_chips(placement.picture(colour="type").sheet)] == [
        "Const",
        "MatMul",
        "AddN",
    ]
    assert placement.picture(colour="requested").colouring.name == "requested"
    assert placement.picture(colour="type").svg != placement.picture().svg
    with pytest.raises(ValueError, match="Unknown colouring 'pink'"):
        placement.picture(colour="pink")
    with pytest.raises(ValueError, match="FULL_TRACE"):
        placement.picture(colour="time")


def test_colours_and_marks_are_there_as_text(placement):
    picture = placement.picture(colour="type", find="MatMul")
    expected = [
        "op type: number of nodes",
        "  Const   4",
        "  MatMul  2",
        "  AddN    1",
        "╌╌ 2 copies between devices, 32 B",
        "● 2 matches of MatMul",
    ]
    assert picture.text.splitlines() == expected
    assert picture._repr_mimebundle_()["text/plain"].endswith(picture.text)
    plain = placement.picture()._repr_mimebundle_()["text/plain"]
    assert plain == placement_text(placement)  # its first line has the counts


def test_what_stays_is_not_laid_out_again(placement):
    render.layout.cache_clear()
    svgs = {
        placement.picture(theme=theme, colour=colour).svg
        for theme in ("light", "dark")
        for colour in ("assigned", "type")
    }
    patterned = placement.picture(patterns=True, legend=False).svg
    other = tf.place(towers(), machine="8x Tesla K20m").picture().svg
    assert len({*svgs, patterned, other}) == 6
    assert render.layout.cache_info().misses == 1


def test_find_opens_scopes_and_counts():
    placement = tf.place(layered(6), machine="2x Tesla K40c")
    picture = placement.picture(find="tower_1/layer_3/MatMul")
    assert "tower_1/layer_3" in picture.drawing.opened
    assert "● match" in picture.svg and "● 1 match of tower_1/layer_3/MatMul" in picture.svg
    assert len(placement.picture(find="MatMul", cap=4).drawing.boxes) <= 4
    nothing = placement.picture(find="no such op")
    assert "● 0 matches" in nothing.svg
    assert len(nothing.drawing.boxes) == len(placement.picture().drawing.boxes)
    both = placement.picture(open=["tower_0"], find="tower_1/x").drawing.opened
    assert {"tower_0", "tower_1"} <= set(both)


def test_compare(placement):
    soft = tf.ConfigProto(allow_soft_placement=True)
    later = tf.place(towers(), machine="3x Tesla K20m", config=soft)
    for picture in (placement.diff(later).picture(), later.picture(against=placement)):
        assert picture.colouring.name == "moved"
        assert "MatMul · GPU:3 → GPU:0" in picture.svg and "soft placement: 1" in picture.svg
        assert "3 nodes moved" in picture.dot
    assert later.picture(against=placement, colour="assigned").colouring.name == "assigned"
    assert "0 nodes moved" in placement.diff(placement).picture().svg


def test_a_difference_made_by_hand_has_no_picture():
    with pytest.raises(ValueError, match="has no placements to draw"):
        PlacementDiff((), (), ()).picture()


def test_critical_path(placement):
    assert "critical path: 3 ops, the longest chain" in placement.picture(critical_path=True).svg
    assert "most bytes copied" in placement.picture(critical_path="bytes").svg
    with pytest.raises(ValueError, match="choose one of time, bytes, ops"):
        placement.picture(critical_path="money")


def test_time_of_a_measured_step():
    with tf.Graph().as_default() as graph:
        product = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]], name="product")
        metadata = tf.RunMetadata()
        full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with tf.Session() as session:
            session.run(product, options=full, run_metadata=metadata)
    picture = tf.place(graph).picture(colour="time", run_metadata=metadata, critical_path=True)
    assert "time in the measured step" in picture.svg
    assert "the longest chain by measured time" in picture.svg


def test_gradients_are_drawn_on_request(program):
    trained = tf.place(folder("corpus", "1.15") / "trained_ref_adam.pb", "4x Tesla K20m")
    flow, all_lines = trained.picture(), trained.picture(backward=True)
    shown = {(link.src, link.dst) for link in flow.drawing.links}
    assert shown < {(link.src, link.dst) for link in all_lines.drawing.links}
    assert flow.drawing.boxes == all_lines.drawing.boxes
    assert flow.svg.count('class="edge') == len(shown) < all_lines.svg.count('class="edge')
    assert "lines of gradients and updates are drawn too" in all_lines.text


def test_curves_that_graphviz_cannot_draw_are_straight(monkeypatch):
    asked = []

    def run(program, arguments, text, limit):
        asked.append(text)
        if "splines=line" not in text:
            raise subprocess.CalledProcessError(1, program, stderr=b"Error: lost n209 s44 edge")
        return real(program, arguments, text, limit)

    real = render._run
    monkeypatch.setattr(render, "_run", run)
    found = render.layout("digraph { a -> b }")
    assert len(asked) == 2 and set(found.boxes) == {"a", "b"} and set(found.routes) == {("a", "b")}
