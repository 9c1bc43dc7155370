"""Parsing of messages, lines and words; values and sentences are those of TensorFlow 1.15."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph
from gpuplace.tf1.text.fingerprints import fingerprint64, hash64, sip_hash

Fixed, Any, Parts = tf.FixedLenFeature, tf.VarLenFeature, tf.FixedLenSequenceFeature


@pytest.fixture(autouse=True)
def graph():
    reset_default_graph()
    yield
    reset_default_graph()


def feature(values):
    if not values:
        return tf.train.Feature()
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(**features):
    made = {name: feature(values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def plain(value):
    """Arrays as lists, sparse values as (positions, values, shape)."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if hasattr(value, "indices"):
        return tuple(part.tolist() for part in (value.indices, value.values, value.dense_shape))
    return value.tolist() if hasattr(value, "tolist") else value


ONE = example(a=[1.0, 2.0], b=[3], c=[b"x", b"y"])
TWO = example(a=[4.0, 5.0], c=[])
THREE = example(a=[1.0], i=[2, 0], v=[1.5, 2.5])
FOUR = example(a=[1.0, 2.0, 3.0], i=[1], v=[9.0])
SPARSE = tf.SparseFeature("i", "v", tf.float32, 4)


@pytest.mark.parametrize(
    ("text", "features", "expected"),
    [
        (
            ONE,
            {"a": Fixed([2], tf.float32), "b": Fixed([], tf.int64), "c": Any(tf.string)},
            {"a": [1.0, 2.0], "b": 3, "c": ([[0], [1]], [b"x", b"y"], [2])},
        ),
        (
            TWO,
            {"b": Fixed([], tf.int64, 7), "c": Any(tf.string)},
            {"b": 7, "c": ([], [], [0])},
        ),
        (ONE, {"a": Fixed([1, 2], tf.float32)}, {"a": [[1.0, 2.0]]}),
        (ONE, {"q": Fixed([2], tf.float32, [1.0, 2.0])}, {"q": [1.0, 2.0]}),
        (ONE, {"q": Fixed([], tf.string, "d")}, {"q": b"d"}),
        (
            ONE,
            {"a": Parts([], tf.float32, True), "z": Parts([2], tf.int64, True)},
            {"a": [1.0, 2.0], "z": []},
        ),
        (THREE, {"s": SPARSE}, {"s": ([[0], [2]], [2.5, 1.5], [4])}),
    ],
)
def test_one_example(text, features, expected):
    with tf.Session() as session:
        assert plain(session.run(tf.parse_single_example(text, features))) == expected
        assert plain(session.run(tf.io.parse_single_example(text, features))) == expected


@pytest.mark.parametrize(
    ("texts", "features", "expected"),
    [
        (
            [ONE, TWO],
            {"a": Fixed([2], tf.float32), "b": Fixed([], tf.int64, -1), "c": Any(tf.string)},
            {"a": [[1.0, 2.0], [4.0, 5.0]], "b": [3, -1], "c": ([[0, 0], [0, 1]], [b"x", b"y"], [2, 2])},
        ),
        ([THREE, FOUR], {"a": Parts([], tf.float32, True)}, {"a": [[1.0, 0.0, 0.0], [1.0, 2.0, 3.0]]}),
        (
            [THREE, FOUR],
            {"a": Parts([], tf.float32, True, -1.0)},
            {"a": [[1.0, -1.0, -1.0], [1.0, 2.0, 3.0]]},
        ),
        ([THREE, FOUR], {"s": SPARSE}, {"s": ([[0, 0], [0, 2], [1, 1]], [2.5, 1.5, 9.0], [2, 4])}),
        (
            [THREE, FOUR],
            {"s": tf.SparseFeature(["i"], "v", tf.float32, [4], already_sorted=True)},
            {"s": ([[0, 2], [0, 0], [1, 1]], [1.5, 2.5, 9.0], [2, 4])},
        ),
        ([THREE], {"zz": Any(tf.float32)}, {"zz": ([], [], [1, 0])}),
    ],
)
def test_several_examples(texts, features, expected):
    with tf.Session() as session:
        assert plain(session.run(tf.parse_example(texts, features))) == expected


