"""``tf.contrib.layers``, also ``tf.contrib.slim``: layers as functions, with activation, normalization, regularization.

Convolutions are in ``convolutions``, normalizations in ``normalization``. Variables are called ``weights`` and
``biases`` and are added to the collection of model variables.

Source: tensorflow/contrib/layers/python/layers/layers.py and utils.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.layers import core
from gpuplace.ops.math.cast import to_int64
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.nn.activation import softmax as nn_softmax
from gpuplace.ops.nn.misc import embedding_lookup
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib.arg_scope import add_arg_scope
from gpuplace.tf1.contrib.regularizers import xavier_initializer
from gpuplace.tf1.contrib.utils import collect_named_outputs
from gpuplace.tf1.contrib.variables import model_variable, renaming_getter
from gpuplace.typing import Function, InitializerLike, TensorLike

__all__ = [
    "dropout", "embed_sequence", "flatten", "fully_connected", "linear", "one_hot_encoding", "relu_layer", "repeat",
    "softmax", "stack",
]  # fmt: skip

RENAMED = {"bias": "biases", "kernel": "weights"}
"""Name of a variable in ``tf.layers`` -> its name here."""

XAVIER = xavier_initializer()
"""The default initializer of weights."""


def collect_variable(variable: Any, collections: Any, name: str) -> None:
    """Add a variable to its collections.

    Args:
        variable: the variable; None: no variable.
        collections: collection names: a list, or a dict by variable name.
        name: the variable's name.
    """
    if variable is None or not collections:
        return
    graph = get_default_graph()
    keys = collections.get(name) if isinstance(collections, dict) else collections
    for key in keys or ():
        if all(variable is not other for other in graph.get_collection(key)):
            graph.add_to_collection(key, variable)


def layout_of(data_format: str | None) -> str:
    """Return the name of a layout in ``tf.layers``.

    Args:
        data_format: ``"NHWC"``, ``"NCHW"``, ``"NWC"`` or ``"NCW"``; None: channels last.

    Raises:
        ValueError: the layout is unknown.
    """
    if data_format not in (None, "NWC", "NCW", "NHWC", "NCHW"):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"


def activated(outputs: Any, activation_fn: Any, normalizer_fn: Any, normalizer_params: Any) -> Any:
    """Normalize and activate the outputs of a layer.

    Args:
        outputs: the outputs.
        activation_fn: an activation function; None: linear.
        normalizer_fn: a function of the outputs; None: no normalization.
        normalizer_params: its arguments, a dict, or None.
    """
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    return outputs if activation_fn is None else activation_fn(outputs)


@add_arg_scope
def fully_connected(
    inputs: TensorLike,
    num_outputs: int,
    activation_fn: Function | None = relu,
    normalizer_fn: Function | None = None,
    normalizer_params: Any = None,
    weights_initializer: InitializerLike | None = XAVIER,
    weights_regularizer: Function | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Function | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """Apply a dense layer with ReLU.

    >>> import gpuplace as tf
    >>> hidden = tf.contrib.layers.fully_connected(tf.zeros([8, 3]), 4, scope="hidden")
    >>> [variable.name for variable in tf.model_variables()], hidden.name
    (['hidden/weights:0', 'hidden/biases:0'], 'hidden/Relu:0')

    Args:
        inputs: ``[..., size]``.
        num_outputs: size of the output's last axis.
        activation_fn: an activation function; None: linear.
        normalizer_fn: a normalization in place of biases, such as ``batch_norm``.
        normalizer_params: its arguments, a dict.
        weights_initializer: initializer of the weights.
        weights_regularizer: returns a scalar loss for the weights.
        biases_initializer: initializer of the biases; None: no biases.
        biases_regularizer: returns a scalar loss for the biases.
        reuse: whether to reuse the variables of the scope.
        variables_collections: further collections of the variables: a list, or a dict by variable name.
        outputs_collections: collections of the output.
        trainable: whether the variables are trainable.
        scope: the variable scope; None: a unique scope from ``fully_connected``.

    Returns:
        ``[..., num_outputs]``.

    Raises:
        ValueError: ``num_outputs`` is not an integer, or sizes are unknown.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of [int], got {type(num_outputs)}.")
    getter = renaming_getter(RENAMED)
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter) as opened:
        inputs = convert_to_tensor(inputs)
        layer = core.Dense(
            num_outputs,
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=opened.name,
            dtype=inputs.dtype.base_dtype,
            _scope=opened,
            _reuse=reuse,
        )
        outputs = layer(inputs)
        collect_variable(layer.kernel, variables_collections, "weights")
        collect_variable(layer.bias, variables_collections, "biases")
        outputs = activated(outputs, activation_fn, normalizer_fn, normalizer_params)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


