"""``tensorflow.python.data.kernel_tests.test_base``: a test case that looks at what datasets produce.

Source: tensorflow/python/data/kernel_tests/test_base.py, release 1.15 (names, arguments).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gpuplace
from gpuplace.errors import CancelledError, OpError, OutOfRangeError
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from gpuplace.tf1.api.testing.test_case import TestCase
from gpuplace.tf1.data import structure
from gpuplace.tf1.stand_in.framework import combinations


def default_test_combinations() -> list[combinations.Combination]:
    """Both modes, and the behaviour of both releases."""
    return combinations.combine(tf_api_version=[1, 2], mode=["eager", "graph"])


class DatasetTestBase(TestCase):
    """Tests of datasets."""

    def assert_op_cancelled(self, op: Any) -> None:
        """Checks that running something ends with a ``CancelledError``.

        Args:
            op: what to run.
        """
        with self.assertRaises(CancelledError):
            self.evaluate(op)

    def assertValuesEqual(self, expected: Any, actual: Any) -> None:  # noqa: N802 - unittest's way, as are the following
        """Checks that two values, dense or sparse, are equal.

        Args:
            expected: one.
            actual: the other.
        """
        if isinstance(expected, SparseTensorValue | SparseTensor):
            for part in ("indices", "values", "dense_shape"):
                self.assertAllEqual(getattr(expected, part), getattr(actual, part))
        else:
            self.assertAllEqual(expected, actual)

    def getNext(  # noqa: N802
        self, dataset: Any, requires_initialization: bool = False, shared_name: str | None = None
    ) -> Callable[[], Any]:
        """A function that gives the next element each time it is called; a ``TensorArray`` as one tensor.

        Args:
            dataset: the dataset.
            requires_initialization: whether its iterator has to be initialised, which is done.
            shared_name: the name of such an iterator.
        """
        if requires_initialization:
            iterator = dataset.make_initializable_iterator(shared_name)
            self.evaluate(iterator.initializer)
        else:
            iterator = dataset.make_one_shot_iterator()
        element = iterator.get_next()
        return lambda: element.stack() if isinstance(element, TensorArray) else element

    def assertDatasetProduces(  # noqa: N802
        self,
        dataset: Any,
        expected_output: Any = None,
        expected_shapes: Any = None,
        expected_error: tuple[type[Exception], Any] | None = None,
        requires_initialization: bool = False,
        num_test_iterations: int = 1,
        assert_items_equal: bool = False,
        expected_error_iter: int = 1,
    ) -> None:
        """Checks the elements of a dataset, and that there are no more; or the error that ends it.

        Args:
            dataset: the dataset.
            expected_output: its elements.
            expected_shapes: what is known of their shapes; None: anything.
            expected_error: the error's class, and a pattern for its message, or a function that says whether it is the
                one; None: there is none.
            requires_initialization: as for `getNext`.
            num_test_iterations: how often it is gone through.
            assert_items_equal: whether any order will do.
            expected_error_iter: how many elements are asked for until the error.
        """
        if expected_error is not None:
            kind, pattern = expected_error
            with self.assertRaisesWithPredicateMatch(kind, pattern):
                get_next = self.getNext(dataset, requires_initialization)
                for _ in range(expected_error_iter):
                    self.evaluate(get_next())
            return
        if expected_shapes is not None:
            self.assertEqual(expected_shapes, structure.output_shapes(dataset.element_spec))
        expected = list(expected_output)
        for _ in range(num_test_iterations):
            get_next = self.getNext(dataset, requires_initialization)
            found = [self.evaluate(get_next()) for _ in expected]
            for _ in range(2):
                with self.assertRaises(OutOfRangeError):
                    self.evaluate(get_next())
            if assert_items_equal:
                self.assertItemsEqual(found, expected)
            else:
                self.assertEqual(len(found), len(expected))
                for one, other in zip(found, expected, strict=True):
                    self._compare(one, other)

    def _compare(self, found: Any, expected: Any) -> None:
        """Checks one element."""
        structure.assert_same_form(found, expected)
        for one, other in zip(structure.flatten(found), structure.flatten(expected), strict=True):
            self.assertValuesEqual(other, one)

    def assertDatasetsEqual(self, dataset1: Any, dataset2: Any) -> None:  # noqa: N802
        """Checks that two datasets have the same elements.

        Args:
            dataset1: one.
            dataset2: the other.
        """
        self.assertEqual(
            structure.output_types(dataset1.element_spec), structure.output_types(dataset2.element_spec)
        )
        first, second = self.getNext(dataset1), self.getNext(dataset2)
        while True:
            try:
                value = self.evaluate(first())
            except OutOfRangeError:
                with self.assertRaises(OutOfRangeError):
                    self.evaluate(second())
                return
            self._compare(value, self.evaluate(second()))

    def assertDatasetsRaiseSameError(  # noqa: N802
        self,
        dataset1: Any,
        dataset2: Any,
        exception_class: type[OpError],
        replacements: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Checks that the first elements of two datasets are the same error.

        Args:
            dataset1: one.
            dataset2: the other.
            exception_class: the error's class.
            replacements: pairs of a text in the first message and one for its place.
        """
        with self.assertRaises(exception_class) as caught:
            self.evaluate(self.getNext(dataset1)())
        message = str(caught.exception)
        for old, new in replacements:
            message = message.replace(old, new)
        with self.assertRaisesRegex(exception_class, re.escape(message)):
            self.evaluate(self.getNext(dataset2)())

    def structuredDataset(self, dataset_structure: Any, shape: Any = None, dtype: Any = "int64") -> Any:  # noqa: N802
        """A dataset whose elements have a form, of zeros.

        Args:
            dataset_structure: None for a tensor, tuples for pairs of datasets.
            shape: the shape of each tensor; None: a scalar.
            dtype: its type.
        """
        if dataset_structure is None:
            zeros = np.zeros([] if shape is None else shape)
            return gpuplace.data.Dataset.from_tensors(gpuplace.constant(zeros, dtype=dtype))
        parts = tuple(self.structuredDataset(part, shape, dtype) for part in dataset_structure)
        return gpuplace.data.Dataset.zip(parts)

    def structuredElement(self, element_structure: Any, shape: Any = None, dtype: Any = "int64") -> Any:  # noqa: N802
        """Zeros in a form.

        Args:
            element_structure: as for `structuredDataset`.
            shape: the same.
            dtype: the same.
        """
        if element_structure is None:
            return gpuplace.zeros([] if shape is None else shape, dtype=dtype)
        return tuple(self.structuredElement(part, shape, dtype) for part in element_structure)
