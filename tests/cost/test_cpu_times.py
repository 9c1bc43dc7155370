"""Lines of the CPU: found again from times that follow one, and steady against outliers."""

import numpy as np
import pytest

from gpuplace.cost.cpu_times import CLASSES, DEFAULT_LINES, Line, class_of, cpu_seconds, fitted_line
from gpuplace.cost.work import Convolution, Product, Recurrence, Work

TRUE = Line(5e-6, 1 / 8e9, 1 / 40e9, 1 / 9e9)


def works():
    return [
        Work("float32", flops=float(flops), bytes_read=float(size), bytes_written=size / 2)
        for size in (100, 1e4, 1e5, 1e6, 1e7, 1e8)
        for flops in (size / 4, size * 4)
    ]


def times(line=TRUE):
    return [cpu_seconds(work, dict.fromkeys(CLASSES, line)) for work in works()]


def test_a_line_is_found_again():
    assert fitted_line(works(), times(), DEFAULT_LINES["bytes"]) == pytest.approx(TRUE, rel=0.02)


def test_outliers_and_noise_do_not_move_it_far():
    noisy = np.array(times()) * np.random.default_rng(3).lognormal(0, 0.05, len(works()))
    noisy[4] *= 30
    found = fitted_line(works(), noisy, DEFAULT_LINES["bytes"])
    foretold = np.array([cpu_seconds(work, dict.fromkeys(CLASSES, found)) for work in works()])
    assert np.median(abs(foretold / np.array(times()) - 1)) < 0.1


def test_few_works_scale_what_was_there():
    before = DEFAULT_LINES["bytes"]
    slow = Line(*(3 * price for price in before))
    few = works()[:3] * 20
    found = fitted_line(few, [cpu_seconds(work, {"bytes": slow}) for work in few], before)
    assert found == pytest.approx(slow, rel=0.03)
    assert fitted_line([], [], before) == before
    assert fitted_line(few, [0.0] * len(few), before) == before


def test_no_price_is_negative():
    falling = sorted(times(), reverse=True)
    assert min(fitted_line(works(), falling, DEFAULT_LINES["bytes"])) >= 0


def test_classes():
    kernel = Convolution("forward", 1, 1, 1, 8, 8, 3, 3, 8, 8)
    assert class_of(Work("float32", kernel=Product(1, 2, 3))) == "product"
    assert class_of(Work("float32", kernel=Recurrence("gru", "forward", 8, 8, 8))) == "product"
    assert class_of(Work("float32", kernel=kernel)) == "convolution"
    backward = Convolution("backward_filter", 1, 1, 1, 8, 8, 3, 3, 8, 8)
    assert class_of(Work("float32", kernel=backward)) == "convolution_backward"
    assert class_of(Work("float32")) == "bytes"
    assert cpu_seconds(Work("float32", 1e9, 1e9, launches=0), DEFAULT_LINES) == 0.0
