"""Initializers of variables: callables that build the operations of an initial value from a shape.

An initializer is called inside the scope ``<variable>/Initializer``, so that the variable ``w`` of
``glorot_uniform_initializer()`` gets ``w/Initializer/random_uniform/shape`` and so on.

Source: tensorflow/python/ops/init_ops.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype, float32
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.math import elementwise, unary
from gpuplace.ops.math.factorization import qr
from gpuplace.ops.random import random_ops
from gpuplace.shapes import as_shape
from gpuplace.typing import DTypeLike, SizesLike, TensorLike

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "Identity",
    "Initializer",
    "Ones",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "UniformUnitScaling",
    "VarianceScaling",
    "Zeros",
    "constant_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "he_normal",
    "he_uniform",
    "identity_initializer",
    "lecun_normal",
    "lecun_uniform",
    "ones_initializer",
    "orthogonal_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "truncated_normal_initializer",
    "uniform_unit_scaling_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
]

_TRUNCATED_STDDEV = 0.87962566103423978
"""Standard deviation of a standard normal distribution truncated at two standard deviations."""


class Initializer:
    """Base class of all initializers."""

    def __call__(
        self, shape: SizesLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """Build the initial value of a variable.

        Args:
            shape: the shape, a list of sizes or a fully defined ``TensorShape``.
            dtype: the dtype; None: the initializer's own.
            partition_info: the part of a partitioned variable to initialize, or None.

        Returns:
            A tensor of that shape and dtype.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {
            name.lstrip("_"): value.name if isinstance(value, DType) else value
            for name, value in vars(self).items()
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Return the initializer that ``get_config`` describes.

        Args:
            config: the class's arguments by name.

        Returns:
            An initializer of this class.
        """
        return cls(**config)


class Zeros(Initializer):
    """Initialize with zeros.

    Args:
        dtype: default dtype; any type.
    """

    def __init__(self, dtype: DTypeLike = float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: SizesLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """Return zeros of ``shape``."""
        return constant.zeros(shape, self.dtype if dtype is None else dtype)


class Ones(Initializer):
    """Initialize with ones.

    Args:
        dtype: default dtype; numbers or bool.
    """

    def __init__(self, dtype: DTypeLike = float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: SizesLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """Return ones of ``shape``."""
        return constant.ones(shape, self.dtype if dtype is None else dtype)


class Constant(Initializer):
    """Initialize with a given value; its last element fills the rest of a larger shape.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.constant_initializer([1, 2])([4]))
    array([1., 2., 2., 2.], dtype=float32)

    Args:
        value: a Python scalar, list, tuple or NumPy array.
        dtype: default dtype.
        verify_shape: whether ``value`` must have the requested shape; otherwise TypeError.

    Raises:
        TypeError: the value is not a scalar, list or array.
        ValueError: at the call, ``value`` has more elements than the shape.
    """

    def __init__(self, value: TensorLike = 0, dtype: DTypeLike = float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or "
            )
        self.value = value
        self.dtype = as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: DTypeLike | None = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
    ) -> Tensor:
        """Return a constant of ``shape``.

        Args:
            shape: the shape.
            dtype: the dtype; None: the initializer's own.
            partition_info: ignored.
            verify_shape: as for the class; None: the initializer's setting.

        Returns:
            A tensor of that shape and dtype.

        Raises:
            TypeError: with ``verify_shape``, the value has another shape.
            ValueError: the value has more elements than the shape.
        """
        return constant.constant(
            self.value,
            dtype=self.dtype if dtype is None else dtype,
            shape=shape,
            verify_shape=self._verify_shape if verify_shape is None else verify_shape,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    """Initialize with uniform random values between ``minval`` and ``maxval``.

    Args:
        minval: the lower bound, a number or scalar tensor.
        maxval: the upper bound, exclusive; None: 1, for floating types only.
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: default dtype: floating, int32 or int64.

    Raises:
        ValueError: at the call, the type is an integer and ``maxval`` is None.
    """

    def __init__(
        self,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: SizesLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """Return random values of ``shape``."""
        dtype = self.dtype if dtype is None else dtype
        return random_ops.random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


class _Normal(Initializer):
    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = floating(dtype)


class RandomNormal(_Normal):
    """Initialize with normally distributed random values.

    Args:
        mean: mean, a number or scalar tensor.
        stddev: standard deviation, a number or scalar tensor.
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: default floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating.
    """

    def __call__(
        self, shape: SizesLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """Return random values of ``shape``."""
        dtype = self.dtype if dtype is None else dtype
        return random_ops.random_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class TruncatedNormal(_Normal):
    """Initialize with truncated normal random values: values beyond two standard deviations are redrawn.

    Args:
        mean: mean, a number or scalar tensor.
        stddev: standard deviation before truncation, a number or scalar tensor.
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: default floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating.
    """

    def __call__(
        self, shape: SizesLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """Return random values of ``shape``."""
        dtype = self.dtype if dtype is None else dtype
        return random_ops.truncated_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class UniformUnitScaling(Initializer):
    """Initialize uniformly within ``+-sqrt(3 / fan_in) * factor``, which preserves the variance of a layer's input.

    Deprecated in TensorFlow in favor of ``variance_scaling_initializer``.

    Args:
        factor: factor of the bounds, a number.
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: default floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating.
    """

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype = floating(dtype)

    def __call__(
        self, shape: SizesLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """Return random values of ``shape``."""
        dtype = self.dtype if dtype is None else dtype
        sizes = _full_shape(shape, partition_info)
        fan_in = max(1.0, float(math.prod(sizes[:-1])))
        limit = math.sqrt(3 / fan_in) * self.factor
        return random_ops.random_uniform(shape, -limit, limit, dtype, seed=self.seed)


class VarianceScaling(Initializer):
    """Initialize with random values of variance ``scale / n``.

    Args:
        scale: positive factor.
        mode: the meaning of ``n``: ``fan_in``, ``fan_out`` or their mean, ``fan_avg``.
        distribution: ``normal`` (the same as ``truncated_normal``), ``untruncated_normal`` or ``uniform``.
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: default floating dtype.

    Raises:
        ValueError: an argument has an invalid value.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Invalid `mode` argument:", mode)
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Invalid `distribution` argument:", distribution)
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed
        self.dtype = floating(dtype)

    def __call__(
        self, shape: SizesLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """Return random values of ``shape``."""
        dtype = self.dtype if dtype is None else dtype
        fan_in, fan_out = fans(_full_shape(shape, partition_info))
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution in ("normal", "truncated_normal"):
            stddev = math.sqrt(variance) / _TRUNCATED_STDDEV
            return random_ops.truncated_normal(shape, 0.0, stddev, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        limit = math.sqrt(3.0 * variance)
        return random_ops.random_uniform(shape, -limit, limit, dtype, seed=self.seed)


class _Glorot(VarianceScaling):
    _distribution: str

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(1.0, "fan_avg", self._distribution, seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotUniform(_Glorot):
    """Initialize uniformly within ``+-sqrt(6 / (fan_in + fan_out))``.

    Args:
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: default floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating.
    """

    _distribution = "uniform"


class GlorotNormal(_Glorot):
    """Initialize with a truncated normal distribution of variance ``2 / (fan_in + fan_out)``.

    Args:
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: default floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating.
    """

    _distribution = "truncated_normal"


class Orthogonal(Initializer):
    """Initialize with an orthogonal matrix, from the QR decomposition of a random one; leading dimensions become rows.

    Args:
        gain: factor of the matrix, a number.
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: default floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating; at the call, the shape has fewer than two dimensions.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None) -> Tensor:
        """Return a matrix with orthogonal rows or columns as ``shape``; raise ValueError below two dimensions."""
        dtype = self.dtype if dtype is None else dtype
        sizes = [int(size) for size in shape]
        if len(sizes) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        flat = (max(columns, rows), min(columns, rows))
        normal = random_ops.random_normal(flat, dtype=dtype, seed=self.seed)
        q, r = qr(normal)
        diagonal = apply_op("DiagPart", input=r).outputs[0]
        q = elementwise.multiply(q, unary.sign(diagonal), name="mul")
        if rows < columns:
            q = apply_op("Transpose", "matrix_transpose/transpose", x=q, perm=[1, 0]).outputs[0]
        return self.gain * reshaping.reshape(q, sizes)


class Identity(Initializer):
    """Initialize with the identity matrix times ``gain``.

    Args:
        gain: factor of the matrix, a number.
        dtype: default floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating; at the call, the shape is not two-dimensional.
    """

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = float32) -> None:
        self.gain = gain
        self.dtype = floating(dtype)

    def __call__(
        self, shape: SizesLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """Return the matrix; raise ValueError if ``shape`` is not two-dimensional."""
        sizes = _full_shape(shape, partition_info)
        if len(sizes) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        dtype = self.dtype if dtype is None else dtype
        diagonal = constant.eye(sizes[0], sizes[1], dtype=dtype)
        if partition_info is not None:
            diagonal = apply_op(
                "Slice",
                input=diagonal,
                begin=partition_info.var_offset,
                size=_full_shape(shape, None),
            ).outputs[0]
        return self.gain * diagonal


def floating(dtype: DTypeLike) -> DType:
    """Return a floating dtype; raise ValueError for any other."""
    kind = as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"Expected floating point type, got {kind}.")
    return kind


def _full_shape(shape: Any, partition_info: Any) -> list[int]:
    sizes = shape if partition_info is None else partition_info.full_shape
    return [int(size) for size in as_shape(sizes)]


def fans(shape: list[int]) -> tuple[float, float]:
    """Return the fan-in and fan-out of a layer with weights of that shape."""
    if not shape:
        return 1.0, 1.0
    if len(shape) == 1:
        return float(shape[0]), float(shape[0])
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


def he_normal(seed: int | None = None) -> Initializer:
    """Return an initializer with a truncated normal distribution of variance ``2 / fan_in``.

    Args:
        seed: seed of the random op; None: see ``set_random_seed``.

    Returns:
        An ``Initializer`` of float32.
    """
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> Initializer:
    """Return an initializer with a uniform distribution within ``+-sqrt(6 / fan_in)``.

    Args:
        seed: seed of the random op; None: see ``set_random_seed``.

    Returns:
        An ``Initializer`` of float32.
    """
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> Initializer:
    """Return an initializer with a truncated normal distribution of variance ``1 / fan_in``.

    Args:
        seed: seed of the random op; None: see ``set_random_seed``.

    Returns:
        An ``Initializer`` of float32.
    """
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> Initializer:
    """Return an initializer with a uniform distribution within ``+-sqrt(3 / fan_in)``.

    Args:
        seed: seed of the random op; None: see ``set_random_seed``.

    Returns:
        An ``Initializer`` of float32.
    """
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
orthogonal_initializer = Orthogonal
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
identity_initializer = Identity
