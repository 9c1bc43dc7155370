"""``tensorflow.python.ops.variables``: its ``Variable`` is that of TensorFlow 2, ``VariableV1`` that of ``tf``.

Source: tensorflow/python/ops/variables.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops.variables import variables

__all__ = ["RefVariable", "Variable", "VariableV1"]

RefVariable = VariableV1 = variables.Variable


class _AlwaysResource(type(variables.Variable)):  # type: ignore[misc]
    """Metaclass that creates resource variables; every variable is an instance of the class."""

    def __call__(
        cls,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = variables.VariableSynchronization.AUTO,
        aggregation: Any = variables.VariableAggregation.NONE,
        shape: Any = None,
    ) -> Any:
        return variables.Variable(
            initial_value,
            trainable=trainable,
            validate_shape=validate_shape,
            caching_device=caching_device,
            name=name,
            variable_def=variable_def,
            dtype=dtype,
            import_scope=import_scope,
            constraint=constraint,
            use_resource=True,
            synchronization=synchronization,
            aggregation=aggregation,
            shape=shape,
        )

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, variables.Variable)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, variables.Variable)


class Variable(variables.Variable, metaclass=_AlwaysResource):
    """``tf.Variable`` that is always a resource variable, whatever the scope specifies.

    Args:
        initial_value: as for ``tf.Variable``, like the others; there are fewer of them.
        trainable: as for ``tf.Variable``.
        validate_shape: as for ``tf.Variable``.
        caching_device: as for ``tf.Variable``.
        name: the same.
        variable_def: as for ``tf.Variable``.
        dtype: the same.
        import_scope: as for ``tf.Variable``.
        constraint: as for ``tf.Variable``.
        synchronization: as for ``tf.Variable``.
        aggregation: as for ``tf.Variable``.
        shape: as for ``tf.Variable``.

    Raises:
        ValueError: as for ``tf.Variable``.
        TypeError: as for ``tf.Variable``.
    """
