"""Nodes whose floating-point operations TensorFlow 1.15.5 has counted: shapes known and unknown, every registered type.

Each case takes TensorFlow and adds its node last. TensorFlow's Python 3.7 reads this module too; the answers are
recorded by `tests/oracle/record/profiler.py`.
"""

SHAPES = ([], [0], [7], [3, 4], [2, 3, 4, 5], [None, 4], None)

UNARY = ("Log", "Neg", "Reciprocal", "Rsqrt", "Square", "Exp", "Relu")
BINARY = ("Add", "AddV2", "Maximum", "Minimum", "Mul", "Pow", "RealDiv", "SquaredDifference", "Sub")
COMPARED = ("Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual")
PAIRS = (([3, 4], [4]), ([2, 1, 5], [3, 1]), ([], []), ([None, 4], [3, 4]), ([0, 4], [4]), ([3, 4], None))
REDUCED = (
    ([3, 4, 5], [0]),
    ([3, 4, 5], [0, 2]),
    ([3, 4, 5], []),
    ([7], [0]),
    ([None, 4], [1]),
    ([0, 4], [0]),
)
PRODUCTS = (
    ([3, 4], [4, 5], False, False),
    ([4, 3], [4, 5], True, False),
    ([3, 4], [5, 4], False, True),
    ([4, 3], [5, 4], True, True),
    ([3, 4], [None, 5], False, False),
    ([3, None], [4, 5], False, False),
    ([None, 4], [4, 5], False, False),
    ([0, 4], [4, 5], False, False),
)
CONVOLUTIONS = (
    ([2, 8, 9, 3], [3, 2, 3, 4], [1, 1, 1, 1], "SAME", "NHWC"),
    ([2, 8, 9, 3], [3, 3, 3, 4], [1, 2, 3, 1], "SAME", "NHWC"),
    ([2, 8, 9, 3], [3, 3, 3, 4], [1, 2, 2, 1], "VALID", "NHWC"),
    ([1, 5, 5, 6], [1, 1, 6, 2], [1, 1, 1, 1], "VALID", "NHWC"),
    ([2, 3, 8, 9], [3, 3, 3, 4], [1, 1, 2, 2], "VALID", "NCHW"),
    ([None, 8, 9, 3], [3, 3, 3, 4], [1, 1, 1, 1], "SAME", "NHWC"),
    ([2, None, 9, 3], [3, 3, 3, 4], [1, 2, 2, 1], "SAME", "NHWC"),
    ([2, 8, 9, 3], [None, 3, 3, 4], [1, 1, 1, 1], "SAME", "NHWC"),
)
POOLS = (
    ([2, 8, 9, 3], [1, 2, 2, 1], [1, 2, 2, 1], "SAME", "NHWC"),
    ([2, 8, 9, 3], [1, 3, 2, 1], [1, 2, 3, 1], "VALID", "NHWC"),
    ([2, 3, 8, 9], [1, 1, 2, 2], [1, 1, 2, 2], "VALID", "NCHW"),
    ([None, 8, 9, 3], [1, 2, 2, 1], [1, 2, 2, 1], "SAME", "NHWC"),
)


def name_of(*parts):
    """Of a case: its op type, and what distinguishes it."""
    return " ".join(str(part) for part in parts)


def of(tf, shape, dtype="float32"):
    """A placeholder; of a shape that is not known where it is None."""
    return tf.placeholder(dtype, shape)


def unary(op_type, shape):
    return lambda tf: getattr(tf.raw_ops, op_type)(
        **{"features" if op_type == "Relu" else "x": of(tf, shape)}
    )


def binary(op_type, x, y):
    return lambda tf: getattr(tf.raw_ops, op_type)(x=of(tf, x), y=of(tf, y))


def reduction(op_type, shape, axes):
    def build(tf):
        axis = tf.constant(axes, "int32")
        return getattr(tf.raw_ops, op_type)(input=of(tf, shape), axis=axis)

    return build


def arg_reduction(op_type, shape, axis):
    return lambda tf: getattr(tf.raw_ops, op_type)(input=of(tf, shape), dimension=tf.constant(axis))


def product(a, b, transpose_a, transpose_b):
    return lambda tf: tf.raw_ops.MatMul(
        a=of(tf, a), b=of(tf, b), transpose_a=transpose_a, transpose_b=transpose_b
    )


def batch_product(op_type, x, y, adj_x):
    return lambda tf: getattr(tf.raw_ops, op_type)(x=of(tf, x), y=of(tf, y), adj_x=adj_x)


def convolution(op_type, images, filters, strides, padding, layout):
    return lambda tf: getattr(tf.raw_ops, op_type)(
        input=of(tf, images), filter=of(tf, filters), strides=strides, padding=padding, data_format=layout
    )


def input_gradient(images, filters, strides, padding, layout):
    def build(tf):
        made = tf.raw_ops.Conv2D(
            input=of(tf, images), filter=of(tf, filters), strides=strides, padding=padding, data_format=layout
        )
        sizes = tf.constant([-1 if size is None else size for size in images])
        return tf.raw_ops.Conv2DBackpropInput(
            input_sizes=sizes,
            filter=made.op.inputs[1],
            out_backprop=made,
            strides=strides,
            padding=padding,
            data_format=layout,
        )

    return build


def filter_gradient(images, filters, strides, padding, layout):
    def build(tf):
        made = tf.raw_ops.Conv2D(
            input=of(tf, images), filter=of(tf, filters), strides=strides, padding=padding, data_format=layout
        )
        sizes = tf.constant([-1 if size is None else size for size in filters])
        return tf.raw_ops.Conv2DBackpropFilter(
            input=made.op.inputs[0],
            filter_sizes=sizes,
            out_backprop=made,
            strides=strides,
            padding=padding,
            data_format=layout,
        )

    return build


