"""Colours: contrast, colour-blind distances, and stability, all computed."""

import itertools

import numpy as np
import pytest

from gpuplace.views.tables.palette import (
    CPU_FILL,
    DARK,
    GPU_FILLS,
    INK,
    LIGHT,
    MOST_CATEGORIES,
    OTHER_FILLS,
    PAPER,
    SCALE_FILLS,
    category_look,
    device_label,
    device_look,
    device_style,
    scale_look,
    theme_named,
)

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ TO_XYZ[1])


def contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, vision: str) -> np.ndarray:
    seen = np.clip(np.array(VISION[vision]) @ linear(colour), 0, 1)
    xyz = TO_XYZ @ seen / WHITE
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("fill", [CPU_FILL, *GPU_FILLS, *OTHER_FILLS, "#ffffff"])
def test_text_is_readable_on_every_fill(fill):
    assert contrast(INK, fill) >= 4.5


@pytest.mark.parametrize("vision", VISION)
def test_any_two_devices_differ_for_every_kind_of_vision(vision):
    fills = [CPU_FILL, *GPU_FILLS]
    distances = {
        pair: float(np.linalg.norm(lab(pair[0], vision) - lab(pair[1], vision)))
        for pair in itertools.combinations(fills, 2)
    }
    closest = min(distances, key=distances.get)
    assert distances[closest] >= 15, closest


def test_the_measure_finds_a_red_and_a_green_that_look_alike():
    assert np.linalg.norm(lab("#d07070", "deuteranopia") - lab("#9a8f70", "deuteranopia")) < 15
    assert np.linalg.norm(lab("#d07070", "normal") - lab("#9a8f70", "normal")) > 25


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_what_is_around_the_boxes_is_readable(theme):
    for colour in (theme.ink, theme.faint, theme.copy, theme.alarm, theme.mark, theme.path):
        for ground in (theme.background, theme.scope):
            assert contrast(colour, ground) >= 4.5, (colour, ground)
    for line in (theme.edge, theme.frame):
        assert contrast(line, theme.background) >= 3


def test_a_device_looks_the_same_whatever_it_is_called():
    names = [
        "/device:GPU:2",
        "/gpu:2",
        "/job:localhost/replica:0/task:0/device:GPU:2",
        "/job:localhost/task:0/gpu:2",
    ]
    assert len({device_style(name) for name in names}) == 1


def test_devices_of_one_colour_differ_in_their_outline():
    styles = [device_style(f"/device:GPU:{number}") for number in range(20)]
    looks = {(style.fill, style.outlines) for style in styles}
    assert len(looks) == 20


def test_kinds_of_devices_differ_without_colour():
    corners = [device_style(name).corners for name in ("/cpu:0", "/gpu:0", "/device:XLA_CPU:0")]
    assert len(set(corners)) == 3


@pytest.mark.parametrize(
    ("device", "label"),
    [
        ("", "no device"),
        ("/job:localhost/replica:0/task:0/device:GPU:10", "GPU:10"),
        ("/job:worker/replica:0/task:2/device:GPU:1", "worker/2 GPU:1"),
        ("/job:ps/replica:1/task:0/cpu:0", "ps/1/0 CPU:0"),
        ("not a device", "not a device"),
    ],
)
def test_labels(device, label):
    assert device_label(device) == label


def test_categories_have_different_looks_and_the_rest_one():
    looks = [category_look(number) for number in range(MOST_CATEGORIES)]
    rest = category_look(MOST_CATEGORIES)
    assert len({*looks, rest}) == MOST_CATEGORIES + 1
    assert category_look(MOST_CATEGORIES + 5) == rest
    first = looks[: len(GPU_FILLS)]
    assert len({look.pattern for look in first}) == len({look.fill for look in first}) == len(GPU_FILLS)


def test_devices_of_different_colour_have_different_hatches():
    looks = [device_look(name) for name in ("/cpu:0", *(f"/gpu:{number}" for number in range(8)))]
    assert len({look.pattern for look in looks}) == len(looks)


@pytest.mark.parametrize("vision", VISION)
def test_a_number_s_steps_are_in_order_for_every_kind_of_vision(vision):
    seen = [lab(fill, vision) for fill in SCALE_FILLS]
    lightness = [float(colour[0]) for colour in seen]
    assert all(one - other >= 8 for one, other in itertools.pairwise(lightness))
    assert all(np.linalg.norm(one - other) >= 12 for one, other in itertools.pairwise(seen))


def test_a_number_s_steps_are_evenly_spaced_in_grey():
    lightness = [float(lab(fill, "normal")[0]) for fill in SCALE_FILLS]
    apart = [one - other for one, other in itertools.pairwise(lightness)]
    assert min(apart) >= 10 and max(apart) <= 17


def test_text_is_readable_on_every_step():
    for step, fill in enumerate(SCALE_FILLS):
        assert scale_look(step).fill == fill
        assert scale_look(step).ink in (INK, PAPER)
        assert contrast(scale_look(step).ink, fill) >= 4.5


def test_an_unknown_theme_names_the_known_ones():
    with pytest.raises(ValueError, match="choose one of light, dark"):
        theme_named("sepia")


def test_gpus_of_parameter_servers_and_workers_look_different():
    tasks = ["/job:worker/task:0", "/job:worker/task:1", "/job:ps/task:0", "/job:ps/task:1"]
    assert len({device_style(f"{task}/device:GPU:0").fill for task in tasks}) == 4
    assert device_style("/job:worker/task:0/gpu:1").fill == device_style("/gpu:1").fill
