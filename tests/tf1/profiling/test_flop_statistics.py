"""The operations that TensorFlow's profiler counts, beside its own answers; and beside our models of work."""

import gzip
import json
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.kernels.flop_statistics import COUNTED, RegisterStatistics, get_stats_for_node_def
from gpuplace.kernels.work.find import work_of_operation
from tests.tf1.profiling.flop_cases import CONVOLUTIONS, PRODUCTS, cases, convolution, counted, product

RECORDED = json.loads(gzip.decompress((Path(__file__).parent / "data/profiler-1.15.json.gz").read_bytes()))
CASES = cases()


def flops(graph, node):
    return get_stats_for_node_def(graph, node, "flops").value


def test_every_case_is_recorded_and_every_type_counted():
    assert set(RECORDED["flops"]) == set(CASES)
    assert {name.partition(" ")[0] for name, answer in RECORDED["flops"].items() if answer} >= set(COUNTED)


@pytest.mark.parametrize("name", CASES)
def test_counts(name):
    assert counted(tf, CASES[name], flops) == RECORDED["flops"][name]


@pytest.mark.parametrize(
    "build",
    [
        *(product(*one) for one in PRODUCTS if None not in one[0] + one[1]),
        *(convolution("Conv2D", *one) for one in CONVOLUTIONS if None not in one[0] + one[1]),
    ],
)
def test_products_and_convolutions_are_counted_as_their_work(build):
    with tf.Graph().as_default() as graph:
        op = build(tf).op
        assert flops(graph, op.node_def) == work_of_operation(op).flops


def test_a_second_statistic_of_a_type_is_refused():
    with pytest.raises(KeyError, match=r"Registering two statistics with name 'MatMul,flops'!"):
        RegisterStatistics("MatMul", "flops")(flops)