@pytest.mark.parametrize(
    ("texts", "features", "sentence"),
    [
        (TWO, {"b": Fixed([], tf.int64)}, "Feature: b (data type: int64) is required but could not be found."),
        (ONE, {"a": Fixed([3], tf.float32)}, "Key: a.  Can't parse serialized Example."),
        (
            ONE,
            {"a": Fixed([2], tf.int64)},
            "Key: a.  Data types don't match. Data type: float but expected type: int64",
        ),
        (ONE, {"a": Any(tf.int64)}, "Key: a.  Data types don't match. Expected type: int64, Actual type: float"),
        (b"junk", {"a": Any(tf.int64)}, "Could not parse example input, value: 'junk'"),
        (
            [ONE, TWO],
            {"b": Fixed([], tf.int64)},
            "Name: <unknown>, Feature: b (data type: int64) is required but could not be found.",
        ),
        (
            [ONE, TWO],
            {"a": Fixed([3], tf.float32)},
            "Name: <unknown>, Key: a, Index: 0.  Number of float values != expected.  Values size: 2 but"
            " output shape: [3]",
        ),
        (
            [THREE],
            {"a": Parts([2], tf.float32, True)},
            "Name: <unknown>, Key: a, Index: 0.  Number of float values is not a multiple of stride length. Saw 1"
            " values but output shape is: [?,2]",
        ),
    ],
)  # fmt: skip
def test_examples_that_do_not_fit(texts, features, sentence):
    parse = tf.parse_example if isinstance(texts, list) else tf.parse_single_example
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(parse(texts, features))
    assert error.value.message.split("\n")[0] == sentence


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        ({"a": Parts([], tf.float32)}, "FixedLenSequenceFeature requires allow_missing to be True."),
        ({"a": Fixed([None], tf.float32)}, "First dimension of shape for feature a unknown."),
        ({"a": 3}, "Invalid feature a:3."),
        ({"a": Any(None)}, "Missing type for feature a."),
        ({"a": Fixed(None, tf.float32)}, "Missing shape for feature a."),
        ({}, "Missing"),
    ],
)
def test_features_that_are_not_complete(features, sentence):
    for parse, given in ((tf.parse_example, [ONE]), (tf.parse_single_example, ONE)):
        with pytest.raises(ValueError) as error:
            parse(given, features)
        assert sentence in str(error.value)


def test_shapes_are_known():
    features = {"a": Fixed([2], tf.float32), "c": Any(tf.string), "q": Parts([3], tf.int64, True)}
    several = tf.parse_example(tf.placeholder(tf.string, [None]), features)
    assert [several[key].shape.as_list() for key in "acq"] == [[None, 2], [None, None], [None, None, 3]]
    one = tf.parse_single_example(tf.placeholder(tf.string, []), features)
    assert [one[key].shape.as_list() for key in "acq"] == [[2], [None], [None, 3]]


STEPS = tf.train.SequenceExample(
    context=tf.train.Features(feature={"l": feature([3]), "k": feature([b"q"])}),
    feature_lists=tf.train.FeatureLists(
        feature_list={
            "t": tf.train.FeatureList(feature=[feature([i, i + 1]) for i in range(3)]),
            "w": tf.train.FeatureList(feature=[feature([1.0] * i) for i in range(3)]),
        }
    ),
).SerializeToString()


def test_a_sequence():
    context, steps = tf.parse_single_sequence_example(
        STEPS,
        {"l": Fixed([], tf.int64), "k": Any(tf.string), "z": Fixed([], tf.int64, 5)},
        {"t": Parts([2], tf.int64), "w": Any(tf.float32), "zz": Parts([2], tf.int64, True)},
    )
    with tf.Session() as session:
        assert plain(session.run(context)) == {"l": 3, "k": ([[0]], [b"q"], [1]), "z": 5}
        assert plain(session.run(steps)) == {
            "t": [[0, 1], [1, 2], [2, 3]],
            "w": ([[1, 0], [2, 0], [2, 1]], [1.0, 1.0, 1.0], [3, 2]),
            "zz": [],
        }


