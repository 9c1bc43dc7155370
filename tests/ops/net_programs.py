"""Programs with metrics and layers of nets, in the form of ``programs``."""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def metrics_at_thresholds(tf):
    labels, guesses = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    share = tf.placeholder(tf.float32, [None])
    column, row = tf.placeholder(tf.float32, [3, 1]), tf.placeholder(tf.int32, [3])
    tf.metrics.auc(labels, guesses)
    tf.metrics.auc(labels, guesses, share, 20, curve="PR", name="pr")
    tf.metrics.auc(
        labels, guesses, None, 20, ["values"], "updates", "PR", summation_method="careful_interpolation"
    )
    tf.metrics.auc(labels, guesses, share, 20, summation_method="minoring")
    tf.metrics.auc(row, column, thresholds=[0.5, 0.1], summation_method="majoring")
    tf.metrics.precision_at_thresholds(labels, guesses, [0.1, 0.5])
    tf.metrics.recall_at_thresholds(labels, guesses, [0.2], share)
    tf.metrics.true_positives_at_thresholds(labels, guesses, [0.5], name="hits")
    tf.metrics.false_positives_at_thresholds(labels, guesses, [0.5, 0.2], share)
    tf.metrics.true_negatives_at_thresholds(labels, guesses, [0.5])
    tf.metrics.false_negatives_at_thresholds(labels, guesses, [0.5])
    tf.metrics.sensitivity_at_specificity(labels, guesses, 0.4)
    tf.metrics.specificity_at_sensitivity(labels, guesses, 0.6, share)


@program
def weights_of_unknown_sizes(tf):
    labels, logits = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None, 5])
    tf.losses.sparse_softmax_cross_entropy(labels, logits, tf.placeholder(tf.float32, [None]))
    tf.losses.mean_squared_error(logits, logits, tf.placeholder(tf.float32, [None, 1]))
    tf.losses.absolute_difference(logits, logits, tf.placeholder(tf.float32))


@program
def sets(tf):
    one, other = tf.placeholder(tf.int64, [3, 4]), tf.placeholder(tf.int64, [None, 2])
    both = tf.sets.intersection(one, other)
    tf.sets.size(both)
    tf.sets.difference(both, one)
    tf.sets.set_union(both, both, validate_indices=False)
    tf.sets.set_difference(one, other, aminusb=False)
