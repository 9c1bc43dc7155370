"""Pictures: what they hold, what they are saved as, and the program behind them."""

import base64
import re
import sysconfig
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from graphviz.backend import ExecutableNotFound

import gpuplace as tf
from gpuplace.jupyter import render
from gpuplace.jupyter.pictures import placement_picture
from tests.jupyter.programs import layered, towers
from tests.report.views import training

PURE = Path(sysconfig.get_path("scripts")) / "graphviz-pure"


@pytest.fixture
def placement():
    return tf.place(towers(), machine="4x Tesla K20m")


@pytest.fixture(params=[pytest.param("dot", marks=pytest.mark.dot), str(PURE)], ids=["dot", "graphviz-pure"])
def program(request, monkeypatch):
    """Both programs that pictures are laid out with."""
    monkeypatch.setenv(render.DOT_VARIABLE, request.param)
    render.render_svg.cache_clear()


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
    assert base64.b64decode(data).decode() == placement.picture().svg
    assert 'alt="Placement graph. 7 nodes: ' in bundle["text/html"]
    assert bundle["text/plain"].splitlines()[0] == (
        "7 nodes: 1 on CPU:0, 3 on GPU:2, 3 on GPU:3; 2 copies between devices, 32 B"
    )
    assert "<table>" not in placement.picture(table=False)._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.dot", b"digraph")]
)
@pytest.mark.dot
def test_save(placement, tmp_path, name, start):
    path = placement.picture().save(tmp_path / name)
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
    with pytest.raises(render.LayoutTimeout, match="not laid out in 0.001 s"):
        _ = picture.svg
    assert "not laid out" in picture._repr_mimebundle_()["text/html"]


def test_without_dot_the_package_that_is_always_there_draws(placement, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(render.DOT_VARIABLE, raising=False)
    assert Path(render.dot_program()) == PURE
    render.render_svg.cache_clear()
    assert placement.picture().svg.startswith("<svg")


def test_a_program_that_does_not_exist(monkeypatch):
    monkeypatch.setenv(render.DOT_VARIABLE, "/no/such/dot")
    with pytest.raises(ExecutableNotFound):
        render.dot_program()


def test_formats_are_checked():
    with pytest.raises(ValueError, match="Unknown picture format"):
        render.render("digraph {}", "svg -o /etc/passwd")


def test_the_repr_says_what_is_drawn(placement):
    assert repr(placement.picture()).startswith("<Picture: 7 nodes: 1 on CPU:0")
