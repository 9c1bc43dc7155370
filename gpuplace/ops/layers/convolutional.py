"""Convolution layers.

Sequences are convolved as images of height 1, as in TensorFlow.

Source: tensorflow/python/layers/convolutional.py, keras/layers/convolutional.py and ops/nn_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.array.padding import pad
from gpuplace.ops.layers.as_function import function_of
from gpuplace.ops.layers.base import Layer, require_rank
from gpuplace.ops.layers.by_name import activation_of, settings_of
from gpuplace.ops.nn.conv import conv2d as nn_conv2d
from gpuplace.ops.nn.conv import conv2d_transpose as nn_conv2d_transpose
from gpuplace.ops.nn.convolution import conv1d as nn_conv1d
from gpuplace.ops.nn.convolution import dilated
from gpuplace.ops.nn.depthwise import separable_conv2d as nn_separable_conv2d
from gpuplace.ops.nn.misc import bias_add
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.ops.variants import init_defaults
from gpuplace.shapes import as_shape
from gpuplace.typing import Function, InitializerLike, IntsLike, ShapeLike, TensorLike

__all__ = [
    "Conv1D", "Conv2D", "Conv2DTranspose", "SeparableConv1D", "SeparableConv2D", "conv1d", "conv2d", "conv2d_transpose",
    "separable_conv1d", "separable_conv2d",
]  # fmt: skip


def normalize_tuple(value: int | Iterable[int], n: int, name: str) -> tuple[int, ...]:
    """Return one integer per dimension, from a single integer or a sequence.

    Args:
        value: an integer or a sequence of integers.
        n: the number of dimensions.
        name: name of the argument.

    Raises:
        ValueError: the value is not an integer or ``n`` integers.
    """
    if isinstance(value, int):
        return (value,) * n
    wrong = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        values = tuple(value)
    except TypeError:
        raise ValueError(wrong) from None
    if len(values) != n:
        raise ValueError(wrong)
    for item in values:
        try:
            int(item)
        except (ValueError, TypeError):
            raise ValueError(f"{wrong} including element {item} of type {type(item)}") from None
    return values


def normalize_data_format(value: str | None) -> str:
    """Return ``"channels_first"`` or ``"channels_last"`` in lower case.

    Args:
        value: the format; None: ``"channels_last"``.

    Raises:
        ValueError: the format is unknown.
    """
    if value is None:
        return "channels_last"
    if value.lower() not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}'
        )
    return value.lower()


def normalize_padding(padding: Any, causal: bool = False) -> str:
    """Return a padding in lower case.

    Args:
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        causal: whether to accept ``"causal"``.

    Raises:
        ValueError: the padding is unknown.
    """
    lowered = padding.lower() if isinstance(padding, str) else padding
    if lowered not in ("valid", "same", "causal"):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D). '
            f"Received: {lowered}"
        )
    if lowered == "causal" and not causal:
        raise ValueError("Causal padding is only supported for `Conv1D`and ``SeparableConv1D`.")
    return str(lowered)


LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
"""Number of axes between batch and channels -> layouts with channels last and channels first."""


class ConvBase(Layer):
    """Base class of convolutions: kernel, bias, activation."""

    _rank = 2
    _main = "kernel"
    """Prefix of the kernel's attributes."""

    _config: tuple[str, ...] = (
        *(
            "filters",
            "kernel_size",
            "strides",
            "padding",
            "data_format",
            "dilation_rate",
            "activation",
            "use_bias",
        ),
        *("kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer"),
        *("activity_regularizer", "kernel_constraint", "bias_constraint"),
    )

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any,
        padding: str,
        data_format: str,
        dilation_rate: Any,
        activation: Any,
        use_bias: bool,
        kernel: tuple[Any, Any, Any],
        bias: tuple[Any, Any, Any],
        activity_regularizer: Any,
        trainable: bool,
        name: str | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = normalize_tuple(kernel_size, self._rank, "kernel_size")
        self.strides = normalize_tuple(strides, self._rank, "strides")
        self.dilation_rate = normalize_tuple(dilation_rate, self._rank, "dilation_rate")
        self.padding = normalize_padding(padding, causal=self._rank == 1)
        self.data_format = normalize_data_format(data_format)
        self._first = self.data_format == "channels_first"
        self._layout, self._order = LAYOUTS[self._rank][self._first], LAYOUTS[2][self._first]
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self._of_kernel, self._of_bias = settings_of(kernel), settings_of(bias)
        for variable, settings in ((self._main, self._of_kernel), ("bias", self._of_bias)):
            for label, value in zip(("initializer", "regularizer", "constraint"), settings, strict=True):
                setattr(self, f"{variable}_{label}", value)
        self.kernel: Any = None
        self.bias: Any = None

    @property
    def _is_dilated(self) -> bool:
        return any(rate != 1 for rate in self.dilation_rate)

    def _check(self, inputs: TensorLike) -> None:
        require_rank(inputs, self, rank=self._rank + 2)

    def _channels(self, input_shape: Any) -> int:
        size = as_shape(input_shape)[1 if self._first else -1].value
        if size is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        return int(size)

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, channels, self.filters)

    def _add_parameter(self, name: str, shape: ShapeLike, settings: tuple[Any, Any, Any]) -> Any:
        initializer, regularizer, constraint = settings
        return self.add_variable(name, shape, None, initializer, regularizer, constraint=constraint)

    def _build_kernels(self, channels: int) -> None:
        self.kernel = self._add_parameter("kernel", self._kernel_shape(channels), self._of_kernel)

    def build(self, input_shape: TensorLike) -> None:
        """Make the kernel and the bias.

        Args:
            input_shape: a shape with a static number of channels.

        Raises:
            ValueError: the number of channels is unknown.
        """
        self._build_kernels(self._channels(input_shape))
        if self.use_bias:
            self.bias = self._add_parameter("bias", [self.filters], self._of_bias)
        self._after_build()
        self.built = True

    def _after_build(self) -> None:
        """Hook for other operations that TensorFlow adds after the variables."""

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Convolve, add the bias and apply the activation.

        Args:
            inputs: images or sequences.
            *args: unused.
            **kwargs: unused.
        """
        outputs = self._convolve(inputs)
        return outputs if self.activation is None else self.activation(outputs)

    def _convolve(self, inputs: TensorLike) -> Tensor:
        raise NotImplementedError

    def _biased(self, outputs: Any) -> Any:
        return outputs if self.bias is None else bias_add(outputs, self.bias, data_format=self._order)

    def _causal(self, inputs: TensorLike) -> Any:
        """Return sequences with leading zeros for ``"causal"``."""
        if self.padding != "causal":
            return inputs
        before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        pads = [[0, 0], [0, 0], [before, 0]] if self._first else [[0, 0], [before, 0], [0, 0]]
        return pad(inputs, pads)

    @property
    def _op_padding(self) -> str:
        return "VALID" if self.padding == "causal" else self.padding.upper()


class DilatedConv(ConvBase):
    """Base class of convolutions with dilations; the defaults are for one axis."""

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: IntsLike = 1,
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
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            (kernel_initializer, kernel_regularizer, kernel_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            activity_regularizer,
            trainable,
            name,
            **kwargs,
        )

    def _after_build(self) -> None:
        self._rates = constant.constant(self.dilation_rate, "int32", name="dilation_rate")


@init_defaults(strides=(1, 1), dilation_rate=(1, 1))
class Conv2D(DilatedConv):
    """2D convolution layer: ``activation(conv2d(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> tf.layers.conv2d(tf.zeros([8, 32, 32, 3]), filters=16, kernel_size=5).shape
    TensorShape([Dimension(8), Dimension(28), Dimension(28), Dimension(16)])

    Args:
        filters: number of output channels.
        kernel_size: rows and columns of the window, one or two integers.
        strides: steps of the window in pixels: one or two integers.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: spacing of the window's rows and columns in pixels: one or two integers.
        activation: a function from tensor to tensor, or None.
        use_bias: whether to add a bias.
        kernel_initializer: initializer of the kernel, ``[rows, columns, in_channels, filters]``; None: the scope's.
        bias_initializer: initializer of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: function from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: function from the bias to a scalar loss; None: the scope's.
        activity_regularizer: function from the output to a scalar loss.
        kernel_constraint: a function that optimizers apply to the value after an update.
        bias_constraint: the same for the bias.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the number of channels is unknown, the window does not fit, an argument is invalid, or
            variables may not be shared.
        UnimplementedError: at run time, ``"channels_first"`` on a CPU.
    """

    def _convolve(self, inputs: Any) -> Tensor:
        padding = self.padding.upper()
        if self._is_dilated:
            outputs = dilated(inputs, self.kernel, self.strides, self._rates, padding, self._order, None)
        else:
            outputs = nn_conv2d(
                inputs,
                self.kernel,
                strides=self.strides,
                padding=padding,
                data_format=self._order,
                name="Conv2D",
            )
        result: Tensor = self._biased(outputs)
        return result


@init_defaults()
class Conv1D(DilatedConv):
    """1D convolution layer: ``activation(convolution of sequences + bias)``.

    >>> import gpuplace as tf
    >>> tf.layers.conv1d(tf.zeros([8, 100, 3]), filters=16, kernel_size=5, padding="causal").shape
    TensorShape([Dimension(8), Dimension(100), Dimension(16)])

    Args:
        filters: number of output channels.
        kernel_size: length of the window, an integer.
        strides: step of the window, an integer.
        padding: ``"valid"``, ``"same"``, or ``"causal"``, for which no output depends on later inputs.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: spacing of the window's elements, an integer.
        activation: a function from tensor to tensor, or None.
        use_bias: whether to add a bias.
        kernel_initializer: initializer of the kernel, ``[length, in_channels, filters]``; None: the scope's.
        bias_initializer: initializer of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: function from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: function from the bias to a scalar loss; None: the scope's.
        activity_regularizer: function from the output to a scalar loss.
        kernel_constraint: a function that optimizers apply to the value after an update.
        bias_constraint: the same for the bias.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the number of channels is unknown, the window does not fit, an argument is invalid, or
            variables may not be shared.
        UnimplementedError: at run time, ``"channels_first"`` on a CPU.
    """

    _rank = 1

    def _convolve(self, inputs: Any) -> Tensor:
        inputs = self._causal(inputs)
        padding, layout = self._op_padding, self._layout
        if self._is_dilated:
            outputs = dilated(inputs, self.kernel, self.strides, self._rates, padding, layout, None)
        else:
            outputs = nn_conv1d(inputs, self.kernel, self.strides[0], padding, data_format=layout)
        if self._first and self.bias is not None:
            return outputs + reshaping.reshape(self.bias, (1, self.filters, 1))
        result: Tensor = self._biased(outputs)
        return result


class TransposedConv(ConvBase):
    """Base class of transposed convolutions: the sizes of their outputs."""

    _config = tuple(name for name in ConvBase._config if name != "dilation_rate")

    _transposed: Callable[..., Any]

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = (1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
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
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            1,
            activation,
            use_bias,
            (kernel_initializer, kernel_regularizer, kernel_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            activity_regularizer,
            trainable,
            name,
            **kwargs,
        )

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, self.filters, channels)

    def _length(self, size: Any, axis: int) -> Any:
        """Return the output size; a tensor for a tensor."""
        if size is None:
            return None
        size = size * self.strides[axis]
        if self.padding == "valid":
            size = size + max(self.kernel_size[axis] - self.strides[axis], 0)
        return size

    def _convolve(self, inputs: Any) -> Tensor:
        sizes = reshaping.shape(inputs)
        batch = sizes[0]
        start = 2 if self._first else 1
        lengths = [sizes[start + axis] for axis in range(self._rank)]
        space = [self._length(size, axis) for axis, size in enumerate(lengths)]
        output_shape = [batch, self.filters, *space] if self._first else [batch, *space, self.filters]
        stacked = joining.stack(output_shape)
        if self._rank == 2:
            stacked[0]  # unused, but TensorFlow also leaves this node in the graph
        outputs = self._transposed(
            inputs,
            self.kernel,
            stacked,
            strides=(1, 1, *self.strides) if self._first else (1, *self.strides, 1),
            padding=self.padding.upper(),
            data_format=self._layout,
        )
        static = [self._length(inputs.shape[start + axis].value, axis) for axis in range(self._rank)]
        first = inputs.shape[0].value
        outputs.set_shape([first, self.filters, *static] if self._first else [first, *static, self.filters])
        result: Tensor = self._biased(outputs)
        return result


@init_defaults()
class Conv2DTranspose(TransposedConv):
    """2D transposed convolution layer, which upsamples images: ``activation(conv2d_transpose(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> tf.layers.conv2d_transpose(tf.zeros([8, 7, 7, 64]), 32, 5, strides=2, padding="same").shape
    TensorShape([Dimension(8), Dimension(14), Dimension(14), Dimension(32)])

    Args:
        filters: number of output channels.
        kernel_size: rows and columns of the window, one or two integers.
        strides: upsampling factors: one or two integers.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        activation: a function from tensor to tensor, or None.
        use_bias: whether to add a bias.
        kernel_initializer: initializer of the kernel, ``[rows, columns, filters, in_channels]``; None: the scope's.
        bias_initializer: initializer of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: function from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: function from the bias to a scalar loss; None: the scope's.
        activity_regularizer: function from the output to a scalar loss.
        kernel_constraint: a function that optimizers apply to the value after an update.
        bias_constraint: the same for the bias.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the number of channels is unknown, an argument is invalid, or variables may not be shared.
        UnimplementedError: at run time, ``"channels_first"`` on a CPU.
    """

    _transposed = staticmethod(nn_conv2d_transpose)


class _Separable(ConvBase):
    """Base class of separable convolutions: two kernels; the defaults are for one axis."""

    _main = "depthwise"
    _config = (
        *(name for name in ConvBase._config if not name.startswith("kernel_") or name == "kernel_size"),
        *("depth_multiplier", "depthwise_initializer", "pointwise_initializer", "depthwise_regularizer"),
        *("pointwise_regularizer", "depthwise_constraint", "pointwise_constraint"),
    )

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: IntsLike = 1,
        depth_multiplier: int = 1,
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        depthwise_initializer: InitializerLike | None = None,
        pointwise_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = Zeros,
        depthwise_regularizer: Function | None = None,
        pointwise_regularizer: Function | None = None,
        bias_regularizer: Function | None = None,
        activity_regularizer: Function | None = None,
        depthwise_constraint: Function | None = None,
        pointwise_constraint: Function | None = None,
        bias_constraint: Function | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            (depthwise_initializer, depthwise_regularizer, depthwise_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            activity_regularizer,
            trainable,
            name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self._of_point = settings_of((pointwise_initializer, pointwise_regularizer, pointwise_constraint))
        self.pointwise_initializer, self.pointwise_regularizer, self.pointwise_constraint = self._of_point
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def _build_kernels(self, channels: int) -> None:
        many = self.depth_multiplier
        depth = (*self.kernel_size, channels, many)
        self.depthwise_kernel = self._add_parameter("depthwise_kernel", depth, self._of_kernel)
        point = (*(1,) * self._rank, many * channels, self.filters)
        self.pointwise_kernel = self._add_parameter("pointwise_kernel", point, self._of_point)


@init_defaults(strides=(1, 1), dilation_rate=(1, 1))
class SeparableConv2D(_Separable):
    """2D separable convolution layer: a depthwise and a 1x1 convolution, a bias and an activation.

    Args:
        filters: number of output channels.
        kernel_size: rows and columns of the window, one or two integers.
        strides: steps of the window in pixels: one integer, or two equal ones.
        padding: ``"valid"`` or ``"same"``, in upper or lower case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: spacing of the window's rows and columns in pixels: one or two integers.
        depth_multiplier: number of filters per input channel.
        activation: a function from tensor to tensor, or None.
        use_bias: whether to add a bias.
        depthwise_initializer: initializer of ``[rows, columns, in_channels, depth_multiplier]``; None: the scope's.
        pointwise_initializer: initializer of ``[1, 1, in_channels * depth_multiplier, filters]``; None: the scope's.
        bias_initializer: initializer of the bias, ``[filters]``; None: the scope's.
        depthwise_regularizer: function from the depthwise kernel to a scalar loss; None: the scope's.
        pointwise_regularizer: function from the pointwise kernel to a scalar loss; None: the scope's.
        bias_regularizer: function from the bias to a scalar loss; None: the scope's.
        activity_regularizer: function from the output to a scalar loss.
        depthwise_constraint: a function that optimizers apply to the value after an update.
        pointwise_constraint: the same for the pointwise kernel.
        bias_constraint: the same for the bias.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the number of channels is unknown, the window does not fit, an argument is invalid, or
            variables may not be shared.
        UnimplementedError: at run time, ``"channels_first"`` on a CPU.
    """

    def _convolve(self, inputs: TensorLike) -> Tensor:
        outputs = nn_separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            strides=(1, 1, *self.strides) if self._first else (1, *self.strides, 1),
            padding=self.padding.upper(),
            rate=self.dilation_rate,
            data_format=self._order,
        )
        result: Tensor = self._biased(outputs)
        return result


@init_defaults()
class SeparableConv1D(_Separable):
    """1D separable convolution layer: a depthwise convolution and one of length 1, a bias and an activation.

    Args:
        filters: number of output channels.
        kernel_size: length of the window, an integer.
        strides: step of the window, an integer.
        padding: ``"valid"``, ``"same"``, or ``"causal"``, for which no output depends on later inputs.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: spacing of the window's elements, an integer.
        depth_multiplier: number of filters per input channel.
        activation: a function from tensor to tensor, or None.
        use_bias: whether to add a bias.
        depthwise_initializer: initializer of ``[length, in_channels, depth_multiplier]``; None: the scope's.
        pointwise_initializer: initializer of ``[1, in_channels * depth_multiplier, filters]``; None: the scope's.
        bias_initializer: initializer of the bias, ``[filters]``; None: the scope's.
        depthwise_regularizer: function from the depthwise kernel to a scalar loss; None: the scope's.
        pointwise_regularizer: function from the pointwise kernel to a scalar loss; None: the scope's.
        bias_regularizer: function from the bias to a scalar loss; None: the scope's.
        activity_regularizer: function from the output to a scalar loss.
        depthwise_constraint: a function that optimizers apply to the value after an update.
        pointwise_constraint: the same for the pointwise kernel.
        bias_constraint: the same for the bias.
        trainable: whether to add the variables to the trainable variables.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: arguments of ``Layer``.

    Raises:
        TypeError: the inputs have an unsupported dtype.
        ValueError: the number of channels is unknown, the window does not fit, an argument is invalid, or
            variables may not be shared.
        UnimplementedError: at run time, ``"channels_first"`` on a CPU.
    """

    _rank = 1

    def _convolve(self, inputs: TensorLike) -> Tensor:
        inputs = self._causal(inputs)
        axis = 2 if self._first else 1
        steps = self.strides * 2
        images = reshaping.expand_dims(inputs, axis)
        depth = reshaping.expand_dims(self.depthwise_kernel, 0)
        point = reshaping.expand_dims(self.pointwise_kernel, 0)
        outputs = nn_separable_conv2d(
            images,
            depth,
            point,
            strides=(1, 1, *steps) if self._first else (1, *steps, 1),
            padding=self._op_padding,
            rate=(1, *self.dilation_rate),
            data_format=self._order,
        )
        return reshaping.squeeze(self._biased(outputs), [axis])


conv1d = function_of(Conv1D, "conv1d")
conv2d = function_of(Conv2D, "conv2d")
conv2d_transpose = function_of(Conv2DTranspose, "conv2d_transpose")
separable_conv1d = function_of(SeparableConv1D, "separable_conv1d")
separable_conv2d = function_of(SeparableConv2D, "separable_conv2d")
