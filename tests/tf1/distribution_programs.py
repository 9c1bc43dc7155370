"""Programs with ``tf.distributions``, in the form of ``programs``."""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def ask(distribution, *values):
    """Adds all that a distribution can be asked."""
    for question in ("mean", "stddev", "variance", "mode", "entropy", "covariance", "batch_shape_tensor"):
        try:
            getattr(distribution, question)()
        except NotImplementedError:
            pass
    distribution.event_shape_tensor()
    for value in values:
        for question in ("log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival_function"):
            try:
                getattr(distribution, question)(value)
            except NotImplementedError:
                pass


def sample(tf, distribution, n=3):
    for sample_shape, seed in (((), 1), (n, 2), ([n, 2], None)):
        distribution.sample(sample_shape, seed)
    distribution.sample(tf.placeholder(tf.int32, [None]), name="draw")


@program
def normal(tf):
    loc, scale = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [2])
    for one in (
        tf.distributions.Normal(loc, scale),
        tf.distributions.Normal([0.0, 1.0], 2.0, validate_args=True, name="fixed"),
    ):
        ask(one, 0.5, tf.ones([3, 2]))
        one.quantile([0.2, 0.3])
        sample(tf, one)
    with tf.name_scope("kl"):
        fixed = tf.distributions.Normal(0.0, [1.0, 2.0], allow_nan_stats=False)
        fixed.kl_divergence(one)
        one.cross_entropy(fixed)
        tf.distributions.kl_divergence(fixed, fixed, allow_nan_stats=False, name="same")
    drawn = one.copy(loc=[3.0]).sample(4)
    tf.gradients(tf.reduce_sum(drawn), [one.scale])
    tf.distributions.Normal(tf.placeholder(tf.float64), tf.placeholder(tf.float64)).sample(2)
    tf.contrib.distributions.NormalWithSoftplusScale([1.0], tf.placeholder(tf.float32, [1])).stddev()


@program
def policy(tf):
    """A step of a policy's training, as reinforcement-learning programs write it."""
    states = tf.placeholder(tf.float32, [None, 3], name="states")
    with tf.variable_scope("pi"):
        hidden = tf.layers.dense(states, 5, tf.nn.relu)
        mu = 2 * tf.layers.dense(hidden, 1, tf.nn.tanh)
        sigma = tf.layers.dense(hidden, 1, tf.nn.softplus)
        pi = tf.distributions.Normal(loc=mu, scale=sigma)
    with tf.variable_scope("old"):
        old = tf.distributions.Normal(loc=tf.stop_gradient(mu), scale=sigma + 1e-5)
    action = tf.squeeze(pi.sample(1), axis=0)
    actions = tf.placeholder(tf.float32, [None, 1], name="actions")
    gains = tf.placeholder(tf.float32, [None, 1], name="gains")
    ratio = pi.prob(actions) / (old.prob(actions) + 1e-5)
    loss = -tf.reduce_mean(ratio * gains) - 0.01 * tf.reduce_mean(pi.entropy())
    loss += 0.01 * tf.reduce_mean(tf.distributions.kl_divergence(old, pi))
    tf.clip_by_value(action, -2.0, 2.0)
    tf.train.AdamOptimizer(1e-3).minimize(loss)
    logits = tf.layers.dense(hidden, 4)
    choice = tf.distributions.Categorical(logits=logits)
    taken = choice.sample()
    tf.gradients(tf.reduce_mean(choice.log_prob(taken)) + tf.reduce_mean(choice.entropy()), logits)


@program
def bernoulli_and_uniform(tf):
    bernoulli = tf.distributions.Bernoulli
    for one in (
        bernoulli(logits=tf.placeholder(tf.float32, [None])),
        bernoulli(probs=[0.1, 0.7], validate_args=True),
        bernoulli(logits=[[1.0, 2.0], [0.0, 1.0]]),
    ):
        ask(one, tf.placeholder(one.dtype, [2]), [[1, 0], [0, 1]])
        sample(tf, one)
    one.kl_divergence(one)
    for one in (
        tf.distributions.Uniform(),
        tf.distributions.Uniform([0.0, 1.0], tf.placeholder(tf.float32), validate_args=True),
    ):
        ask(one, 0.5, tf.zeros([3, 1]))
        sample(tf, one)
        one.range()


