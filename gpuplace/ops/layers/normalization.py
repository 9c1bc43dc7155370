"""Batch normalisation as a layer.

Images with known channels are normalised in one op (``FusedBatchNormV3``); everything else in single ops.

Source: tensorflow/python/layers/normalization.py and keras/layers/normalization.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.flow.conditionals import smart_cond
from gpuplace.ops.layers.base import Layer, require_rank
from gpuplace.ops.layers.by_name import initializer_of, settings_of
from gpuplace.ops.math.cast import cast
from gpuplace.ops.nn.norm import batch_normalization as nn_batch_normalization
from gpuplace.ops.nn.norm import fused_batch_norm, moments
from gpuplace.ops.variables import state
from gpuplace.ops.variables.init_ops import Ones, Zeros
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import Function, InitializerLike, ShapeLike, TensorLike

__all__ = ["BatchNormalization", "batch_normalization"]


def _always(training: Any) -> bool | None:
    """Whether this is training, None where that is known at run time only."""
    if not isinstance(training, Tensor):
        return bool(training)
    value = constant_value(training)
    return None if value is None else bool(value)


class BatchNormalization(Layer):
    """Normalises each channel: by the batch while training, else by the moving averages.

    The operations that move the averages are collected under ``tf.GraphKeys.UPDATE_OPS``; nothing runs them by itself.

    Args:
        axis: the axis of the channels; negative ones count from the end.
        momentum: how much of the moving averages is kept, a number from 0 to 1.
        epsilon: added to the variance against division by zero.
        center: add a learnt offset ``beta``, ``[channels]``.
        scale: multiply by a learnt factor ``gamma``, ``[channels]``.
        beta_initializer: initial offset.
        gamma_initializer: initial factor.
        moving_mean_initializer: initial moving mean.
        moving_variance_initializer: initial moving variance.
        beta_regularizer: from the offset to a scalar loss; None: the scope's.
        gamma_regularizer: from the factor to a scalar loss; None: the scope's.
        beta_constraint: a function from the value to a value, applied by optimizers after an update.
        gamma_constraint: the same for the factor.
        renorm: not supported; False.
        renorm_clipping: not supported; None.
        renorm_momentum: ignored.
        fused: use one op for images with channels on the second or last axis; None: where possible.
        trainable: collect the variables among the trainable ones.
        virtual_batch_size: not supported; None.
        adjustment: not supported; None.
        name: name of the layer; None: ``batch_normalization``, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        ValueError: an argument that is not supported; when called: the rank or the number of channels is not known.
        TypeError: ``axis`` is no integer.
    """

    _config = (
        *("axis", "momentum", "epsilon", "center", "scale", "beta_initializer", "gamma_initializer"),
        *("moving_mean_initializer", "moving_variance_initializer", "beta_regularizer", "gamma_regularizer"),
        *("beta_constraint", "gamma_constraint"),
    )

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike | None = Zeros,
        gamma_initializer: InitializerLike | None = Ones,
        moving_mean_initializer: InitializerLike | None = Zeros,
        moving_variance_initializer: InitializerLike | None = Ones,
        beta_regularizer: Function | None = None,
        gamma_regularizer: Function | None = None,
        beta_constraint: Function | None = None,
        gamma_constraint: Function | None = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Function | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        if isinstance(axis, list | tuple) and len(axis) == 1:
            axis = axis[0]
        if not isinstance(axis, int):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}; gpuplace takes one axis")
        for argument, given in (
            ("renorm", renorm or renorm_clipping is not None),
            ("virtual_batch_size", virtual_batch_size is not None),
            ("adjustment", adjustment is not None),
        ):
            if given:
                raise ValueError(f"{argument} is not supported: leave it out, or build it with tf.nn.moments")
        self.axis, self.momentum, self.epsilon = axis, momentum, epsilon
        self.center, self.scale, self.fused = center, scale, True if fused is None else fused
        self._of_beta = settings_of((beta_initializer, beta_regularizer, beta_constraint))
        self._of_gamma = settings_of((gamma_initializer, gamma_regularizer, gamma_constraint))
        self.beta_initializer, self.beta_regularizer, self.beta_constraint = self._of_beta
        self.gamma_initializer, self.gamma_regularizer, self.gamma_constraint = self._of_gamma
        self.moving_mean_initializer = initializer_of(moving_mean_initializer)
        self.moving_variance_initializer = initializer_of(moving_variance_initializer)
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None
        self._rank = 0
        self._bessels_correction_test_only = True
        """False: moving variances of the fused op are of all examples, as those of single ops; TensorFlow's name."""

    def _check(self, inputs: Any) -> None:
        if self.built:
            require_rank(inputs, self, rank=self._rank)

    def build(self, input_shape: Any) -> None:
        """Makes the variables.

        Args:
            input_shape: of a known rank, with a known number of channels.

        Raises:
            ValueError: one of the two is not known, or there is no such axis.
        """
        shape = as_shape(input_shape)
        rank = shape.ndims
        if not rank:
            raise ValueError("Input has undefined rank:", shape)
        if not -rank <= self.axis < rank:
            raise ValueError(f"Invalid axis: {self.axis}")
        self._rank, self.axis = rank, self.axis % rank
        self.fused = rank == 4 and self.axis in (1, 3) and bool(self.fused)
        size = shape[self.axis].value
        if size is None:
            raise ValueError("Input has undefined `axis` dimension. Input shape: ", shape)
        dtype = "float32" if self.dtype in ("float16", "bfloat16") else self.dtype or "float32"
        self._param_dtype = dtype

        def learnt(name: str, settings: Any) -> Any:
            initializer, regularizer, constraint = settings
            return self.add_variable(name, [size], dtype, initializer, regularizer, constraint=constraint)

        if self.scale:
            self.gamma = learnt("gamma", self._of_gamma)
        elif self.fused:
            self._gamma = constant.constant(1.0, dtype, [size])
        if self.center:
            self.beta = learnt("beta", self._of_beta)
        elif self.fused:
            self._beta = constant.constant(0.0, dtype, [size])
        mean, variance = self.moving_mean_initializer, self.moving_variance_initializer
        self.moving_mean = self.add_variable("moving_mean", [size], dtype, mean, trainable=False)
        self.moving_variance = self.add_variable("moving_variance", [size], dtype, variance, trainable=False)
        self.built = True

    def call(self, inputs: Any, *args: Any, training: Any = False, **kwargs: Any) -> Tensor:
        """Normalises.

        Args:
            inputs: a tensor of floating type.
            *args: ``training``, too.
            training: whether this is training: a bool, or a scalar bool tensor.
            **kwargs: nothing.
        """
        training = args[0] if args else training
        return self._fused(inputs, training) if self.fused else self._plain(inputs, training)

    def _fused(self, inputs: Any, training: Any) -> Tensor:
        beta = self.beta if self.center else self._beta
        gamma = self.gamma if self.scale else self._gamma
        order = "NCHW" if self.axis == 1 else "NHWC"

        def by_batch() -> Any:
            return fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=order)

        def by_averages() -> Any:
            return fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=self.moving_mean,
                variance=self.moving_variance,
                epsilon=self.epsilon,
                is_training=False,
                data_format=order,
            )

        output, mean, variance = smart_cond(training, by_batch, by_averages)
        always = _always(training)
        if always is None:
            momentum = smart_cond(
                training, lambda: convert_to_tensor(self.momentum), lambda: convert_to_tensor(1.0)
            )
        else:
            momentum = convert_to_tensor(self.momentum)
        if not self._bessels_correction_test_only:
            count = cast(reshaping.size(inputs), variance.dtype) / cast(
                reshaping.size(variance), variance.dtype
            )
            variance *= (count - 1) / count
        if always is not False:
            self.add_update(_moved(self.moving_mean, mean, momentum))
            self.add_update(_moved(self.moving_variance, variance, momentum))
        result: Tensor = output
        return result

    def _plain(self, inputs: Any, training: Any) -> Tensor:
        """Normalisation in single ops, for any rank and type."""
        rank, axis = self._rank, self.axis
        axes = [one for one in range(rank) if one != axis]
        shape = [1] * rank
        shape[axis] = inputs.shape[axis].value

        def spread(values: Any) -> Any:
            return values if values is None or axis == rank - 1 else reshaping.reshape(values, shape)

        scale, offset = spread(self.gamma), spread(self.beta)
        mean, variance = self.moving_mean, self.moving_variance
        if _always(training) is not False:
            batch_mean, batch_variance = moments(cast(inputs, self._param_dtype), axes)
            mean = smart_cond(training, lambda: batch_mean, lambda: convert_to_tensor(self.moving_mean))
            variance = smart_cond(
                training, lambda: batch_variance, lambda: convert_to_tensor(self.moving_variance)
            )
            for moving, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                self.add_update(self._update(moving, value, training))
        mean, variance = cast(mean, inputs.dtype), cast(variance, inputs.dtype)
        offset = None if offset is None else cast(offset, inputs.dtype)
        scale = None if scale is None else cast(scale, inputs.dtype)
        result = nn_batch_normalization(inputs, spread(mean), spread(variance), offset, scale, self.epsilon)
        result.set_shape(inputs.shape)
        return result

    def _update(self, moving: Any, value: Any, training: Any) -> Any:
        return smart_cond(training, lambda: _moved(moving, value, self.momentum), lambda: moving)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """The shape of the input.

        Args:
            input_shape: any.
        """
        return as_shape(input_shape)


