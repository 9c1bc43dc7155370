"""Run cells over sequences: step by step in the graph (``static_rnn``) or in a loop (``dynamic_rnn``).

    inputs [batch, time, size]  ->  TensorArray  ->  while_loop: read, cell, write  ->  outputs [batch, time, units]

Source: tensorflow/python/ops/rnn.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import int32
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.graph.scopes import building_context
from gpuplace.ops import nest
from gpuplace.ops.array import constant, joining, reshaping, sequence
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import where
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.flow.while_loops import while_loop
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import equal, logical_not, logical_or
from gpuplace.ops.math.elementwise import maximum, minimum
from gpuplace.ops.math.reduction import reduce_all, reduce_max, reduce_min
from gpuplace.ops.rnn.cells import joined_sizes, known_sizes, require_cell
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, Function, TensorLike

__all__ = [
    "bidirectional_dynamic_rnn", "dynamic_rnn", "raw_rnn", "static_bidirectional_rnn", "static_rnn",
    "static_state_saving_rnn",
]  # fmt: skip


def batch_and_time_exchanged(x: Tensor) -> Tensor:
    """Swap the batch and time axes."""
    static = x.shape
    if static.ndims is not None and static.ndims < 2:
        return x
    order = joining.concat(([1, 0], range_of(2, reshaping.rank(x))), axis=0)
    turned = reshaping.transpose(x, order)
    turned.set_shape(TensorShape([static[1].value, static[0].value]).concatenate(static[2:]))
    return turned


def _batch_size(inputs: Sequence[Tensor]) -> Any:
    """Return the batch size of time-major inputs, an integer if it is static."""
    for tensor in inputs:
        if tensor.shape.ndims is None:
            continue
        if tensor.shape.ndims < 2:
            raise ValueError(f"Expected input tensor {tensor} to have rank at least 2")
        if tensor.shape[1].value is not None:
            return tensor.shape[1].value
    return reshaping.shape(inputs[0])[1]


def _state_dtype(dtype: Any, state: Any) -> Any:
    if dtype is not None:
        return dtype
    types = [leaf.dtype for leaf in nest.flatten(state)]
    if not types:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(item != types[0] for item in types):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single representative dtype."
        )
    return types[0]


def cache_beside(scope: Any) -> None:
    """Cache variables on their own devices, read once outside loops."""
    context = building_context(get_default_graph())
    outside = context is None or context.GetWhileContext() is None
    if outside and scope.caching_device is None:
        scope.set_caching_device(lambda op: op.device)


def _initial_state(cell: Any, initial: Any, batch_size: Any, dtype: Any, sentence: str) -> Any:
    if initial is not None:
        return initial
    if not dtype:
        raise ValueError(sentence)
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def _select_old_or_new(finished: Tensor, old: Any, new: Any) -> Any:
    """Return the old value for finished sequences, otherwise the new one."""
    if isinstance(old, TensorArray) or old.shape.ndims == 0:
        return new
    with get_default_graph().colocate_with(new.op):
        return where(finished, old, new)


def _step(
    time: Any,
    lengths: Tensor,
    shortest: Tensor,
    longest: Tensor,
    zero_output: Any,
    state: Any,
    call_cell: Callable[[], Any],
    without_conditionals: bool = False,
) -> Any:
    """Run one step in which finished sequences keep their state and output zeros."""
    old = [*nest.flatten(zero_output), *nest.flatten(state)]
    finished = time >= lengths

    def called() -> list[Any]:
        output, new_state = call_cell()
        nest.assert_same_structure(zero_output, output)
        nest.assert_same_structure(state, new_state)
        return [*nest.flatten(output), *nest.flatten(new_state)]

    def chosen(new: list[Any]) -> list[Any]:
        return [_select_old_or_new(finished, before, after) for before, after in zip(old, new, strict=True)]

    def run_partly_finished() -> Any:
        new = called()
        return cond(time < shortest, lambda: new, lambda: chosen(new))

    if without_conditionals:
        final = chosen(called())
    else:
        final = cond(time >= longest, lambda: old, run_partly_finished)
    for before, after in zip(old, final, strict=True):
        if not isinstance(after, TensorArray):
            after.set_shape(before.get_shape())
    count = len(nest.flatten(zero_output))
    output = nest.pack_sequence_as(zero_output, final[:count])
    return output, nest.pack_sequence_as(state, final[count:])


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: TensorLike | None = None,
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Run a cell over sequences, in a loop.

    >>> import gpuplace as tf
    >>> cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    >>> outputs, state = tf.nn.dynamic_rnn(cell, tf.zeros([2, 7, 3]), sequence_length=[7, 2], dtype=tf.float32)
    >>> outputs.shape.as_list(), state.h.shape.as_list(), cell.variables[0].name
    ([2, 7, 4], [2, 4], 'rnn/basic_lstm_cell/kernel:0')

    Args:
        cell: the cell.
        inputs: ``[batch, time, ...]``, or a structure of such tensors.
        sequence_length: the length of each sequence, integers, ``[batch]``; beyond it, outputs are zero and the state
            does not change. None: the full length of ``inputs``.
        initial_state: the initial state; None: zeros.
        dtype: dtype of state and outputs; required without ``initial_state``.
        parallel_iterations: as for ``while_loop``; None: 32.
        swap_memory: as for ``while_loop``.
        time_major: whether ``inputs`` and outputs are ``[time, batch, ...]``.
        scope: the variable scope; None: ``"rnn"``.

    Returns:
        The outputs, ``[batch, time, cell.output_size]``, and the last state.

    Raises:
        TypeError: ``cell`` is not a cell.
        ValueError: neither a state nor a dtype is given, or sizes are unknown.
        InvalidArgumentError: at run time, ``sequence_length`` does not have the length of the batch.
    """
    require_cell("cell", cell)
    with variable_scope(scope or "rnn") as opened:
        cache_beside(opened)
        flat = nest.flatten(inputs)
        if not time_major:
            flat = [batch_and_time_exchanged(tensor) for tensor in [convert_to_tensor(item) for item in flat]]
        lengths = None
        if sequence_length is not None:
            lengths = cast(sequence_length, int32)
            if lengths.shape.ndims not in (None, 1):
                raise ValueError(
                    f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
                )
            lengths = reshaping.identity(lengths, name="sequence_length")
        batch_size = _batch_size(flat)
        state = _initial_state(
            cell, initial_state, batch_size, dtype, "If there is no initial_state, you must give a dtype."
        )
        if lengths is not None:
            with get_default_graph().control_dependencies([_has_shape(lengths, [batch_size])]):
                lengths = reshaping.identity(lengths, name="CheckSeqLen")
        inputs = nest.pack_sequence_as(inputs, flat)
        outputs, final = _loop(cell, inputs, state, parallel_iterations or 32, swap_memory, lengths, dtype)
        if not time_major:
            outputs = nest.map_structure(batch_and_time_exchanged, outputs)
        return outputs, final


