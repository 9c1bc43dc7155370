"""The catalogue of simulated GPUs: names, aliases, plausible figures, sources."""

import dataclasses
import pickle

import pytest

from gpuplace.device.gpu_models import GPU_MODELS, _model, find_model
from gpuplace.errors import InvalidArgumentError

FIGURES = [
    field.name
    for field in dataclasses.fields(GPU_MODELS[0])
    if field.name
    not in (
        "name",
        "aliases",
        "board_clock_hz",
        "nvlink_bandwidth",
        "sources",
        "tensor_flops",
        "tf32_flops",
    )
]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Tesla K20m", "Tesla K20m"),
        ("k20m", "Tesla K20m"),
        ("tesla k40C", "Tesla K40c"),
        ("K80", "Tesla K80"),
        ("K4000", "Quadro K4000"),
        ("GTX 1050", "GeForce GTX 1050"),
        ("1080 Ti", "GeForce GTX 1080 Ti"),
        ("M40", "Tesla M40"),
        ("TITAN X", "GeForce GTX TITAN X"),
        ("GTX TITAN X", "GeForce GTX TITAN X"),
        ("NVIDIA TITAN X (Pascal)", "TITAN X (Pascal)"),
        ("titan xp", "TITAN Xp"),
        ("NVIDIA GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti"),
        ("P100", "Tesla P100-PCIE-16GB"),
        ("V100", "Tesla V100-SXM2-16GB"),
        ("V100-32GB", "Tesla V100-SXM2-32GB"),
        ("T4", "Tesla T4"),
        ("RTX 3090", "NVIDIA GeForce RTX 3090"),
        ("GeForce RTX 3090", "NVIDIA GeForce RTX 3090"),
        ("A100", "NVIDIA A100-SXM4-40GB"),
        ("A100-40", "NVIDIA A100-SXM4-40GB"),
        ("A100 80GB", "NVIDIA A100-SXM4-80GB"),
        ("L4", "NVIDIA L4"),
        ("H100", "NVIDIA H100 80GB HBM3"),
        ("H200", "NVIDIA H200"),
        ("B200", "NVIDIA B200"),
    ],
)
def test_names_and_aliases(text, name):
    assert find_model(text).name == name


@pytest.mark.parametrize("model", GPU_MODELS, ids=lambda model: model.name)
def test_every_figure_is_there_and_has_a_source(model):
    assert find_model(model.name) is model
    for figure in FIGURES:
        assert getattr(model, figure), figure
        assert model.sources.get(figure) or model.sources["*"]
    assert 0 < model.context_bytes < model.memory_bytes // 10
    assert model.free_bytes == model.memory_bytes - model.context_bytes


@pytest.mark.parametrize("model", GPU_MODELS, ids=lambda model: model.name)
def test_flops_follow_from_cores_and_clock(model):
    """Twice cores times clock, within what boost clocks change."""
    cores = {3: 192, 6: 64, 7: 64}.get(model.compute_capability[0], 128)
    if model.compute_capability == (6, 1):
        cores = 128
    if model.compute_capability == (8, 0):
        cores = 64
    assert model.fp32_flops == pytest.approx(2 * cores * model.sm_count * model.clock_hz, rel=0.12)


@pytest.mark.parametrize("model", GPU_MODELS, ids=lambda model: model.name)
def test_rates_of_other_types_are_in_proportion(model):
    """Double rates of 1/64 to 1/2; tensor cores from Volta on, TF32 from Ampere on."""
    assert model.fp32_flops / 65 < model.fp64_flops <= model.fp32_flops * 0.52
    assert (model.tensor_flops > model.fp32_flops) == (model.compute_capability >= (7, 0))
    assert (model.tf32_flops >= model.fp32_flops) == (model.compute_capability >= (8, 0))
    assert 0.55 < model.sustained < 1.2
    assert (model.sustained_clock_hz != model.clock_hz) == ("sustained_clock_hz" in model.sources)
    assert (model.per_board > 1) == (model.board_clock_hz > 0) == ("board_clock_hz" in model.sources)


