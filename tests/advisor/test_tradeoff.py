"""Time against memory: what an advice's other placements are, and the picture of them."""

import re
from xml.etree import ElementTree

import pytest

import gpuplace as tf
from gpuplace.errors import InvalidArgumentError
from gpuplace.views.timelines.plots import Axis, Line, plot_svg
from tests.advisor.step_graphs import branches, graph_of

GRAPH = graph_of(branches(count=1, width=1024, blocks=3))


def advice(machine="2x V100", objective="step_time"):
    return tf.advise(GRAPH, "train", {"rows": (512, 1024)}, machine, objective, steps=30)


@pytest.fixture(scope="module")
def tradeoff():
    return advice().tradeoff(limits=3, steps=100)


def test_no_best_point_is_worse_than_another_in_both(tradeoff):
    assert len(tradeoff.best) >= 2
    times = [point.step_time for point in tradeoff.best]
    sizes = [point.peak_memory for point in tradeoff.best]
    assert times == sorted(times, reverse=True) and sizes == sorted(sizes)
    for point in tradeoff.points:
        better = [
            other
            for other in tradeoff.best
            if other.step_time < 0.999 * point.step_time and other.peak_memory < 0.999 * point.peak_memory
        ]
        assert not (better and point.is_best)
    names = [point.name for point in tradeoff.points]
    assert "as it is" in names and "advised" in names


def test_every_point_is_what_the_placer_makes_of_its_requests(tradeoff):
    for point in tradeoff.points:
        placed = tf.place(point.advice.graph_def(), "2x V100")
        step = tf.estimate(placed, "train", {"rows": (512, 1024)})
        assert dict(placed) == dict(point.advice.placement)
        assert step.step_time == pytest.approx(point.step_time)
        assert max(step.peak_memory.values()) == pytest.approx(point.peak_memory, rel=1e-3)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_says_what_the_table_says(tradeoff, theme):
    root = ElementTree.fromstring(tradeoff.svg(theme))
    dots = root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(dots) == len(tradeoff.points) and root[0].text == tradeoff.text
    frame = tradeoff.frame()
    assert frame["is_best"].sum() == len(tradeoff.best) and list(frame["name"]) == [
        p.name for p in tradeoff.points
    ]
    bundle = tradeoff._repr_mimebundle_()
    assert 'alt="Time against memory.' in bundle["text/html"] and bundle["text/plain"] == str(tradeoff)


def test_a_part_of_an_advice_may_be_worse_and_says_so():
    found = advice()
    parts = [found.apply([move]) for move in found.moves]
    worse = [part for part in parts if part.value > found.before * 1.001]
    assert all(re.search(r" instead of .*, \d+\.\d% more", part.text) for part in worse)
    assert re.search(r" instead of .*, \d+\.\d% less", found.text)
    found.__dict__["before"] = found.value / 2
    assert "100.0% more" in found.text


def test_one_device_and_wrong_numbers():
    alone = advice("cpu")
    found = alone.tradeoff(steps=3)
    assert [point.name for point in found.points] == ["as it is"] and "One placement" in found.text
    with pytest.raises(InvalidArgumentError, match="limits must be a non-negative integer; got -1"):
        alone.tradeoff(limits=-1)
    with pytest.raises(InvalidArgumentError, match="steps must be a positive integer; got 0"):
        alone.tradeoff(steps=0)
    with pytest.raises(ValueError, match="theme"):
        found.svg("blue")


@pytest.mark.parametrize("steps", [5, 60])
def test_its_ends_are_what_the_objectives_find(steps):
    fastest, smallest = (
        tf.advise(GRAPH, "train", {"rows": (512, 1024)}, "2x V100", objective, steps=steps)
        for objective in ["step_time", "memory"]
    )
    for start in advice(), smallest:
        points = start.tradeoff(limits=1, steps=steps).points
        assert min(point.step_time for point in points) <= fastest.value
        assert points[0].peak_memory <= smallest.value
        assert all(point.advice.objective == start.objective for point in points)


def test_the_ends_are_the_same_from_either_objective():
    ends = set()
    for objective in ["step_time", "memory"]:
        points = advice(objective=objective).tradeoff(limits=0, steps=30).points
        ends.add((min(point.step_time for point in points), points[0].peak_memory))
    assert len(ends) == 1


def test_labels_of_close_times_do_not_overlap():
    times = [0.0185, 0.0192, 0.0212, 0.131, 0.174, 1.17]
    line = Line("best", "#6d96ff", [(time, 1.0) for time in times])
    svg = plot_svg([line], Axis("time", "{:g} s".format, is_log=True), Axis("size", "{:g}".format))
    root = ElementTree.fromstring(svg)
    labels = [
        (float(text.get("x")), text.text)
        for text in root.findall("{http://www.w3.org/2000/svg}text")
        if (text.text or "").endswith(" s")
    ]
    assert [text for _, text in sorted(labels)] == ["0.0185 s", "0.131 s", "1.17 s"]
