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


def read(tf, units=4):
    """What a decoder attends to, its lengths, embeddings, and what it is fed."""
    memory = tf.placeholder(tf.float32, [None, None, 5], name="memory")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    table = tf.get_variable("table", [7, 3])
    inputs = tf.nn.embedding_lookup(table, tf.placeholder(tf.int32, [None, None], name="symbols"))
    return memory, lengths, table, inputs


@program
def basic_decoder(tf):
    seq2seq = tf.contrib.seq2seq
    memory, lengths, table, inputs = read(tf)
    cell = tf.nn.rnn_cell.LSTMCell(4)
    layer = tf.layers.Dense(7, use_bias=False, name="out")
    start = cell.zero_state(tf.size(lengths), tf.float32)
    training = seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(inputs, lengths), start, layer)
    outputs, state, _ = seq2seq.dynamic_decode(training, impute_finished=True)
    weights = tf.sequence_mask(lengths, dtype=tf.float32)
    loss = seq2seq.sequence_loss(outputs.rnn_output, outputs.sample_id, weights)
    tf.gradients(loss, [table, state.h])
    for helper in (
        seq2seq.GreedyEmbeddingHelper(table, tf.fill([3], 1), 2),
        seq2seq.SampleEmbeddingHelper(
            lambda ids: tf.nn.embedding_lookup(table, ids), [1, 1, 1], 2, 0.5, seed=3
        ),
    ):
        fixed = cell.zero_state(3, tf.float32)
        decoder = seq2seq.BasicDecoder(cell, helper, fixed, layer)
        seq2seq.dynamic_decode(decoder, output_time_major=True, maximum_iterations=5, scope="decoder")


@program
def scheduled_helpers(tf):
    seq2seq = tf.contrib.seq2seq
    memory, lengths, table, inputs = read(tf)
    batch_size = tf.size(lengths)
    layer = tf.layers.Dense(7)
    cell = tf.nn.rnn_cell.GRUCell(4)
    helper = seq2seq.ScheduledEmbeddingTrainingHelper(inputs, lengths, table, 0.3, seed=1, scheduling_seed=2)
    seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, cell.zero_state(batch_size, tf.float32), layer))
    cell = tf.nn.rnn_cell.GRUCell(3)
    state = cell.zero_state(batch_size, tf.float32)
    for number, more in enumerate(
        (
            {},
            {"next_inputs_fn": tf.nn.relu},
            {"auxiliary_inputs": memory},
            {"auxiliary_inputs": memory, "next_inputs_fn": tf.nn.relu},
        )
    ):
        helper = seq2seq.ScheduledOutputTrainingHelper(inputs, lengths, 0.3, seed=1, **more)
        cell = tf.nn.rnn_cell.GRUCell(3)
        seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, state), scope=f"outputs{number}")
    cell = tf.nn.rnn_cell.GRUCell(3)
    helper = seq2seq.InferenceHelper(tf.nn.relu, [3], tf.float32, tf.zeros([2, 3]), lambda x: x[:, 0] > 0.5)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    seq2seq.dynamic_decode(decoder, maximum_iterations=3, scope="inference")
    helper = seq2seq.CustomHelper(
        lambda: (tf.tile([False], [batch_size]), inputs[:, 0]),
        lambda time, outputs, state: tf.zeros([batch_size], tf.int32),
        lambda time, outputs, state, sample_ids: (tf.tile([True], [batch_size]), inputs[:, 0], state),
    )
    cell = tf.nn.rnn_cell.GRUCell(3)
    seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, state), scope="custom")


