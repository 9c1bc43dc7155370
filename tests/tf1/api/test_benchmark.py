"""``tf.test.Benchmark``: what it measures, prints and runs."""

import sys

import pytest

import gpuplace as tf
from gpuplace.tf1.api.testing import benchmark
from gpuplace.tf1.api.testing.test_case import main


@pytest.fixture
def known(monkeypatch):
    """A list of classes of its own for each test."""
    classes = []
    monkeypatch.setattr(benchmark, "_known", classes)
    return classes


def test_an_op_is_run_and_reported(capsys, known):
    class Sums(tf.test.Benchmark):
        def benchmark_sum(self):
            count = tf.Variable(0, use_resource=True)
            with tf.Session(config=tf.test.benchmark_config()) as session:
                session.run(count.initializer)
                self.result = self.run_op_benchmark(
                    session, count.assign_add(1), burn_iters=2, min_iters=3, mbs=1, extras={"kind": 'a "sum"'}
                )
                self.runs = session.run(count)

    assert known == [Sums]
    assert not Sums.is_abstract()
    assert tf.test.Benchmark.is_abstract()
    made = Sums()
    made.benchmark_sum()
    assert made.runs == 5
    assert made.result["iters"] == 3
    assert made.result["wall_time"] > 0
    assert made.result["throughput"] == pytest.approx(1 / made.result["wall_time"])
    assert set(made.result["extras"]) == {"kind", "wall_time_mean", "wall_time_stdev"}
    printed = capsys.readouterr().out
    assert printed.startswith('entry {\n  name: "Sums.benchmark_sum"\n  iters: 3\n  wall_time: ')
    assert '      string_value: "a \\"sum\\""\n' in printed


def test_the_command_line_asks_for_benchmarks(capsys, known, monkeypatch):
    class Both(tf.test.Benchmark):
        def benchmark_one(self):
            self.report_benchmark(iters=1)

        def benchmark_two(self):
            self.report_benchmark(iters=2)

    monkeypatch.setattr(sys, "argv", ["test.py", "--benchmarks=two"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    assert capsys.readouterr().out == 'entry {\n  name: "Both.benchmark_two"\n  iters: 2\n}\n\n'
    with pytest.raises(SystemExit) as left:
        main(["test.py", "--benchmarks", "none"])
    assert left.value.code == 0
    assert "benchmark_one" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["test.py", "--benchmarks=three"])
    assert left.value.code == 1
    assert "No benchmarks matched the pattern: 'three'" in capsys.readouterr().err


def test_without_a_session_there_is_nothing_to_evaluate():
    with pytest.raises(ValueError, match="default session"):
        tf.test.Benchmark().evaluate(tf.constant(1))
    with tf.Session():
        assert tf.test.Benchmark().evaluate(tf.constant(1)) == 1
