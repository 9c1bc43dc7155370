"""Input pipelines, for TensorFlow 1.15 and for gpuplace: what they build, and what comes out of them.

Each takes the module and a folder of files and returns a dataset. Runs in Python 3.7 too.
"""

import functools
import os

import numpy as np

PIPELINES = {}
INITIALISED = set()
"""Those that need an iterator which is initialised."""


def pipeline(function):
    PIPELINES[function.__name__] = function
    return function


def initialised(function):
    INITIALISED.add(function.__name__)
    return pipeline(function)


def write_files(folder):
    """The files that pipelines read."""
    for name, lines in (("a.txt", ["a1", "a2", "a3"]), ("b.txt", ["b1"]), ("c.txt", ["c1", "c2"])):
        with open(os.path.join(folder, name), "wb") as file:
            file.write("\n".join(lines).encode() + (b"\n" if name != "c.txt" else b""))
    with open(os.path.join(folder, "dos.txt"), "wb") as file:
        file.write(b"one\r\n\r\ntwo\r\n")
    with open(os.path.join(folder, "fixed.bin"), "wb") as file:
        file.write(b"HH" + bytes(range(12)) + b"F")


# Sources


@pipeline
def slices_of_structures(tf, folder):
    return tf.data.Dataset.from_tensor_slices(
        ({"b": np.float32([[1, 2], [3, 4]]), "a": ["x", "y"]}, np.int32([5, 6]))
    )


@pipeline
def one_element(tf, folder):
    return tf.data.Dataset.from_tensors((np.float64([1, 2]), 3, "four"))


@pipeline
def ranges(tf, folder):
    r = tf.data.Dataset.range
    return r(3).concatenate(r(5, 8)).concatenate(r(10, 0, -4)).concatenate(r(3, 1))


@pipeline
def generated(tf, folder):
    def numbers():
        for number in range(4):
            yield number, [float(number), 1.0]

    return tf.data.Dataset.from_generator(numbers, (tf.int64, tf.float32), ([], [2])).repeat(2)


@pipeline
def generated_with_arguments(tf, folder):
    def numbers(count):
        return iter(range(count))

    return tf.data.Dataset.from_generator(numbers, tf.int32, [], args=(3,))


@pipeline
def generated_strings(tf, folder):
    return tf.data.Dataset.from_generator(lambda: iter(["a", "bc"]), tf.string)


# Transformations


@pipeline
def mapped(tf, folder):
    scale = tf.constant(3.0, name="scale")
    data = tf.data.Dataset.from_tensor_slices((np.float32([1, 2, 3]), {"n": np.int32([4, 5, 6])}))
    return data.map(lambda x, y: (x * scale, {"sum": tf.add(tf.cast(y["n"], tf.float32), x)}))


@pipeline
def mapped_in_parallel(tf, folder):
    return tf.data.Dataset.range(10).map(lambda x: x * x, num_parallel_calls=4)


@pipeline
def mapped_to_list(tf, folder):
    return tf.data.Dataset.range(2).map(lambda x: [x, x + 1])


@pipeline
def mapped_with_py_func(tf, folder):
    return tf.data.Dataset.range(3).map(lambda x: tf.py_func(lambda v: v * 10, [x], tf.int64))


@pipeline
def mapped_with_conditional(tf, folder):
    data = tf.data.Dataset.range(4)
    return data.filter(lambda x: x < 3).map(lambda x: tf.where(x > 1, x * 2, -x))


@pipeline
def mapped_partial(tf, folder):
    return tf.data.Dataset.range(2).map(functools.partial(tf.add, tf.constant(5, tf.int64)))


@pipeline
def flat(tf, folder):
    return tf.data.Dataset.range(1, 4).flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat(x))


@pipeline
def nested_captures(tf, folder):
    y = tf.constant(7, tf.int64)
    return tf.data.Dataset.range(3).flat_map(
        lambda x: tf.data.Dataset.range(2).map(lambda z: x * 100 + z * 10 + y)
    )


def _repeats(tf):
    return lambda x: tf.data.Dataset.from_tensors(x).repeat(x)


@pipeline
def interleaved(tf, folder):
    return tf.data.Dataset.from_tensor_slices(np.int64([4, 2, 5, 1, 3])).interleave(
        _repeats(tf), cycle_length=2, block_length=2
    )


