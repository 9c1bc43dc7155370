"""The soak of clusters in short; ``python -m tests.soak.cluster`` has the long one."""

import pytest

pytest.importorskip("distributed")


@pytest.mark.parametrize(
    ("kind", "victim"),
    [("synchronous", "ps-0"), ("asynchronous", "worker-0"), ("dask", "scheduler-0"), ("dask", "dask-0")],
)
def test_a_training_goes_on_after_a_process_was_killed(kind, victim):
    from tests.soak.cluster import Run, execute

    outcome = execute(Run(kind, victim, after_s=0.6, away_s=0.1, has_filters=True, steps=30))
    assert outcome.text == "all steps, each once" and outcome.is_right


def test_moments_are_those_of_the_seed():
    from tests.soak.cluster import runs

    kinds = ("synchronous", "dask")
    assert runs(6, 1, kinds) == runs(6, 1, kinds) != runs(6, 2, kinds)
