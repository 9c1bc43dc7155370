"""Convolutional nets, and images."""

from __future__ import annotations

from tests.oracle.corpus.blocks import batch_norm, conv, cross_entropy, dense, digits
from tests.oracle.corpus.programs import program, tf, variants


@program
def lenet():
    """Two convolutions, dropout, Adam, accuracy, initialisation."""
    images, labels = digits()
    x = tf.reshape(images, [-1, 28, 28, 1])
    for i, filters in enumerate((32, 64)):
        x = tf.nn.max_pool(conv(x, filters, "conv%d" % i, size=5), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    x = tf.nn.dropout(dense(tf.reshape(x, [-1, 7 * 7 * 64]), 128, "full"), rate=0.5)
    logits = dense(x, 10, "logits", tf.identity)
    tf.train.AdamOptimizer().minimize(cross_entropy(logits, labels))
    tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32), name="accuracy")
    tf.global_variables_initializer()


@program
def alexnet_inference():
    """Local response normalisation, grouped convolution by split and concat, on one GPU."""
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [8, 64, 64, 3])
        x = tf.nn.local_response_normalization(conv(x, 16, "conv1", 2, 11))
        x = tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "VALID")
        halves = [conv(half, 8, "conv2_%d" % i) for i, half in enumerate(tf.split(x, 2, 3))]
        x = tf.concat(halves, 3)
        x = dense(tf.reshape(x, [8, -1]), 32, "full")
        tf.nn.top_k(tf.nn.softmax(x), 5)


@variants(training=[True, False])
def resnet(training):
    """Residual blocks with batch normalisation."""
    x = tf.placeholder(tf.float32, [4, 32, 32, 3])
    x = conv(x, 8, "first")
    for block in range(3):
        y = batch_norm(conv(x, 8, "block%d_a" % block), "norm%d_a" % block, training)
        y = batch_norm(conv(y, 8, "block%d_b" % block), "norm%d_b" % block, training)
        x = tf.nn.relu(x + y)
    logits = dense(tf.reduce_mean(x, [1, 2]), 10, "logits", tf.identity)
    if training:
        loss = cross_entropy(logits, tf.placeholder(tf.int32, [4]))
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, tf.train.get_or_create_global_step())


@program
def inception_block():
    """Parallel branches, average pooling, concat."""
    x = tf.placeholder(tf.float32, [2, 16, 16, 8])
    branches = [
        conv(x, 4, "one", size=1),
        conv(conv(x, 4, "reduce"), 4, "three"),
        tf.nn.avg_pool(x, 3, 1, "SAME"),
    ]
    y = tf.concat(branches, 3)
    tf.gradients(tf.reduce_sum(y), tf.trainable_variables())


@program
def dcgan():
    """Generator and discriminator with transposed convolutions and two optimizers."""
    noise = tf.random_normal([4, 16])
    with tf.variable_scope("generator"):
        x = tf.reshape(dense(noise, 4 * 4 * 8, "project"), [4, 4, 4, 8])
        kernel = tf.get_variable("kernel", [5, 5, 1, 8])
        fake = tf.tanh(tf.nn.conv2d_transpose(x, kernel, [4, 8, 8, 1], [1, 2, 2, 1]))

    def discriminate(images):
        with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
            return dense(tf.reshape(conv(images, 4, "conv"), [4, 256]), 1, "logit", tf.identity)

    real_logit, fake_logit = discriminate(tf.placeholder(tf.float32, [4, 8, 8, 1])), discriminate(fake)
    losses = {
        "generator": tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.ones_like(fake_logit), logits=fake_logit
        ),
        "discriminator": tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.ones_like(real_logit), logits=real_logit
        ),
    }
    for scope, loss in losses.items():
        variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
        tf.train.AdamOptimizer(2e-4, name=scope + "_adam").minimize(tf.reduce_mean(loss), var_list=variables)


@program
def unet():
    """Downsampling, resizing up, skip connections, dilated and depthwise convolutions."""
    x = tf.placeholder(tf.float32, [1, 32, 32, 4])
    down = tf.nn.max_pool(conv(x, 8, "down"), 2, 2, "SAME")
    kernel = tf.get_variable("depthwise", [3, 3, 8, 1])
    down = tf.nn.depthwise_conv2d(down, kernel, [1, 1, 1, 1], "SAME")
    atrous = tf.get_variable("atrous", [3, 3, 8, 8])
    down = tf.nn.atrous_conv2d(down, atrous, 2, "SAME")
    up = tf.image.resize_bilinear(down, [32, 32])
    y = conv(tf.concat([x, up], 3), 1, "mask")
    tf.train.RMSPropOptimizer(0.01).minimize(tf.reduce_mean(tf.square(y)))


@program
def convolution_3d_and_1d():
    """Convolutions of other ranks."""
    video = tf.placeholder(tf.float32, [1, 8, 8, 8, 2])
    y = tf.nn.conv3d(video, tf.get_variable("k3", [3, 3, 3, 2, 4]), [1, 1, 1, 1, 1], "SAME")
    y = tf.nn.max_pool3d(y, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")
    sound = tf.placeholder(tf.float32, [1, 100, 2])
    z = tf.nn.conv1d(sound, tf.get_variable("k1", [5, 2, 4]), 1, "SAME")
    tf.gradients(tf.reduce_sum(y) + tf.reduce_sum(z), tf.trainable_variables())


@program
def image_decoding():
    """Files to distorted images: ops of the CPU, asked for on the GPU in part."""
    files = tf.train.match_filenames_once("*.jpg")
    content = tf.read_file(files[0])
    image = tf.image.decode_jpeg(content, channels=3)
    image = tf.image.random_flip_left_right(tf.image.convert_image_dtype(image, tf.float32))
    image = tf.image.random_brightness(tf.image.resize_images(image, [32, 32]), 0.2)
    image = tf.image.per_image_standardization(image)
    with tf.device("/gpu:0"):
        conv(tf.expand_dims(image, 0), 4, "conv")
        tf.image.non_max_suppression(tf.zeros([5, 4]), tf.zeros([5]), 3)


@program
def style_transfer():
    """An image as variable, Gram matrices, total variation."""
    image = tf.get_variable("image", [1, 16, 16, 3])
    features = tf.reshape(conv(image, 8, "features"), [-1, 8])
    gram = tf.matmul(features, features, transpose_a=True)
    loss = tf.nn.l2_loss(gram - tf.ones([8, 8])) + tf.reduce_sum(tf.image.total_variation(image))
    tf.train.AdamOptimizer().minimize(loss, var_list=[image])
    tf.assign(image, tf.clip_by_value(image, 0.0, 1.0))