@pipeline
def interleaved_in_parallel(tf, folder):
    return tf.data.Dataset.from_tensor_slices(np.int64([4, 2, 0, 5, 1, 3])).interleave(
        _repeats(tf), cycle_length=3, block_length=1, num_parallel_calls=2
    )


@pipeline
def interleaved_by_the_old_op(tf, folder):
    return tf.data.Dataset.from_tensor_slices(np.int64([4, 2, 0, 5, 1, 3])).apply(
        tf.data.experimental.parallel_interleave(_repeats(tf), cycle_length=3, block_length=2)
    )


@pipeline
def filtered(tf, folder):
    return tf.data.Dataset.range(10).filter(lambda x: tf.equal(x % 3, 0))


@pipeline
def batched(tf, folder):
    return tf.data.Dataset.range(7).batch(3)


@pipeline
def batched_without_remainder(tf, folder):
    data = tf.data.Dataset.from_tensor_slices((np.float32([[1, 2], [3, 4], [5, 6]]), ["a", "b", "c"]))
    return data.batch(2, drop_remainder=True)


@pipeline
def batched_twice(tf, folder):
    return tf.data.Dataset.range(8).batch(2).batch(3)


@pipeline
def padded(tf, folder):
    return tf.data.Dataset.range(5).map(lambda x: tf.fill([tf.cast(x, tf.int32)], x)).padded_batch(2, [None])


@pipeline
def padded_to_a_size(tf, folder):
    data = tf.data.Dataset.range(4).map(lambda x: (tf.fill([x, 2], 1.0), tf.as_string(x)))
    return data.padded_batch(3, ([5, -1], []), (-1.0, "-"), drop_remainder=True)


@pipeline
def shuffled(tf, folder):
    return tf.data.Dataset.range(20).shuffle(7, seed=3)


@pipeline
def shuffled_all(tf, folder):
    return tf.data.Dataset.range(8).shuffle(100, seed=11)


@pipeline
def shuffled_exactly(tf, folder):
    return tf.data.Dataset.range(8).shuffle(8, seed=11)


@pipeline
def shuffled_and_repeated(tf, folder):
    return tf.data.Dataset.range(5).shuffle(4, seed=1).repeat(4)


@pipeline
def shuffled_once_and_repeated(tf, folder):
    return tf.data.Dataset.range(5).shuffle(4, seed=1, reshuffle_each_iteration=False).repeat(3)


@pipeline
def shuffled_without_end(tf, folder):
    return tf.data.Dataset.range(5).shuffle(12, seed=5).repeat()


@pipeline
def shuffled_without_fusion(tf, folder):
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    return tf.data.Dataset.range(5).shuffle(4, seed=1).repeat(3).with_options(options)


@pipeline
def shuffled_and_mapped(tf, folder):
    return tf.data.Dataset.range(5).shuffle(3, seed=2).map(lambda x: x).repeat(3).batch(4)


@pipeline
def shuffled_twice(tf, folder):
    return tf.data.Dataset.range(6).shuffle(4, seed=1).shuffle(3, seed=2).repeat(2)


@pipeline
def shuffled_by_graph_seed(tf, folder):
    tf.set_random_seed(5)
    return tf.data.Dataset.range(9).shuffle(4)


@pipeline
def shuffled_by_zero_seeds(tf, folder):
    tf.set_random_seed(0)
    return tf.data.Dataset.range(9).shuffle(4, seed=0)


@pipeline
def fused_by_hand(tf, folder):
    return tf.data.Dataset.range(5).apply(tf.data.experimental.shuffle_and_repeat(4, 3, seed=9))


@pipeline
def random_numbers(tf, folder):
    return tf.data.experimental.RandomDataset(seed=4).take(6).repeat(2)


@pipeline
def random_in_map(tf, folder):
    tf.set_random_seed(8)
    return tf.data.Dataset.range(3).map(lambda x: tf.random_uniform([2])).repeat(2)


@pipeline
def random_in_map_by_op_seed(tf, folder):
    return tf.data.Dataset.range(3).map(lambda x: tf.random_normal([2], seed=6)).repeat(2)


@pipeline
def taken_and_skipped(tf, folder):
    return tf.data.Dataset.range(10).skip(2).take(5).skip(1).take(-1)


