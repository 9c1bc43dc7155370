"""Batch normalization layer.

Images with a static number of channels are normalized in one op (``FusedBatchNormV3``), other tensors in several.

Source: tensorflow/python/layers/normalization.py and keras/layers/normalization.py, release 1.15.
"""

from __future__ import annotations

import inspect
from typing import Any

from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.flow.conditionals import smart_cond
from gpuplace.ops.layers.base import Layer
from gpuplace.ops.layers.by_name import initializer_of, settings_of
from gpuplace.ops.layers.input_spec import InputSpec
from gpuplace.ops.math import unary
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.elementwise import maximum, minimum
from gpuplace.ops.math.reduction import reduce_mean
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.nn.norm import batch_normalization as nn_batch_normalization
from gpuplace.ops.nn.norm import fused_batch_norm, moments
from gpuplace.ops.variables import state
from gpuplace.ops.variables.init_ops import Ones, Zeros
from gpuplace.ops.variables.variables import VariableAggregation, VariableSynchronization
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, Function, InitializerLike, ShapeLike, TensorLike

__all__ = ["BatchNormalization", "batch_normalization"]


def _static_training(training: Any) -> bool | None:
    """Return whether the layer is training; None if that is only known at run time."""
    if not isinstance(training, Tensor):
        return bool(training)
    value = constant_value(training)
    return None if value is None else bool(value)


