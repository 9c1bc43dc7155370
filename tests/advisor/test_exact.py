"""Proofs by HiGHS, beside all splits of small problems."""

import pytest

from gpuplace.advisor import split_search
from gpuplace.advisor.bounds import lower_bound
from gpuplace.advisor.exact import Proof, can_prove
from gpuplace.advisor.network import network_of
from gpuplace.advisor.solve import evaluate, solve
from tests.advisor.test_search import examples

pytest.importorskip("highspy")


def test_a_proof_finds_what_all_splits_have():
    for _, _, problem in examples("throughput", 12, 7, first=200):
        best = solve(problem, "throughput", steps=100_000, use_numba=False).value
        net, bound = network_of(problem), lower_bound(problem, "throughput")
        assert can_prove(net)
        proof = Proof(net, best * 1.5 + 1, bound)
        proof.run(20)
        assert proof.bound == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert evaluate(problem, "throughput", proof.device[problem.groups]) == pytest.approx(best, abs=1e-6)
        proof = Proof(net, best, bound)
        proof.run(20)
        assert proof.bound == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_a_search_ends_with_the_proof(monkeypatch):
    _, _, problem = next(examples("throughput", 1, 10, first=40))
    proved = solve(problem, "throughput", steps=100_000, use_numba=False)
    monkeypatch.setattr(split_search, "_ALL", 0)
    found = solve(problem, "throughput", seconds=30, use_numba=False)
    assert found.gap == 0 and found.value == pytest.approx(proved.value) and found.seconds < 25
