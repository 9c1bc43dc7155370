"""Wrappers of cells: dropout, residual connections, devices.

Source: tensorflow/python/ops/rnn_cell_impl.py and rnn_cell_wrapper_impl.py, release 1.15.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.array import joining
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.math import unary
from gpuplace.ops.math.division import div
from gpuplace.ops.nn.misc import dropout
from gpuplace.ops.random.random_ops import random_uniform
from gpuplace.ops.rnn.cells import LSTMStateTuple, RNNCell, require_cell
from gpuplace.ops.rnn.function_texts import function_from, function_texts
from gpuplace.ops.tracking.base import Trackable
from gpuplace.shapes import as_shape
from gpuplace.typing import DeviceLike, DTypeLike, Function, TensorLike

__all__ = ["DeviceWrapper", "DropoutWrapper", "ResidualWrapper"]


class _Wrapper(RNNCell):
    """Base class of cells that wrap another cell."""

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        require_cell("cell", cell)
        self.cell = cell
        if isinstance(cell, Trackable):
            self._track_trackable(cell, name="cell")

    @property
    def wrapped_cell(self) -> Any:
        """The wrapped cell."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """The state size of the wrapped cell."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """The output size of the wrapped cell."""
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of the wrapped cell."""
        return list(self.cell.trainable_weights)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The non-trainable variables of the wrapped cell."""
        return list(self.cell.non_trainable_weights)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Return a zero state of the wrapped cell.

        Args:
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the dtype.

        Returns:
            The wrapped cell's state.
        """
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name, including the class and arguments of the wrapped cell."""
        inside = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        config = super().get_config()
        own = {name: config.pop(name) for name in self._config or ()}
        return {**config, "cell": inside, **own}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Return a wrapper with the arguments from ``get_config``.

        Args:
            config: the arguments, with a cell or its description.
            custom_objects: functions by name, for use by the config.

        Returns:
            A wrapper of this class.

        Raises:
            ValueError: the config has no cell.
        """
        arguments = cls._functions_from(dict(config), custom_objects or {})
        cell = arguments.pop("cell")
        if isinstance(cell, Mapping):
            raise ValueError(
                "RNNCellWrapper cannot reconstruct the wrapped cell. Please overwrite the cell in the config with a "
                "RNNCell instance."
            )
        return cls(cell, **arguments)

    @staticmethod
    def _functions_from(config: dict[str, Any], custom: Mapping[str, Any]) -> dict[str, Any]:
        """Return the config with its serialized functions restored."""
        return config

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        return self._wrapped(inputs, state, scope)

    def _wrapped(self, inputs: TensorLike, state: Any, scope: Any) -> Any:
        raise NotImplementedError


