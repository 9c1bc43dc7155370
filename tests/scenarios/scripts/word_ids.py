"""Words to numbers and back, through tables; counted in a table that changes."""

import os
import tempfile

import tensorflow as tf

folder = tempfile.mkdtemp()
path = os.path.join(folder, "words.txt")
with tf.gfile.Open(path, "w") as file:
    file.write("the\ncat\nsat\non\nmat\n")

text = tf.placeholder(tf.string, [None])
words = tf.string_split(text)
keys = tf.constant(["the", "cat", "sat", "on", "mat"])
table = tf.lookup.StaticVocabularyTable(
    tf.lookup.KeyValueTensorInitializer(keys, tf.constant([0, 1, 2, 3, 4], tf.int64)), num_oov_buckets=3
)
back = tf.lookup.StaticHashTable(
    tf.lookup.TextFileInitializer(
        path, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE
    ),
    "?",
)
ids = table.lookup(words.values)
again = back.lookup(ids)
vectors = tf.nn.embedding_lookup(tf.reshape(tf.range(16, dtype=tf.float32), [8, 2]), ids)
total = tf.reduce_sum(vectors)

with tf.Session() as session:
    try:
        session.run(ids, {text: ["the cat"]})
    except tf.errors.FailedPreconditionError as error:
        print("before:", error.message.split("\n")[0])
    session.run(tf.tables_initializer())
    for sentence in (["the cat sat", "on the mat"], ["a dog sat on the cat"]):
        numbers, texts, value = session.run([ids, again, total], {text: sentence})
        print(numbers, [word.decode() for word in texts], value)
    print("size:", session.run(table.size()))
tf.gfile.DeleteRecursively(folder)