@program
def attention(tf):
    seq2seq = tf.contrib.seq2seq
    memory, lengths, table, inputs = read(tf)
    batch_size = tf.size(lengths)
    mechanisms = [
        seq2seq.BahdanauAttention(4, memory, lengths),
        seq2seq.BahdanauAttention(6, memory, normalize=True, name="second"),
        seq2seq.LuongAttention(4, memory, lengths, scale=True),
        seq2seq.LuongAttention(4, tf.zeros([3, 6, 5]), probability_fn=seq2seq.hardmax),
        seq2seq.BahdanauMonotonicAttention(4, memory, lengths, sigmoid_noise=1.0, sigmoid_noise_seed=3),
        seq2seq.LuongMonotonicAttention(4, memory, lengths, score_bias_init=-2.0, mode="hard"),
        seq2seq.LuongMonotonicAttention(4, memory, lengths, mode="recursive"),
    ]
    for number, mechanism in enumerate(mechanisms):
        cell = tf.nn.rnn_cell.BasicLSTMCell(4)
        wrapper = seq2seq.AttentionWrapper(
            cell, mechanism, attention_layer_size=3 if number % 2 else None, alignment_history=number == 2
        )
        with tf.variable_scope(f"decoder{number}"):
            if number == 3:
                state = wrapper.zero_state(3, tf.float32)
                wrapper(tf.zeros([3, 2]), state.clone(cell_state=cell.zero_state(3, tf.float32)))
                continue
            state = wrapper.zero_state(batch_size, tf.float32)
            if number == 0:
                state = state.clone(cell_state=cell.zero_state(batch_size, tf.float32))
            decoder = seq2seq.BasicDecoder(wrapper, seq2seq.TrainingHelper(inputs, lengths), state)
            outputs, state, _ = seq2seq.dynamic_decode(decoder, impute_finished=number != 2)
            if number == 2:
                state.alignment_history.stack()
                tf.gradients(outputs.rnn_output, [memory, table])
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    several = seq2seq.AttentionWrapper(
        cell,
        mechanisms[:2],
        [3, 2],
        output_attention=False,
        initial_cell_state=cell.zero_state(batch_size, tf.float32),
    )
    several(inputs[:, 0], several.zero_state(batch_size, tf.float32))


@program
def beam_search(tf):
    seq2seq = tf.contrib.seq2seq
    memory, lengths, table, _ = read(tf)
    layer = tf.layers.Dense(7, use_bias=False)
    cell = tf.nn.rnn_cell.GRUCell(4)
    start = seq2seq.tile_batch(tf.placeholder(tf.float32, [None, 4]), 3)
    decoder = seq2seq.BeamSearchDecoder(cell, table, tf.fill(tf.shape(lengths), 1), 2, start, 3, layer)
    seq2seq.dynamic_decode(decoder, maximum_iterations=5)
    tiled, tiled_lengths = seq2seq.tile_batch((memory, lengths), 3)
    wrapper = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.LSTMCell(4), seq2seq.LuongAttention(4, tiled, tiled_lengths), 4, alignment_history=True
    )
    state = wrapper.zero_state(tf.size(lengths) * 3, tf.float32)
    decoder = seq2seq.BeamSearchDecoder(
        wrapper,
        table,
        tf.fill(tf.shape(lengths), 1),
        2,
        state,
        3,
        layer,
        length_penalty_weight=0.6,
        coverage_penalty_weight=0.2,
    )
    seq2seq.dynamic_decode(decoder, output_time_major=True, scope="covered")
    fixed = seq2seq.BeamSearchDecoder(
        tf.nn.rnn_cell.GRUCell(7), lambda ids: tf.one_hot(ids, 5), [1, 1], 2, tf.zeros([6, 7]), 3
    )
    seq2seq.dynamic_decode(fixed, scope="fixed")


@program
def pooling(tf):
    signals, volumes = tf.placeholder(tf.float32, [2, 9, 3]), tf.placeholder(tf.float32, [2, 5, 6, 7, 3])
    pictures, unknown = tf.ones([2, 9, 8, 3]), tf.placeholder(tf.float32, [None, None, None, 3])
    made = [
        tf.nn.pool(signals, [3], "MAX", "SAME", strides=[2]),
        tf.nn.pool(signals, [3], "AVG", "VALID", dilation_rate=[2], name="apart"),
        tf.nn.pool(pictures, [3, 2], "AVG", "SAME", strides=[2, 1]),
        tf.nn.pool(pictures, [2, 2], "MAX", "VALID", dilation_rate=[2, 3]),
        tf.nn.pool(unknown, [2, 2], "MAX", "VALID", dilation_rate=[2, 1], data_format="NHWC"),
        tf.nn.pool(volumes, [2, 2, 2], "MAX", "VALID"),
    ]
    tf.gradients(made[2], pictures)


@program
def batches_renormalised(tf):
    layers, images = tf.contrib.layers, tf.placeholder(tf.float32, [8, 4, 4, 3])
    layers.batch_norm(images, renorm=True, renorm_clipping={"rmax": 3.0}, renorm_decay=0.9, scale=True)
    layers.batch_norm(images, adjustment=lambda shape: (tf.ones(shape), tf.zeros(shape)), is_training=True)
    layers.batch_norm(tf.ones([4, 3]), renorm=True, is_training=False, variables_collections=["kept"])
