"""Linear operators, matrices defined by their action on vectors: ``tf.linalg.LinearOperator`` and its subclasses."""
