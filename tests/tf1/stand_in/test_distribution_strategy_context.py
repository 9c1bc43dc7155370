"""The strategy of a program that chose none; the answers are those of TensorFlow 1.15.5."""

import copy

import pytest

import gpuplace as tf
from gpuplace.tf1.stand_in.names import resolve

CONTEXT = "tensorflow.python.distribute.distribution_strategy_context"


def test_a_step_that_is_written_for_any_strategy():
    context = resolve(CONTEXT)
    strategy, weights = context.get_strategy(), tf.Variable([1.0, 2.0])
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors([3.0, 4.0]))

    def step(values):
        replica = context.get_replica_context()
        loss = replica.all_reduce("SUM", tf.reduce_sum(weights * values) / replica.num_replicas_in_sync)
        return replica.merge_call(
            lambda merged, one: (loss, merged is strategy, one), (replica.strategy is strategy,)
        )

    with strategy.scope() as opened:
        loss, *facts = strategy.experimental_run(step, iterator)
    assert opened is strategy and facts == [True, True]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initializer])
        assert session.run(loss) == 11
    assert strategy.experimental_run(lambda: 5) == 5


def test_what_the_copies_gave():
    strategy, values = resolve(CONTEXT).get_strategy(), tf.constant([1.0, 2.0, 6.0])
    assert strategy.experimental_local_results(values) == strategy.unwrap(values) == (values,)
    assert strategy.reduce("SUM", values) is values
    with tf.Session() as session:
        assert session.run([strategy.reduce(how, values, axis=0) for how in ("SUM", "mean")]) == [9, 3]


def test_there_is_one_strategy_and_it_was_not_chosen():
    context = resolve(CONTEXT)
    strategy = context.get_strategy()
    assert strategy.extended.call_for_each_replica(max, (1, 2)) == 2 and context.get_strategy() is strategy
    assert not context.has_strategy() and not context.in_cross_replica_context()
    assert context.get_cross_replica_context() is None
    with pytest.raises(
        RuntimeError, match="Should only create a single instance of _DefaultDistributionStrategy"
    ):
        copy.deepcopy(strategy)
    mirrored = resolve("tensorflow.python.distribute.mirrored_strategy")
    assert mirrored.MirroredStrategy is tf.distribute.MirroredStrategy
    assert context.get_strategy is tf.distribute.get_strategy
    with pytest.raises(tf.errors.UnimplementedError, match="is not available"):
        resolve("tensorflow.python.distribute.parameter_server_strategy").ParameterServerStrategy()