def _has_shape(x: Tensor, shape: list[Any]) -> Any:
    actual, expected = reshaping.shape(x), joining.stack(shape)
    message = [f"Expected shape for Tensor {x.name} is ", expected, " but saw shape: ", actual]
    return Assert(reduce_all(equal(actual, expected)), message)


def _loop(
    cell: Any, inputs: Any, state: Any, parallel: int, swap: bool, lengths: Any, dtype: Any
) -> tuple[Any, Any]:
    flat = nest.flatten(inputs)
    sizes = nest.flatten(cell.output_size)
    steps = reshaping.shape(flat[0])[0]
    batch_size = _batch_size(flat)
    shapes = [tensor.shape.with_rank_at_least(3) for tensor in flat]
    known_steps, known_batch = shapes[0].as_list()[:2]
    for shape in shapes:
        if not shape[2:].is_fully_defined():
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value None."
            )
        if shape[0].value != known_steps:
            raise ValueError("Time steps is not the same for all the elements in the input in a batch.")
        if shape[1].value != known_batch:
            raise ValueError("Batch_size is not the same for all the elements in the input.")
    zeros = [
        constant.zeros(joining.stack(joined_sizes(batch_size, size)), _state_dtype(dtype, state))
        for size in sizes
    ]
    zero_output = nest.pack_sequence_as(cell.output_size, zeros)
    shortest: Any = None
    longest = steps
    if lengths is not None:
        shortest, longest = reduce_min(lengths), reduce_max(lengths)
    time = constant.constant(0, int32, name="time")
    with name_scope("dynamic_rnn") as base:
        pass

    def array(name: str, shape: Any, element: Any) -> TensorArray:
        return TensorArray(dtype=element, size=steps, element_shape=shape, tensor_array_name=base + name)

    written = tuple(
        array(
            f"output_{at}",
            TensorShape([known_batch]).concatenate(_as_known(size)),
            _state_dtype(dtype, state),
        )
        for at, size in enumerate(sizes)
    )
    read = tuple(array(f"input_{at}", tensor.shape[1:], tensor.dtype) for at, tensor in enumerate(flat))
    read = tuple(item.unstack(tensor) for item, tensor in zip(read, flat, strict=True))

    def body(now: Any, arrays: Any, before: Any) -> Any:
        step_input = [item.read(now) for item in read]
        for tensor, shape in zip(step_input, shapes, strict=True):
            tensor.set_shape(shape[1:])
        step_inputs = nest.pack_sequence_as(inputs, step_input)

        def call_cell() -> Any:
            return cell(step_inputs, before)

        if lengths is None:
            output, after = call_cell()
        else:
            output, after = _step(
                now, lengths, shortest, longest, zero_output, before, call_cell, without_conditionals=True
            )
        arrays = tuple(item.write(now, out) for item, out in zip(arrays, nest.flatten(output), strict=True))
        return now + 1, arrays, after

    bound = minimum(steps, maximum(1, longest))
    _, final_arrays, final_state = while_loop(
        cond=lambda now, *_: now < bound,
        body=body,
        loop_vars=(time, written, state),
        parallel_iterations=parallel,
        maximum_iterations=steps,
        swap_memory=swap,
    )
    outputs = [item.stack() for item in final_arrays]
    for output, size in zip(outputs, sizes, strict=True):
        output.set_shape(known_sizes([known_steps, known_batch], size))
    return nest.pack_sequence_as(cell.output_size, outputs), final_state


