"""``tf.train.warm_start``: start variables with values from a checkpoint, even if a vocabulary has changed.

Source: tensorflow/python/training/warm_starting_util.py and checkpoint_ops.py, release 1.15 (messages, order
of ops).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpuplace import tf_logging
from gpuplace.dtypes import float32
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.ops.variables.partitioned import PartitionedVariable
from gpuplace.ops.variables.state import assign
from gpuplace.ops.variables.variables import Variable, slice_info_of
from gpuplace.saving.checkpoint_state import latest_checkpoint
from gpuplace.tf1.saving.init_from_checkpoint import init_from_checkpoint
from gpuplace.tf1.training.load_and_remap import remapped_matrix

__all__ = ["VocabInfo", "warm_start", "warm_start_with_vocab"]


class _Vocab(NamedTuple):
    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int
    backup_initializer: Any
    axis: int


class VocabInfo(_Vocab):
    """The two vocabularies that define the rows (or columns) of a variable.

    Args:
        new_vocab: file of the new vocabulary, one word on each line.
        new_vocab_size: number of its words to use.
        num_oov_buckets: number of further rows, for unknown words.
        old_vocab: file of the checkpoint's vocabulary.
        old_vocab_size: number of its words to use; -1 for all.
        backup_initializer: initializer of words that the checkpoint lacks; None for zeros.
        axis: 0 if the rows are words; 1 if the columns are.

    Raises:
        ValueError: ``axis`` is neither 0 nor 1.
    """

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: str,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: str,
        old_vocab_size: int = -1,
        backup_initializer: Callable[..., Any] | None = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError(
                f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}"
            )
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


def warm_start(
    ckpt_to_initialize_from: str | os.PathLike[str],
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Make initializers of variables read their values from a checkpoint.

    Args:
        ckpt_to_initialize_from: the checkpoint, or a folder, whose last checkpoint is read.
        vars_to_warm_start: a regular expression that matches the start of trainable variables' names; a list
            of such expressions for global variables; a list of variables; or None for only those with a
            vocabulary.
        var_name_to_vocab_info: dict from a variable's name to its vocabularies.
        var_name_to_prev_var_name: dict from a variable's name to its name in the checkpoint.

    Raises:
        ValueError: ``vars_to_warm_start`` has the wrong type, or a dictionary has a name without a variable.
    """
    tf_logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    groups = _group_variables(vars_to_warm_start)
    vocabularies, names = dict(var_name_to_vocab_info or {}), dict(var_name_to_prev_var_name or {})
    plain: dict[str, Any] = {}
    count = 0
    for name, slices in groups.items():
        vocab = vocabularies.get(name)
        if vocab is not None:
            warm_start_with_vocab(
                slices, vocab.new_vocab, vocab.new_vocab_size, ckpt_to_initialize_from, vocab.old_vocab,
                vocab.old_vocab_size, vocab.num_oov_buckets, names.get(name), vocab.backup_initializer, vocab.axis,
            )  # fmt: skip
        elif vars_to_warm_start:
            plain[names.get(name) or name] = slices[0] if len(slices) == 1 else slices
        else:
            continue
        count += 1
    init_from_checkpoint(ckpt_to_initialize_from, plain)
    tf_logging.info("Warm-started %d variables.", count)
    for mapping, what in ((names, "var_name_to_prev_var_name"), (vocabularies, "var_name_to_vocab_info")):
        unused = set(mapping) - set(groups)
        if unused:
            raise ValueError(
                f"You provided the following variables in {what} that were not used: {unused}.  Perhaps you misspelled"
                f" them?  Here is the list of viable variable names: {groups.keys()}"
            )


def _group_variables(chosen: Any) -> dict[str, list[Any]]:
    """Return variables by name, with partitioned variables as lists of slices."""
    graph = get_default_graph()
    result: list[Any]
    if isinstance(chosen, str) or chosen is None:
        tf_logging.info("Warm-starting variables only in TRAINABLE_VARIABLES.")
        result = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=chosen)
    elif not isinstance(chosen, list):
        raise ValueError(f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(chosen)}")
    elif all(isinstance(one, str) for one in chosen):
        result = [v for one in chosen for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=one)]
    elif all(isinstance(one, (Variable, PartitionedVariable)) or _is_slices(one) for one in chosen):
        result = chosen
    else:
        raise ValueError(
            "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given types are"
            f" {[type(one) for one in chosen]}"
        )
    groups: dict[str, list[Any]] = {}
    for one in result:
        for piece in _slices(one):
            groups.setdefault(_name(piece), []).append(piece)
    return groups


def _is_slices(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Variable) for one in value)


