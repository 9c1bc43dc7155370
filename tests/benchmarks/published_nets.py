"""Convolutional nets whose training rates TensorFlow published in 2017, as towers on the GPUs of one machine.

``training_step(tf, "ResNet-50", gpus=4)`` builds what was measured: images made up once and kept on each GPU, float32,
channels first, variables on the CPU, one tower a GPU, gradients averaged and applied (plain SGD with weight decay) on
the CPU. ``tf`` is gpuplace or ``tensorflow.compat.v1``: only names of both are used.

Sources of the shapes: Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014 (AlexNet's
single column); Simonyan and Zisserman, Very deep convolutional networks, 2014 (VGG16, table 1, D); He et al., Deep
residual learning, 2015 (table 1); Szegedy et al., Rethinking the Inception architecture, 2015 (V3, without the
auxiliary head). Rates: TensorFlow's performance benchmarks of May 2017, Google Compute Engine, NVIDIA Tesla K80.
"""

from __future__ import annotations

import functools
from typing import Any

CLASSES = 1001

PUBLISHED: dict[str, dict[int, float]] = {
    "InceptionV3": {1: 30.5, 2: 57.8, 4: 116.0, 8: 227.0},
    "ResNet-50": {1: 51.9, 2: 99.0, 4: 195.0, 8: 387.0},
    "ResNet-152": {1: 20.0, 2: 38.2, 4: 75.8, 8: 148.0},
    "VGG16": {1: 35.4, 2: 64.8, 4: 120.0, 8: 234.0},
    "AlexNet": {1: 656.0, 2: 1209.0, 4: 2328.0, 8: 4640.0},
}
"""Net -> GPUs -> images a second."""

BATCH = {"InceptionV3": 64, "ResNet-50": 64, "ResNet-152": 32, "VGG16": 32, "AlexNet": 512}
"""Images of one GPU in a step."""

SIDE = {"InceptionV3": 299, "ResNet-50": 224, "ResNet-152": 224, "VGG16": 224, "AlexNet": 227}
"""Rows and columns of an image."""


class Layers:
    """Layers of one tower, channels first; variables are made once and shared by all towers.

    Args:
        tf: gpuplace, or TensorFlow's ``compat.v1``.
        top: the images, ``[batch, 3, side, side]``.
    """

    def __init__(self, tf: Any, top: Any) -> None:
        self.tf, self.top, self._count = tf, top, 0

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def convolution(
        self,
        channels: int,
        size: int | tuple[int, int],
        stride: int = 1,
        padding: str = "SAME",
        *,
        normalise: bool = False,
        activate: bool = True,
        top: Any = None,
    ) -> Any:
        """A convolution with a bias, or with batch normalisation, and mostly a ReLU."""
        tf = self.tf
        top = self.top if top is None else top
        rows, columns = (size, size) if isinstance(size, int) else size
        with tf.variable_scope(self._name("conv")):
            kernel = tf.get_variable("kernel", (rows, columns, int(top.shape[1]), channels), tf.float32)
            top = tf.nn.conv2d(
                top, kernel, strides=[1, 1, stride, stride], padding=padding, data_format="NCHW"
            )
            if normalise:
                scale = tf.get_variable("gamma", (channels,), tf.float32, tf.ones_initializer())
                offset = tf.get_variable("beta", (channels,), tf.float32, tf.zeros_initializer())
                top, mean, variance = tf.nn.fused_batch_norm(top, scale, offset, data_format="NCHW")[:3]
                self._keep_moments(channels, mean, variance)
            else:
                bias = tf.get_variable("bias", (channels,), tf.float32, tf.zeros_initializer())
                top = tf.nn.bias_add(top, bias, data_format="NCHW")
            if activate:
                top = tf.nn.relu(top)
        self.top = top
        return top

    def _keep_moments(self, channels: int, mean: Any, variance: Any) -> None:
        tf = self.tf
        for name, value in (("moving_mean", mean), ("moving_variance", variance)):
            moving = tf.get_variable(name, (channels,), tf.float32, tf.zeros_initializer(), trainable=False)
            update = tf.assign_sub(moving, (moving - value) * 0.1)
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)

    def pool(self, kind: str, size: int, stride: int, padding: str = "VALID", top: Any = None) -> Any:
        """Largest (``"max"``) or mean (``"avg"``) of windows."""
        pooling = self.tf.nn.max_pool if kind == "max" else self.tf.nn.avg_pool
        self.top = pooling(
            self.top if top is None else top,
            [1, 1, size, size],
            [1, 1, stride, stride],
            padding,
            data_format="NCHW",
        )
        return self.top

    def dense(self, units: int, *, activate: bool = True) -> Any:
        """A layer in which every unit sees all numbers of an image."""
        tf = self.tf
        batch = int(self.top.shape[0])
        flat = tf.reshape(self.top, [batch, -1])
        with tf.variable_scope(self._name("affine")):
            kernel = tf.get_variable("weights", (int(flat.shape[1]), units), tf.float32)
            bias = tf.get_variable("biases", (units,), tf.float32, tf.zeros_initializer())
            top = tf.nn.bias_add(tf.matmul(flat, kernel), bias)
            self.top = tf.nn.relu(top) if activate else top
        return self.top

    def dropout(self) -> Any:
        """Half of the numbers at random."""
        self.top = self.tf.nn.dropout(self.top, 0.5)
        return self.top