@pipeline
def sharded(tf, folder):
    return tf.data.Dataset.range(10).shard(3, 1)


@pipeline
def cached(tf, folder):
    return tf.data.Dataset.range(5).shuffle(5, seed=1).cache().repeat(2)


@pipeline
def zipped(tf, folder):
    d = tf.data.Dataset
    return d.zip((d.range(3), {"x": d.range(5).batch(2), "y": d.range(9, 0, -1)}))


@pipeline
def zipped_three(tf, folder):
    d = tf.data.Dataset
    return d.zip((d.range(3), d.range(4), d.range(5)))


@pipeline
def enumerated(tf, folder):
    return tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5)


@pipeline
def windows(tf, folder):
    return (
        tf.data.Dataset.range(7)
        .window(3, shift=2, stride=2, drop_remainder=True)
        .flat_map(lambda w: w.batch(3))
    )


@pipeline
def windows_with_rest(tf, folder):
    return tf.data.Dataset.range(7).window(3).flat_map(lambda w: w.batch(4))


@pipeline
def windows_of_pairs(tf, folder):
    data = tf.data.Dataset.from_tensor_slices((np.int32([1, 2, 3, 4]), np.float32([5, 6, 7, 8])))
    return data.window(2, shift=1).flat_map(lambda x, y: tf.data.Dataset.zip((x.batch(2), y.batch(2))))


@pipeline
def windows_far_apart(tf, folder):
    return tf.data.Dataset.range(11).window(2, shift=4).flat_map(lambda w: w.batch(2))


@pipeline
def unbatched(tf, folder):
    data = tf.data.Dataset.from_tensor_slices((np.int32([[1, 2], [3, 4]]), [["a", "b"], ["c", "d"]]))
    return data.unbatch()


@pipeline
def prefetched(tf, folder):
    return tf.data.Dataset.range(4).prefetch(2).map(lambda x: x + 1).prefetch(tf.data.experimental.AUTOTUNE)


@pipeline
def with_threads(tf, folder):
    options = tf.data.Options()
    options.experimental_threading.max_intra_op_parallelism = 1
    options.experimental_threading.private_threadpool_size = 2
    return tf.data.Dataset.range(2).with_options(options)


@pipeline
def untuned(tf, folder):
    options = tf.data.Options()
    options.experimental_optimization.autotune = False
    return tf.data.Dataset.range(2).with_options(options)


# Experimental


@pipeline
def map_and_batch(tf, folder):
    return tf.data.Dataset.range(5).apply(
        tf.data.experimental.map_and_batch(lambda x: (x, x * 2), 2, drop_remainder=True)
    )


@pipeline
def errors_ignored(tf, folder):
    data = tf.data.Dataset.from_tensor_slices(np.float32([1, 0, 2, 0, 4]))
    data = data.map(lambda x: tf.check_numerics(1.0 / x, "infinite"))
    return data.apply(tf.data.experimental.ignore_errors())


@pipeline
def scanned(tf, folder):
    return tf.data.Dataset.range(6).apply(
        tf.data.experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, (s, x)))
    )


@pipeline
def while_small(tf, folder):
    return tf.data.Dataset.range(9).apply(tf.data.experimental.take_while(lambda x: x < 4))


@pipeline
def unique(tf, folder):
    return tf.data.Dataset.from_tensor_slices(["a", "b", "a", "c", "b"]).apply(tf.data.experimental.unique())


@pipeline
def counted(tf, folder):
    return tf.data.experimental.Counter(3, 2).take(4)


@pipeline
def chosen(tf, folder):
    d = tf.data.Dataset
    choice = d.from_tensor_slices(np.int64([0, 1, 1, 0, 1, 0, 0, 0]))
    return tf.data.experimental.choose_from_datasets([d.range(3), d.range(10, 15)], choice)


@pipeline
def grouped(tf, folder):
    return tf.data.Dataset.range(11).apply(
        tf.data.experimental.group_by_window(lambda x: x % 2, lambda key, data: data.batch(10), window_size=3)
    )


@pipeline
def reduced_by_key(tf, folder):
    reducer = tf.data.experimental.Reducer(
        lambda key: tf.constant(0, tf.int64), lambda state, x: state + x, lambda state: state * 10
    )
    return tf.data.Dataset.range(7).apply(tf.data.experimental.group_by_reducer(lambda x: x % 3, reducer))


