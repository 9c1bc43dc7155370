"""``tf.layers.Layer``: its first call makes variables, which later calls share.

A variable scope names a layer's variables; the name scope of the same name names its operations:

    dense = tf.layers.Dense(10)      dense(x)  ->  dense/kernel, dense/bias, dense/MatMul, dense/BiasAdd
                                     dense(y)  ->                            dense/MatMul_1, dense/BiasAdd_1

A subclass makes its variables with ``add_variable`` in ``build(input_shape)``, and its operations in ``call(inputs)``.

Source: tensorflow/python/layers/base.py and keras/engine/base_layer.py, release 1.15.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype, float32
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.layers.by_name import constraint_of, description, initializer_of, regularizer_of
from gpuplace.ops.layers.input_spec import InputSpec, assert_input_compatibility
from gpuplace.ops.layers.reachable import reachable_from
from gpuplace.ops.math.cast import cast
from gpuplace.ops.nest import flatten
from gpuplace.ops.tracking.module import Module
from gpuplace.ops.variables.partitioned import PartitionedVariable
from gpuplace.ops.variables.variable_scope import VariableScope, get_variable, variable_scope
from gpuplace.ops.variables.variables import Variable, VariableSynchronization, trainable_with
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, Function, InitializerLike, ShapeLike, TensorLike, VariableLike


def snake_case(name: str) -> str:
    """Convert a class name from camel case to snake case.

    >>> snake_case("BasicLSTMCell"), snake_case("Conv2DTranspose")
    ('basic_lstm_cell', 'conv2d_transpose')
    """
    parted = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    parted = re.sub("([a-z])([A-Z])", r"\1_\2", parted).lower()
    return parted if not parted.startswith("_") else "private" + parted


def _unique_name(base: str) -> str:
    """Return a unique layer name ``base_1``, ``base_2``, ..., which no node has."""
    counts: dict[str, int] = get_default_graph().attached.setdefault("layer names", {})
    counts[base] = counts.get(base, 0) + 1
    return f"{base}_{counts[base]}"


def _holds_tensors(value: object) -> bool:
    """Return whether a value is a tensor or a list that starts with one; copies of a layer share such values."""
    return isinstance(value[0] if isinstance(value, list | tuple) and value else value, Tensor)


def _add_to_collection(values: Sequence[Any], key: str) -> None:
    """Add the values that are missing from the collection."""
    graph = get_default_graph()
    existing = {id(value) for value in graph.get_collection(key)}
    for value in values:
        if id(value) not in existing:
            graph.add_to_collection(key, value)


class Layer(Module):
    """A layer: call it with tensors. The first call makes its variables, which later calls share.

    Args:
        trainable: whether to add the variables to the trainable variables.
        name: the layer's name; None: the class name, made unique.
        dtype: dtype of the variables; None: that of the first input.
        activity_regularizer: a function from the output to a scalar loss.
        **kwargs: ``_scope``, the variable scope or its name, and ``_reuse``, whether to share that scope's variables.

    Raises:
        TypeError: an argument is unknown.
    """

    _is_layer = True
    input_spec: Any = None
    """An ``InputSpec`` for each input, in their structure; None: no restrictions."""

    _config: tuple[str, ...] | None = None
    """The arguments in ``get_config`` besides name, trainable and dtype; None: not declared by the class."""

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        activity_regularizer: Function | None = None,
        **kwargs: Any,
    ) -> None:
        _scope, _reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {', '.join(sorted(kwargs))}")
        self.trainable = trainable
        self.built = False
        self._dtype: DType | None = None if dtype is None else as_dtype(dtype)
        self._activity_regularizer = activity_regularizer
        self._reuse = _reuse
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        self._conditional: list[Any] = []
        self._inputs: list[Tensor] = []
        self._current_scope: VariableScope | None = None
        self._scope: VariableScope | None = None
        own = snake_case(type(self).__name__)
        own_name: Any = name
        if isinstance(own_name, VariableScope):
            own_name = own_name.name
            self._name: str = _unique_name(own)
            self._base_name: str = own_name
        else:
            self._name = own_name or _unique_name(own)
            self._base_name = own_name or own
        if _scope:
            with variable_scope(_scope) as captured:
                self._scope = captured

    def __setattr__(self, name: str, value: TensorLike) -> None:
        """Set an attribute without tracking it: a layer only depends on variables from ``add_variable``."""
        object.__setattr__(self, name, value)

    # Properties

    @property
    def name(self) -> str:
        """The layer's name."""
        return self._name

    @property
    def scope_name(self) -> str:
        """The name of its variable scope.

        Raises:
            ValueError: the layer has not been called yet.
        """
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been used yet. The scope '
                "name is determined the first time the layer instance is called. You must therefore call the layer "
                "before querying `scope_name`."
            )
        return self._scope.name

    @property
    def dtype(self) -> str | None:
        """The name of the variables' dtype; None before the first call."""
        return None if self._dtype is None else self._dtype.name

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The non-trainable variables."""
        if self.trainable:
            return list(self._non_trainable_weights)
        return [*self._trainable_weights, *self._non_trainable_weights]

    @property
    def weights(self) -> list[Any]:
        """All variables, trainable ones first."""
        return [*self.trainable_weights, *self.non_trainable_weights]

    @property
    def variables(self) -> list[Any]:  # type: ignore[override]
        """All variables, trainable ones first."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:  # type: ignore[override]
        """The trainable variables."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The non-trainable variables."""
        return self.non_trainable_weights

    @property
    def losses(self) -> list[Any]:
        """The losses from regularizers and ``add_loss``."""
        return list(self._losses)

    @property
    def updates(self) -> list[Any]:
        """The updates from ``add_update``."""
        return list(self._updates)

    @property
    def activity_regularizer(self) -> Function | None:
        """The function from the output to a loss."""
        return self._activity_regularizer

    def count_params(self) -> int:
        """Return the number of elements in the variables.

        Raises:
            ValueError: the layer has not been built yet.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You can build it "
                f"manually via: `{self.name}.build(batch_input_shape)`."
            )
        return sum(int(variable.shape.num_elements()) for variable in self.weights)

    # Methods for subclasses to override

    def build(self, input_shape: TensorLike) -> None:
        """Make the variables; for subclasses to override.

        Args:
            input_shape: static shape of the input, or a list of shapes.
        """
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Add the layer's operations and return the output; for subclasses to override.

        Args:
            inputs: a tensor, or a structure of tensors.
            *args: further positional arguments of the call.
            **kwargs: further keyword arguments of the call.

        Returns:
            The output.
        """
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name, from which ``from_config`` makes such a layer, without variables.

        Raises:
            NotImplementedError: the class has its own arguments and does not declare them.
        """
        config = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}
        if self._config is None and type(self).get_config is Layer.get_config:
            arguments = inspect.getfullargspec(type(self).__init__).args[1:]
            if any(name not in config for name in arguments) and type(self).__init__ is not Layer.__init__:
                raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        for name in self._config or ():
            value = getattr(self, name) if hasattr(self, name) else getattr(self, f"_{name}")
            config[name] = description(value)
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """Return a layer with the arguments from ``get_config``.

        Args:
            config: the arguments by name.

        Returns:
            A layer of this class.
        """
        return cls(**config)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the shape of the output.

        Args:
            input_shape: static shape of the input.

        Raises:
            NotImplementedError: the layer does not define its output shape.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define its output shape")

    # Variables, losses and updates

    def add_variable(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Function | None = None,
        trainable: bool | None = None,
        constraint: Function | None = None,
        use_resource: bool | None = None,
        partitioner: Function | None = None,
        **kwargs: Any,
    ) -> Any:
        """Make a variable of the layer, or share an existing one.

        Args:
            name: its name in the layer's scope.
            shape: its sizes.
            dtype: its dtype; None: the layer's, by default float32.
            initializer: its initializer; None: the scope's.
            regularizer: function from the variable to a scalar loss, which is collected once.
            trainable: whether to add the variable to the trainable variables; None: yes, unless
                ``synchronization=ON_READ``.
            constraint: a function that optimizers apply to the value after an update.
            use_resource: whether to make a resource variable; None: the scope's setting.
            partitioner: as for ``get_variable``; each part has its own regularization loss.
            **kwargs: ``synchronization`` and ``aggregation``, stored in the variable.

        Returns:
            The variable.

        Raises:
            ValueError: a variable of that name exists but may not be shared, or must be shared but does not exist; or a
                trainable variable has ``synchronization=ON_READ``.
        """
        synchronization = kwargs.get("synchronization", VariableSynchronization.AUTO)
        if trainable and synchronization is VariableSynchronization.ON_READ:
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. "
                "You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
            )
        trainable = trainable_with(synchronization, trainable)
        initializer, regularizer = initializer_of(initializer), regularizer_of(regularizer)
        graph = get_default_graph()
        before = {id(variable) for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES)}
        self._set_scope(None)
        reuse = self.built or self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            with graph.name_scope(scope.original_name_scope):
                variable = get_variable(
                    name,
                    shape=[int(size) for size in as_shape(shape).as_list()],  # type: ignore[arg-type]
                    dtype=as_dtype(dtype or self._dtype or float32),
                    initializer=scope.initializer if initializer is None else initializer,
                    trainable=trainable and self.trainable,
                    constraint=constraint_of(constraint),
                    partitioner=partitioner,
                    use_resource=use_resource or scope.use_resource,
                    **kwargs,
                )
                parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
                for part in parts:
                    if regularizer is not None and id(part) not in before:
                        with graph.name_scope(f"{name}/Regularizer"):
                            loss = regularizer(part)
                        if loss is not None:
                            self.add_loss(loss)
        # A getter of the scope may override this. The parts of a variable are trainable; the whole is not a variable.
        self._keep(variable, isinstance(variable, Variable) and bool(variable.trainable))
        if isinstance(variable, Variable):
            self._track_trackable(variable, name=name, overwrite=True)
        return variable

    def _keep(self, variable: VariableLike, trainable: bool) -> None:
        weights = self._trainable_weights if trainable else self._non_trainable_weights
        if all(variable is not item for item in weights):
            weights.append(variable)

    add_weight = add_variable

    def add_loss(self, losses: Any, inputs: TensorLike | None = None) -> None:
        """Add losses, and add them to the collection of regularization losses.

        Args:
            losses: a scalar tensor, a function that returns one, or a list of these.
            inputs: the inputs that the losses depend on; None: losses of the weights.
        """
        collected = [
            item() if callable(item) else item
            for item in (losses if isinstance(losses, list | tuple) else [losses])
        ]
        collected = [item for item in collected if item is not None]
        self._losses.extend(collected)
        if inputs is not None:
            self._conditional.extend(collected)
        _add_to_collection(collected, GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates: TensorLike, inputs: TensorLike | None = None) -> None:
        """Add updates, which are collected under ``UPDATE_OPS`` after the call.

        Args:
            updates: an operation or tensor, a function that returns one, or a list of these.
            inputs: ignored: the graph shows the dependencies.
        """
        items = updates if isinstance(updates, list | tuple) else [updates]
        results = [item() if callable(item) else item for item in items]
        operations = [getattr(item, "op", item) for item in results]
        self._updates.extend(operations)
        reached = reachable_from(self._inputs, operations) if self._inputs else set()
        self._conditional.extend(item for item in operations if item in reached)

    def get_losses_for(self, inputs: TensorLike) -> list[Any]:
        """Return the losses that depend on inputs.

        Args:
            inputs: a tensor, or a structure of tensors; None: losses that depend on no input.
        """
        return self._depending(self.losses, inputs)

    def get_updates_for(self, inputs: TensorLike) -> list[Any]:
        """Return the updates that depend on inputs.

        Args:
            inputs: a tensor, or a structure of tensors; None: updates that depend on no input.
        """
        return self._depending(self.updates, inputs)

    def _depending(self, values: list[Any], inputs: TensorLike) -> list[Any]:
        conditional = {id(item) for item in self._conditional}
        if inputs is None:
            return [item for item in values if id(item) not in conditional]
        selected = [item for item in values if id(item) in conditional]
        reached = reachable_from(flatten(inputs), selected)
        return [item for item in selected if item in reached]

    # Calls

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            opened = variable_scope(scope if scope is not None else self._base_name)
        else:
            opened = variable_scope(scope, default_name=self._base_name)
        with opened as captured:
            self._scope = captured

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        self._set_scope(kwargs.pop("scope", None))
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            outputs = self._called(scope, inputs, args, kwargs)
        _add_to_collection(self._updates, GraphKeys.UPDATE_OPS)
        return outputs

    def _called(self, scope: VariableScope, inputs: TensorLike, args: Any, kwargs: Any) -> Any:
        if isinstance(inputs, np.ndarray | float | int | np.generic):
            inputs = convert_to_tensor(inputs)
        elif isinstance(inputs, list | tuple) and any(
            isinstance(item, np.ndarray | float | int | np.generic) for item in flatten(inputs)
        ):
            inputs = [convert_to_tensor(item) for item in inputs]
        elif not isinstance(inputs, Tensor | list | tuple | dict) and hasattr(inputs, "_as_graph_element"):
            inputs = convert_to_tensor(inputs)
        flat = flatten(inputs)
        graph = flat[0].graph if flat and hasattr(flat[0], "graph") else get_default_graph()
        with graph.as_default(), graph.name_scope(scope.original_name_scope):
            if not self.built:
                if self._dtype is None and flat and hasattr(flat[0], "dtype"):
                    self._dtype = as_dtype(flat[0].dtype).base_dtype
                self._require(inputs)
                self.build(self._shapes(inputs))
                self.built = True
            else:
                self._require(inputs)
            self._inputs = [item for item in flat if isinstance(item, Tensor)]
            try:
                outputs = self.call(inputs, *args, **kwargs)
            finally:
                self._inputs = []
            self._regularize(outputs, inputs)
        return outputs

    def _require(self, inputs: TensorLike) -> None:
        assert_input_compatibility(self.input_spec, inputs, self.name)
        self._check(inputs)

    def _check(self, inputs: TensorLike) -> None:
        """Check inputs before making variables for them."""

    def _shapes(self, inputs: TensorLike) -> Any:
        if isinstance(inputs, list | tuple):
            return [item.get_shape() for item in flatten(inputs)]
        return inputs.get_shape() if hasattr(inputs, "get_shape") else None

    def _regularize(self, outputs: Any, inputs: TensorLike) -> None:
        if self._activity_regularizer is None:
            return
        with get_default_graph().name_scope("ActivityRegularizer"):
            for output in flatten(outputs):
                loss = self._activity_regularizer(output)
                size = cast(shape_of(output)[0], loss.dtype)
                self.add_loss(loss / size, inputs)

    def apply(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Call the layer.

        Args:
            inputs: a tensor, or a structure of tensors.
            *args: passed on.
            **kwargs: passed on.

        Returns:
            The output.
        """
        return self(inputs, *args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Layer:
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        for key, value in vars(self).items():
            if key == "_scope":
                result.__dict__[key] = copy.copy(value)
            elif _holds_tensors(value):
                result.__dict__[key] = value
            else:
                result.__dict__[key] = copy.deepcopy(value, memo)
        return result


def require_rank(inputs: TensorLike, layer: Layer, rank: int | None = None, least: int | None = None) -> None:
    """Raise ValueError with Keras's message if an input has the wrong rank.

    Args:
        inputs: a tensor.
        layer: the layer to name in the message.
        rank: the required rank.
        least: the minimum rank.
    """
    assert_input_compatibility(InputSpec(ndim=rank, min_ndim=least), inputs, layer.name)
