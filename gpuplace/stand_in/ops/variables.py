"""``tensorflow.python.ops.variables``, whose ``Variable`` is not the public one: it makes resource variables.

Source: tensorflow/python/ops/variables.py, release 1.15 (names, arguments).
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops.variables.variables import Variable as VariableV1

__all__ = ["RefVariable", "Variable", "VariableV1"]

RefVariable = VariableV1


class _Constructor(type):
    """The class of `Variable`, which all variables are instances of."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, VariableV1)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, VariableV1)

    def __getattr__(cls, name: str) -> Any:
        return getattr(VariableV1, name)

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
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> VariableV1:
        """A resource variable; arguments are those of ``tf.Variable`` as TensorFlow 2 has it.

        Args:
            initial_value: a tensor, something convertible to one, or a function without arguments that returns either.
            trainable: collect it among the trainable variables; None: True.
            validate_shape: require a known shape of the initial value, and keep it.
            caching_device: where to read it for its consumers.
            name: its name.
            variable_def: a ``VariableDef`` of a variable whose operations are in the graph.
            dtype: element type.
            import_scope: the scope that the operations of ``variable_def`` are in.
            constraint: a function from the value to a value, applied by optimizers after an update.
            synchronization: kept.
            aggregation: kept.
            shape: its shape.
        """
        given = {"synchronization": synchronization, "aggregation": aggregation}
        return VariableV1(
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
            shape=shape,
            **{key: value for key, value in given.items() if value is not None},
        )


class Variable(metaclass=_Constructor):
    """A variable, made as TensorFlow 2 does: by a handle, whose value operations read."""
