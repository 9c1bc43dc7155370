"""Which ways to use a real GPU the environment asks for."""

import pytest

import gpuplace as tf
from gpuplace.device.gpu_experiments import ENVIRONMENT_VARIABLE, EXPERIMENTS, gpu_experiments


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", set()), ("all", EXPERIMENTS), ("fusion", {"fusion"}), (" graphs ,fusion,", {"graphs", "fusion"})],
)
def test_what_is_on(monkeypatch, text, expected):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, text)
    assert gpu_experiments() == expected == gpu_experiments({ENVIRONMENT_VARIABLE: text})


def test_a_wrong_name_is_told_when_a_session_is_made(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "fusions")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.Session()
    assert caught.value.message == "GPUPLACE_GPU_EXPERIMENTS names 'fusions', which is no experiment."
    assert caught.value.hint == "did you mean fusion?"
    assert caught.value.facts == {"experiments": "copy_streams, fusion, graphs, all"}