def pool(op_type, gradient, shape, ksize, strides, padding, layout):
    def build(tf):
        given = {"ksize": ksize, "strides": strides, "padding": padding, "data_format": layout}
        image = of(tf, shape)
        if op_type == "AvgPool":
            made = tf.raw_ops.AvgPool(value=image, **given)
            return (
                tf.raw_ops.AvgPoolGrad(orig_input_shape=tf.constant([1, 1, 1, 1]), grad=made, **given)
                if gradient
                else made
            )
        made = tf.raw_ops.MaxPool(input=image, **given)
        return (
            tf.raw_ops.MaxPoolGrad(orig_input=image, orig_output=made, grad=made, **given)
            if gradient
            else made
        )

    return build


def assigned(op_type, shape):
    def build(tf):
        variable = tf.raw_ops.VariableV2(shape=shape, dtype=tf.float32)
        return getattr(tf.raw_ops, op_type)(ref=variable, value=of(tf, shape))

    return build


def cases():
    """Name of a case -> what builds it."""
    found = {}
    for op_type in UNARY:
        found.update({name_of(op_type, shape): unary(op_type, shape) for shape in SHAPES})
    for op_type in BINARY + COMPARED + ("RsqrtGrad",):
        for x, y in PAIRS:
            if op_type == "RsqrtGrad":
                found[name_of(op_type, x)] = lambda tf, x=x: tf.raw_ops.RsqrtGrad(y=of(tf, x), dy=of(tf, x))
            else:
                found[name_of(op_type, x, y)] = binary(op_type, x, y)
    for op_type in ("Mean", "Sum", "Max"):
        found.update({name_of(op_type, *one): reduction(op_type, *one) for one in REDUCED})
    for op_type in ("ArgMax", "ArgMin"):
        found.update(
            {
                name_of(op_type, shape, axes[0]): arg_reduction(op_type, shape, axes[0])
                for shape, axes in REDUCED
                if len(axes) == 1 and shape[axes[0]] != 0
            }
        )
    for shape in SHAPES:
        found[name_of("L2Loss", shape)] = lambda tf, shape=shape: tf.raw_ops.L2Loss(t=of(tf, shape))
        for count in (1, 2, 5):
            found[name_of("AddN", shape, count)] = lambda tf, shape=shape, count=count: tf.raw_ops.AddN(
                inputs=[of(tf, shape) for _ in range(count)]
            )
    for shape in ([3, 4], [2, 3, 5], [None, 4], [0, 4]):
        found[name_of("Softmax", shape)] = lambda tf, shape=shape: tf.raw_ops.Softmax(logits=of(tf, shape))
        found[name_of("BiasAdd", shape)] = lambda tf, shape=shape: tf.raw_ops.BiasAdd(
            value=of(tf, shape), bias=of(tf, shape[-1:])
        )
        found[name_of("BiasAddGrad", shape)] = lambda tf, shape=shape: tf.raw_ops.BiasAddGrad(
            out_backprop=of(tf, shape)
        )
    for shape in ([], [3, 4]):
        for op_type in ("AssignAdd", "AssignSub", "Assign"):
            found[name_of(op_type, shape)] = assigned(op_type, shape)
    found.update({name_of("MatMul", *one): product(*one) for one in PRODUCTS})
    for op_type in ("BatchMatMul", "BatchMatMulV2"):
        for one in (
            ([2, 3, 4], [2, 4, 5], False),
            ([2, 3, 4], [2, 3, 5], True),
            ([None, 3, 4], [2, 4, 5], False),
        ):
            found[name_of(op_type, *one)] = batch_product(op_type, *one)
    for one in CONVOLUTIONS:
        found[name_of("Conv2D", *one)] = convolution("Conv2D", *one)
        found[name_of("Conv2DBackpropInput", *one)] = input_gradient(*one)
        found[name_of("Conv2DBackpropFilter", *one)] = filter_gradient(*one)
        if one[4] == "NHWC" and one[2][1] == one[2][2]:
            found[name_of("DepthwiseConv2dNative", *one)] = convolution("DepthwiseConv2dNative", *one)
    found["Conv3D"] = convolution(
        "Conv3D", [2, 5, 6, 7, 3], [3, 2, 2, 3, 4], [1, 1, 2, 1, 1], "SAME", "NDHWC"
    )
    found["Conv3D channels first"] = convolution(
        "Conv3D", [2, 3, 5, 6, 7], [3, 2, 2, 3, 4], [1, 1, 1, 2, 1], "VALID", "NCDHW"
    )
    found["Conv2D groups"] = convolution("Conv2D", [2, 8, 9, 6], [3, 3, 6, 4], [1, 1, 1, 1], "SAME", "NHWC")
    for shape in ([2, 8, 9, 3], [None, 8, 9, 3]):
        found[name_of("Dilation2D", shape)] = lambda tf, shape=shape: tf.raw_ops.Dilation2D(
            input=of(tf, shape),
            filter=of(tf, [3, 2, 3]),
            strides=[1, 2, 1, 1],
            rates=[1, 1, 2, 1],
            padding="SAME",
        )
    for op_type in ("AvgPool", "MaxPool"):
        for gradient in (False, True):
            for one in POOLS:
                name = op_type + ("Grad" if gradient else "")
                found[name_of(name, *one)] = pool(op_type, gradient, *one)
    return found


def counted(tf, build, statistics):
    """What ``statistics(graph, node_def)`` says of the last node: its value, or the error's class and text."""
    with tf.Graph().as_default() as graph:
        build(tf)
        node = graph.get_operations()[-1]
        try:
            value = statistics(graph, node.node_def)
        except (ValueError, ZeroDivisionError) as error:
            return [type(error).__name__, str(error)]
        return None if value is None else float(value)