@pytest.mark.parametrize(
    ("context", "steps", "sentence"),
    [
        (None, {"t": Parts([], tf.int64)}, "Name: , Key: t, Index: 0.  Number of int64 values != expected."),
        (None, {"zz": Parts([], tf.int64)}, "Name: , Feature list 'zz' is required but could not be found.  Did"),
        ({"zz": Fixed([], tf.int64)}, None, "Name: , Context feature 'zz' is required but could not be found."),
        (None, {"t": Parts([2], tf.float32)}, "Name: , Feature list: t, Index: 0.  Data types don't match. Expected"),
    ],
)  # fmt: skip
def test_sequences_that_do_not_fit(context, steps, sentence):
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(tf.parse_single_sequence_example(STEPS, context, steps))
    assert error.value.message.startswith(sentence)


def steps_of(number, count):
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={"c": feature([number]), "s": feature([b"a"] * number)}),
        feature_lists=tf.train.FeatureLists(
            feature_list={
                "f": tf.train.FeatureList(feature=[feature([float(number), float(i)]) for i in range(count)]),
                "v": tf.train.FeatureList(feature=[feature(list(range(i))) for i in range(count)]),
            }
        ),
    ).SerializeToString()


def test_several_sequences():
    found = tf.io.parse_sequence_example(
        [steps_of(1, 2), steps_of(3, 0), steps_of(2, 3)],
        {"c": Fixed([], tf.int64), "s": Any(tf.string), "d": Fixed([2], tf.float32, [1.0, 2.0])},
        {"f": Parts([2], tf.float32), "v": Any(tf.int64), "m": Parts([2], tf.string, True)},
    )
    context, steps, lengths = found
    op = context["c"].op
    assert [tensor.name.rpartition("/")[2] for tensor in op.inputs] == [
        *("serialized:0", "debug_name:0", "Const:0", "key_d:0")
    ]
    assert (op.type, op.get_attr("Ncontext_dense")) == ("ParseSequenceExample", 2)
    assert [steps[key].shape.as_list() for key in "fvm"] == [[3, None, 2], [None, None, None], [3, None, 2]]
    with tf.Session() as session:
        context, steps, lengths = session.run(found)
    assert plain(context) == {
        "c": [1, 3, 2],
        "s": ([[0, 0], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1]], [b"a"] * 6, [3, 3]),
        "d": [[1.0, 2.0]] * 3,
    }
    assert plain(steps) == {
        "f": [[[1, 0], [1, 1], [0, 0]], [[0, 0]] * 3, [[2, 0], [2, 1], [2, 2]]],
        "v": ([[0, 1, 0], [2, 1, 0], [2, 2, 0], [2, 2, 1]], [0, 0, 0, 1], [3, 3, 2]),
        "m": [[], [], []],
    }
    assert plain(lengths) == {"f": [2, 0, 3], "m": [0, 0, 0]}


@pytest.mark.parametrize(
    ("context", "steps", "names", "sentence"),
    [
        ({"x": Fixed([], tf.int64)}, None, None, "Inconsistent number of elements for feature x: 0 vs 1"),
        ({"c": Fixed([], tf.float32)}, None, None, "Error in context feature c in example <unknown>"),
        ({"c": Any(tf.float32)}, None, ["n"], "Error in context feature c in example n"),
        (None, {"x": Parts([2], tf.float32)}, ["n"], "Missing feature x in example n"),
        (None, {"f": Parts([3], tf.float32)}, None, "Unexpected shape error in feature f"),
        (None, {"v": Any(tf.float32)}, None, "Error in sequence feature v in example <unknown>"),
        (None, {"v": Any(tf.int64)}, ["n", "o"], "example_names must be empty or have the correct number of"),
    ],
)  # fmt: skip
def test_several_sequences_that_do_not_fit(context, steps, names, sentence):
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(tf.io.parse_sequence_example([steps_of(1, 2)], context, steps, names))
    assert error.value.message.startswith(sentence)


