"""``tf.data.Iterator``: access to the elements of a dataset in a graph.

A one-shot iterator creates its dataset with a library function when the first element is requested; other iterators get
one from an operation::

    OneShotIterator (dataset_factory: _make_dataset) ─> IteratorGetNext ─> x

    ModelDataset ─> MakeIterator <─ IteratorV2 ─> IteratorGetNext ─> x
                    (initializer)

Source: tensorflow/python/data/ops/iterator_ops.py, release 1.15 (operations, messages).
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

from gpuplace import tf_logging
from gpuplace.display import above
from gpuplace.dtypes import string, variant
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.support import new, new_list
from gpuplace.ops.tracking.base import Trackable
from gpuplace.ops.type_spec import TypeSpec
from gpuplace.tf1.data import structure
from gpuplace.tf1.data.tracing import trace_alone
from gpuplace.typing import TensorLike

ITERATORS = "iterators"
"""The collection of all iterators of a graph."""

GET_NEXT_CALL_WARNING_THRESHOLD = 32
"""The number of ``get_next`` calls on an iterator that are allowed without a warning."""
GET_NEXT_CALL_WARNING_MESSAGE = (
    "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates that"
    " `Iterator.get_next()` is being called inside a training loop, which will cause gradual slowdown and eventual"
    " resource exhaustion. If this is the case, restructure your code to call `next_element = iterator.get_next()` once"
    " outside the loop, and use `next_element` as the input to some computation that is invoked inside the loop."
)
"""Text of the warning."""


class Iterator(Trackable):
    """An iterator over the elements of a dataset.

    Args:
        iterator_resource: the tensor that represents it.
        initializer: the operation that resets it to the first element, or None.
        output_types: types of its elements, in the elements' structure.
        output_shapes: their shapes.
        output_classes: their classes.
    """

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any,
    ) -> None:
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._spec = structure.spec_of(output_types, output_shapes, output_classes)
        self._string_handle = new("IteratorToStringHandle", resource_handle=iterator_resource)
        self._calls = 0
        iterator_resource.graph.add_to_collection(ITERATORS, iterator_resource)

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Return an iterator without a dataset: ``make_initializer`` assigns one.

        Args:
            output_types: types of its elements, in the elements' structure.
            output_shapes: their known shapes, in the same structure; None: unknown.
            shared_name: a name under which sessions share it; None: unshared.
            output_classes: their classes; None: tensors.

        Returns:
            An ``Iterator``.

        Raises:
            TypeError: types or shapes are not such structures.
            ValueError: their structures differ.
        """
        spec = structure.spec_of(output_types, output_shapes, output_classes)
        with _on_cpu_by_default():
            resource = new("IteratorV2", shared_name=shared_name or "", container="", **_attrs(spec))
        return _iterator(resource, None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: TensorLike, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """Return the iterator that a handle refers to; every run can feed another handle.

        Args:
            string_handle: a string scalar: the value of ``string_handle()`` of an iterator.
            output_types: types of its elements, in the elements' structure.
            output_shapes: their known shapes, in the same structure; None: unknown.
            output_classes: their classes; None: tensors.

        Returns:
            An ``Iterator``.

        Raises:
            TypeError: as for ``from_structure``.
            ValueError: as for ``from_structure``.
        """
        spec = structure.spec_of(output_types, output_shapes, output_classes)
        handle = convert_to_tensor(string_handle, string)
        with _on_cpu_by_default():
            resource = new("IteratorFromStringHandleV2", string_handle=handle, **_attrs(spec))
        return _iterator(resource, None, spec)

    @property
    def initializer(self) -> Operation:
        """The operation that resets it to the first element; ValueError if it has none."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """Return an operation that assigns a dataset and starts at its first element.

        Args:
            dataset: a dataset with elements that match this iterator.
            name: name of the operation.

        Returns:
            The operation.

        Raises:
            TypeError: its elements have other types or shapes.
            ValueError: their structure is different.
        """
        with name_scope(name, "make_initializer") as scope:
            structure.assert_same_structure(self.output_types, dataset.output_types)
            what = "Expected output {} {!r} but got dataset with output {} {!r}."
            for one, other in _leaves(self.output_classes, dataset.output_classes):
                if one is not other and not _is_compatible(one, other):
                    raise TypeError(
                        what.format("classes", self.output_classes, "class", dataset.output_classes)
                    )
            for one, other in _leaves(self.output_types, dataset.output_types):
                if one is not other and not _is_compatible(one, other):
                    raise TypeError(what.format("types", self.output_types, "types", dataset.output_types))
            if not structure.are_compatible(self._spec, dataset.element_spec):
                raise TypeError(
                    f"Expected output shapes compatible with {self.output_shapes!r} but got dataset with output"
                    f" shapes {dataset.output_shapes!r}."
                )
        return _make_iterator(dataset._variant_tensor, self._iterator_resource, scope)

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element; one call is enough for all runs, each of which takes one element.

        Args:
            name: name of the op.

        Returns:
            Tensors and datasets in the structure of the elements.

        Raises:
            OutOfRangeError: at run time, there are no more elements.
            FailedPreconditionError: at run time, the iterator was not initialized.
        """
        self._calls += 1
        if self._calls > GET_NEXT_CALL_WARNING_THRESHOLD:
            warnings.warn(GET_NEXT_CALL_WARNING_MESSAGE, stacklevel=2)
        tensors = new_list("IteratorGetNext", name, iterator=self._iterator_resource, **_attrs(self._spec))
        return structure.from_tensors(self._spec, tensors)

    def string_handle(self, name: str | None = None) -> Tensor:
        """Return the string handle of this iterator, to feed to a ``from_string_handle``.

        Args:
            name: name of the op; None: use the existing one.

        Returns:
            A tensor.
        """
        if name is None:
            return self._string_handle
        return new("IteratorToStringHandle", name, resource_handle=self._iterator_resource)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """Return the state for object-based checkpoints: the position of the iterator."""
        make = above("gpuplace.tf1.saving.iterators", "IteratorSaveable")
        return {"ITERATOR": lambda name: make(self._iterator_resource, name)}

    @property
    def element_spec(self) -> Any:
        """Spec of an element: ``TensorSpec`` and the like, in the element's structure."""
        return self._spec

    @property
    def output_types(self) -> Any:
        """Types of an element, in its structure."""
        return structure.output_types(self._spec)

    @property
    def output_shapes(self) -> Any:
        """Shapes of an element, in its structure."""
        return structure.output_shapes(self._spec)

    @property
    def output_classes(self) -> Any:
        """Classes of the components of an element, in its structure."""
        return structure.output_classes(self._spec)


def _leaves(form: Any, other: Any) -> Any:
    return zip(structure.flatten(form), structure.flatten(other), strict=True)


def _is_compatible(first: Any, second: Any) -> bool:
    """Return whether two dataset specs, which are their own types and classes, are compatible."""
    return isinstance(first, TypeSpec) and isinstance(second, TypeSpec) and first.is_compatible_with(second)


def _attrs(spec: Any) -> dict[str, Any]:
    return {"output_types": structure.flat_types(spec), "output_shapes": structure.flat_shapes(spec)}


def _iterator(resource: Tensor, initializer: Operation | None, spec: Any) -> Iterator:
    forms = structure.output_types(spec), structure.output_shapes(spec), structure.output_classes(spec)
    return Iterator(resource, initializer, *forms)


def _on_cpu_by_default() -> Any:
    """Open a block with operations on the CPU, unless a device block surrounds it."""
    graph = get_default_graph()
    return contextlib.nullcontext() if graph.scopes.stacks().devices else graph.device("/cpu:0")


def _make_iterator(dataset: Tensor, resource: Tensor, name: str | None = None) -> Operation:
    with get_default_graph().colocate_with(resource):
        return apply_op("MakeIterator", name, dataset=dataset, iterator=resource)


def initializable(dataset: Any, shared_name: str | None) -> Iterator:
    """Return an iterator over a dataset that has to be initialized.

    Args:
        dataset: the dataset.
        shared_name: a name under which sessions share it; None: unshared.
    """
    _warn_of_other_graphs(dataset)
    applied = dataset._with_options_applied()
    spec = applied.element_spec
    resource = new("IteratorV2", container="", shared_name=shared_name or "", **_attrs(spec))
    return _iterator(resource, _make_iterator(applied._variant_tensor, resource), spec)


def one_shot(dataset: Any) -> Iterator:
    """Return an iterator over a dataset that a library function creates.

    Args:
        dataset: the dataset.

    Raises:
        ValueError: the dataset uses a placeholder or other state of the graph.
    """
    _warn_of_other_graphs(dataset)
    spec = dataset.element_spec
    copied = _dataset_operations(dataset._variant_tensor)
    try:
        factory = trace_alone(
            lambda: dataset._with_options_applied()._variant_tensor,
            "_make_dataset",
            "Factory function for a dataset.",
            copied,
        )
    except ValueError as error:
        if "Cannot capture a stateful node" in str(error):
            raise ValueError(
                "Failed to create a one-shot iterator for a dataset. `Dataset.make_one_shot_iterator()` does not"
                " support datasets that capture stateful objects, such as a `Variable` or `LookupTable`. In these"
                f" cases, use `Dataset.make_initializable_iterator()`. (Original error: {error})"
            ) from None
        raise
    resource = new("OneShotIterator", dataset_factory=factory, container="", shared_name="", **_attrs(spec))
    return _iterator(resource, None, spec)


def _warn_of_other_graphs(dataset: Any) -> None:
    """Log a warning if a dataset or one of its inputs belongs to another graph than its iterator."""
    graph, pending, seen = get_default_graph(), [dataset], set[int]()
    while pending:
        current = pending.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        pending.extend(current._inputs())
        tensor = current._variant_tensor
        if tensor.graph is not graph:
            tf_logging.warning(
                f"The graph ({graph}) of the iterator is different from the graph ({tensor.graph}) the dataset:"
                f" {tensor} was created in. If you are using the Estimator API, make sure that no part of the dataset"
                " returned by the `input_fn` function is defined outside the `input_fn` function. Please ensure that"
                " all datasets in the pipeline are created in the same graph as the iterator. NOTE: This warning will"
                " become an error in future versions of TensorFlow."
            )


def _dataset_operations(tensor: Tensor) -> set[Operation]:
    """Return the dataset operations that a dataset depends on."""
    seen, pending = {tensor.op}, [tensor.op]
    while pending:
        for source in pending.pop().inputs:
            if source.op not in seen:
                seen.add(source.op)
                pending.append(source.op)
    return {op for op in seen if op.outputs and op.outputs[0].dtype is variant}