def _slices(variable: Any) -> list[Any]:
    """Return the slices of a variable, or a list of the variable alone.

    Raises:
        TypeError: the argument is not a variable.
    """
    if isinstance(variable, PartitionedVariable) or _is_slices(variable):
        return list(variable)
    if isinstance(variable, Variable):
        return [variable]
    raise TypeError(
        "var MUST be one of the following: a Variable, list of Variable or PartitionedVariable, but is"
        f" {type(variable)}"
    )


def _name(variable: Any) -> str:
    piece = slice_info_of(variable)
    return str(variable.op.name if piece is None else piece.full_name)


def _infer_var_name(var: Any) -> str:
    """Return the name of a variable or of its slices, without the output number; named as in TensorFlow."""
    return _name(_slices(var)[0])


def _get_var_info(var: Any, prev_tensor_name: str | None = None) -> tuple[str, Any]:
    """Return a variable's name in the checkpoint, and the variable or its slices; named as in TensorFlow."""
    pieces = _slices(var)
    variable = pieces[0] if len(pieces) == 1 and not _is_slices(var) else pieces
    return prev_tensor_name or _infer_var_name(var), variable


def warm_start_with_vocab(
    var: Any,
    current_vocab_path: str,
    current_vocab_size: int,
    prev_ckpt: str | os.PathLike[str],
    prev_vocab_path: str,
    previous_vocab_size: int = -1,
    current_oov_buckets: int = 0,
    prev_tensor_name: str | None = None,
    initializer: Callable[..., Any] | None = None,
    axis: int = 0,
) -> None:
    """Make a matrix variable start with the rows (or columns) that a checkpoint has for the words of a new vocabulary.

    Args:
        var: a variable, the list of its slices, or a ``PartitionedVariable``; of rank 2.
        current_vocab_path: file of the new vocabulary.
        current_vocab_size: number of its words to use.
        prev_ckpt: the checkpoint, or its folder.
        prev_vocab_path: file of the checkpoint's vocabulary.
        previous_vocab_size: number of its words to use; -1 for all.
        current_oov_buckets: number of further rows (or columns), for unknown words.
        prev_tensor_name: name in the checkpoint; None for the variable's.
        initializer: initializer of values that the checkpoint lacks; None for zeros.
        axis: 0 if the rows are words; 1 if the columns are.

    Raises:
        ValueError: an argument is missing, or ``axis`` is neither 0 nor 1.
        TypeError: ``var`` is not a variable.
    """
    if not (current_vocab_path and current_vocab_size and prev_ckpt and prev_vocab_path):
        raise ValueError(
            "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, prev_vocab_path}."
        )
    if axis not in (0, 1):
        raise ValueError(
            f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}"
        )
    slices = _slices(var)
    place = os.fspath(prev_ckpt)
    prefix = (latest_checkpoint(place) or place) if os.path.isdir(place) else place
    vocab = (current_vocab_path, prev_vocab_path)
    total_rows = sum(one.get_shape().as_list()[0] for one in slices)
    for one in slices:
        rows, columns = one.get_shape().as_list()
        piece = slice_info_of(one)
        start = 0 if piece is None else piece.var_offset[0]
        word_rows = current_vocab_size if axis == 0 else total_rows
        oov_rows = min(rows, max(0, start + rows - word_rows)) if axis == 0 else 0
        value = _remap(
            prefix, prev_tensor_name or _name(one), axis, vocab, previous_vocab_size if axis == 0 else -1,
            start, rows - oov_rows, oov_rows,
            columns if axis == 0 else current_vocab_size, current_oov_buckets if axis == 1 else 0,
            initializer or Zeros(),
        )  # fmt: skip
        one._initializer_op = assign(one, value).op
        one._initial_value = value


def _remap(
    prefix: str, name: str, axis: int, vocab: tuple[str, str], old_size: int, start: int, rows: int, oov_rows: int,
    columns: int, oov_columns: int, initializer: Callable[..., Any],
) -> Any:  # fmt: skip
    """Return the value of a slice: the checkpoint's values for its words, the initializer's for the rest."""
    if rows <= 0:
        return convert_to_tensor(initializer([oov_rows, columns]), dtype=float32)
    kind = "row" if axis == 0 else "col"
    files: dict[str, Any] = {f"new_{kind}_vocab_file": vocab[0], f"old_{kind}_vocab_file": vocab[1]}
    return remapped_matrix(
        prefix, name, start, rows, columns, initializer, old_size, num_row_oov_buckets=oov_rows,
        num_col_oov_buckets=oov_columns, **files,
    )  # fmt: skip
