"""Programs with ``tf.contrib.slim`` and ``tf.contrib.seq2seq``, in the form of ``programs``."""

import importlib

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def nets(tf):
    """The module of nets, which TensorFlow imports only when it is asked to."""
    found = getattr(tf.contrib.slim, "nets", None)
    return found or importlib.import_module("tensorflow.contrib.slim.nets")


def images(tf, size):
    return tf.placeholder(tf.float32, [2, size, size, 3])


@program
def alexnet_twice(tf):
    alexnet = nets(tf).alexnet
    x = images(tf, 224)
    with tf.contrib.slim.arg_scope(alexnet.alexnet_v2_arg_scope()):
        for _ in range(2):
            logits, ends = alexnet.alexnet_v2(x, 5, scope=None)
    tf.stack([tf.constant(name) for name in ends], name="ends")
    tf.identity(logits, name="logits")


@program
def vgg_and_overfeat(tf):
    vgg, overfeat = nets(tf).vgg, nets(tf).overfeat
    with tf.contrib.slim.arg_scope(vgg.vgg_arg_scope(0.1)):
        ends = vgg.vgg_a(images(tf, 224), 5)[1]
        ends.update(vgg.vgg_19(images(tf, 256), 5, is_training=False, spatial_squeeze=False)[1])
    with tf.contrib.slim.arg_scope(overfeat.overfeat_arg_scope()):
        ends.update(overfeat.overfeat(images(tf, 231), 5)[1])
    tf.stack([tf.constant(name) for name in ends], name="ends")


def residual_net(tf, version):
    module = getattr(nets(tf), f"resnet_v{version}")
    net, block = (getattr(module, f"resnet_v{version}{end}") for end in ("", "_block"))
    with tf.contrib.slim.arg_scope(module.resnet_arg_scope()):
        blocks = [block("block1", 4, 2, 2), block("block2", 8, 2, 2), block("block3", 8, 2, 1)]
        ends = net(images(tf, 33), blocks, 7, scope="one")[1]
        x = tf.placeholder(tf.float32, [2, None, None, 3])
        ends.update(net(x, blocks, None, False, False, output_stride=8, scope="two")[1])
        ends.update(net(x, blocks[:1], include_root_block=False)[1])
    tf.stack([tf.constant(name) for name in ends], name="ends")


@program
def resnet_v1(tf):
    residual_net(tf, 1)


@program
def resnet_v2(tf):
    residual_net(tf, 2)


def inception(tf, name, size, **arguments):
    module = nets(tf).inception
    with tf.contrib.slim.arg_scope(getattr(module, name + "_arg_scope")()):
        ends = getattr(module, name)(images(tf, size), 5, **arguments)[1]
        getattr(module, name + "_base")(images(tf, size), "MaxPool_3a_3x3", scope="short")
    tf.stack([tf.constant(end) for end in sorted(ends)], name="ends")


@program
def inception_v1(tf):
    inception(tf, "inception_v1", 224, is_training=False)


@program
def inception_v2(tf):
    inception(tf, "inception_v2", 100, is_training=False, depth_multiplier=0.5)


@program
def inception_v3(tf):
    inception(tf, "inception_v3", 299, is_training=False)


@program
def slim_losses(tf):
    losses = tf.contrib.slim.losses
    logits, truth = tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.float32, [4, 3])
    classes, weights = tf.placeholder(tf.int64, [4, 1]), tf.placeholder(tf.float32, [4])
    losses.softmax_cross_entropy(logits, truth, weights, label_smoothing=0.1)
    losses.sigmoid_cross_entropy(logits, truth, label_smoothing=0.1)
    losses.sparse_softmax_cross_entropy(logits, classes, scope="sparse")
    losses.absolute_difference(logits, truth, tf.expand_dims(weights, 1))
    losses.mean_squared_error(logits, truth, 2.0)
    losses.mean_pairwise_squared_error(logits, truth, weights)
    losses.log_loss(logits, truth)
    losses.hinge_loss(logits, truth)
    losses.cosine_distance(logits, truth, axis=1)
    losses.get_total_loss()


@program
def slim_examples(tf):
    slim = tf.contrib.slim
    decoder = slim.tfexample_decoder
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, ""),
        "image/format": tf.FixedLenFeature((), tf.string, "png"),
        "label": tf.FixedLenFeature([1], tf.int64),
        "words": tf.VarLenFeature(tf.string),
        "shape": tf.VarLenFeature(tf.int64),
        "ids": tf.VarLenFeature(tf.int64),
        "values": tf.VarLenFeature(tf.float32),
        **{"box/" + side: tf.VarLenFeature(tf.float32) for side in ("ymin", "xmin", "ymax", "xmax")},
    }
    items = {
        "image": decoder.Image(shape=[5, 7, 3]),
        "label": decoder.Tensor("label", shape=[]),
        "words": decoder.Tensor("words", shape_keys="shape", default_value="-"),
        "box": decoder.BoundingBox(prefix="box/"),
        "sparse": decoder.SparseTensor("ids", "values", shape=[9], densify=True),
        "twice": decoder.ItemHandlerCallback(["label"], lambda found: found["label"] * 2),
        "either": decoder.BackupHandler(decoder.Tensor("values"), decoder.Tensor("box/ymin")),
    }
    for name, settings in (("a", {"num_readers": 2, "seed": 3}), ("b", {"shuffle": False, "num_epochs": 1})):
        data_set = slim.dataset.Dataset(
            [name], tf.TFRecordReader, decoder.TFExampleDecoder(features, items), 3, {}
        )
        slim.dataset_data_provider.DatasetDataProvider(data_set, **settings)
    slim.parallel_reader.single_pass_read("c", tf.TextLineReader)