class BatchNormalization(Layer):
    """Batch normalization layer: normalizes by the batch while training, otherwise by the moving averages.

    Updates of the averages are collected under ``tf.GraphKeys.UPDATE_OPS``; run them explicitly.

    Args:
        axis: the axis of the channels, or a list of axes, which are normalized jointly over all others; negative values
            count from the end.
        momentum: fraction of the moving averages to keep, a number from 0 to 1.
        epsilon: added to the variance to avoid division by zero.
        center: whether to add a learned offset ``beta``, ``[channels]``.
        scale: whether to multiply by a learned factor ``gamma``, ``[channels]``.
        beta_initializer: initializer of the offset.
        gamma_initializer: initializer of the factor.
        moving_mean_initializer: initializer of the moving mean.
        moving_variance_initializer: initializer of the moving variance.
        beta_regularizer: function from the offset to a scalar loss; None: the scope's.
        gamma_regularizer: function from the factor to a scalar loss; None: the scope's.
        beta_constraint: a function that optimizers apply to the value after an update.
        gamma_constraint: the same for the factor.
        renorm: whether to use batch renormalization, which corrects batches towards averages of their means and
            deviations.
        renorm_clipping: bounds of the corrections, ``rmax``, ``rmin`` and ``dmax``; None: no bounds.
        renorm_momentum: fraction of these averages to keep.
        fused: whether to use one op for images with channels on the second or last axis; None: where possible.
        trainable: whether to add the variables to the trainable variables.
        virtual_batch_size: normalize parts of the batch of this size, which divides it; None: the whole batch.
        adjustment: function, used while training, from the shape of the inputs to a scale and an offset of the
            normalized values.
        name: name of the layer; None: ``batch_normalization``, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        ValueError: ``renorm_clipping`` has unknown keys; at the call, the rank or the number of channels is unknown, or
            an axis is out of range.
        TypeError: ``axis`` is neither an integer nor a list.
    """

    _config = (
        *("axis", "momentum", "epsilon", "center", "scale", "beta_initializer", "gamma_initializer"),
        *("moving_mean_initializer", "moving_variance_initializer", "beta_regularizer", "gamma_regularizer"),
        *("beta_constraint", "gamma_constraint"),
    )

    def __init__(
        self,
        axis: TensorLike = -1,
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
        if not isinstance(axis, int | list):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        clipping = renorm_clipping or {}
        if renorm and set(clipping) - {"rmax", "rmin", "dmax"}:
            raise ValueError(
                f"renorm_clipping {renorm_clipping} contains keys not in {['rmax', 'rmin', 'dmax']}"
            )
        self.renorm, self.renorm_clipping, self.renorm_momentum = renorm, clipping, renorm_momentum
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        axis = list(axis) if isinstance(axis, list) else axis
        self.axis: Any = axis
        self.momentum, self.epsilon = momentum, epsilon
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
        self._bessels_correction_test_only = True
        """False: the fused op's moving variances are biased, as those of single ops; the name is TensorFlow's."""

    def _axes(self, rank: int, shape: Any) -> list[int]:
        """Return the axes of the channels, counted from the front.

        Raises:
            ValueError: an axis is out of range, or the batch cannot be divided.
        """
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        axes = [axis + rank if axis < 0 else axis for axis in axes]
        for axis in axes:
            if not 0 <= axis < rank:
                raise ValueError(f"Invalid axis: {axis}")
        if len(axes) != len(set(axes)):
            raise ValueError(f"Duplicate axis: {axes}")
        if self.virtual_batch_size is not None:
            if self.virtual_batch_size <= 0:
                raise ValueError(
                    "virtual_batch_size must be a positive integer that divides the true batch size of the input Tensor"
                )
            if 0 in axes:
                raise ValueError(
                    "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot include 0"
                )
            if self.adjustment is not None:
                raise ValueError("When using virtual_batch_size, adjustment cannot be specified")
        for axis in axes:
            if shape[axis].value is None:
                raise ValueError("Input has undefined `axis` dimension. Input shape: ", shape)
        return axes

    def build(self, input_shape: Any) -> None:
        """Make the variables.

        Args:
            input_shape: a shape of static rank with a static number of channels.

        Raises:
            ValueError: the rank or the number of channels is unknown, an axis is out of range, or the batch cannot be
                divided.
        """
        shape = as_shape(input_shape)
        rank = shape.ndims
        if not rank:
            raise ValueError("Input has undefined rank:", shape)
        axes = self._axes(rank, shape)
        self.axis = axes
        parted = self.virtual_batch_size is not None
        is_plain = self.renorm or parted or self.adjustment is not None
        self.fused = bool(self.fused) and rank == 4 and axes in ([1], [3]) and not is_plain
        channels = {axis: shape[axis].value for axis in axes}
        self.input_spec = InputSpec(ndim=rank, axes=channels)
        sizes = list(channels.values())
        if len(axes) > 1 or parted:
            sizes = [channels.get(axis, 1) for axis in range(rank)]
        if parted:  # the second axis is that of the batch's parts
            sizes.insert(1, 1)
            self.axis = [axis + 1 for axis in axes]
        dtype = "float32" if self.dtype in ("float16", "bfloat16") else self.dtype or "float32"
        self._param_dtype = dtype

        def add_parameter(name: str, settings: Any) -> Any:
            initializer, regularizer, constraint = settings
            return self.add_variable(name, sizes, dtype, initializer, regularizer, constraint=constraint)

        if self.scale:
            self.gamma = add_parameter("gamma", self._of_gamma)
        elif self.fused:
            self._gamma = constant.constant(1.0, dtype, sizes)
        if self.center:
            self.beta = add_parameter("beta", self._of_beta)
        elif self.fused:
            self._beta = constant.constant(0.0, dtype, sizes)
        scope: Any = self._scope
        partitioner = scope.partitioner
        scope.set_partitioner(None)
        try:
            self._build_averages(sizes, dtype)
        finally:
            scope.set_partitioner(partitioner)
        self.built = True

    def _build_averages(self, sizes: list[Any], dtype: DTypeLike) -> None:
        def average(name: str, initializer: InitializerLike) -> Any:
            return self.add_variable(
                name,
                sizes,
                dtype,
                initializer,
                trainable=False,
                synchronization=VariableSynchronization.ON_READ,
                aggregation=VariableAggregation.MEAN,
            )

        def deviation(*args: Any, **kwargs: Any) -> Tensor:
            return unary.sqrt(self._variance_initializer()(*args, **kwargs))

        self.moving_mean = average("moving_mean", self.moving_mean_initializer)
        self.moving_variance = average("moving_variance", self.moving_variance_initializer)
        if self.renorm:
            with get_default_graph().colocate_with(self.moving_variance.op):
                self.moving_stddev = average("moving_stddev", deviation)
            with get_default_graph().colocate_with(self.moving_mean.op):
                self.renorm_mean = average("renorm_mean", self.moving_mean_initializer)
            with get_default_graph().colocate_with(self.moving_stddev.op):
                self.renorm_stddev = average("renorm_stddev", deviation)

    def _variance_initializer(self) -> Any:
        initializer = self.moving_variance_initializer
        return initializer() if inspect.isclass(initializer) else initializer

    def call(self, inputs: Any, *args: Any, training: Any = False, **kwargs: Any) -> Tensor:
        """Normalize the input.

        Args:
            inputs: a floating tensor.
            *args: ``training`` may be positional.
            training: whether the layer is training: a bool, or a scalar bool tensor.
            **kwargs: unused.
        """
        training = args[0] if args else training
        if self.fused:
            return self._fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._plain(inputs, training)
        shape = [-1, *inputs.shape.as_list()[1:]]
        parted = reshaping.reshape(inputs, [self.virtual_batch_size, -1, *shape[1:]])
        return reshaping.reshape(self._plain(parted, training), shape)

    def _fused(self, inputs: TensorLike, training: Any) -> Tensor:
        beta = self.beta if self.center else self._beta
        gamma = self.gamma if self.scale else self._gamma
        order = "NCHW" if self.axis == [1] else "NHWC"

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
        always = _static_training(training)
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
            self.add_update(_follow(self.moving_mean, mean, momentum))
            self.add_update(_follow(self.moving_variance, variance, momentum))
        result: Tensor = output
        return result

    def _plain(self, inputs: Any, training: Any) -> Tensor:
        """Normalize in single ops, for any rank and dtype."""
        rank: int = inputs.shape.ndims
        axes = [item for item in range(rank) if item not in self.axis]
        parted = self.virtual_batch_size is not None
        if parted:
            del axes[1]
        shape = [1] * rank
        shape[self.axis[0]] = inputs.shape[self.axis[0]].value

        def spread(values: Any) -> Any:
            if values is None or values.shape.ndims == rank or axes == list(range(rank - 1)):
                return values
            return reshaping.reshape(values, shape)

        scale, offset = spread(self.gamma), spread(self.beta)
        mean, variance = self.moving_mean, self.moving_variance
        if _static_training(training) is not False:
            if self.adjustment is not None:
                adjusted = self.adjustment(reshaping.shape(inputs))
                factor = smart_cond(training, lambda: adjusted[0], lambda: constant.ones_like(adjusted[0]))
                summand = smart_cond(training, lambda: adjusted[1], lambda: constant.zeros_like(adjusted[1]))
                scale, offset = _composed(factor, summand, scale, offset)
            batch_mean, batch_variance = moments(
                cast(inputs, self._param_dtype), axes, keep_dims=parted or len(self.axis) > 1
            )
            mean = smart_cond(training, lambda: batch_mean, lambda: convert_to_tensor(self.moving_mean))
            variance = smart_cond(
                training, lambda: batch_variance, lambda: convert_to_tensor(self.moving_variance)
            )
            new_mean, new_variance = mean, variance
            if parted:
                new_mean = reduce_mean(mean, axis=1, keepdims=True)
                new_variance = reduce_mean(variance, axis=1, keepdims=True)
            if self.renorm:
                r, d, new_mean, new_variance = self._corrections(new_mean, new_variance, training)
                r = spread(reshaping.stop_gradient(r, name="renorm_r"))
                d = spread(reshaping.stop_gradient(d, name="renorm_d"))
                scale, offset = _composed(r, d, scale, offset)
            self.add_update(self._update(self.moving_mean, new_mean, training))
            if self.renorm:
                self.add_update(self._update_deviation(new_variance, training))
            else:
                self.add_update(self._update(self.moving_variance, new_variance, training))
        mean, variance = cast(mean, inputs.dtype), cast(variance, inputs.dtype)
        offset = None if offset is None else cast(offset, inputs.dtype)
        scale = None if scale is None else cast(scale, inputs.dtype)
        result = nn_batch_normalization(inputs, spread(mean), spread(variance), offset, scale, self.epsilon)
        result.set_shape(inputs.shape)
        return result

    def _update(self, moving: Any, value: Any, training: Any) -> Any:
        return smart_cond(training, lambda: _follow(moving, value, self.momentum), lambda: moving)

    def _update_deviation(self, variance: Any, training: Any) -> Any:
        """Return the update of the moving deviation, and that of the moving variance."""

        def updated() -> Any:
            deviation = _follow(self.moving_stddev, unary.sqrt(variance + self.epsilon), self.momentum)
            return _assign_update(self.moving_variance, relu(deviation * deviation - self.epsilon))

        return smart_cond(training, updated, lambda: self.moving_variance)

    def _corrections(self, mean: TensorLike, variance: Any, training: Any) -> tuple[Any, Any, Any, Any]:
        """Return the renormalization corrections ``r`` and ``d``, and the mean and variance.

        Source: Ioffe, Batch Renormalization (2017), and keras/layers/normalization.py, release 1.15.
        """
        deviation = unary.sqrt(variance + self.epsilon)
        average = maximum(self.renorm_stddev, unary.sqrt(self.epsilon))
        r = deviation / average
        d = (mean - self.renorm_mean) / average
        with get_default_graph().control_dependencies([r, d]):  # before the averages are updated
            mean, deviation = reshaping.identity(mean), reshaping.identity(deviation)
        bounds = self.renorm_clipping
        if bounds.get("rmin") is not None:
            r = maximum(r, bounds["rmin"])
        if bounds.get("rmax") is not None:
            r = minimum(r, bounds["rmax"])
        if bounds.get("dmax") is not None:
            d = minimum(maximum(d, -bounds["dmax"]), bounds["dmax"])
        clipped, shift = r, d
        r = smart_cond(training, lambda: clipped, lambda: constant.ones_like(clipped))
        d = smart_cond(training, lambda: shift, lambda: constant.zeros_like(shift))
        moved = [
            self._renorm_moved(self.renorm_mean, mean, training),
            self._renorm_moved(self.renorm_stddev, deviation, training),
        ]
        with get_default_graph().control_dependencies(moved):
            return r, d, reshaping.identity(mean), reshaping.identity(variance)

    def _renorm_moved(self, moving: Any, value: Any, training: Any) -> Any:
        value = reshaping.identity(value)
        return smart_cond(
            training, lambda: _follow(moving, value, self.renorm_momentum), lambda: reshaping.identity(moving)
        )

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the shape of the input.

        Args:
            input_shape: any shape.
        """
        return as_shape(input_shape)


def _composed(scale: TensorLike, offset: TensorLike, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """Return the scale and the offset of two successive transformations."""
    if then_scale is not None:
        scale = scale * then_scale
        offset = offset * then_scale
    if then_offset is not None:
        offset = offset + then_offset
    return scale, offset


def _assign_update(variable: Any, value: Any) -> Any:
    """Return the update that assigns a value to a variable."""
    graph = get_default_graph()
    with graph.name_scope("AssignNewValue") as scope, graph.colocate_with(variable.op):
        return state.assign(variable, value, name=scope)


def _follow(moving: Any, value: Tensor, momentum: Any) -> Any:
    """Return the update of a moving average."""
    graph = get_default_graph()
    with graph.name_scope("AssignMovingAvg") as scope, graph.colocate_with(moving.op):
        rest: Any = convert_to_tensor(1.0 - momentum, name="decay")
        if rest.dtype.base_dtype != moving.dtype.base_dtype:
            rest = cast(rest, moving.dtype.base_dtype)
        change = (moving - cast(value, moving.dtype.base_dtype)) * rest
        return state.assign_sub(moving, change, name=scope)


def batch_normalization(
    inputs: TensorLike,
    axis: Any = -1,
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
    """Normalize each channel: by the batch while training, otherwise by the moving averages.

    Updates of the averages are collected under ``tf.GraphKeys.UPDATE_OPS``; run them explicitly.

    Args:
        inputs: float16, bfloat16, float32 or float64, of static rank; images (four axes, with channels second or last)
            are normalized in one op, except in float64.
        axis: the axis of the channels; negative values count from the end.
        momentum: fraction of the moving averages to keep, a number from 0 to 1.
        epsilon: added to the variance to avoid division by zero.
        center: whether to add a learned offset ``beta``, ``[channels]``.
        scale: whether to multiply by a learned factor ``gamma``, ``[channels]``.
        beta_initializer: initializer of the offset.
        gamma_initializer: initializer of the factor.
        moving_mean_initializer: initializer of the moving mean.
        moving_variance_initializer: initializer of the moving variance.
        beta_regularizer: function from the offset to a scalar loss; None: the scope's.
        gamma_regularizer: function from the factor to a scalar loss; None: the scope's.
        beta_constraint: a function that optimizers apply to the value after an update.
        gamma_constraint: the same for the factor.
        training: whether to normalize by the batch: a bool, or a scalar bool tensor.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: ``batch_normalization``, made unique.
        reuse: whether to share the variables of the layer with that name.
        renorm: whether to use batch renormalization, which corrects batches towards averages of their means and
            deviations.
        renorm_clipping: bounds of the corrections, ``rmax``, ``rmin`` and ``dmax``; None: no bounds.
        renorm_momentum: fraction of these averages to keep.
        fused: whether to use one op for images with channels on the second or last axis; None: where possible.
        virtual_batch_size: normalize parts of the batch of this size, which divides it; None: the whole batch.
        adjustment: function, used while training, from the shape of the inputs to a scale and an offset of the
            normalized values.

    Returns:
        A tensor with the dtype and shape of ``inputs``.

    Raises:
        TypeError: ``inputs`` has an unsupported dtype.
        ValueError: the rank or the number of channels is unknown, or arguments do not match.
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
