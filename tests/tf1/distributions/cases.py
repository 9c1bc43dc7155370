"""What distributions answer: each case gives tensors, which TensorFlow 1.15.5 was asked for too.

They run in a graph of their own, here and, by ``tests/oracle/record/answers.py``, in TensorFlow 1.15.5.
"""

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


QUESTIONS = ("mean", "stddev", "variance", "mode", "entropy", "covariance")
OF_VALUES = ("log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival_function", "quantile")


def answers(tf, one, values, parameters=()):
    """Draws by a seed, all that it can be asked, and gradients."""
    found = [one.sample(5, seed=7), one.sample([2, 2], seed=8)]
    for question in QUESTIONS:
        try:
            found.append(getattr(one, question)())
        except NotImplementedError:
            pass
    for question in OF_VALUES:
        try:
            found.append(getattr(one, question)(values))
        except NotImplementedError:
            pass
    if parameters:
        found += tf.gradients(tf.reduce_sum(one.log_prob(values)), list(parameters))
    return found


@case
def normal(tf):
    one = tf.distributions.Normal([0.0, 1.0], [[0.5], [2.0]])
    far = tf.distributions.Normal(tf.constant([0.0], tf.float64), tf.constant([1.0], tf.float64))
    many = [[-30.0], [-15.0], [-4.0], [0.3], [6.0], [9.0]]
    draws = one.sample(3, seed=1)
    return [
        *answers(tf, one, [[0.1, 0.9], [0.5, 0.01]], (one.loc, one.scale)),
        far.log_cdf(tf.constant(many, tf.float64)),
        tf.distributions.Normal([0.0], [1.0]).log_cdf(many),
        *tf.gradients(tf.reduce_sum(draws), [one.loc, one.scale]),
        tf.distributions.kl_divergence(one, tf.distributions.Normal(0.3, 1.5)),
        one.cross_entropy(tf.distributions.Normal(0.3, 1.5)),
    ]


@case
def others_of_numbers(tf):
    d = tf.distributions
    uniform, laplace = d.Uniform([0.0, 1.0], 3.0), d.Laplace([0.0, 1.0], 2.0)
    student = d.StudentT([0.5, 1.5, 4.0], 0.5, 2.0)
    inside = [[0.5, 2.5], [3.5, -1.0]]
    return [
        *answers(tf, uniform, inside),
        *answers(tf, laplace, inside, (laplace.loc, laplace.scale)),
        *answers(tf, student, [0.5, -3.0, 1.0], (student.df, student.loc, student.scale)),
    ]


@case
def gammas(tf):
    d = tf.distributions
    gamma, beta = d.Gamma([0.5, 3.0], 2.0), d.Beta([0.5, 2.0], 3.0)
    exponential = d.Exponential([0.5, 2.0])
    values = [0.2, 0.7]
    return [
        *answers(tf, gamma, values, (gamma.concentration, gamma.rate)),
        *answers(tf, exponential, values, (exponential.rate,)),
        *answers(tf, beta, values),
        *tf.gradients(gamma.sample(4, seed=3), [gamma.concentration, gamma.rate]),
        tf.distributions.kl_divergence(gamma, d.Gamma(1.0, 1.0)),
        tf.distributions.kl_divergence(beta, d.Beta(1.0, 2.0)),
    ]


@case
def classes(tf):
    d = tf.distributions
    bernoulli = d.Bernoulli(logits=[[-1.0, 0.5, 3.0]])
    categorical = d.Categorical(logits=[[-1.0, 0.5, 3.0], [0.0, 0.0, 1.0]])
    return [
        *answers(tf, bernoulli, [1, 0, 1], (bernoulli.logits,)),
        *answers(tf, categorical, [2, 0], (categorical.logits,)),
        *answers(tf, d.Categorical(probs=[0.2, 0.8], dtype=tf.int64), [1, 0]),
        tf.distributions.kl_divergence(bernoulli, d.Bernoulli(probs=0.4)),
        tf.distributions.kl_divergence(categorical, d.Categorical(probs=[0.2, 0.3, 0.5])),
    ]


@case
def counts(tf):
    d = tf.distributions
    dirichlet = d.Dirichlet([1.5, 2.0, 3.0])
    multinomial = d.Multinomial([4.0], logits=[[0.0, 1.0, 2.0]])
    both = d.DirichletMultinomial(4.0, [[1.0, 2.0, 3.0]])
    return [
        *answers(tf, dirichlet, [0.2, 0.3, 0.5], (dirichlet.concentration,)),
        *answers(tf, multinomial, [1.0, 1.0, 2.0], (multinomial.logits,)),
        *answers(tf, both, [1.0, 1.0, 2.0], (both.concentration,)),
        tf.distributions.kl_divergence(dirichlet, d.Dirichlet([1.0, 1.0, 1.0])),
    ]


@case
def transformed(tf):
    more = tf.contrib.distributions
    normal, several = tf.distributions.Normal(0.0, 1.0), tf.distributions.Normal([0.0, 1.0], 1.0)
    identity = more.bijectors.Identity()
    values = tf.reshape(tf.linspace(-1.0, 1.0, 6), [2, 3])
    return [
        *answers(tf, more.TransformedDistribution(normal, identity), values),
        *answers(tf, more.TransformedDistribution(normal, batch_shape=[2], event_shape=[3]), values),
        *answers(tf, more.TransformedDistribution(several, identity, event_shape=[3]), values),
    ]


@case
def parts(tf):
    more = tf.contrib.distributions
    x = tf.reshape(tf.linspace(0.1, 3.0, 12), [2, 6])
    lower, upper = more.fill_triangular(x), more.fill_triangular(x, upper=True)
    return [
        lower,
        upper,
        more.fill_triangular_inverse(lower),
        more.fill_triangular_inverse(upper, upper=True),
        more.matrix_diag_transform(lower, tf.exp),
        *more.reduce_weighted_logsumexp(x, x - 1.0, axis=-1, return_sign=True),
        more.reduce_weighted_logsumexp(x, keep_dims=True),
        more.softplus_inverse([1e-8, 0.1, 1.0, 30.0]),
        more.tridiag([1.0], [1.0, 2.0], [3.0]),
        more.tridiag(above=[3.0, 4.0]),
        more.NormalWithSoftplusScale(1.0, [0.5, -1.0]).stddev(),
        more.StudentTWithAbsDfSoftplusScale(-3.5, 1.0, [0.5]).variance(),
    ]
