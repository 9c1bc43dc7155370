"""Values that consist of tensors, a program's own among them, in structures; the answers are TensorFlow 1.15.5's."""

import pytest

import gpuplace as tf
from gpuplace.ops import nest_paths
from gpuplace.ops.composite import CompositeTensor
from gpuplace.ops.type_spec import TypeSpec, register_type_spec_from_value_converter, type_spec_from_value


class PairSpec(TypeSpec):
    """Of two tensors and a text."""

    def __init__(self, first, second, label=None):
        self.first, self.second, self.label = first, second, label

    value_type = property(lambda self: Pair)
    _component_specs = property(lambda self: {"first": self.first, "second": self.second})

    def _to_components(self, value):
        return {"first": value.first, "second": value.second}

    def _from_components(self, components):
        return Pair(components["first"], components["second"], self.label)

    def _serialize(self):
        return self.first, self.second, self.label


class Pair(CompositeTensor):
    def __init__(self, first, second, label=None):
        self.first, self.second, self.label = first, second, label

    @property
    def _type_spec(self):
        specs = [type_spec_from_value(one) for one in (self.first, self.second)]
        return PairSpec(*specs, self.label)


def pair(label="a"):
    return Pair(tf.constant([1.0, 2.0]), tf.constant(3), label)


def test_structures_are_opened_where_asked_for():
    value = pair()
    structure = {"b": [value, 5], "a": tf.SparseTensor([[0]], [1.0], [3])}
    assert tf.nest.flatten(structure) == [structure["a"], value, 5]
    flat = tf.nest.flatten(structure, expand_composites=True)
    assert flat[3:] == [value.first, value.second, 5] and len(flat) == 6
    packed = tf.nest.pack_sequence_as(structure, [*flat[:3], 7, 8, 9], expand_composites=True)
    made = packed["b"][0]
    assert (made.first, made.second, made.label, packed["b"][1]) == (7, 8, "a", 9)
    assert packed["a"].values is structure["a"].values
    tripled = tf.nest.map_structure(lambda leaf: leaf * 3, value, expand_composites=True)
    with tf.Session() as session:
        assert session.run(tripled.first).tolist() == [3.0, 6.0] and tripled.label == "a"
    assert [path for path, _ in nest_paths.flatten_with_tuple_paths([value], expand_composites=True)] == [
        (0, "Pair", "first"),
        (0, "Pair", "second"),
    ]
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    assert [path for path, _ in nest_paths.flatten_with_tuple_paths(slices, expand_composites=True)] == [
        ("IndexedSlices", 0),
        ("IndexedSlices", 1),
    ]


def test_a_spec_is_like_a_value_of_it():
    value = pair()
    spec = value._type_spec
    assert tf.nest.flatten(spec) == [spec]
    assert tf.nest.flatten(spec, expand_composites=True) == [spec.first, spec.second]
    for one in (
        value,
        tf.SparseTensor([[0]], [1.0], [3]),
        tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])),
    ):
        tf.nest.assert_same_structure([one], [type_spec_from_value(one)], expand_composites=True)
        nest_paths.assert_shallow_structure(type_spec_from_value(one), one, expand_composites=True)
    with pytest.raises(ValueError, match="is a sequence, while substructure"):
        tf.nest.assert_same_structure(value, value.first, expand_composites=True)
    with pytest.raises(ValueError, match="Incompatible CompositeTensor TypeSpecs: PairSpec"):
        tf.nest.assert_same_structure(value, pair("b"), expand_composites=True)
    tf.nest.assert_same_structure(value, pair("b"))
    other = tf.SparseTensor([[0]], [1.0], [3])
    with pytest.raises(TypeError, match="don't have the same sequence type"):
        tf.nest.assert_same_structure(value, other, expand_composites=True)
    with pytest.raises(TypeError, match="don't have the same sequence type"):
        nest_paths.assert_shallow_structure(value, {"first": 1, "second": 2}, True, True)


def test_branches_give_such_values():
    value = pair()
    chosen = tf.cond(tf.constant(False), lambda: value, lambda: Pair(value.first * 2.0, value.second, "a"))
    assert isinstance(chosen, Pair) and value.first.consumers() and value.consumers()
    with tf.Session() as session:
        assert session.run(chosen.first).tolist() == [2.0, 4.0]


def test_specs_of_values():
    class Named:
        shape, dtype = tf.TensorShape([3]), tf.int32

    class Special(Named):
        pass

    with pytest.raises(TypeError, match="Could not build a TypeSpec for"):
        type_spec_from_value(Named())
    register_type_spec_from_value_converter(Named, lambda one: tf.TensorSpec(one.shape, one.dtype))
    assert type_spec_from_value(Named()) == tf.TensorSpec([3], tf.int32)
    with pytest.raises(TypeError, match="Could not build a TypeSpec for"):
        type_spec_from_value(Special())
    register_type_spec_from_value_converter(
        Named, lambda one: tf.TensorSpec([], one.dtype), allow_subclass=True
    )
    assert type_spec_from_value(Special()) == tf.TensorSpec([], tf.int32)
    one, other = tf.TensorSpec([4], name="a"), tf.TensorSpec([None], name="b")
    assert one.most_specific_compatible_type(other) == tf.TensorSpec([None])
    assert one.most_specific_compatible_type(tf.TensorSpec([5], name="a")) == tf.TensorSpec([None], name="a")
    nested = PairSpec(one, one).most_specific_compatible_type(PairSpec(other, one))
    assert nested == PairSpec(tf.TensorSpec([None]), one)