def _as_known(size: Any) -> TensorShape:
    return as_shape(constant_value(size)) if isinstance(size, Tensor) else as_shape(size)


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Run one cell forward and another backward over sequences, in loops.

    Args:
        cell_fw: the forward cell.
        cell_bw: the backward cell.
        inputs: ``[batch, time, ...]``, or a structure of such tensors.
        sequence_length: the length of each sequence, integers, ``[batch]``; None: the full length of ``inputs``.
        initial_state_fw: the initial forward state; None: zeros.
        initial_state_bw: the initial backward state; None: zeros.
        dtype: dtype of states and outputs; required if a state is missing.
        parallel_iterations: as for ``while_loop``; None: 32.
        swap_memory: as for ``while_loop``.
        time_major: whether ``inputs`` and outputs are ``[time, batch, ...]``.
        scope: the variable scope; None: ``"bidirectional_rnn"``.

    Returns:
        A pair of outputs and a pair of last states, forward and backward.

    Raises:
        TypeError: an argument is not a cell.
        ValueError: neither a state nor a dtype is given, or sizes are unknown.
        InvalidArgumentError: at run time, ``sequence_length`` does not have the length of the batch.
    """
    require_cell("cell_fw", cell_fw)
    require_cell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reversed_in_time(value: Any) -> Any:
        if sequence_length is None:
            return sequence.reverse(value, axis=[time_axis])
        return sequence.reverse_sequence(value, sequence_length, seq_axis=time_axis, batch_axis=batch_axis)

    common: dict[str, Any] = {
        "sequence_length": sequence_length,
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward, state_fw = dynamic_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=fw, **common
            )
        with variable_scope("bw") as bw:
            turned = nest.map_structure(reversed_in_time, inputs)
            backward, state_bw = dynamic_rnn(
                cell_bw, turned, initial_state=initial_state_bw, scope=bw, **common
            )
    return (forward, nest.map_structure(reversed_in_time, backward)), (state_fw, state_bw)


def raw_rnn(
    cell: Any,
    loop_fn: Function,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> Any:
    """Run a cell in a loop controlled by a function.

    Args:
        cell: the cell.
        loop_fn: a function of the time, the output and state of the previous step, and its own loop state; initially
            all but the time are None. It returns the finished sequences, the next input, the next cell state, the
            output to emit, and its next loop state.
        parallel_iterations: as for ``while_loop``; None: 32.
        swap_memory: as for ``while_loop``.
        scope: the variable scope; None: ``"rnn"``.

    Returns:
        TensorArrays of the outputs, the last state, and the last loop state of ``loop_fn``.

    Raises:
        TypeError: ``cell`` is not a cell, or ``loop_fn`` is not callable.
        ValueError: structures differ between steps.
    """
    require_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn") as opened:
        cache_beside(opened)
        time = constant.constant(0, int32)
        finished, next_input, state, emitted, own = loop_fn(time, None, None, None)
        flat = nest.flatten(next_input)
        own_state = constant.constant(0, int32) if own is None else own
        static_batch = flat[0].shape[0]
        for tensor in flat:
            static_batch.merge_with(tensor.shape[0])
        batch_size = reshaping.shape(flat[0])[0] if static_batch.value is None else static_batch.value
        nest.assert_same_structure(state, cell.state_size)
        leaves = [convert_to_tensor(leaf) for leaf in nest.flatten(state)]
        state = nest.pack_sequence_as(state, leaves)
        if emitted is None:
            emitted = cell.output_size
            sizes = nest.flatten(emitted)
            types = [leaves[0].dtype] * len(sizes)
        else:
            parts = nest.flatten(emitted)
            sizes = [part.shape if part.shape.is_fully_defined() else reshaping.shape(part) for part in parts]
            types = [part.dtype for part in parts]
        arrays = [
            TensorArray(
                dtype=element,
                dynamic_size=True,
                element_shape=TensorShape([static_batch.value]).concatenate(_as_known(size)),
                size=0,
                name=f"rnn_output_{at}",
            )
            for at, (element, size) in enumerate(zip(types, sizes, strict=True))
        ]
        emit_arrays = nest.pack_sequence_as(emitted, arrays)
        zeros = [
            constant.zeros(joined_sizes(batch_size, size), part)
            for size, part in zip(sizes, types, strict=True)
        ]
        zero_emit = nest.pack_sequence_as(emitted, zeros)

        def body(now: Any, over: Any, step_input: Any, written: Any, before: Any, its_own: Any) -> Any:
            output, cell_state = cell(step_input, before)
            nest.assert_same_structure(before, cell_state)
            nest.assert_same_structure(cell.output_size, output)
            later = now + 1
            next_over, following, after, emit, next_own = loop_fn(later, output, cell_state, its_own)
            nest.assert_same_structure(before, after)
            nest.assert_same_structure(step_input, following)
            nest.assert_same_structure(written, emit)
            emit = nest.map_structure(lambda old, new: _select_old_or_new(over, old, new), zero_emit, emit)
            after = nest.map_structure(lambda old, new: _select_old_or_new(over, old, new), before, after)
            written = nest.map_structure(lambda item, value: item.write(now, value), written, emit)
            return (
                later,
                logical_or(over, next_over),
                following,
                written,
                after,
                its_own if next_own is None else next_own,
            )

        returned = while_loop(
            lambda now, over, *_: logical_not(reduce_all(over)),
            body,
            loop_vars=[time, finished, next_input, emit_arrays, state, own_state],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        return returned[3], returned[4], None if own is None else returned[5]


def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: Any = None,
) -> Any:
    """Run a cell over sequences with all steps in the graph.

    >>> import gpuplace as tf
    >>> steps = tf.unstack(tf.zeros([2, 7, 3]), axis=1)
    >>> outputs, state = tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(4), steps, dtype=tf.float32)
    >>> len(outputs), state.shape.as_list()
    (7, [2, 4])

    Args:
        cell: the cell.
        inputs: a list with the input of each step, ``[batch, size]``, or structures of such tensors.
        initial_state: the initial state; None: zeros.
        dtype: dtype of state and outputs; required without ``initial_state``.
        sequence_length: the length of each sequence, integers, ``[batch]``; beyond it, outputs are zero and the state
            does not change. None: the length of the list.
        scope: the variable scope; None: ``"rnn"``.

    Returns:
        A list with the output of each step, and the last state.

    Raises:
        TypeError: ``cell`` is not a cell, or ``inputs`` is not a list.
        ValueError: there are no inputs, neither a state nor a dtype is given, or sizes are unknown.
    """
    require_cell("cell", cell)
    if not nest.is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope(scope or "rnn") as opened:
        cache_beside(opened)
        first = nest.flatten(inputs)[0]
        static_batch = first.shape.with_rank_at_least(1)[0]
        if first.shape.ndims != 1:
            for tensor in nest.flatten(inputs):
                shape = tensor.shape.with_rank_at_least(2)
                static_batch.merge_with(shape[0])
                for axis, size in enumerate(shape[1:].as_list()):
                    if size is None:
                        raise ValueError(
                            f"Input size (dimension {axis} of inputs) must be accessible via shape inference, but saw "
                            "value None."
                        )
        batch_size = static_batch.value or reshaping.shape(first)[0]
        state = _initial_state(
            cell, initial_state, batch_size, dtype, "If no initial_state is provided, dtype must be specified"
        )
        lengths: Any = None
        if sequence_length is not None:
            lengths = convert_to_tensor(sequence_length, name="sequence_length")
            if lengths.shape.ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")

            def zeros(size: Any) -> Tensor:
                outputs = constant.zeros(
                    joining.stack(joined_sizes(batch_size, size)), _state_dtype(dtype, state)
                )
                outputs.set_shape(known_sizes(static_batch.value, size))
                return outputs

            zero_output = nest.map_structure(zeros, cell.output_size)
            lengths = cast(lengths, int32)
            shortest, longest = reduce_min(lengths), reduce_max(lengths)
        for time, step_input in enumerate(inputs):
            if time:
                opened.reuse_variables()
            if lengths is None:
                output, state = cell(step_input, state)
            else:
                call_cell = _bound(cell, step_input, state)
                output, state = _step(time, lengths, shortest, longest, zero_output, state, call_cell)
            outputs.append(output)
        return outputs, state


def _bound(cell: Any, step_input: Any, state: Any) -> Callable[[], Any]:
    return lambda: cell(step_input, state)


def _reversed_steps(steps: Any, lengths: Any) -> list[Any]:
    if lengths is None:
        return list(reversed(steps))
    columns = list(zip(*[nest.flatten(step) for step in steps], strict=True))
    turned = []
    for column in columns:
        shape = TensorShape(None if column[0].shape.ndims is None else [None] * column[0].shape.ndims)
        for tensor in column:
            shape = shape.merge_with(tensor.shape)
        for tensor in column:
            tensor.set_shape(shape)
        joined = sequence.reverse_sequence(joining.stack(column), lengths, 0, 1)
        parts = joining.unstack(joined)
        for part in parts:
            part.set_shape(shape)
        turned.append(parts)
    return [
        nest.pack_sequence_as(step, list(leaves))
        for step, leaves in zip(steps, zip(*turned, strict=True), strict=True)
    ]


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: Any = None,
) -> Any:
    """Run one cell forward and another backward over sequences with all steps in the graph.

    Args:
        cell_fw: the forward cell.
        cell_bw: the backward cell.
        inputs: a list with the input of each step, ``[batch, size]``, or structures of such tensors.
        initial_state_fw: the initial forward state; None: zeros.
        initial_state_bw: the initial backward state; None: zeros.
        dtype: dtype of states and outputs; required if a state is missing.
        sequence_length: the length of each sequence, integers, ``[batch]``; None: the length of the list.
        scope: the variable scope; None: ``"bidirectional_rnn"``.

    Returns:
        A list of outputs, forward and backward concatenated, the last forward state, and the last backward state.

    Raises:
        TypeError: an argument is not a cell, or ``inputs`` is not a list.
        ValueError: there are no inputs, neither a state nor a dtype is given, or sizes are unknown.
    """
    require_cell("cell_fw", cell_fw)
    require_cell("cell_bw", cell_bw)
    if not nest.is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw
            )
        with variable_scope("bw") as bw:
            turned = _reversed_steps(inputs, sequence_length)
            backward, state_bw = static_rnn(
                cell_bw, turned, initial_state_bw, dtype, sequence_length, scope=bw
            )
    backward = _reversed_steps(backward, sequence_length)
    pairs = zip(nest.flatten(forward), nest.flatten(backward), strict=True)
    joined = [joining.concat([first, second], 1) for first, second in pairs]
    return nest.pack_sequence_as(forward, joined), state_fw, state_bw


def static_state_saving_rnn(
    cell: Any,
    inputs: TensorLike,
    state_saver: Any,
    state_name: Any,
    sequence_length: TensorLike | None = None,
    scope: Any = None,
) -> Any:
    """``static_rnn`` with a state saver, which provides the initial state and stores the last one.

    Args:
        cell: the cell.
        inputs: a list with the input of each step, ``[batch, size]``.
        state_saver: an object with ``state(name)``, which returns a tensor, and ``save_state(name, tensor)``, which
            returns an operation.
        state_name: the name of the state, or a structure of names like ``cell.state_size``.
        sequence_length: the length of each sequence, integers, ``[batch]``.
        scope: the variable scope; None: ``"rnn"``.

    Returns:
        A list with the output of each step, and the last state; the last output depends on saving the states.

    Raises:
        TypeError: ``cell`` is not a cell, or ``inputs`` is not a list.
        ValueError: names and sizes differ in structure.
    """
    sizes = cell.state_size
    if nest.is_nested(sizes) is not nest.is_nested(state_name):
        raise ValueError(
            f"state_name should be the same type as cell.state_size.  state_name: {state_name}, "
            f"cell.state_size: {sizes}"
        )
    names = nest.flatten(state_name)
    count = len(nest.flatten(sizes))
    if len(names) != count:
        raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {count}")
    start = nest.pack_sequence_as(sizes, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=start, sequence_length=sequence_length, scope=scope
    )
    saved = [
        state_saver.save_state(name, part) for name, part in zip(names, nest.flatten(state), strict=True)
    ]
    with get_default_graph().control_dependencies(saved):
        outputs[-1] = nest.map_structure(reshaping.identity, outputs[-1])
        return outputs, nest.map_structure(reshaping.identity, state)
