"""Convolutions as layers.

One axis is convolved as two, the first of size 1, as TensorFlow does it.

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
    """As many integers as there are dimensions, of one for all of them or of a sequence.

    Args:
        value: the integer or integers.
        n: how many there have to be.
        name: what the argument is called.

    Raises:
        ValueError: there are others, or something else.
    """
    if isinstance(value, int):
        return (value,) * n
    wrong = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        made = tuple(value)
    except TypeError:
        raise ValueError(wrong) from None
    if len(made) != n:
        raise ValueError(wrong)
    for one in made:
        try:
            int(one)
        except (ValueError, TypeError):
            raise ValueError(f"{wrong} including element {one} of type {type(one)}") from None
    return made


def normalize_data_format(value: str | None) -> str:
    """``"channels_first"`` or ``"channels_last"``, in small letters.

    Args:
        value: the text; None: ``"channels_last"``.

    Raises:
        ValueError: it is neither.
    """
    if value is None:
        return "channels_last"
    if value.lower() not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}'
        )
    return value.lower()


def normalize_padding(padding: Any, causal: bool = False) -> str:
    """A padding in small letters.

    Args:
        padding: ``"valid"`` or ``"same"``, in either case.
        causal: ``"causal"`` is one, too.

    Raises:
        ValueError: it is none.
    """
    found = padding.lower() if isinstance(padding, str) else padding
    if found not in ("valid", "same", "causal"):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D). '
            f"Received: {found}"
        )
    if found == "causal" and not causal:
        raise ValueError("Causal padding is only supported for `Conv1D`and ``SeparableConv1D`.")
    return str(found)


LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
"""By the number of axes between batch and channels: how ops call the layouts with channels last and first."""


class ConvBase(Layer):
    """What convolutions share: kernel, bias, activation."""

    _rank = 2
    _main = "kernel"
    """What the attributes of the kernel's settings are named after."""

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
            for what, value in zip(("initializer", "regularizer", "constraint"), settings, strict=True):
                setattr(self, f"{variable}_{what}", value)
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

    def _made(self, name: str, shape: ShapeLike, settings: tuple[Any, Any, Any]) -> Any:
        initializer, regularizer, constraint = settings
        return self.add_variable(name, shape, None, initializer, regularizer, constraint=constraint)

    def _build_kernels(self, channels: int) -> None:
        self.kernel = self._made("kernel", self._kernel_shape(channels), self._of_kernel)

    def build(self, input_shape: TensorLike) -> None:
        """Makes the kernel and the bias.

        Args:
            input_shape: of a known number of channels.

        Raises:
            ValueError: it is not known.
        """
        self._build_kernels(self._channels(input_shape))
        if self.use_bias:
            self.bias = self._made("bias", [self.filters], self._of_bias)
        self._after_build()
        self.built = True

    def _after_build(self) -> None:
        """What TensorFlow makes along with the variables."""

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Convolves, adds the bias and activates.

        Args:
            inputs: images, or sequences.
            *args: nothing.
            **kwargs: nothing.
        """
        outputs = self._convolve(inputs)
        return outputs if self.activation is None else self.activation(outputs)

    def _convolve(self, inputs: TensorLike) -> Tensor:
        raise NotImplementedError

    def _biased(self, outputs: Any) -> Any:
        return outputs if self.bias is None else bias_add(outputs, self.bias, data_format=self._order)

    def _causal(self, inputs: TensorLike) -> Any:
        """Sequences with zeros in front, for ``"causal"``."""
        if self.padding != "causal":
            return inputs
        before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        pads = [[0, 0], [0, 0], [before, 0]] if self._first else [[0, 0], [before, 0], [0, 0]]
        return pad(inputs, pads)

    @property
    def _op_padding(self) -> str:
        return "VALID" if self.padding == "causal" else self.padding.upper()


class DilatedConv(ConvBase):
    """What convolutions share that may be dilated; its defaults are those of one axis."""

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
    """``activation(conv2d(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> tf.layers.conv2d(tf.zeros([8, 32, 32, 3]), filters=16, kernel_size=5).shape
    TensorShape([Dimension(8), Dimension(28), Dimension(28), Dimension(16)])

    Args:
        filters: number of output channels.
        kernel_size: rows and columns of the window, one or two integers.
        strides: how far the window moves, in pixels: one or two integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: distance of the window's rows and columns in pixels: one or two integers.
        activation: a function from tensor to tensor; None: nothing more is done.
        use_bias: add a bias.
        kernel_initializer: of the kernel, ``[rows, columns, in_channels, filters]``; None: the scope's.
        bias_initializer: of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: from the bias to a scalar loss; None: the scope's.
        activity_regularizer: from the output to a scalar loss.
        kernel_constraint: a function from the value to a value, applied by optimizers after an update.
        bias_constraint: the same for the bias.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        TypeError: the inputs have another dtype.
        ValueError: the number of channels is not known, the window does not fit, an argument has another value, or
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
    """``activation(convolution of sequences + bias)``.

    >>> import gpuplace as tf
    >>> tf.layers.conv1d(tf.zeros([8, 100, 3]), filters=16, kernel_size=5, padding="causal").shape
    TensorShape([Dimension(8), Dimension(100), Dimension(16)])

    Args:
        filters: number of output channels.
        kernel_size: length of the window, an integer.
        strides: how far the window moves, an integer.
        padding: ``"valid"``, ``"same"``, or ``"causal"``, by which no output depends on later inputs.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: distance of the window's elements, an integer.
        activation: a function from tensor to tensor; None: nothing more is done.
        use_bias: add a bias.
        kernel_initializer: of the kernel, ``[length, in_channels, filters]``; None: the scope's.
        bias_initializer: of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: from the bias to a scalar loss; None: the scope's.
        activity_regularizer: from the output to a scalar loss.
        kernel_constraint: a function from the value to a value, applied by optimizers after an update.
        bias_constraint: the same for the bias.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        TypeError: the inputs have another dtype.
        ValueError: the number of channels is not known, the window does not fit, an argument has another value, or
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
    """What transposed convolutions share: the sizes of what they give."""

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
        """The size after; a tensor for a tensor."""
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
        wanted = [batch, self.filters, *space] if self._first else [batch, *space, self.filters]
        stacked = joining.stack(wanted)
        if self._rank == 2:
            stacked[0]  # TensorFlow looks at it, which leaves a node
        outputs = self._transposed(
            inputs,
            self.kernel,
            stacked,
            strides=(1, 1, *self.strides) if self._first else (1, *self.strides, 1),
            padding=self.padding.upper(),
            data_format=self._layout,
        )
        known = [self._length(inputs.shape[start + axis].value, axis) for axis in range(self._rank)]
        first = inputs.shape[0].value
        outputs.set_shape([first, self.filters, *known] if self._first else [first, *known, self.filters])
        result: Tensor = self._biased(outputs)
        return result


@init_defaults()
class Conv2DTranspose(TransposedConv):
    """``activation(conv2d_transpose(inputs, kernel) + bias)``: makes larger images of small ones.

    >>> import gpuplace as tf
    >>> tf.layers.conv2d_transpose(tf.zeros([8, 7, 7, 64]), 32, 5, strides=2, padding="same").shape
    TensorShape([Dimension(8), Dimension(14), Dimension(14), Dimension(32)])

    Args:
        filters: number of output channels.
        kernel_size: rows and columns of the window, one or two integers.
        strides: by how much larger the images become: one or two integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        activation: a function from tensor to tensor; None: nothing more is done.
        use_bias: add a bias.
        kernel_initializer: of the kernel, ``[rows, columns, filters, in_channels]``; None: the scope's.
        bias_initializer: of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: from the bias to a scalar loss; None: the scope's.
        activity_regularizer: from the output to a scalar loss.
        kernel_constraint: a function from the value to a value, applied by optimizers after an update.
        bias_constraint: the same for the bias.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        TypeError: the inputs have another dtype.
        ValueError: the number of channels is not known, an argument has another value, or variables may not be shared.
        UnimplementedError: at run time, ``"channels_first"`` on a CPU.
    """

    _transposed = staticmethod(nn_conv2d_transpose)


class _Separable(ConvBase):
    """What separable convolutions share: two kernels; its defaults are those of one axis."""

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
        self.depthwise_kernel = self._made("depthwise_kernel", depth, self._of_kernel)
        point = (*(1,) * self._rank, many * channels, self.filters)
        self.pointwise_kernel = self._made("pointwise_kernel", point, self._of_point)


@init_defaults(strides=(1, 1), dilation_rate=(1, 1))
class SeparableConv2D(_Separable):
    """A depthwise convolution followed by a 1x1 one that mixes the channels, a bias and an activation.

    Args:
        filters: number of output channels.
        kernel_size: rows and columns of the window, one or two integers.
        strides: how far the window moves, in pixels: one or two equal integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: distance of the window's rows and columns in pixels: one or two integers.
        depth_multiplier: filters of each input channel.
        activation: a function from tensor to tensor; None: nothing more is done.
        use_bias: add a bias.
        depthwise_initializer: of the depthwise kernel, ``[rows, columns, in_channels, depth_multiplier]``; None: the
            scope's.
        pointwise_initializer: of the pointwise kernel, ``[1, 1, in_channels * depth_multiplier, filters]``; None: the
            scope's.
        bias_initializer: of the bias, ``[filters]``; None: the scope's.
        depthwise_regularizer: from the depthwise kernel to a scalar loss; None: the scope's.
        pointwise_regularizer: from the pointwise kernel to a scalar loss; None: the scope's.
        bias_regularizer: from the bias to a scalar loss; None: the scope's.
        activity_regularizer: from the output to a scalar loss.
        depthwise_constraint: a function from the value to a value, applied by optimizers after an update.
        pointwise_constraint: the same for the pointwise kernel.
        bias_constraint: the same for the bias.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        TypeError: the inputs have another dtype.
        ValueError: the number of channels is not known, the window does not fit, an argument has another value, or
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
    """A depthwise convolution of sequences followed by one of length 1 that mixes the channels.

    Args:
        filters: number of output channels.
        kernel_size: length of the window, an integer.
        strides: how far the window moves, an integer.
        padding: ``"valid"``, ``"same"``, or ``"causal"``, by which no output depends on later inputs.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: distance of the window's elements, an integer.
        depth_multiplier: filters of each input channel.
        activation: a function from tensor to tensor; None: nothing more is done.
        use_bias: add a bias.
        depthwise_initializer: of the depthwise kernel, ``[length, in_channels, depth_multiplier]``; None: the scope's.
        pointwise_initializer: of the pointwise kernel, ``[1, in_channels * depth_multiplier, filters]``; None: the
            scope's.
        bias_initializer: of the bias, ``[filters]``; None: the scope's.
        depthwise_regularizer: from the depthwise kernel to a scalar loss; None: the scope's.
        pointwise_regularizer: from the pointwise kernel to a scalar loss; None: the scope's.
        bias_regularizer: from the bias to a scalar loss; None: the scope's.
        activity_regularizer: from the output to a scalar loss.
        depthwise_constraint: a function from the value to a value, applied by optimizers after an update.
        pointwise_constraint: the same for the pointwise kernel.
        bias_constraint: the same for the bias.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: that of the function, made unique.
        **kwargs: those of ``Layer``.

    Raises:
        TypeError: the inputs have another dtype.
        ValueError: the number of channels is not known, the window does not fit, an argument has another value, or
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
