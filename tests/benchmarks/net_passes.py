"""Published times of nets' forward and backward passes, and the nets, as they were measured with Torch.

Each table gives milliseconds of a forward and of a backward pass over a batch of images, float32, channels first; the
backward pass is that of the parameters and the images. `seconds_of_passes` predicts them.

Sources: github.com/jcjohnson/cnn-benchmarks and github.com/dmikushin/cnn-benchmarks (READMEs; 16 images of 224 x 224);
nets as in Simonyan and Zisserman, 2014; He et al., 2015, with strides in the windows of 3 x 3, as fb.resnet.torch has
them; Szegedy et al., Going deeper with convolutions, 2014, without normalisation.
"""

from __future__ import annotations

import functools
from typing import Any

import gpuplace as tf
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.estimate import estimate
from tests.benchmarks.published_nets import Layers

BATCH, SIDE = 16, 224

PASSES: dict[str, dict[str, tuple[float, float]]] = {
    "GeForce GTX TITAN X": {
        "Inception-V1": (19.29, 42.69), "VGG-16": (62.30, 130.48), "VGG-19": (73.66, 151.48),
        "ResNet-18": (16.87, 34.55), "ResNet-34": (27.33, 52.90), "ResNet-50": (55.75, 103.87),
        "ResNet-101": (87.76, 159.73), "ResNet-152": (124.04, 221.41),
    },
    "TITAN X (Pascal)": {
        "Inception-V1": (12.06, 27.08), "VGG-16": (41.59, 87.03), "VGG-19": (48.09, 99.23),
        "ResNet-18": (10.14, 21.40), "ResNet-34": (17.01, 34.58), "ResNet-50": (35.03, 68.54),
        "ResNet-101": (53.38, 103.06), "ResNet-152": (75.45, 142.47),
    },
    "GeForce GTX 1080 Ti": {
        "Inception-V1": (11.50, 25.37), "VGG-16": (41.23, 86.91), "VGG-19": (48.15, 100.04),
        "ResNet-18": (10.45, 22.34), "ResNet-34": (16.71, 34.60), "ResNet-50": (34.14, 67.06),
        "ResNet-101": (52.18, 102.08), "ResNet-152": (73.52, 142.02),
    },
    "Tesla V100-SXM2-16GB": {
        "Inception-V1": (7.90, 20.41), "VGG-16": (23.76, 52.69), "VGG-19": (27.73, 60.24),
        "ResNet-18": (6.16, 14.16), "ResNet-34": (10.14, 22.37), "ResNet-50": (19.83, 46.26),
        "ResNet-101": (31.64, 82.11), "ResNet-152": (44.80, 117.58),
    },
    "Tesla K80": {
        "Inception-V1": (45.43, 111.21), "VGG-16": (153.67, 295.74), "VGG-19": (179.85, 347.85),
        "ResNet-18": (37.87, 74.88), "ResNet-34": (64.79, 124.24), "ResNet-50": (124.38, 274.43),
        "ResNet-101": (199.41, 486.11), "ResNet-152": (283.68, 700.15),
    },
}  # fmt: skip
"""GPU -> net -> milliseconds forward and backward, with cuDNN 5.1 (V100: 7.0). Kepler's convolutions were fitted to the
last; nothing was fitted to the others."""


def inception_v1(net: Layers) -> None:
    """GoogLeNet without its auxiliary heads."""

    def module(ones: int, threes: tuple[int, int], fives: tuple[int, int], pooled: int) -> None:
        before = net.top
        ends = [net.convolution(ones, 1)]
        net.convolution(threes[0], 1, top=before)
        ends.append(net.convolution(threes[1], 3))
        net.convolution(fives[0], 1, top=before)
        ends.append(net.convolution(fives[1], 5))
        net.pool("max", 3, 1, "SAME", top=before)
        ends.append(net.convolution(pooled, 1))
        net.top = tf.concat(ends, 1)

    net.convolution(64, 7, 2)
    net.pool("max", 3, 2, "SAME")
    net.convolution(64, 1)
    net.convolution(192, 3)
    net.pool("max", 3, 2, "SAME")
    module(64, (96, 128), (16, 32), 32)
    module(128, (128, 192), (32, 96), 64)
    net.pool("max", 3, 2, "SAME")
    module(192, (96, 208), (16, 48), 64)
    module(160, (112, 224), (24, 64), 64)
    module(128, (128, 256), (24, 64), 64)
    module(112, (144, 288), (32, 64), 64)
    module(256, (160, 320), (32, 128), 128)
    net.pool("max", 3, 2, "SAME")
    module(256, (160, 320), (32, 128), 128)
    module(384, (192, 384), (48, 128), 128)
    net.top = tf.reduce_mean(net.top, [2, 3])