def test_what_is_no_sequence():
    with pytest.raises(ValueError, match="Missing features"):
        tf.io.parse_sequence_example([steps_of(1, 2)])
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="message input, example id: n"),
    ):
        session.run(tf.io.parse_sequence_example([b"x"], {"c": Fixed([], tf.int64)}, example_names=["n"]))


# Lines and words


@pytest.mark.parametrize(
    ("records", "defaults", "options", "expected"),
    [
        ("1,2.5,x", [[0], [0.0], [""]], {}, [1, 2.5, b"x"]),
        (["1,2", "3,4"], [[0], [0]], {}, [[1, 3], [2, 4]]),
        ("1,", [[0], [7]], {}, [1, 7]),
        ('"a,b","c""d"', [[""], [""]], {}, [b"a,b", b'c"d']),
        ("a b\tc", [[""], [""]], {"field_delim": "\t"}, [b"a b", b"c"]),
        ('"a",b', [[""], [""]], {"use_quote_delim": False}, [b'"a"', b"b"]),
        ("NA,2", [[1], [0]], {"na_value": "NA"}, [1, 2]),
        ("1,2,3", [[0], [0]], {"select_cols": [0, 2]}, [1, 3]),
        (" 1 , 2.5", [[0], [0.0]], {}, [1, 2.5]),
        ('x,"a\nb"', [[""], [""]], {}, [b"x", b"a\nb"]),
    ],
)
def test_lines_of_values(records, defaults, options, expected):
    with tf.Session() as session:
        assert plain_list(session.run(tf.decode_csv(records, defaults, **options))) == expected


def plain_list(values):
    return [plain(value) for value in values]


@pytest.mark.parametrize(
    ("records", "defaults", "sentence"),
    [
        ("1,", lambda: [[0], tf.constant([], tf.int32)], "Field 1 is required but missing in record 0!"),
        ("1", lambda: [[0], [0]], "Expect 2 fields but have 1 in record 0"),
        (["1,2", "1,2,3"], lambda: [[0], [0]], "Expect 2 fields but have 3 in record 1"),
        ("", lambda: [[""]], "Expect 1 fields but have 0 in record 0"),
        ("a,2", lambda: [[0], [0]], "Field 0 in record 0 is not a valid int32: a"),
        ("99999999999,1", lambda: [[0], [0]], "Field 0 in record 0 is not a valid int32: 99999999999"),
        ('a"b,c', lambda: [[""], [""]], "Unquoted fields cannot have quotes/CRLFs inside"),
        ('"ab', lambda: [[""]], "Quoted field has to end with quote followed by delim or end"),
        ('"a" ,b', lambda: [[""], [""]], "Quote inside a string has to be escaped by another quote"),
    ],
)
def test_lines_that_do_not_fit(records, defaults, sentence):
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(tf.decode_csv(records, defaults()))
    assert error.value.message.split("\n")[0] == sentence


def test_columns_that_cannot_be():
    with pytest.raises(ValueError, match="select_cols is not strictly increasing."):
        tf.decode_csv("1,2", [[0], [0]], select_cols=[1, 0])
    with pytest.raises(
        ValueError, match="Shape of a default must be a length-0 or length-1 vector, or a scalar."
    ):
        tf.decode_csv("1,2", [[0, 1], [0]])


