"""Timelines as text and as still pictures."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

import gpuplace as tf
from gpuplace.views.timelines.svg import boxes_of, ticks, timeline_svg
from gpuplace.views.timelines.text import timeline_text
from tests.views.timelines.steps import busy_step, crowded_step, entry, step_of, tower_step


@pytest.fixture
def towers():
    tf.use_machine("2x Tesla K40c")
    return tower_step()


def test_text(towers):
    text = timeline_text(towers)
    lines = text.splitlines()
    assert lines[0] == towers.text
    assert [line[:5] for line in lines[1:4]] == ["CPU:0", "GPU:0", "GPU:1"]
    assert all(re.fullmatch(r"\S+  [#=>.]{60}", line) for line in lines[1:4])
    assert "#" in lines[1] and ">" in lines[1]
    assert re.search(r"^tensor +from +to +bytes +start +duration$", text, re.MULTILINE)
    assert "critical path: " in text and "hint: tower_" in text or "hint: shared" in text
    assert str(towers) == text and repr(towers) == f"<StepTimeline of {towers.text}>"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_picture(towers, theme):
    svg = timeline_svg(towers, theme)
    root = ElementTree.fromstring(svg)
    told = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    for name in ("shared", "tower_0/in", "tower_1/out", "total"):
        assert any(title.startswith(f"{name} (") for title in told), name
    assert sum("copy of shared from CPU:0 to GPU:" in title for title in told) == 2
    assert sum("on the critical path" in title for title in told) >= 5
    words = "".join(root.itertext())
    assert towers.path_text in words and "16.0 KiB" in words and "busy" in words
    assert towers.svg(theme) == svg


def test_hostile_names_are_text():
    name = '"><script>alert(1)</script>&'
    step = step_of(CPU_0=[entry(name, f"{name} = Add()", 100, 50)])
    ElementTree.fromstring(timeline_svg(tf.timeline(step)))
    assert "<script>" not in timeline_svg(tf.timeline(step))


def test_what_is_too_narrow_is_drawn_together():
    timeline = busy_step(20_000)
    boxes = list(boxes_of(timeline, timeline.total_us / 800))
    assert len(boxes) < 2000
    assert sum(len(box.events) for box in boxes) == 20_000
    assert len(timeline_svg(timeline)) < 1_000_000


def test_many_lanes_are_counted():
    timeline = crowded_step(60)
    assert len(timeline.lanes) == 60
    assert "and 20 more lanes" in timeline_svg(timeline) and "and 36 more lanes" in timeline_text(timeline)


def test_nearly_empty_lanes_of_a_device_share_a_row():
    """Thirty short ops beside long ones: three lanes have a row each, and one row has the other lanes."""
    long = [entry(f"long{i}", f"long{i} = MatMul()", 90, 10_000) for i in range(3)]
    short = [entry(f"short{i}", f"short{i} = Add()", 100, 40) for i in range(30)]
    timeline = tf.timeline(step_of(CPU_0=[*long, *short]))
    assert len(timeline.lanes) == 33
    labels = [line.partition("  ")[0] for line in timeline_text(timeline).splitlines()[1:6]]
    assert labels[:4] == ["CPU:0", "CPU:0 (2)", "CPU:0 (3)", "CPU:0 (30 more)"]
    words = list(ElementTree.fromstring(timeline_svg(timeline)).itertext())
    assert "CPU:0 (30 more)" in words and not any("(4)" in word for word in words)
    assert sum("short" in word for word in words) == 30


def test_an_unknown_theme(towers):
    with pytest.raises(ValueError, match="Unknown theme 'blue'"):
        towers.svg("blue")


def test_ticks_are_round():
    assert ticks(0) == [0]
    assert ticks(1.0, 4) == [0, 0.5, 1.0]
    assert len(ticks(123456.0)) <= 9