def vgg(net: Layers, counts: tuple[int, ...]) -> None:
    """Convolutions of 3 x 3 in five stages, and two dense layers."""
    for count, channels in zip(counts, (64, 128, 256, 512, 512), strict=True):
        for _ in range(count):
            net.convolution(channels, 3)
        net.pool("max", 2, 2)
    for _ in range(2):
        net.dense(4096)
        net.dropout()


def resnet(net: Layers, blocks: tuple[int, ...], is_bottleneck: bool) -> None:
    """Residual blocks of two windows of 3 x 3, or of one between two of 1 x 1."""
    net.convolution(64, 7, 2, normalise=True)
    net.pool("max", 3, 2, "SAME")
    for stage, count in enumerate(blocks):
        channels = 64 << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            before = net.top
            wide = 4 * channels if is_bottleneck else channels
            around = before
            if block == 0 and (stage or is_bottleneck):
                around = net.convolution(wide, 1, stride, normalise=True, activate=False)
            if is_bottleneck:
                net.convolution(channels, 1, normalise=True, top=before)
                net.convolution(channels, 3, stride, normalise=True)
                net.convolution(wide, 1, normalise=True, activate=False)
            else:
                net.convolution(channels, 3, stride, normalise=True, top=before)
                net.convolution(channels, 3, normalise=True, activate=False)
            net.top = tf.nn.relu(net.top + around)
    net.top = tf.reduce_mean(net.top, [2, 3])


NETS: dict[str, Any] = {
    "Inception-V1": inception_v1,
    "VGG-16": lambda net: vgg(net, (2, 2, 3, 3, 3)),
    "VGG-19": lambda net: vgg(net, (2, 2, 4, 4, 4)),
    "ResNet-18": lambda net: resnet(net, (2, 2, 2, 2), False),
    "ResNet-34": lambda net: resnet(net, (3, 4, 6, 3), False),
    "ResNet-50": lambda net: resnet(net, (3, 4, 6, 3), True),
    "ResNet-101": lambda net: resnet(net, (3, 4, 23, 3), True),
    "ResNet-152": lambda net: resnet(net, (3, 8, 36, 3), True),
}


@functools.cache
def _graph_of(name: str) -> tuple[tf.Graph, tf.Tensor, tf.Operation]:
    """A graph, what its forward pass ends with, and the op that waits for both passes."""
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        images = tf.get_variable("images", (BATCH, 3, SIDE, SIDE), tf.float32)
        with tf.variable_scope("net"):
            net = Layers(tf, images)
            NETS[name](net)
            out = net.dense(1000, activate=False)
        loss = tf.reduce_sum(out)
        both = tf.group(out, *tf.gradients(loss, tf.trainable_variables()))
    return graph, out, both


def seconds_of_passes(name: str, gpu: str, model: CostModel | None = None) -> tuple[float, float]:
    """What the kernels of a forward and of a backward pass take on a GPU, predicted.

    Args:
        name: one of `NETS`.
        gpu: a GPU of the catalogue.
        model: what times them; None: the usual one.
    """
    graph, *steps = _graph_of(name)
    config = tf.ConfigProto(allow_soft_placement=True)
    rewrites = config.graph_options.rewrite_options
    rewrites.dependency_optimization = rewrites.remapping = (
        2  # RewriterConfig.OFF: it was Torch that ran them
    )
    forward, whole = (
        sum(
            row.time
            for row in estimate(graph, step, machine=f"1x {gpu}", config=config, cost_model=model).rows("ops")
            if row.device_type == "GPU"
        )
        for step in steps
    )
    return forward, whole - forward
