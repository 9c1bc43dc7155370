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


def test_who_is_killed_after_the_last_step_adds_none(tmp_path):
    import gpuplace as tf
    from tests.soak.cluster_task import Training, _model, _train

    training = Training({}, str(tmp_path), 3, is_synchronous=False, has_filters=False, pause_s=0.0)
    for _ in range(2):  # the second time from a checkpoint of the last step
        with tf.Graph().as_default():
            _, _, train, hooks = _model(training, is_chief=True)
            scaffold = tf.train.Scaffold()
            creator = tf.train.ChiefSessionCreator(scaffold, checkpoint_dir=training.folder)
            _train(training, creator, scaffold, hooks, train, is_chief=True)
        assert tf.train.latest_checkpoint(training.folder).endswith("model.ckpt-3")


def test_moments_are_those_of_the_seed():
    from tests.soak.cluster import runs

    kinds = ("synchronous", "dask")
    assert runs(6, 1, kinds) == runs(6, 1, kinds) != runs(6, 2, kinds)