@add_arg_scope
def dropout(
    inputs: TensorLike,
    keep_prob: TensorLike = 0.5,
    noise_shape: Any = None,
    is_training: TensorLike = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Tensor:
    """Apply dropout during training; otherwise return the inputs.

    Args:
        inputs: a tensor of floating type.
        keep_prob: the fraction of elements to keep.
        noise_shape: shape of the random decisions; None: that of ``inputs``.
        is_training: whether this is training: a bool, or a scalar bool tensor.
        outputs_collections: collections of the output.
        scope: the variable scope; None: a unique scope from ``Dropout``.
        seed: seed of the random op; None: see ``set_random_seed``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``keep_prob`` is out of range.
    """
    with variable_scope(scope, "Dropout", [inputs], custom_getter=renaming_getter()) as opened:
        layer = core.Dropout(1 - keep_prob, noise_shape, seed, opened.name, _scope=opened)  # type: ignore[operator]
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


@add_arg_scope
def flatten(inputs: TensorLike, outputs_collections: Any = None, scope: str | None = None) -> Tensor:
    """Flatten all axes but the first one.

    Args:
        inputs: ``[batch, ...]``.
        outputs_collections: collections of the output.
        scope: the name scope; None: a unique scope from ``Flatten``.

    Returns:
        ``[batch, size]``.

    Raises:
        ValueError: the size is unknown.
    """
    with name_scope(scope, "Flatten", [inputs]) as opened:
        result = collect_named_outputs(outputs_collections, opened, core.flatten(convert_to_tensor(inputs)))
        return result


@add_arg_scope
def one_hot_encoding(
    labels: TensorLike,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Tensor:
    """Return one-hot rows of labels.

    Args:
        labels: integers.
        num_classes: number of classes.
        on_value: the element of the class.
        off_value: the other elements.
        outputs_collections: collections of the output.
        scope: the name scope; None: a unique scope from ``OneHotEncoding``.

    Returns:
        ``[..., num_classes]``.
    """
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as opened:
        labels = convert_to_tensor(labels)
        if labels.dtype.name == "int32":
            labels = to_int64(labels)
        encoded = constant.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        result = collect_named_outputs(outputs_collections, opened, encoded)
        return result


@add_arg_scope
def softmax(logits: TensorLike, scope: Any = None) -> Tensor:
    """Apply softmax along the last axis.

    Args:
        logits: a tensor with two or more axes.
        scope: the variable scope; None: a unique scope from ``softmax``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: the last size is unknown.
    """
    with variable_scope(scope, "softmax", [logits]):
        logits = convert_to_tensor(logits)
        size = logits.shape.with_rank_at_least(2)[-1].value
        if size is None:
            raise ValueError("rank of shape must be at least 2 not None and the last dimension known")
        outputs = reshaping.reshape(
            nn_softmax(reshaping.reshape(logits, [-1, size])), reshaping.shape(logits)
        )
        outputs.set_shape(logits.shape)
        return outputs


def _name_of(layer: Any, default: str) -> str:
    name = getattr(layer, "__name__", None) or getattr(getattr(layer, "func", None), "__name__", None)
    return name or default


def repeat(inputs: TensorLike, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a layer several times, each time with its own variables.

    Args:
        inputs: the first input.
        repetitions: number of repetitions.
        layer: a function that takes ``scope``.
        *args: further arguments of the layer.
        **kwargs: further keyword arguments; ``scope`` is the scope around all layers.

    Returns:
        The last output.
    """
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        outputs: Any = convert_to_tensor(inputs)
        name = _name_of(layer, "repeat") if scope is None else scope
        for number in range(repetitions):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{name}_{number + 1}"})
        return outputs


def stack(inputs: TensorLike, layer: Callable[..., Any], stack_args: Any, **kwargs: Any) -> Any:
    """Stack layers of the same type with different arguments.

    >>> import gpuplace as tf
    >>> layers = tf.contrib.layers
    >>> layers.stack(tf.zeros([2, 8]), layers.fully_connected, [6, 4]).shape.as_list()
    [2, 4]

    Args:
        inputs: the first input.
        layer: a function that takes ``scope``.
        stack_args: an argument, or a list of arguments, for each layer.
        **kwargs: arguments of all layers; ``scope`` is the scope around all layers.

    Returns:
        The last output.

    Raises:
        ValueError: ``stack_args`` is not a list.
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, list | tuple):
        raise ValueError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        outputs: Any = convert_to_tensor(inputs)
        name = _name_of(layer, "stack") if scope is None else scope
        for number, arguments in enumerate(stack_args):
            own = arguments if isinstance(arguments, list | tuple) else [arguments]
            outputs = layer(outputs, *own, **{**kwargs, "scope": f"{name}_{number + 1}"})
        return outputs


def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: InitializerLike | None = None,
    regularizer: Function | None = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Look up the embeddings of sequences of ids in a learned table.

    Args:
        ids: int32 or int64, ``[batch, length]``.
        vocab_size: number of ids; not needed with ``reuse``.
        embed_dim: size of a row; not needed with ``reuse``.
        unique: not supported; False.
        initializer: initializer of the table.
        regularizer: returns a scalar loss for the table.
        trainable: whether the table is trainable.
        scope: the variable scope; None: a unique scope from ``EmbedSequence``.
        reuse: whether to reuse the table of the scope.

    Returns:
        ``[batch, length, embed_dim]``.

    Raises:
        ValueError: a size is missing, or ``unique`` is set.
    """
    if not reuse and (vocab_size is None or embed_dim is None):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. "
            f"Got vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    if unique:
        raise ValueError("unique is not supported: deduplicate the ids with tf.unique")
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = None if reuse else [vocab_size, embed_dim]
        make: Any = model_variable
        table = make(
            "embeddings", shape=shape, initializer=initializer, regularizer=regularizer, trainable=trainable
        )
        return embedding_lookup(table, ids)


def linear(*args: Any, **kwargs: Any) -> Tensor:
    """``fully_connected`` without an activation.

    Args:
        *args: arguments of ``fully_connected``.
        **kwargs: further keyword arguments.

    Returns:
        As for ``fully_connected``.
    """
    result: Tensor = fully_connected(*args, **{"activation_fn": None, **kwargs})
    return result


def relu_layer(*args: Any, **kwargs: Any) -> Tensor:
    """``fully_connected`` with ReLU.

    Args:
        *args: arguments of ``fully_connected``.
        **kwargs: further keyword arguments.

    Returns:
        As for ``fully_connected``.
    """
    result: Tensor = fully_connected(*args, **kwargs)
    return result