def test_long_work_runs_at_its_own_clock():
    assert find_model("K80").sustained == pytest.approx(
        823.5 / 875, rel=1e-3
    )  # its data sheet counts 875 MHz
    assert find_model("T4").sustained == pytest.approx(964 / 1590, rel=0.01)
    assert find_model("A100").sustained == pytest.approx(1.0, abs=0.01)


def test_a_busy_board_lowers_the_clock_of_its_gpus():
    half = find_model("K80")
    assert half.on_busy_board.sustained == pytest.approx(758 / 875, rel=1e-3)
    assert half.on_busy_board == dataclasses.replace(half, sustained_clock_hz=758e6)
    assert half.on_busy_board is half.on_busy_board and find_model("V100").on_busy_board is find_model("V100")


def test_memory_is_what_the_driver_reports_not_what_the_box_says():
    assert find_model("K20m").memory_bytes >> 20 == 4742
    assert find_model("K40c").memory_bytes >> 20 == find_model("K80").memory_bytes >> 20 == 11439
    assert find_model("T4").memory_bytes >> 20 == 15109


def test_aliases_are_unambiguous():
    names = [name for model in GPU_MODELS for name in (model.name, *model.aliases)]
    for model in GPU_MODELS:
        for name in (model.name, *model.aliases):
            assert find_model(name) is model, name
    assert len(names) == len(set(names))


def test_unknown_name_lists_all_and_the_nearest():
    with pytest.raises(InvalidArgumentError) as caught:
        find_model("Tesla K20x")
    assert caught.value.message == "Unknown GPU model 'Tesla K20x'."
    assert caught.value.hint == "Tesla K20m"
    assert all(model.name in str(caught.value) for model in GPU_MODELS)


def test_unknown_name_with_nothing_near_gives_no_hint():
    with pytest.raises(InvalidArgumentError) as caught:
        find_model("abacus")
    assert caught.value.hint is None


def test_peers():
    assert find_model("V100").has_peer_access and find_model("V100").peer_bandwidth == 150e9
    assert (
        find_model("K80").has_peer_access
        and find_model("K80").peer_bandwidth == find_model("K80").pcie_bandwidth
    )
    assert not find_model("RTX 3090").has_peer_access


def test_a_source_is_a_word_or_written_out():
    text = "\n".join(
        [
            "Quadro Test",
            "memory_bytes: 3_221_225_472",
            "context_bytes: 75_497_472",
            "compute_capability: 3.0",
            "sm_count: 4",
            "clock_hz: 810.5e6",
            "memory_bandwidth: 134e9",
            "fp32_flops: 1.246e12",
            "fp64_flops: 0.0519e12",
            "pcie: 2",
            "sheet: Quadro Test, data sheet: page 2",
            "source of memory_bytes: the data sheet: 3 GB",
            "source of context_bytes: deviceQuery",
        ]
    )
    model = _model(text)
    assert (model.memory_bytes, model.aliases, model.nvlink_bandwidth) == (3 << 30, (), 0.0)
    assert (model.compute_capability, model.pcie_bandwidth) == ((3, 0), 8.0e9)
    assert (model.sustained_clock_hz, model.tensor_flops, model.tf32_flops) == (810.5e6, 0.0, 0.0)
    assert model.sources["*"] == "Quadro Test, data sheet: page 2"
    assert model.sources["memory_bytes"] == "the data sheet: 3 GB"
    assert model.sources["context_bytes"] == "deviceQuery of the CUDA samples, run on the device"
    with pytest.raises(KeyError, match="sheet"):
        _model(text.replace("sheet: Quadro", "paper: Quadro"))


def test_a_model_can_be_sent_to_another_process():
    sent = pickle.loads(pickle.dumps(GPU_MODELS))
    assert sent == GPU_MODELS and [model.sources for model in sent] == [model.sources for model in GPU_MODELS]