def alexnet(net: Layers) -> None:
    """Five convolutions and three dense layers."""
    net.convolution(64, 11, 4, "VALID")
    net.pool("max", 3, 2)
    net.convolution(192, 5)
    net.pool("max", 3, 2)
    for channels in (384, 384, 256):
        net.convolution(channels, 3)
    net.pool("max", 3, 2)
    for _ in range(2):
        net.dense(4096)
        net.dropout()


def vgg16(net: Layers) -> None:
    """Thirteen convolutions of 3 x 3 and three dense layers."""
    for count, channels in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(count):
            net.convolution(channels, 3)
        net.pool("max", 2, 2)
    for _ in range(2):
        net.dense(4096)
        net.dropout()


def resnet(net: Layers, blocks: tuple[int, int, int, int]) -> None:
    """Bottleneck blocks with a way round each."""
    tf = net.tf
    net.convolution(64, 7, 2, normalise=True)
    net.pool("max", 3, 2, "SAME")
    for stage, count in enumerate(blocks):
        for block in range(count):
            wide, stride = 256 << stage, 2 if stage and not block else 1
            before = net.top
            if block == 0:
                around = net.convolution(wide, 1, stride, normalise=True, activate=False)
            else:
                around = before
            net.convolution(wide // 4, 1, stride, normalise=True, top=before)
            net.convolution(wide // 4, 3, normalise=True)
            net.convolution(wide, 1, normalise=True, activate=False)
            net.top = tf.nn.relu(net.top + around)
    net.top = tf.reduce_mean(net.top, [2, 3])


def inception(net: Layers) -> None:
    """Inception V3."""
    tf = net.tf

    def conv(channels: int, size: int | tuple[int, int], stride: int = 1, padding: str = "SAME") -> Any:
        return net.convolution(channels, size, stride, padding, normalise=True)

    def branches(*chains: tuple[Any, ...]) -> None:
        """Chains of layers that begin at one place; a list at the end of a chain splits it once more."""
        begin, ends = net.top, []
        for chain in chains:
            net.top = begin
            for layer in chain:
                if layer[0] == "split":
                    middle = net.top
                    for last in layer[1:]:
                        net.top = middle
                        ends.append(conv(*last))
                elif layer[0] in ("max", "avg"):
                    net.pool(*layer)
                else:
                    conv(*layer)
            if chain[-1][0] != "split":
                ends.append(net.top)
        net.top = tf.concat(ends, 1)

    conv(32, 3, 2, "VALID")
    conv(32, 3, 1, "VALID")
    conv(64, 3)
    net.pool("max", 3, 2)
    conv(80, 1, 1, "VALID")
    conv(192, 3, 1, "VALID")
    net.pool("max", 3, 2)
    for pooled in (32, 64, 64):
        branches(
            ((64, 1),),
            ((48, 1), (64, 5)),
            ((64, 1), (96, 3), (96, 3)),
            (("avg", 3, 1, "SAME"), (pooled, 1)),
        )
    branches(((384, 3, 2, "VALID"),), ((64, 1), (96, 3), (96, 3, 2, "VALID")), (("max", 3, 2),))
    for width in (128, 160, 160, 192):
        branches(
            ((192, 1),),
            ((width, 1), (width, (1, 7)), (192, (7, 1))),
            ((width, 1), (width, (7, 1)), (width, (1, 7)), (width, (7, 1)), (192, (1, 7))),
            (("avg", 3, 1, "SAME"), (192, 1)),
        )
    branches(
        ((192, 1), (320, 3, 2, "VALID")),
        ((192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, "VALID")),
        (("max", 3, 2),),
    )
    for kind in ("avg", "max"):
        branches(
            ((320, 1),),
            ((384, 1), ("split", (384, (1, 3)), (384, (3, 1)))),
            ((448, 1), (384, 3), ("split", (384, (1, 3)), (384, (3, 1)))),
            ((kind, 3, 1, "SAME"), (192, 1)),
        )
    net.top = tf.reduce_mean(net.top, [2, 3])


NETS: dict[str, Any] = {
    "InceptionV3": inception,
    "ResNet-50": lambda net: resnet(net, (3, 4, 6, 3)),
    "ResNet-152": lambda net: resnet(net, (3, 8, 36, 3)),
    "VGG16": vgg16,
    "AlexNet": alexnet,
}


def _variables_on_cpu(gpu: str, op: Any) -> str:
    return "/cpu:0" if op.type in ("Variable", "VariableV2", "VarHandleOp") else gpu


def training_step(tf: Any, name: str, gpus: int, batch: int | None = None) -> Any:
    """Builds a net's training step in the default graph; returns the op to run.

    Args:
        tf: gpuplace, or TensorFlow's ``compat.v1`` with control flow of version 1 and reference variables.
        name: one of `NETS`.
        gpus: towers, one a GPU.
        batch: images of one tower; as published if None.
    """
    batch = batch or BATCH[name]
    side = SIDE[name]
    towers = []

    for tower in range(gpus):
        gpu = f"/gpu:{tower}"
        chosen = functools.partial(_variables_on_cpu, gpu)
        with tf.device(gpu), tf.name_scope(f"inputs_{tower}"):
            images = tf.Variable(
                tf.truncated_normal([batch, 3, side, side], stddev=0.1),
                trainable=False,
                collections=[tf.GraphKeys.LOCAL_VARIABLES],
                name="images",
            )
            labels = tf.constant([1] * batch, tf.int32)
        with tf.device(chosen), tf.name_scope(f"tower_{tower}"):
            with tf.variable_scope("", reuse=tower > 0):
                net = Layers(tf, images)
                NETS[name](net)
                logits = net.dense(CLASSES, activate=False)
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
                variables = tf.trainable_variables()
                decay = tf.add_n([tf.nn.l2_loss(variable) for variable in variables])
                loss = tf.reduce_mean(losses) + 4e-5 * decay
                towers.append(tf.gradients(loss, variables))
    with tf.device("/cpu:0"):
        optimizer = tf.train.GradientDescentOptimizer(0.005)
        averaged = []
        for variable, gradients in zip(tf.trainable_variables(), zip(*towers, strict=True), strict=True):
            total = gradients[0] if gpus == 1 else tf.add_n(list(gradients)) * (1.0 / gpus)
            averaged.append((total, variable))
        apply = optimizer.apply_gradients(averaged)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        return tf.group(apply, *updates[: len(updates) // gpus], name="train_op")
