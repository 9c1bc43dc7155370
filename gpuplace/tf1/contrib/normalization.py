"""Batch and layer normalization: ``tf.contrib.layers.batch_norm`` and ``layer_norm``.

Source: tensorflow/contrib/layers/python/layers/layers.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.flow.conditionals import smart_cond
from gpuplace.ops.layers import normalization
from gpuplace.ops.nn.norm import batch_normalization, fused_batch_norm, moments
from gpuplace.ops.train.moving_averages import assign_moving_average
from gpuplace.ops.variables.init_ops import Ones, Zeros
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib.arg_scope import add_arg_scope
from gpuplace.tf1.contrib.layers import collect_variable
from gpuplace.tf1.contrib.utils import collect_named_outputs
from gpuplace.tf1.contrib.variables import model_variable, renaming_getter
from gpuplace.typing import Function, InitializerLike, TensorLike

__all__ = [
    "batch_norm", "layer_norm",
]  # fmt: skip


@add_arg_scope
def batch_norm(
    inputs: TensorLike,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Function | None = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: TensorLike = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Function | None = None,
) -> Tensor:
    """Apply batch normalization, with a learned offset and, if ``scale`` is set, a learned factor.

    Args:
        inputs: a tensor of known rank.
        decay: decay of the moving averages.
        center: whether to add a learned offset ``beta``.
        scale: whether to multiply by a learned factor ``gamma``.
        epsilon: a small number added to the variance.
        activation_fn: an activation function; None: linear.
        param_initializers: initializers by variable name, a dict.
        param_regularizers: regularizers of ``beta`` and ``gamma``, a dict.
        updates_collections: collections of the moving average updates; None: the output waits for them.
        is_training: whether to normalize by the batch: a bool, or a scalar bool tensor.
        reuse: whether to reuse the variables of the scope.
        variables_collections: further collections of the variables: a list, or a dict by variable name.
        outputs_collections: collections of the output.
        trainable: whether ``beta`` and ``gamma`` are trainable.
        batch_weights: not supported; None.
        fused: whether to use one op where possible; None: yes.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        zero_debias_moving_mean: not supported; False.
        scope: the variable scope; None: a unique scope from ``BatchNorm``.
        renorm: whether to use batch renormalization, see ``tf.layers.BatchNormalization``.
        renorm_clipping: bounds of its corrections, ``rmax``, ``rmin`` and ``dmax``; None: no bounds.
        renorm_decay: decay of its moving averages.
        adjustment: for training: takes the shape of the inputs; returns a scale and an offset of the normalized values.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: an argument is not supported, or sizes are unknown.
    """
    for argument, value in (
        ("batch_weights", batch_weights is not None),
        ("zero_debias_moving_mean", zero_debias_moving_mean),
    ):
        if value:
            raise ValueError(f"{argument} is not supported: omit it, or normalize with tf.nn.moments")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    inputs = convert_to_tensor(inputs)
    rank = inputs.shape.ndims
    initializers = {"beta": Zeros(), "gamma": Ones(), "moving_mean": Zeros(), "moving_variance": Ones()}
    initializers |= param_initializers or {}
    penalties = param_regularizers or {}
    delayed = updates_collections is GraphKeys.UPDATE_OPS or updates_collections == GraphKeys.UPDATE_OPS
    in_one_op = fused is not False and rank in (2, 4) and not renorm and adjustment is None
    by_hand = (rank == 2 or not delayed) if in_one_op else not delayed
    if by_hand and not in_one_op:
        raise ValueError(
            f"updates_collections={updates_collections!r} requires inputs with 2 or 4 axes in one op: omit it "
            "and run the operations of tf.GraphKeys.UPDATE_OPS"
        )
    getter = None if by_hand else renaming_getter()
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=getter) as opened:
        if by_hand:
            norm = _FusedBatchNorm(
                inputs, data_format, center, scale, initializers, penalties, trainable, variables_collections
            )
            outputs = norm.outputs(is_training, epsilon, decay, updates_collections)
        else:
            layer = normalization.BatchNormalization(
                axis=1 if data_format == "NCHW" else -1,
                momentum=decay,
                epsilon=epsilon,
                center=center,
                scale=scale,
                beta_initializer=initializers["beta"],
                gamma_initializer=initializers["gamma"],
                moving_mean_initializer=initializers["moving_mean"],
                moving_variance_initializer=initializers["moving_variance"],
                beta_regularizer=penalties.get("beta"),
                gamma_regularizer=penalties.get("gamma"),
                renorm=renorm,
                renorm_clipping=renorm_clipping,
                renorm_momentum=renorm_decay,
                adjustment=adjustment,
                trainable=trainable,
                fused=fused,
                name=opened.name,
                _scope=opened,
                _reuse=reuse,
            )
            outputs = layer(inputs, training=is_training)
            for name in ("moving_mean", "moving_variance", "beta", "gamma"):
                collect_variable(getattr(layer, name), variables_collections, name)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


class _FusedBatchNorm:
    """Fused batch normalization; matrices are treated as images of one pixel."""

    def __init__(
        self,
        inputs: Tensor,
        data_format: str,
        center: bool,
        scale: bool,
        initializers: Any,
        regularizers: Any,
        trainable: bool,
        collections: Any,
    ) -> None:
        self.given, self.data_format = inputs, data_format
        self.images = inputs
        if inputs.shape.ndims == 2:
            channels = inputs.shape[-1].value
            if channels is None:
                raise ValueError("`C` dimension must be known but is None")
            shape = [-1, channels, 1, 1] if data_format == "NCHW" else [-1, 1, 1, channels]
            self.images = reshaping.reshape(inputs, shape)
        size = self.images.shape[1 if data_format == "NCHW" else -1].value
        if size is None:
            raise ValueError(f"Inputs {inputs.name} has undefined `C` dimension {inputs.shape}.")

        def variable(name: str, trained: bool) -> Any:
            keys = collections.get(name) if isinstance(collections, dict) else collections
            make: Any = model_variable
            return make(
                name,
                shape=[size],
                dtype="float32",
                initializer=initializers[name],
                regularizer=regularizers.get(name) if trained else None,
                collections=keys,
                trainable=trained and trainable,
            )

        self.beta = variable("beta", True) if center else constant.constant(0.0, "float32", [size])
        self.gamma = variable("gamma", True) if scale else constant.constant(1.0, "float32", [size])
        self.mean, self.variance = variable("moving_mean", False), variable("moving_variance", False)

    def outputs(self, training: Any, epsilon: float, decay: float, collections: Any) -> Any:
        common: dict[str, Any] = {"epsilon": epsilon, "data_format": self.data_format}
        averages: dict[str, Any] = {"mean": self.mean, "variance": self.variance, "is_training": False}

        def by_batch() -> Any:
            return fused_batch_norm(self.images, self.gamma, self.beta, **common)

        def by_averages() -> Any:
            return fused_batch_norm(self.images, self.gamma, self.beta, **averages, **common)

        outputs, mean, variance = smart_cond(training, by_batch, by_averages)

        def updates() -> tuple[Any, Any]:
            one = assign_moving_average(self.mean, mean, decay, zero_debias=False)
            return one, assign_moving_average(self.variance, variance, decay, zero_debias=False)

        def forced() -> Tensor:
            with get_default_graph().control_dependencies([getattr(op, "op", op) for op in updates()]):
                return reshaping.identity(outputs)

        always = constant_value(training) if isinstance(training, Tensor) else training
        if always is None or always:
            if collections is None:
                outputs = smart_cond(training, forced, lambda: outputs)
            else:
                moved = smart_cond(training, updates, lambda: (self.mean, self.variance))
                for update in moved:
                    for key in [collections] if isinstance(collections, str) else collections:
                        get_default_graph().add_to_collection(key, update)
        outputs.set_shape(self.images.shape)
        if self.given.shape.ndims == 2:
            outputs = reshaping.reshape(outputs, reshaping.shape(self.given))
        return outputs


@add_arg_scope
def layer_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    activation_fn: Function | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Tensor:
    """Normalize each example by its own mean and variance.

    Args:
        inputs: a tensor of known rank.
        center: whether to add a learned offset ``beta``.
        scale: whether to multiply by a learned factor ``gamma``.
        activation_fn: an activation function; None: linear.
        reuse: whether to reuse the variables of the scope.
        variables_collections: further collections of the variables: a list, or a dict by variable name.
        outputs_collections: collections of the output.
        trainable: whether the variables are trainable.
        begin_norm_axis: the first axis of mean and variance.
        begin_params_axis: the first axis of ``beta`` and ``gamma``.
        scope: the variable scope; None: a unique scope from ``LayerNorm``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: the rank or sizes are unknown, or an axis is out of range.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as opened:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        begin = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or begin >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin}) must be < rank(inputs) ({rank})"
            )
        shape: Any = inputs.shape[begin_params_axis:]
        if not shape.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {inputs.shape}"
            )
        dtype = inputs.dtype.base_dtype

        def variable(name: str, initializer: InitializerLike) -> Any:
            keys = (
                variables_collections.get(name)
                if isinstance(variables_collections, dict)
                else variables_collections
            )
            make: Any = model_variable
            return make(
                name, shape=shape, dtype=dtype, initializer=initializer, collections=keys, trainable=trainable
            )

        beta = variable("beta", Zeros()) if center else None
        gamma = variable("gamma", Ones()) if scale else None
        mean, variance = moments(inputs, [*range(begin, rank)], keep_dims=True)
        epsilon = 1e-3 if dtype.name == "float16" else 1e-12
        outputs: Any = batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result