@program
def categorical(tf):
    make = tf.distributions.Categorical
    for one in (
        make(logits=tf.placeholder(tf.float32, [None, 3])),
        make(probs=[0.2, 0.3, 0.5], dtype=tf.int64),
        make(logits=tf.placeholder(tf.float32)),
        make(logits=tf.ones([2, 2, 3]), validate_args=True),
    ):
        ask(one, tf.placeholder(tf.int32), [1, 0])
        sample(tf, one)
    one.kl_divergence(make(probs=[0.2, 0.3, 0.5]))
    one.is_scalar_batch()
    one.is_scalar_event()


@program
def gammas(tf):
    distributions = tf.distributions
    for one in (
        distributions.Gamma(tf.placeholder(tf.float32, [None]), [2.0]),
        distributions.Gamma([1.0, 3.0], 2.0, validate_args=True, allow_nan_stats=False),
        distributions.Exponential([1.0, 2.0]),
        distributions.Exponential(tf.placeholder(tf.float32), validate_args=True),
        distributions.Beta([1.0, 2.0], 3.0),
        distributions.Beta(tf.placeholder(tf.float32), 3.0, validate_args=True, allow_nan_stats=False),
    ):
        ask(one, [0.25, 0.5])
        sample(tf, one)
    one.kl_divergence(distributions.Beta(1.0, 1.0))
    gamma = distributions.Gamma(1.0, [2.0, 3.0])
    gamma.kl_divergence(gamma)
    tf.gradients(gamma.sample(4), [gamma.concentration, gamma.rate])
    more = tf.contrib.distributions
    more.GammaWithSoftplusConcentrationRate(1.0, 2.0).mean()
    more.ExponentialWithSoftplusRate(1.0).mean()
    more.BetaWithSoftplusConcentration(1.0, 2.0).mean()


@program
def tails(tf):
    distributions = tf.distributions
    for one in (
        distributions.Laplace([1.0, 2.0], tf.placeholder(tf.float32)),
        distributions.Laplace(1.0, 2.0, validate_args=True),
        distributions.StudentT(3.0, [0.0, 1.0], tf.placeholder(tf.float32)),
        distributions.StudentT([3.0, 0.5], 0.0, 2.0, validate_args=True, allow_nan_stats=False),
    ):
        ask(one, 0.25, tf.placeholder(tf.float32))
        sample(tf, one)
    more = tf.contrib.distributions
    more.LaplaceWithSoftplusScale(1.0, 2.0).mean()
    more.StudentTWithAbsDfSoftplusScale(1.0, 2.0, 3.0).mean()


@program
def counts(tf):
    distributions = tf.distributions
    for one in (
        distributions.Dirichlet(tf.placeholder(tf.float32, [None, 3])),
        distributions.Dirichlet([1.0, 2.0, 3.0], validate_args=True, allow_nan_stats=False),
        distributions.Multinomial(4.0, logits=[0.0, 1.0, 2.0]),
        distributions.Multinomial([2.0, 3.0], probs=tf.placeholder(tf.float32), validate_args=True),
        distributions.DirichletMultinomial(4.0, [[1.0, 2.0, 3.0]]),
        distributions.DirichletMultinomial(2.0, tf.placeholder(tf.float32), validate_args=True),
    ):
        ask(one, [1.0, 2.0, 1.0])
        sample(tf, one)
    dirichlet = distributions.Dirichlet([1.0, 2.0])
    dirichlet.kl_divergence(dirichlet)


@program
def transformed(tf):
    more = tf.contrib.distributions
    normal = tf.distributions.Normal(0.0, 1.0)
    several = tf.distributions.Normal([0.0, 1.0], 1.0)
    unknown = tf.placeholder(tf.int32, [None])
    for one in (
        more.TransformedDistribution(normal, more.bijectors.Identity()),
        more.TransformedDistribution(normal, batch_shape=[2], event_shape=[3], name="wide"),
        more.TransformedDistribution(several, more.bijectors.Identity(), event_shape=[3]),
        more.TransformedDistribution(
            normal, more.bijectors.Identity(), event_shape=unknown, validate_args=True
        ),
    ):
        ask(one, tf.ones([2, 3]))
        sample(tf, one)


@program
def parts(tf):
    more = tf.contrib.distributions
    x, unknown = tf.ones([2, 6]), tf.placeholder(tf.float32)
    for one in (x, unknown):
        for upper in (False, True):
            more.fill_triangular_inverse(more.fill_triangular(one, upper), upper)
        more.matrix_diag_transform(tf.matrix_diag(one), tf.exp)
        more.reduce_weighted_logsumexp(one, one, axis=-1, return_sign=True)
        more.reduce_weighted_logsumexp(one)
        more.softplus_inverse(one)
    more.tridiag([1.0], [1.0, 2.0], [2.0])