@pipeline
def buckets(tf, folder):
    data = tf.data.Dataset.from_tensor_slices(np.int64([1, 5, 2, 7, 3, 6, 2, 9]))
    data = data.map(lambda x: tf.fill([x], x))
    return data.apply(
        tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [4, 8], [2, 2, 2])
    )


# Files


@pipeline
def lines(tf, folder):
    names = [os.path.join(folder, name) for name in ("a.txt", "dos.txt", "c.txt")]
    return tf.data.TextLineDataset(names).skip(1)


@pipeline
def lines_in_turn(tf, folder):
    names = tf.data.Dataset.from_tensor_slices([os.path.join(folder, name + ".txt") for name in "abc"])
    return names.interleave(lambda name: tf.data.TextLineDataset(name), cycle_length=2)


@pipeline
def lines_read_in_parallel(tf, folder):
    names = [os.path.join(folder, name + ".txt") for name in "abc"]
    return tf.data.TextLineDataset(names, num_parallel_reads=2)


@initialised
def listed_files(tf, folder):
    names = tf.data.Dataset.list_files(os.path.join(folder, "?.txt"), seed=3)
    return names.map(lambda name: tf.substr(name, -5, 5))


@initialised
def listed_in_order(tf, folder):
    names = tf.data.Dataset.list_files(os.path.join(folder, "*.txt"), shuffle=False)
    return names.map(lambda name: tf.substr(name, -5, 5))


@pipeline
def fixed_records(tf, folder):
    name = os.path.join(folder, "fixed.bin")
    return tf.data.FixedLengthRecordDataset(name, 4, header_bytes=2, footer_bytes=1).map(
        lambda record: tf.decode_raw(record, tf.uint8)
    )


@initialised
def cached_in_a_file(tf, folder):
    return (
        tf.data.Dataset.range(4)
        .map(lambda x: (x, tf.as_string(x)))
        .cache(os.path.join(folder, "kept"))
        .repeat(2)
    )


# With state, and what goes wrong


@initialised
def with_a_variable(tf, folder):
    variable = tf.Variable([1.0, 2.0], name="v")
    return tf.data.Dataset.range(2).map(lambda x: tf.cast(x, tf.float32) + variable)


@initialised
def with_a_resource_variable(tf, folder):
    variable = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    return tf.data.Dataset.range(2).map(lambda x: tf.cast(x, tf.float32) + variable)


@pipeline
def shapes_differ(tf, folder):
    return tf.data.Dataset.range(3).map(lambda x: tf.fill([x], x)).batch(2)


@pipeline
def too_long_to_pad(tf, folder):
    return tf.data.Dataset.range(3).map(lambda x: tf.fill([x], x)).padded_batch(3, [1])


@pipeline
def no_batch_size(tf, folder):
    return tf.data.Dataset.range(3).batch(0)


@pipeline
def no_buffer(tf, folder):
    return tf.data.Dataset.range(3).shuffle(0)


@pipeline
def no_such_shard(tf, folder):
    return tf.data.Dataset.range(3).shard(2, 2)


@pipeline
def no_step(tf, folder):
    return tf.data.Dataset.range(1, 5, 0)


@pipeline
def no_such_file(tf, folder):
    return tf.data.TextLineDataset(os.path.join(folder, "missing.txt"))


@pipeline
def error_in_map(tf, folder):
    return tf.data.Dataset.range(3).map(lambda x: tf.check_numerics(1.0 / tf.cast(x, tf.float32), "infinite"))


@pipeline
def generator_of_other_types(tf, folder):
    return tf.data.Dataset.from_generator(lambda: iter([1, "a"]), tf.int64, [])


@pipeline
def generator_of_other_shapes(tf, folder):
    return tf.data.Dataset.from_generator(lambda: iter([1, [2, 3]]), tf.int64, [])


# Sparse tensors


def _matrix(tf):
    """[[0, 5, 0], [0, 0, 0], [7, 0, 8]]"""
    return tf.SparseTensor([[0, 1], [2, 0], [2, 2]], [5, 7, 8], [3, 3])


