"""String tensors: join, split, convert, hash, feed and fetch."""
import tensorflow as tf

hello = tf.constant("Hello, TensorFlow!")
words = tf.constant(["a", "bb", "ccc"], name="words")
feed = tf.placeholder(tf.string, [None], name="feed")
joined = tf.string_join([words, feed], separator="-", name="joined")
numbers = tf.string_to_number(tf.constant(["1.5", "2", "-3e2"]))
text = tf.as_string(tf.constant([1, 22, 333]))
padded = tf.as_string(tf.constant([1.5, 2.25]), precision=2)
length = tf.strings.length(words)
part = tf.substr(words, 0, 1)
one = tf.reduce_join([["x", "y"], ["z", "w"]], 1, separator="/")
same = tf.equal(words, "bb")
replaced = tf.regex_replace(hello, "[aeiou]", "*")
raw = tf.decode_raw(tf.constant([b"\x01\x02", b"\x03\x04"]), tf.uint8)
encoded = tf.encode_base64("hello")

with tf.Session() as sess:
    print(sess.run(hello))
    print(sess.run(hello).decode())
    print(sess.run(joined, {feed: ["1", "2", "3"]}))
    print(sess.run(joined, {feed: [b"x", b"y", b"z"]}).tolist())
    for tensor in (numbers, text, padded, length, part, one, same, raw):
        print(tensor.dtype.name, sess.run(tensor).tolist())
    print(sess.run(replaced), sess.run(encoded), sess.run(tf.gather(words, [2, 0])))
    print(words.dtype == tf.string, words.dtype, sess.run(tf.shape(words)))
