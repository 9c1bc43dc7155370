"""What comes of a call, in a form that JSON holds: read by the recorder in TensorFlow's Python, and by the test."""


def _plain(np, value):
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, (list, tuple)):
        return [_plain(np, item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind == "c":
            return [_plain(np, value.real), _plain(np, value.imag)]
        if value.dtype.kind == "V" or value.dtype.name == "bfloat16":
            value = value.astype("float32")
        return _plain(np, value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(np, item) for key, item in value.items()}
    return value


def _shown(tf, np, value, session):
    if isinstance(value, dict):
        return {name: _shown(tf, np, item, session) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(tf, np, item, session) for item in value]
    if isinstance(value, (tf.Tensor, tf.SparseTensor)):
        sizes = value.shape.as_list() if value.shape.ndims is not None else None
        count = value.shape.num_elements() if isinstance(value, tf.Tensor) else None
        held = None if count is not None and count > 10000 else session.run(value)
        return [sizes, value.dtype.name, _plain(np, tuple(held) if hasattr(held, "_fields") else held)]
    if isinstance(value, tf.Operation):
        session.run(value)
        return value.type
    return _plain(np, value)


def answer(tf, module, np, program):
    """The shape, type and value of each tensor that ``program`` gives, or the class and first line of its error."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        try:
            value = program(tf, module, np)
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            return _shown(tf, np, value, session)
        except Exception as error:
            text = str(getattr(error, "message", None) or error)
            sentence = text.split("\n")[0].split(" for '")[0].split("; NodeDef:")[0]
            return {"error": type(error).__name__, "says": sentence}
