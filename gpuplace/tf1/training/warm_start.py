"""``tf.train.warm_start``: variables that begin with values of a checkpoint, also where a vocabulary has changed.

Source: tensorflow/python/training/warm_starting_util.py and checkpoint_ops.py, release 1.15 (sentences, order of ops).
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
    """How the rows (or columns) of a variable follow from two vocabularies.

    Args:
        new_vocab: file of the new vocabulary, a word a line.
        new_vocab_size: how many of its words count.
        num_oov_buckets: further rows for unknown words.
        old_vocab: file of the checkpoint's vocabulary.
        old_vocab_size: how many of its words count; -1: all.
        backup_initializer: gives the values of words that the checkpoint lacks; None: zeros.
        axis: 0: rows are words; 1: columns are.

    Raises:
        ValueError: ``axis`` is something else.
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
    """Makes initializers of variables read their values from a checkpoint.

    Args:
        ckpt_to_initialize_from: the checkpoint, or a folder, of which the last one is read.
        vars_to_warm_start: a regular expression that names of trainable variables begin with; a list of such for
            global variables; a list of variables; None: only those with a vocabulary.
        var_name_to_vocab_info: name of a variable to its vocabularies.
        var_name_to_prev_var_name: name of a variable to that in the checkpoint.

    Raises:
        ValueError: ``vars_to_warm_start`` is something else, or a name in one of the dictionaries is of no variable.
    """
    tf_logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    groups = _grouped(vars_to_warm_start)
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
    for given, what in ((names, "var_name_to_prev_var_name"), (vocabularies, "var_name_to_vocab_info")):
        unused = set(given) - set(groups)
        if unused:
            raise ValueError(
                f"You provided the following variables in {what} that were not used: {unused}.  Perhaps you misspelled"
                f" them?  Here is the list of viable variable names: {groups.keys()}"
            )


def _grouped(wanted: Any) -> dict[str, list[Any]]:
    """Variables by name, the slices of one together."""
    graph = get_default_graph()
    found: list[Any]
    if isinstance(wanted, str) or wanted is None:
        tf_logging.info("Warm-starting variables only in TRAINABLE_VARIABLES.")
        found = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=wanted)
    elif not isinstance(wanted, list):
        raise ValueError(f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(wanted)}")
    elif all(isinstance(one, str) for one in wanted):
        found = [v for one in wanted for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=one)]
    elif all(isinstance(one, (Variable, PartitionedVariable)) or _is_slices(one) for one in wanted):
        found = wanted
    else:
        raise ValueError(
            "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given types are"
            f" {[type(one) for one in wanted]}"
        )
    groups: dict[str, list[Any]] = {}
    for one in found:
        for piece in _slices(one):
            groups.setdefault(_name(piece), []).append(piece)
    return groups


def _is_slices(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Variable) for one in value)


def _slices(variable: Any) -> list[Any]:
    """The slices of a variable, or it alone.

    Raises:
        TypeError: this is none.
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
    """The name of a variable, or of that whose slices they are, without an output's number; TensorFlow's name."""
    return _name(_slices(var)[0])


def _get_var_info(var: Any, prev_tensor_name: str | None = None) -> tuple[str, Any]:
    """The name under which a checkpoint has a variable, and the variable or the list of its slices; TensorFlow's
    name."""
    pieces = _slices(var)
    found = pieces[0] if len(pieces) == 1 and not _is_slices(var) else pieces
    return prev_tensor_name or _infer_var_name(var), found


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
    """Makes the initializer of a matrix read the rows (or columns) of a new vocabulary's words from a checkpoint.

    Args:
        var: a variable, the list of its slices, or a ``PartitionedVariable``; of rank 2.
        current_vocab_path: file of the new vocabulary.
        current_vocab_size: how many of its words count.
        prev_ckpt: the checkpoint, or its folder.
        prev_vocab_path: file of the checkpoint's vocabulary.
        previous_vocab_size: how many of its words count; -1: all.
        current_oov_buckets: further rows (or columns) for unknown words.
        prev_tensor_name: name in the checkpoint; None: the variable's.
        initializer: gives the values that the checkpoint lacks; None: zeros.
        axis: 0: rows are words; 1: columns are.

    Raises:
        ValueError: something is missing, or ``axis`` is something else.
        TypeError: ``var`` is no variable.
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
        value = _remapped(
            prefix, prev_tensor_name or _name(one), axis, vocab, previous_vocab_size if axis == 0 else -1,
            start, rows - oov_rows, oov_rows,
            columns if axis == 0 else current_vocab_size, current_oov_buckets if axis == 1 else 0,
            initializer or Zeros(),
        )  # fmt: skip
        one._initializer_op = assign(one, value).op
        one._initial_value = value


def _remapped(
    prefix: str, name: str, axis: int, vocab: tuple[str, str], old_size: int, start: int, rows: int, oov_rows: int,
    columns: int, oov_columns: int, initializer: Callable[..., Any],
) -> Any:  # fmt: skip
    """The value of a slice: what the checkpoint has for its words, and the initializer's values for the rest."""
    if rows <= 0:
        return convert_to_tensor(initializer([oov_rows, columns]), dtype=float32)
    which = "row" if axis == 0 else "col"
    files: dict[str, Any] = {f"new_{which}_vocab_file": vocab[0], f"old_{which}_vocab_file": vocab[1]}
    return remapped_matrix(
        prefix, name, start, rows, columns, initializer, old_size, num_row_oov_buckets=oov_rows,
        num_col_oov_buckets=oov_columns, **files,
    )  # fmt: skip
