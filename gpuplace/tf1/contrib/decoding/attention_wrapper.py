"""A cell with attention.

    inputs, attention  ->  cell  ->  output  ->  alignments, for each mechanism  ->  attention  ->  next step

Source: tensorflow/contrib/seq2seq/python/ops/attention_wrapper.py and
tensorflow/contrib/framework/python/framework/tensor_util.py (checks of shapes), release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import nest
from gpuplace.ops.array.constant import zeros
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import expand_dims, identity, rank, reshape, size, squeeze
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.layers.core import Dense
from gpuplace.ops.math.check_ops import assert_equal
from gpuplace.ops.math.comparison import equal, logical_and, logical_or
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.math.reduction import reduce_all
from gpuplace.ops.rnn.cells import RNNCell, require_cell, zeros_of
from gpuplace.shapes import TensorShape
from gpuplace.tf1.contrib.decoding.attention import AttentionMechanism
from gpuplace.typing import DTypeLike, TensorLike

__all__ = ["AttentionWrapper", "AttentionWrapperState"]

_OTHER_BATCH = (
    "{when}: Non-matching batch sizes between the memory (encoder output) and {what}. Are you using the "
    "BeamSearchDecoder? Then tile both with tf.contrib.seq2seq.tile_batch, multiplier=beam_width."
)


def _shape_check(target: Any, tensor: Tensor) -> Operation:
    with name_scope(None, "assert_shape", [tensor]) as check_scope:
        actual = shape_of(tensor, name="actual")
        with name_scope(None, "is_shape", [tensor]) as shape_scope:
            axes = size(target)
            with name_scope(None, "is_rank", [tensor]) as rank_scope:
                expected = convert_to_tensor(axes, name="expected")
                has_rank = equal(expected, rank(tensor, name="actual"), name=rank_scope)
            with name_scope(None, "shape_tensor_equal", [target, actual]) as sizes_scope:
                is_free = equal(target, -1)
                fits = logical_or(is_free, equal(target, actual, "equal"), name="exclude_partial_shape")
                has_sizes = reduce_all(fits, name=sizes_scope)
            is_shape = logical_and(has_rank, has_sizes, name=shape_scope)
        what = f"Wrong shape for {tensor.name} [expected] [actual]."
        return Assert(is_shape, [what, target, actual], name=check_scope)


def _with_shape_of(old: Any, new: Any) -> Any:
    """Return the new value, checked to have the old one's shape, at run time if shapes are unknown."""
    if not isinstance(old, Tensor) or not isinstance(new, Tensor):
        return new
    scope = f"{new.op.name}/"
    static = old.shape.as_list() if old.shape.is_fully_defined() else None
    expected: Any = static
    if static is None:
        with name_scope(scope, None, [old, new]):
            expected = shape_of(old, name="expected_shape")
    elif new.shape.is_fully_defined():
        if not new.shape.is_compatible_with(static):
            raise ValueError(f"Invalid shape for tensor {new.name}, expected {static}, got {new.shape}.")
        return new
    with name_scope(scope, None, [new]):
        if static == []:
            return reshape(new, [])
        with get_default_graph().control_dependencies([_shape_check(_sizes(expected), new)]):
            result = identity(new)
        if static is not None:
            result.set_shape(static)
        return result


def _sizes(wanted: Any) -> Any:
    return np.array(wanted, np.int32) if isinstance(wanted, list) else wanted


class AttentionWrapperState(NamedTuple):
    """The state of a cell with attention."""

    cell_state: Any
    """State of the inner cell."""
    attention: Any
    """Attention of the previous step."""
    time: Any
    """Index of the step, an int32 scalar."""
    alignments: Any
    """Alignments of the previous step, for each mechanism."""
    alignment_history: Any
    """Alignments of all steps, as tensor arrays; () if they are not kept."""
    attention_state: Any
    """State of each mechanism."""

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Return the state with some values replaced, after a check of their shapes.

        Args:
            **kwargs: the values by name.

        Raises:
            ValueError: a value has another shape.
        """
        state: AttentionWrapperState = nest.map_structure(_with_shape_of, self, self._replace(**kwargs))
        return state


def _attention(mechanism: Any, output: Any, state: Any, layer: Any) -> tuple[Any, Any, Any]:
    """Return attention, alignments, and the mechanism's next state."""
    alignments, next_state = mechanism(output, state=state)
    context = squeeze(matmul(expand_dims(alignments, 1), mechanism.values), [1])
    return context if layer is None else layer(concat([output, context], 1)), alignments, next_state


def _joined(inputs: TensorLike, attention: Any) -> Any:
    return concat([inputs, attention], -1)


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