def _examples(tf):
    """Messages of 1, 3 and 0 numbers, and as many words."""

    def message(count):
        numbers = tf.train.Feature(int64_list=tf.train.Int64List(value=range(count)))
        words = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"w"] * count))
        features = tf.train.Features(feature={"numbers": numbers, "words": words})
        return tf.train.Example(features=features).SerializeToString()

    return tf.data.Dataset.from_tensor_slices([message(count) for count in (1, 3, 0, 2)])


def _parsed(tf, message):
    kinds = {"numbers": tf.VarLenFeature(tf.int64), "words": tf.VarLenFeature(tf.string)}
    return tf.parse_single_example(message, kinds)


@pipeline
def sparse_element(tf, folder):
    value = tf.SparseTensorValue(np.int64([[0]]), np.array(["a"]), np.int64([4]))
    return tf.data.Dataset.from_tensors({"value": value, "tensor": _matrix(tf), "dense": [1.0]}).repeat(2)


@pipeline
def sparse_rows(tf, folder):
    return tf.data.Dataset.from_tensor_slices((_matrix(tf), [10, 20, 30]))


@pipeline
def sparse_batches(tf, folder):
    return tf.data.Dataset.from_tensor_slices(_matrix(tf)).batch(2)


@pipeline
def sparse_batches_of_batches(tf, folder):
    return tf.data.Dataset.from_tensors(_matrix(tf)).repeat(4).batch(2).batch(2)


@pipeline
def sparse_batches_taken_apart(tf, folder):
    batches = tf.data.Dataset.from_tensor_slices((_matrix(tf), [1, 2, 3])).batch(2)
    return batches.apply(tf.data.experimental.unbatch())


@pipeline
def sparse_features(tf, folder):
    return _examples(tf).map(lambda message: _parsed(tf, message)).batch(3).prefetch(1)


@pipeline
def sparse_features_mapped_and_batched(tf, folder):
    return _examples(tf).apply(tf.data.experimental.map_and_batch(lambda message: _parsed(tf, message), 2))


@pipeline
def sparse_features_made_dense(tf, folder):
    batches = _examples(tf).map(lambda message: _parsed(tf, message)).batch(4)
    return batches.map(lambda row: tf.sparse_tensor_to_dense(row["numbers"], -1))


@pipeline
def sparse_filtered_and_shuffled(tf, folder):
    rows = tf.data.Dataset.from_tensor_slices(_matrix(tf)).filter(lambda row: tf.size(row.values) > 0)
    return rows.shuffle(3, seed=2).repeat(2).cache()


@pipeline
def sparse_batches_of_other_ranks(tf, folder):
    def cut(number):
        sizes = tf.ones([number], tf.int64)
        return tf.SparseTensor(tf.zeros([0, tf.size(sizes)], tf.int64), tf.zeros([0]), sizes)

    return tf.data.Dataset.range(1, 3).map(lambda number: cut(tf.to_int32(number))).batch(2)


@initialised
def sparse_initialised(tf, folder):
    values = tf.placeholder_with_default(np.float32([1.5, 2.5]), [None])
    return tf.data.Dataset.from_tensors(tf.SparseTensor([[0, 0], [1, 1]], values, [2, 2]))


def run(tf, name, folder):
    """What a pipeline gives: its elements, or those before an error and the error's class and sentence."""
    dataset = PIPELINES[name](tf, folder)
    if name in INITIALISED:
        iterator = tf.data.make_initializable_iterator(dataset)
        first = [iterator.initializer]
    else:
        iterator = tf.data.make_one_shot_iterator(dataset)
        first = []
    following = iterator.get_next()
    form = repr((iterator.output_types, iterator.output_shapes))
    elements, error = [], None
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        try:
            session.run(first)
            for _ in range(40):
                elements.append(_plain(session.run(following)))
        except tf.errors.OutOfRangeError as end:
            error = ["OutOfRangeError", end.message.split("\n")[0]]
        except tf.errors.OpError as failure:
            error = [type(failure).__name__, failure.message.split("\n")[0].replace(folder, "FOLDER")]
    return {"form": form, "elements": elements, "error": error}


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    array = np.asarray(value)
    kind = "string" if array.dtype.kind in "SUO" else str(array.dtype)
    values = array.tolist()
    if kind == "string":
        values = _text(values)
    return [kind, values]


def _text(values):
    return [_text(one) for one in values] if isinstance(values, list) else values.decode()
