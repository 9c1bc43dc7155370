"""``tf.estimator``: models that train, evaluate, predict and export themselves, with a new graph each time.

    input_fn -> features, labels -> model_fn -> EstimatorSpec -> Estimator.train / evaluate / predict / export

Source: tensorflow_estimator/python/estimator, release 1.15.1.
"""