class AttentionWrapper(RNNCell):
    """A cell with attention: its outputs pass through attention, and its inputs include the previous attention.

    Args:
        cell: the cell.
        attention_mechanism: a mechanism, or a list of them.
        attention_layer_size: size of the attention; None: the context itself is the attention. A list for several
            mechanisms.
        alignment_history: whether to keep the alignments of all steps.
        cell_input_fn: combines inputs and attention to the cell's inputs; None: concatenate them.
        output_attention: whether to output the attention; otherwise the cell's output.
        initial_cell_state: state of the cell; None: zeros.
        name: name of the cell.
        attention_layer: a layer, or a list of them, in place of ``attention_layer_size``.
        attention_fn: takes mechanism, output, its state, and layer; returns attention, alignments, and the next state.
        dtype: dtype of the variables.

    Raises:
        TypeError: the cell or a mechanism has another class, or ``cell_input_fn`` is not callable.
        ValueError: the numbers of sizes or layers and of mechanisms differ, or both are given.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., tuple[Any, Any, Any]] | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        require_cell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        mechanisms: Any = _listed(attention_mechanism)
        for one in mechanisms:
            if not isinstance(one, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must be an AttentionMechanism or list of multiple AttentionMechanism "
                    f"instances, saw type: {type(one).__name__}"
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}")
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        self._attention_layers: Any = None
        if attention_layer_size is not None:
            sizes = _listed(attention_layer_size)
            self._require_one_each("attention_layer_size", "integer", sizes, mechanisms)
            self._attention_layers = [
                Dense(units, name="attention_layer", use_bias=False, dtype=m.dtype)
                for units, m in zip(sizes, mechanisms, strict=True)
            ]
            self._attention_size = sum(sizes)
        elif attention_layer is not None:
            self._attention_layers = list(_listed(attention_layer))
            self._require_one_each("attention_layer", "layer", self._attention_layers, mechanisms)
            self._attention_size = sum(
                layer.compute_output_shape([None, cell.output_size + m.values.shape[-1].value])[-1].value
                for layer, m in zip(self._attention_layers, mechanisms, strict=True)
            )
        else:
            self._attention_size = sum(m.values.shape[-1].value for m in mechanisms)
        self._attention_fn = attention_fn or _attention
        self._cell = cell
        self._attention_mechanisms = mechanisms
        self._cell_input_fn = cell_input_fn or _joined
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        with name_scope(name, "AttentionWrapperInit"):
            self._initial_cell_state: Any = None
            if initial_cell_state is not None:
                last = nest.flatten(initial_cell_state)[-1]
                batch_size = last.shape[0].value or shape_of(last)[0]
                when = f"When constructing AttentionWrapper {self._base_name}"
                with self._checked(batch_size, when, "initial_cell_state"):
                    self._initial_cell_state = nest.map_structure(
                        lambda tensor: identity(tensor, name="check_initial_cell_state"), initial_cell_state
                    )

    @staticmethod
    def _require_one_each(name: str, what: str, items: Sequence[Any], mechanisms: Sequence[Any]) -> None:
        if len(items) != len(mechanisms):
            raise ValueError(
                f"If provided, {name} must contain exactly one {what} per attention_mechanism, saw: "
                f"{len(items)} vs {len(mechanisms)}"
            )

    def _checked(self, batch_size: Any, when: str, what: str) -> Any:
        message = _OTHER_BATCH.format(when=when, what=what)
        mechanisms = self._attention_mechanisms
        checks = [assert_equal(batch_size, m.batch_size, message=message) for m in mechanisms]
        return get_default_graph().control_dependencies(checks)

    def _one_or_all(self, values: Any) -> Any:
        found = tuple(values)
        return found if self._is_multi else found[0]

    @property
    def output_size(self) -> Any:
        """Size of the attention, or of the cell's output."""
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """Sizes of the state."""
        mechanisms, keeps = self._attention_mechanisms, self._alignment_history
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_size,
            alignments=self._one_or_all(m.alignments_size for m in mechanisms),
            attention_state=self._one_or_all(m.state_size for m in mechanisms),
            alignment_history=self._one_or_all(m.alignments_size if keeps else () for m in mechanisms),
        )

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> AttentionWrapperState:
        """Return the initial state.

        Args:
            batch_size: number of sequences; with a ``BeamSearchDecoder``, times the beam width.
            dtype: the dtype.
        """
        mechanisms = self._attention_mechanisms
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]):
            state = self._initial_cell_state
            if state is None:
                state = self._cell.get_initial_state(batch_size=batch_size, dtype=dtype)
            when = f"When calling zero_state of AttentionWrapper {self._base_name}"
            with self._checked(batch_size, when, "the requested batch size"):
                state = nest.map_structure(lambda tensor: identity(tensor, name="checked_cell_state"), state)
            alignments = [m.initial_alignments(batch_size, dtype) for m in mechanisms]
            return AttentionWrapperState(
                cell_state=state,
                time=zeros([], dtype=int32),
                attention=zeros_of(self._attention_size, batch_size, dtype),
                alignments=self._one_or_all(alignments),
                attention_state=self._one_or_all(m.initial_state(batch_size, dtype) for m in mechanisms),
                alignment_history=self._one_or_all(
                    TensorArray(dtype, size=0, dynamic_size=True, element_shape=alignment.shape)
                    if self._alignment_history
                    else ()
                    for alignment in alignments
                ),
            )

    def call(self, inputs: TensorLike, state: Any) -> tuple[Any, AttentionWrapperState]:
        """Run one step.

        Args:
            inputs: ``[batch, size]``.
            state: an ``AttentionWrapperState``.

        Returns:
            The attention or the cell's output, and the next state.

        Raises:
            TypeError: ``state`` has another class.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead."
            )
        output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        batch_size = output.shape[0].value or shape_of(output)[0]
        with self._checked(
            batch_size, f"When applying AttentionWrapper {self.name}", "the query (decoder output)"
        ):
            output = identity(output, name="checked_cell_output")
        states = state.attention_state if self._is_multi else [state.attention_state]
        histories: Any = state.alignment_history if self._is_multi else [state.alignment_history]
        attentions, alignments, next_states, next_histories = [], [], [], []
        for number, mechanism in enumerate(self._attention_mechanisms):
            layer = self._attention_layers[number] if self._attention_layers else None
            attention, aligned, next_state = self._attention_fn(mechanism, output, states[number], layer)
            keeps = self._alignment_history
            next_histories.append(histories[number].write(state.time, aligned) if keeps else ())
            attentions.append(attention)
            alignments.append(aligned)
            next_states.append(next_state)
        joined = concat(attentions, 1)
        following = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=joined,
            attention_state=self._one_or_all(next_states),
            alignments=self._one_or_all(alignments),
            alignment_history=self._one_or_all(next_histories),
        )
        return joined if self._output_attention else output, following
