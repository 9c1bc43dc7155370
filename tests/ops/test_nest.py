"""Structures: what is opened, what counts as alike, paths, and structures that go deeper than another one."""

from collections import OrderedDict, defaultdict, namedtuple

import pytest

import gpuplace as tf
from gpuplace.ops import nest_paths

Point = namedtuple("Point", "x y")


class Pair:
    """Like a class that ``attrs`` made."""

    class _Field:
        def __init__(self, name):
            self.name = name

    __attrs_attrs__ = (_Field("right"), _Field("left"))

    def __init__(self, right, left):
        self.right, self.left = right, left


def test_views_of_dicts_ranges_and_attrs_are_opened():
    ordered = OrderedDict([("z", 1), ("a", 2)])
    assert tf.nest.flatten([ordered.items(), ordered.keys()]) == ["z", 1, "a", 2, "z", "a"]
    assert tf.nest.pack_sequence_as(ordered.values(), [7, 8]) == [7, 8]
    assert tf.nest.pack_sequence_as(range(2), [7, 8]) == [7, 8]
    pair = tf.nest.map_structure(lambda value: -value, Pair(1, 2))
    assert (type(pair), pair.right, pair.left) == (Pair, -1, -2)
    made = tf.nest.map_structure(lambda value: value + 1, defaultdict(list, {"a": 1}))
    assert made == {"a": 2}
    assert made["new"] == []


def test_named_tuples_that_are_alike_are_of_one_type():
    alike, other = namedtuple("Point", "x y"), namedtuple("Spot", "x y")
    tf.nest.assert_same_structure(Point(1, 2), alike(3, 4))
    with pytest.raises(TypeError, match="has type Point, while second structure type=Spot"):
        tf.nest.assert_same_structure(Point(1, 2), other(3, 4))
    tf.nest.assert_same_structure({"a": 1}, OrderedDict(a=2))


def test_the_first_difference_is_named_and_the_whole_structures_with_it():
    with pytest.raises(ValueError) as raised:
        tf.nest.assert_same_structure({"a": [(1, 2), 3]}, {"a": [4, 5, 6]})
    text = str(raised.value)
    assert text.startswith(
        "The two structures don't have the same nested structure.\n\nFirst structure: type=dict str={'a': [(1, 2), 3]}"
    )
    assert (
        'Substructure "type=tuple str=(1, 2)" is a sequence, while substructure "type=int str=4" is not'
        in text
    )
    assert text.endswith("{'a': [(., .), .]}\nEntire second structure:\n{'a': [., ., .]}")
    with pytest.raises(
        ValueError, match=r"keys type=list str=\['a'\], while second structure has keys type=list"
    ):
        tf.nest.assert_same_structure({"a": 1}, {"b": 1})


def test_paths():
    deep = [Point(1, {"b": [2], "a": 3}), 4]
    assert nest_paths.flatten_with_tuple_paths(deep) == [
        *(((0, "x"), 1), ((0, "y", "a"), 3), ((0, "y", "b", 0), 2)),
        ((1,), 4),
    ]
    assert nest_paths.flatten_with_joined_string_paths(deep, ".")[2] == ("0.y.b.0", 2)
    assert list(nest_paths.yield_flat_paths(5)) == [()]
    assert nest_paths.map_structure_with_paths(lambda *got: got, {"k": [1]}, {"k": [2]}) == {
        "k": [("k/0", 1, 2)]
    }
    assert nest_paths.map_structure_with_tuple_paths(lambda path, value: path, Point(1, [2])) == Point(
        ("x",), [("y", 0)]
    )
    with pytest.raises(TypeError, match="Input structure has type <class 'list'>, while shallow"):
        nest_paths.map_structure_with_paths(lambda *got: got, (1,), [2])


def test_shallow_structures():
    assert nest_paths.flatten_up_to([0, [0]], [[1, 2], [(3, 4)]]) == [[1, 2], (3, 4)]
    assert nest_paths.map_structure_up_to(
        Point(0, 0), lambda left, right: left + right, Point([1], [2]), Point([3], [4])
    ) == (Point([1, 3], [2, 4]))
    part = {"b": {"y": None}}
    whole = {"a": 1, "b": {"x": 2, "y": [3]}}
    assert nest_paths.map_structure_up_to(part, len, whole, check_subtrees_length=False) == {"b": {"y": 1}}
    for shallow, deep, error, said in (
        ([1], 2, TypeError, "If shallow structure is a sequence, input must also be a sequence"),
        ([1], [2, 3], ValueError, "Input structure has length 2, while shallow structure has length 1"),
        ({"a": 1}, {"b": 1}, ValueError, r"not in the input_tree: \['a'\]"),
    ):
        with pytest.raises(error, match=said):
            nest_paths.flatten_up_to(shallow, deep)
    with pytest.raises(ValueError, match="The input_tree has fewer elements"):
        nest_paths.flatten_up_to([1, 2], [3], check_subtrees_length=False)


def test_how_far_a_function_wants_a_structure_opened():
    def opens(value):
        return not isinstance(value, tuple)

    assert nest_paths.get_traverse_shallow_structure(opens, [1, (2, 3), {"a": (4,)}]) == [
        True,
        False,
        {"a": False},
    ]
    with pytest.raises(TypeError, match="returned a non-bool scalar: 1"):
        nest_paths.get_traverse_shallow_structure(lambda value: 1, [2])


def test_nested_keys_of_dicts():
    assert nest_paths.flatten_dict_items({("a", ("b", "c")): (1, [2, 3])}) == {"a": 1, "b": 2, "c": 3}
    with pytest.raises(ValueError, match="key a is not unique"):
        nest_paths.flatten_dict_items({("a", "a"): (1, 2)})
    with pytest.raises(ValueError, match="Key had 2 elements, but value had 3 elements"):
        nest_paths.flatten_dict_items({("a", "b"): (1, [2, 3])})