def _is_dropped(state: Any) -> Any:
    """Return which parts of a state are dropped: not the memory of an LSTM."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


class DropoutWrapper(_Wrapper):
    """A cell with dropout of its inputs, outputs or states.

    Args:
        cell: the cell.
        input_keep_prob: the fraction of the input's elements to keep, a number or a scalar tensor.
        output_keep_prob: the same for the output.
        state_keep_prob: the same for the state; for an LSTM, only for ``h``.
        variational_recurrent: whether to drop the same elements at all steps.
        input_size: size of the input; required for dropout of the input with ``variational_recurrent``.
        dtype: dtype of input and states; required with ``variational_recurrent``.
        seed: seed of the random ops; None: see ``set_random_seed``.
        dropout_state_filter_visitor: a function from a state to the parts to drop.
        **kwargs: arguments of ``RNNCell``.

    Raises:
        TypeError: ``cell`` is not a cell, or the visitor is not callable.
        ValueError: a fraction is not between 0 and 1, or arguments are missing.
    """

    _config = (
        *(
            "input_keep_prob",
            "output_keep_prob",
            "state_keep_prob",
            "variational_recurrent",
            "input_size",
            "seed",
        ),
    )

    def __init__(
        self,
        cell: Any,
        input_keep_prob: TensorLike = 1.0,
        output_keep_prob: TensorLike = 1.0,
        state_keep_prob: TensorLike = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Function | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._dropout_state_filter = dropout_state_filter_visitor or _is_dropped
        self._seed, self._input_size = seed, input_size
        self._variational_recurrent = variational_recurrent
        self._noise: dict[str, Any] = {}
        with name_scope("DropoutWrapperInit"):
            self._input_keep_prob = self._keep_prob("input_keep_prob", input_keep_prob)
            self._state_keep_prob = self._keep_prob("state_keep_prob", state_keep_prob)
            self._output_keep_prob = self._keep_prob("output_keep_prob", output_keep_prob)
        if variational_recurrent:
            self._make_noise(input_size, dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name, including the serialized visitor, if there is one."""
        config = super().get_config()
        if self._dropout_state_filter is not _is_dropped:
            texts = function_texts(self._dropout_state_filter)
            config |= dict(zip(("dropout_fn", "dropout_fn_type", "dropout_fn_module"), texts, strict=True))
        return config

    @staticmethod
    def _functions_from(config: dict[str, Any], custom: Mapping[str, Any]) -> dict[str, Any]:
        if "dropout_fn" in config:
            text, kind, module = (config.pop(f"dropout_fn{part}") for part in ("", "_type", "_module"))
            config["dropout_state_filter_visitor"] = function_from(text, kind, module, custom)
        return config

    @staticmethod
    def _keep_prob(name: str, prob: Any) -> Any:
        tensor = convert_to_tensor(prob)
        value = constant_value(tensor)
        if value is None:
            return tensor
        if not 0 <= value <= 1:
            raise ValueError(f"Parameter {name} must be between 0 and 1: {int(value)}")
        return float(value)

    def _make_noise(self, input_size: Any, dtype: Any) -> None:
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")

        def noise(size: Any, seed: Any) -> Tensor:
            shape = joining.concat(([1], as_shape(size).as_list()), 0)
            return random_uniform(shape, seed=seed, dtype=dtype)

        if not isinstance(self._input_keep_prob, numbers.Real) or self._input_keep_prob < 1.0:
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be "
                    "provided"
                )
            self._noise["input"] = self._by_leaf(input_size, "input", noise)
        self._noise["state"] = self._by_leaf(self.cell.state_size, "state", noise)
        self._noise["output"] = self._by_leaf(self.cell.output_size, "output", noise)

    def _by_leaf(self, structure: Any, salt: str, make: Callable[[Any, Any], Any]) -> Any:
        """Apply ``make`` to each leaf and its seed."""
        leaves = nest.flatten(structure)
        results = [make(leaf, self._seed_of(salt, number)) for number, leaf in enumerate(leaves)]
        return nest.pack_sequence_as(structure, results)

    def _seed_of(self, salt: str, number: int) -> int | None:
        if self._seed is None:
            return None
        text = f"{self._seed}{salt}_{number}".encode()
        import hashlib  # loaded on first use

        return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropped(self, values: TensorLike, salt: str, keep: Any, chosen: Any = None) -> Any:
        leaves = nest.flatten(values)
        flags = [True] * len(leaves) if chosen is None else nest.flatten(chosen)
        noise = nest.flatten(self._noise[salt]) if self._variational_recurrent else [None] * len(leaves)
        dropped = []
        for number, (leaf, is_dropped, own) in enumerate(zip(leaves, flags, noise, strict=True)):
            if is_dropped is False:
                dropped.append(leaf)
            elif own is None:
                dropped.append(dropout(leaf, rate=1.0 - keep, seed=self._seed_of(salt, number)))
            else:
                mask = unary.floor(keep + own)
                scaled = div(leaf, keep) * mask
                scaled.set_shape(leaf.get_shape())
                dropped.append(scaled)
        return nest.pack_sequence_as(values, dropped)

    def _flags(self, state: Any) -> Any:
        """Return for each part of a state whether it is dropped."""
        flags = self._dropout_state_filter(state)
        if flags is True and nest.is_nested(state) and not isinstance(state, LSTMStateTuple):
            parts = [self._flags(part) for part in state]
            return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
        return flags if nest.is_nested(flags) else nest.map_structure(lambda _: flags, state)

    def _wrapped(self, inputs: TensorLike, state: Any, scope: Any) -> Any:
        def is_partial(keep: Any) -> bool:
            return not isinstance(keep, float) or keep < 1

        if is_partial(self._input_keep_prob):
            inputs = self._dropped(inputs, "input", self._input_keep_prob)
        output, new_state = self.cell(inputs, state, scope=scope)
        if is_partial(self._state_keep_prob):
            new_state = self._dropped(new_state, "state", self._state_keep_prob, self._flags(new_state))
        if is_partial(self._output_keep_prob):
            output = self._dropped(output, "output", self._output_keep_prob)
        return output, new_state


class ResidualWrapper(_Wrapper):
    """A cell whose input is added to its output.

    Args:
        cell: the cell.
        residual_fn: a function from input and output to the new output; None: their sum.
        **kwargs: arguments of ``RNNCell``.

    Raises:
        TypeError: ``cell`` is not a cell.
        ValueError: at the call, input and output differ in shape.
    """

    def __init__(self, cell: Any, residual_fn: Function | None = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name, including the serialized function, if there is one."""
        config = super().get_config()
        if self._residual_fn is not None:
            texts = function_texts(self._residual_fn)
            config |= dict(zip(("residual_fn", "residual_fn_type", "residule_fn_module"), texts, strict=True))
        return config

    @staticmethod
    def _functions_from(config: dict[str, Any], custom: Mapping[str, Any]) -> dict[str, Any]:
        if "residual_fn" in config:
            names = ("residual_fn", "residual_fn_type", "residule_fn_module")
            text, kind, module = (config.pop(name) for name in names)
            config["residual_fn"] = function_from(text, kind, module, custom)
        return config

    def _wrapped(self, inputs: TensorLike, state: Any, scope: Any) -> Any:
        outputs, new_state = self.cell(inputs, state, scope=scope)
        return (self._residual_fn or _sum_of)(inputs, outputs), new_state


def _sum_of(inputs: TensorLike, outputs: Any) -> Any:
    nest.map_structure(lambda a, b: a.shape.assert_is_compatible_with(b.shape), inputs, outputs)
    return nest.map_structure(lambda a, b: a + b, inputs, outputs)


class DeviceWrapper(_Wrapper):
    """A cell with a device request for its operations.

    Args:
        cell: the cell.
        device: the requested device, as for ``tf.device``.
        **kwargs: arguments of ``RNNCell``.

    Raises:
        TypeError: ``cell`` is not a cell.
    """

    _config = ("device",)

    def __init__(self, cell: Any, device: DeviceLike, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Return a zero state of the wrapped cell, on the device.

        Args:
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the dtype.

        Returns:
            The wrapped cell's state.
        """
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]), self._placed():
            return self.cell.zero_state(batch_size, dtype)

    def _placed(self) -> Any:
        return get_default_graph().device(self._device)

    def _wrapped(self, inputs: TensorLike, state: Any, scope: Any) -> Any:
        with self._placed():
            return self.cell(inputs, state, scope=scope)