def _moved(moving: Any, value: Tensor, momentum: Any) -> Any:
    """The update of a moving average."""
    graph = get_default_graph()
    with graph.name_scope("AssignMovingAvg") as scope, graph.colocate_with(moving.op):
        rest: Any = convert_to_tensor(1.0 - momentum, name="decay")
        if rest.dtype.base_dtype != moving.dtype.base_dtype:
            rest = cast(rest, moving.dtype.base_dtype)
        change = (moving - cast(value, moving.dtype.base_dtype)) * rest
        return state.assign_sub(moving, change, name=scope)


def batch_normalization(
    inputs: TensorLike,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: InitializerLike | None = Zeros,
    gamma_initializer: InitializerLike | None = Ones,
    moving_mean_initializer: InitializerLike | None = Zeros,
    moving_variance_initializer: InitializerLike | None = Ones,
    beta_regularizer: Function | None = None,
    gamma_regularizer: Function | None = None,
    beta_constraint: Function | None = None,
    gamma_constraint: Function | None = None,
    training: TensorLike = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Function | None = None,
) -> Tensor:
    """Normalises each channel: by the batch while training, else by the moving averages.

    The operations that move the averages are collected under ``tf.GraphKeys.UPDATE_OPS``; nothing runs them by itself.

    Args:
        inputs: float16, bfloat16, float32 or float64, of a known rank; images, four axes with channels as the second or
            the last, are normalised in one op, which knows no float64.
        axis: the axis of the channels; negative ones count from the end.
        momentum: how much of the moving averages is kept, a number from 0 to 1.
        epsilon: added to the variance against division by zero.
        center: add a learnt offset ``beta``, ``[channels]``.
        scale: multiply by a learnt factor ``gamma``, ``[channels]``.
        beta_initializer: initial offset.
        gamma_initializer: initial factor.
        moving_mean_initializer: initial moving mean.
        moving_variance_initializer: initial moving variance.
        beta_regularizer: from the offset to a scalar loss; None: the scope's.
        gamma_regularizer: from the factor to a scalar loss; None: the scope's.
        beta_constraint: a function from the value to a value, applied by optimizers after an update.
        gamma_constraint: the same for the factor.
        training: whether to normalise by the batch: a bool, or a scalar bool tensor.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: ``batch_normalization``, made unique.
        reuse: share the variables of a layer of that name.
        renorm: not supported; False.
        renorm_clipping: not supported; None.
        renorm_momentum: ignored.
        fused: use one op for images with channels on the second or last axis; None: where possible.
        virtual_batch_size: not supported; None.
        adjustment: not supported; None.

    Returns:
        A tensor of the dtype and shape of ``inputs``.

    Raises:
        TypeError: ``inputs`` has another dtype.
        ValueError: the rank, or the number of channels, is not known, or an argument is not supported.
    """
    layer = BatchNormalization(
        axis,
        momentum,
        epsilon,
        center,
        scale,
        beta_initializer,
        gamma_initializer,
        moving_mean_initializer,
        moving_variance_initializer,
        beta_regularizer,
        gamma_regularizer,
        beta_constraint,
        gamma_constraint,
        renorm,
        renorm_clipping,
        renorm_momentum,
        fused,
        trainable,
        virtual_batch_size,
        adjustment,
        name,
        _reuse=reuse,
        _scope=name,
    )
    result: Tensor = layer(convert_to_tensor(inputs), training=training)
    return result