@pytest.mark.parametrize(
    ("make", "words", "shape"),
    [
        (lambda: tf.string_split(["a b c", "d e"]), [b"a", b"b", b"c", b"d", b"e"], [2, 3]),
        (lambda: tf.string_split(["a,b,,c"], ","), [b"a", b"b", b"c"], [1, 3]),
        (lambda: tf.string_split(["a,b,,c"], ",", skip_empty=False), [b"a", b"b", b"", b"c"], [1, 4]),
        (lambda: tf.string_split(["abc"], ""), [b"a", b"b", b"c"], [1, 3]),
        (lambda: tf.string_split(["a|b;c"], delimiter="|;"), [b"a", b"b", b"c"], [1, 3]),
        (lambda: tf.string_split([""]), [], [1, 0]),
        (lambda: tf.strings.split(["a b c", "d  e"]), [b"a", b"b", b"c", b"d", b"e"], [2, 3]),
        (lambda: tf.strings.split(["a<>b<>c"], "<>", maxsplit=1), [b"a", b"b<>c"], [1, 2]),
        (lambda: tf.strings.split(["a,,b"], sep=","), [b"a", b"", b"b"], [1, 3]),
    ],
)
def test_words(make, words, shape):
    with tf.Session() as session:
        found = session.run(make())
    assert (found.values.tolist(), found.dense_shape.tolist()) == (words, shape)


TEXTS = [b"a", b"b", b"hello world", b"", b"x" * 17, b"y" * 40, b"z" * 70, b"q" * 200]


def test_buckets_of_texts():
    with tf.Session() as session:
        fast = session.run(tf.string_to_hash_bucket_fast(TEXTS, 1000))
        assert fast.tolist() == [939, 822, 11, 263, 581, 6, 619, 425]
        old = session.run(tf.strings.to_hash_bucket(TEXTS, 1000))
        assert old.tolist() == [868, 370, 655, 899, 830, 129, 72, 344]
        strong = session.run(tf.string_to_hash_bucket_strong(["a", "hello"], 1000, [1, 2]))
        assert strong.tolist() == [646, 622]
    assert (fingerprint64(b"a") % 1000, hash64(b"a") % 1000) == (939, 868)
    assert sip_hash(b"a", 1, 2) % 1000 == 646
    with pytest.raises(ValueError, match="num_buckets"):
        tf.string_to_hash_bucket_fast(["a"], 0)


# Tensors


@pytest.mark.parametrize("value", [[[1.0, 2.0]], [1, 2, 3], 5, ["a", "b"], [True, False], 1 + 2j])
def test_a_tensor_as_text_and_back(value):
    tensor = tf.constant(value)
    with tf.Session() as session:
        text = tf.serialize_tensor(tensor)
        again, original = session.run([tf.parse_tensor(text, tensor.dtype), tensor])
        assert np.asarray(again).tolist() == np.asarray(original).tolist()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch between parsed tensor"):
            session.run(tf.parse_tensor(text, tf.int8))
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Could not parse `serialized` as TensorProto"
        ):
            session.run(tf.parse_tensor(b"junk\xff", tf.int8))


def test_json():
    text = '{"features":{"feature":{"a":{"floatList":{"value":[1.5]}}}}}'
    binary = tf.decode_json_example([text])[0]
    with tf.Session() as session:
        assert session.run(tf.parse_single_example(binary, {"a": Fixed([], tf.float32)})["a"]) == 1.5
        with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
            session.run(tf.decode_json_example(["{bad"]))


def test_no_texts():
    with tf.Session() as session:
        assert session.run(tf.constant([], tf.string)).shape == (0,)
        found = session.run(tf.parse_example([], {"a": Fixed([2], tf.float32)}))
        assert found["a"].shape == (0, 2)


def test_an_empty_text_has_no_words():
    with tf.Session() as session:
        words = session.run(tf.string_split([",a", ""], ",", skip_empty=False))
        assert words.values.tolist() == [b"", b"a"] and words.dense_shape.tolist() == [2, 2]


def test_a_scalar_as_text_says_that_it_is_one():
    with tf.Session() as session:
        assert session.run(tf.io.serialize_tensor(2.0)) == b'\x08\x01\x12\x00"\x04\x00\x00\x00@'
