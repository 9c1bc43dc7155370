"""A decoder: a cell whose inputs come from a helper.

Source: tensorflow/contrib/seq2seq/python/ops/basic_decoder.py, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.graph.convert import name_scope
from gpuplace.ops import nest
from gpuplace.ops.layers.base import Layer
from gpuplace.ops.rnn.cells import require_cell
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.contrib.decoding.decoder import Decoder
from gpuplace.tf1.contrib.decoding.helpers import Helper
from gpuplace.typing import TensorLike

__all__ = ["BasicDecoder", "BasicDecoderOutput"]


class BasicDecoderOutput(NamedTuple):
    """Outputs of a step."""

    rnn_output: Any
    """Output of the cell or of the output layer: ``[batch, size]``."""
    sample_id: Any
    """The samples: ``[batch]``."""


def require_layer(layer: Any) -> None:
    """Raise TypeError if an output layer is not a layer.

    Args:
        layer: the layer; None: no layer.

    Raises:
        TypeError: it is not a layer.
    """
    if layer is not None and not isinstance(layer, Layer):
        raise TypeError(f"output_layer must be a Layer, received: {type(layer)}")


def output_size_of(cell: Any, layer: Any) -> Any:
    """Return the size of a step's output.

    Args:
        cell: the cell.
        layer: the output layer; None: no layer.
    """
    size = cell.output_size
    if layer is None:
        return size

    def after(size: Any) -> TensorShape:
        return layer.compute_output_shape(TensorShape([None]).concatenate(as_shape(size)))[1:]

    return nest.map_structure(after, size)


class BasicDecoder(Decoder):
    """A decoder that runs a cell, with inputs from a helper.

    Args:
        cell: the cell.
        helper: samples from the outputs, and provides the next inputs.
        initial_state: the initial state.
        output_layer: layer for the cell's outputs, such as ``tf.layers.Dense``; None: no layer.

    Raises:
        TypeError: an argument has another class.
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        require_cell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        require_layer(output_layer)
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        """Number of sequences."""
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        """Sizes of a step's outputs."""
        return BasicDecoderOutput(
            output_size_of(self._cell, self._output_layer), self._helper.sample_ids_shape
        )

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """Dtypes of a step's outputs."""
        dtype = nest.flatten(self._initial_state)[0].dtype
        of_outputs = nest.map_structure(lambda _: dtype, output_size_of(self._cell, self._output_layer))
        return BasicDecoderOutput(of_outputs, self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return which sequences are finished from the start, the first inputs, and the initial state.

        Args:
            name: ignored.
        """
        finished, inputs = self._helper.initialize()
        return finished, inputs, self._initial_state

    def step(
        self, time: Any, inputs: TensorLike, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return the outputs of a step, the next state, the next inputs, and which sequences are finished.

        Args:
            time: index of the step, an int32 scalar.
            inputs: its inputs.
            state: the state.
            name: name scope of the ops; None: ``BasicDecoderStep``.
        """
        with name_scope(name, "BasicDecoderStep", [time, *nest.flatten((inputs, state))]):
            outputs, new_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            chosen = self._helper.sample(time=time, outputs=outputs, state=new_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=new_state, sample_ids=chosen
            )
        return BasicDecoderOutput(outputs, chosen), next_state, next_inputs, finished
