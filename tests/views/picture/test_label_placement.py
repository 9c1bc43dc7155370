"""Labels beside their lines."""

import numpy as np
import pytest

from gpuplace.views.picture.label_placement import place_labels, sampled


def line(*points):
    """A straight line as one cubic curve."""
    start, end = np.array(points[0], float), np.array(points[1], float)
    return sampled([tuple(start + (end - start) * k / 3) for k in range(4)])


def overlap(one, other):
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0, width) * max(0, height)


def test_a_curve_goes_through_its_ends():
    points = sampled([(0, 0), (0, 10), (10, 20), (30, 30), (50, 40), (60, 50), (60, 60)])
    assert points[0].tolist() == [0, 0] and points[-1].tolist() == [60, 60]
    assert [30, 30] in points.tolist()


def test_labels_keep_off_boxes_lines_and_one_another():
    curves = [line((100, 0), (100, 100)), line((140, 0), (140, 100)), line((0, 50), (90, 50))]
    boxes = [(104, 30, 130, 70)]
    found = place_labels([0, 1], [(30, 12), (30, 12)], curves, boxes, (300, 100))
    assert overlap(*found) == 0
    for place in found:
        assert overlap(place, boxes[0]) == 0
        for curve in curves:
            inside = (place[0] < curve[:, 0]) & (curve[:, 0] < place[2])
            inside &= (place[1] < curve[:, 1]) & (curve[:, 1] < place[3])
            assert not inside.any()


@pytest.mark.parametrize("end", [(40, 60), (-40, 60), (200, 40)])
def test_a_slanting_line_passes_the_corners(end):
    curve = line((100, 0), (100 + end[0], end[1]))
    (place,) = place_labels([0], [(50, 22)], [curve], [], (400, 100))
    inside = (place[0] < curve[:, 0]) & (curve[:, 0] < place[2])
    inside &= (place[1] < curve[:, 1]) & (curve[:, 1] < place[3])
    assert not inside.any()


def test_labels_stay_inside_the_picture():
    (place,) = place_labels([0], [(60, 20)], [line((2, 0), (2, 10))], [], (70, 24))
    assert place[0] >= 0 and place[1] >= 0 and place[2] <= 70 and place[3] <= 24
