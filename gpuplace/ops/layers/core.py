"""Simple layers: dense, dropout, flatten.

Source: tensorflow/python/layers/core.py and keras/layers/core.py, release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpuplace.dtypes import float32
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import reshaping
from gpuplace.ops.flow.conditionals import smart_cond
from gpuplace.ops.layers.base import Layer, require_rank
from gpuplace.ops.layers.by_name import activation_of, settings_of
from gpuplace.ops.layers.input_spec import InputSpec
from gpuplace.ops.math.contraction import tensordot
from gpuplace.ops.nn import misc
from gpuplace.ops.support import new
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import Function, InitializerLike, ShapeLike, TensorLike

__all__ = ["Dense", "Dropout", "Flatten", "dense", "dropout", "flatten"]


class Dense(Layer):
    """Dense layer: ``activation(matmul(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> layer = tf.layers.Dense(100, tf.nn.relu, name="hidden")
    >>> hidden, again = layer(tf.zeros([8, 784])), layer(tf.ones([2, 784]))
    >>> layer.kernel.name, again.name
    ('hidden/kernel:0', 'hidden/Relu_1:0')

    Args:
        units: size of the output's last axis.
        activation: a function from tensor to tensor, or None.
        use_bias: whether to add a bias.
        kernel_initializer: initializer of the kernel, ``[size, units]``; None: the scope's.
        bias_initializer: initializer of the bias, ``[units]``; None: the scope's.
        kernel_regularizer: function from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: function from the bias to a scalar loss; None: the scope's.
        activity_regularizer: function from the output to a scalar loss.
        kernel_constraint: a function that optimizers apply to the value after an update.
        bias_constraint: the same for the bias.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: ``dense``, made unique.
        **kwargs: ``dtype``, ``_scope`` and ``_reuse`` of ``Layer``.

    Raises:
        ValueError: at the call, the size of the last axis is unknown, or there is only one axis.
    """

    _config = (
        *("units", "activation", "use_bias", "kernel_initializer", "bias_initializer", "kernel_regularizer"),
        *("bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint"),
    )

    def __init__(
        self,
        units: int,
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = Zeros,
        kernel_regularizer: Function | None = None,
        bias_regularizer: Function | None = None,
        activity_regularizer: Function | None = None,
        kernel_constraint: Function | None = None,
        bias_constraint: Function | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer, self.kernel_regularizer, self.kernel_constraint = settings_of(
            (kernel_initializer, kernel_regularizer, kernel_constraint)
        )
        self.bias_initializer, self.bias_regularizer, self.bias_constraint = settings_of(
            (bias_initializer, bias_regularizer, bias_constraint)
        )
        self.kernel: Any = None
        self.bias: Any = None

    def _check(self, inputs: TensorLike) -> None:
        require_rank(inputs, self, least=2)

    def build(self, input_shape: Any) -> None:
        """Make the kernel and the bias.

        Args:
            input_shape: ``[..., size]``.

        Raises:
            TypeError: the layer's dtype is not floating.
            ValueError: the size is unknown.
        """
        dtype = self._dtype or float32
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {dtype}")
        size = as_shape(input_shape)[-1].value
        if size is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.kernel = self.add_variable(
            "kernel",
            [size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_variable(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Multiply, add the bias and apply the activation.

        Args:
            inputs: ``[..., size]``.
            *args: unused.
            **kwargs: unused.
        """
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        else:
            outputs = new("MatMul", a=inputs, b=self.kernel)
        if self.bias is not None:
            outputs = misc.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return ``[..., units]``.

        Args:
            input_shape: ``[..., size]``.

        Raises:
            ValueError: there are fewer than two axes, or the size is unknown.
        """
        shape = as_shape(input_shape).with_rank_at_least(2)
        if shape[-1].value is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {input_shape}"
            )
        return shape[:-1].concatenate([self.units])


def dense(
    inputs: TensorLike,
    units: int,
    activation: Callable[[Any], Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike | None = Zeros,
    kernel_regularizer: Function | None = None,
    bias_regularizer: Function | None = None,
    activity_regularizer: Function | None = None,
    kernel_constraint: Function | None = None,
    bias_constraint: Function | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Tensor:
    """Return ``activation(matmul(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> hidden = tf.layers.dense(tf.zeros([8, 784]), 100, tf.nn.relu, name="hidden")
    >>> [(variable.name, variable.shape.as_list()) for variable in tf.trainable_variables("hidden")]
    [('hidden/kernel:0', [784, 100]), ('hidden/bias:0', [100])]

    Args:
        inputs: ``[..., size]``, two axes or more, of a type that ``matmul`` supports.
        units: size of the output's last axis.
        activation: a function from tensor to tensor, or None.
        use_bias: whether to add a bias.
        kernel_initializer: initializer of the kernel, ``[size, units]``; None: the scope's.
        bias_initializer: initializer of the bias, ``[units]``; None: the scope's.
        kernel_regularizer: function from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: function from the bias to a scalar loss; None: the scope's.
        activity_regularizer: function from the output to a scalar loss.
        kernel_constraint: a function that optimizers apply to the value after an update.
        bias_constraint: the same for the bias.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: ``dense``, made unique.
        reuse: whether to share the variables of the layer with that name.

    Returns:
        A tensor of the dtype of ``inputs``, ``[..., units]``.

    Raises:
        ValueError: the size of the last axis is unknown, there is only one axis, or variables may not be shared.
    """
    layer = Dense(
        units,
        activation,
        use_bias,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        trainable,
        name,
        _scope=name,
        _reuse=reuse,
    )
    result: Tensor = layer(convert_to_tensor(inputs))
    return result


class Dropout(Layer):
    """Dropout layer: ``tf.nn.dropout`` while training, otherwise the identity.

    Args:
        rate: the fraction of elements set to zero, from 0 to below 1.
        noise_shape: shape of the random mask, which broadcasts to that of the inputs; None: the same shape.
        seed: seed of the random op; None: see ``set_random_seed``.
        name: name of the layer; None: ``dropout``, made unique.
        **kwargs: arguments of ``Layer``.
    """

    _config = ("rate", "noise_shape", "seed")

    def __init__(
        self,
        rate: TensorLike = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: TensorLike, *args: Any, training: Any = False, **kwargs: Any) -> Tensor:
        """Apply dropout while training.

        Args:
            inputs: a floating tensor.
            *args: ``training`` may be positional.
            training: whether the layer is training: a bool, or a scalar bool tensor.
            **kwargs: unused.
        """
        training = args[0] if args else training

        def dropped() -> Tensor:
            return misc.dropout(inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate)

        result: Tensor = smart_cond(training, dropped, lambda: reshaping.identity(inputs))
        return result

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the shape of the input.

        Args:
            input_shape: any shape.
        """
        return as_shape(input_shape)


def dropout(
    inputs: TensorLike,
    rate: TensorLike = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: TensorLike = False,
    name: str | None = None,
) -> Tensor:
    """Apply ``tf.nn.dropout`` while training, otherwise the identity.

    Args:
        inputs: float16, bfloat16, float32 or float64, of any shape.
        rate: the fraction of elements set to zero, from 0 to below 1.
        noise_shape: shape of the random mask, which broadcasts to that of ``inputs``; None: the shape of ``inputs``.
        seed: seed of the random op; None: see ``set_random_seed``.
        training: whether the layer is training: a bool, or a scalar bool tensor.
        name: name of the layer; None: ``dropout``, made unique.

    Returns:
        A tensor with the dtype and shape of ``inputs``.

    Raises:
        ValueError: while training, ``rate`` is out of range, or ``inputs`` is not floating-point.
    """
    layer = Dropout(rate, noise_shape, seed, name)
    result: Tensor = layer(convert_to_tensor(inputs), training=training)
    return result


class Flatten(Layer):
    """Flatten layer: merges all axes except the first.

    Args:
        data_format: ``"channels_last"``, or ``"channels_first"``, which first moves the second axis to the end.
        name: name of the layer; None: ``flatten``, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        ValueError: ``data_format`` is unknown; at the call, the input is a scalar or has unknown rank.
    """

    _config = ("data_format",)

    input_spec = InputSpec(min_ndim=1)

    def __init__(self, data_format: str | None = None, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.data_format = "channels_last" if data_format is None else data_format.lower()
        if self.data_format not in ("channels_last", "channels_first"):
            raise ValueError(
                "The `data_format` argument must be one of 'channels_first', 'channels_last'. Received: "
                f"{data_format}"
            )

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Flatten the input.

        Args:
            inputs: ``[batch, ...]``.
            *args: unused.
            **kwargs: unused.
        """
        if self.data_format == "channels_first" and inputs.shape.ndims is not None and inputs.shape.ndims > 1:
            inputs = reshaping.transpose(inputs, [0, *range(2, inputs.shape.ndims), 1])
        batch: Any = inputs.shape[0].value or reshaping.shape(inputs)[0]
        outputs = reshaping.reshape(inputs, (batch, -1))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the static shape ``[batch, size]``; as in TensorFlow, the size of empty rows is unknown.

        Args:
            input_shape: ``[batch, ...]``, of static rank.
        """
        batch, *rest = as_shape(input_shape).as_list()
        static = [size for size in rest if size]
        return as_shape([batch, math.prod(static) if len(static) == len(rest) else None])


def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """Merge all axes except the first.

    >>> import gpuplace as tf
    >>> tf.layers.flatten(tf.zeros([8, 28, 28, 1])).shape
    TensorShape([Dimension(8), Dimension(784)])

    Args:
        inputs: ``[batch, ...]``, of any dtype.
        name: name of the layer; None: ``flatten``, made unique.
        data_format: ``"channels_last"``, or ``"channels_first"``, which first moves the second axis to the end.

    Returns:
        A tensor of the dtype of ``inputs``, ``[batch, size]``.

    Raises:
        ValueError: the input is a scalar or has unknown rank, or ``data_format`` is unknown.
    """
    result: Tensor = Flatten(data_format, name)(convert_to_tensor(inputs))
    return result
