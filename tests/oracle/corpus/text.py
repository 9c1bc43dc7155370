"""Strings, lookup tables, sparse and ragged tensors."""

from __future__ import annotations

from tests.oracle.corpus.blocks import cross_entropy, dense
from tests.oracle.corpus.programs import program, tf


@program
def lookup_tables():
    """Tables from arrays and files, with buckets; initialised; looked up."""
    keys = tf.constant(["a", "b"])
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, tf.constant([0, 1], tf.int64)), -1
    )
    ids = table.lookup(tf.placeholder(tf.string, [None]))
    tf.nn.embedding_lookup(tf.get_variable("e", [2, 4]), ids)
    buckets = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            "vocabulary.txt",
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        3,
    )
    buckets.lookup(keys)
    table.size()
    tf.tables_initializer()


@program
def tables_on_a_gpu():
    """A table asked for on a GPU."""
    with tf.device("/gpu:0"):
        initializer = tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4], tf.int64, tf.int64)
        tf.lookup.StaticHashTable(initializer, -1).lookup(tf.constant([1], tf.int64))


@program
def string_processing():
    """Most ops on strings, one on a GPU."""
    text = tf.placeholder(tf.string, [None])
    tf.strings.regex_replace(tf.strings.lower(text), "[^a-z]", " ")
    tf.strings.substr(tf.strings.strip(text), 0, 3)
    tf.strings.to_hash_bucket_fast(text, 100)
    tf.strings.join([text, tf.strings.as_string(tf.constant([1.0]))], "-")
    tf.reduce_join(text, 0)
    tf.decode_base64(tf.encode_base64(text))
    tf.strings.length(text)
    tf.reshape(text, [-1, 1])
    tf.gather(text, [0])
    tf.concat([text, ["a"]], 0)
    with tf.device("/gpu:0"):
        tf.identity(text)
        tf.string_to_number(text)


@program
def bag_of_words():
    """Split words, hash, weighted sparse embedding."""
    words = tf.string_split(tf.placeholder(tf.string, [None]))
    ids = tf.SparseTensor(words.indices, tf.strings.to_hash_bucket_fast(words.values, 100), words.dense_shape)
    table = tf.get_variable("table", [100, 8])
    x = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")
    safe = tf.nn.safe_embedding_lookup_sparse([table], ids)
    loss = cross_entropy(
        dense(tf.ensure_shape(x + safe, [None, 8]), 3, "logits"), tf.placeholder(tf.int32, [None])
    )
    tf.train.FtrlOptimizer(0.1).minimize(loss)


@program
def sparse_tensors():
    """Sparse algebra."""
    sparse = tf.sparse_placeholder(tf.float32, [4, 4])
    tf.sparse_tensor_dense_matmul(sparse, tf.ones([4, 2]))
    tf.sparse_reduce_sum(sparse, 1)
    tf.sparse_tensor_to_dense(tf.sparse_add(sparse, sparse))
    tf.sparse_softmax(sparse)
    tf.sparse_retain(sparse, sparse.values > 0.0)
    with tf.device("/gpu:0"):
        tf.sparse_tensor_dense_matmul(sparse, tf.ones([4, 2]))


@program
def ragged_and_segments():
    """Segment sums, partitions, stitches, unique, where."""
    x, ids = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None])
    tf.segment_sum(x, ids)
    tf.unsorted_segment_max(x, ids, 5)
    tf.sparse_segment_mean(x, ids, ids)
    parts = tf.dynamic_partition(x, ids, 2)
    tf.dynamic_stitch([tf.range(2), tf.range(2, 4)], parts)
    tf.unique_with_counts(ids)
    tf.where(x > 0.0)
    tf.boolean_mask(x, ids > 0)
    tf.gather(tf.RaggedTensor.from_row_lengths(tf.reshape(x, [-1]), ids), [0])
