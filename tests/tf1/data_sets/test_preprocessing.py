"""``tf.contrib.learn.preprocessing``."""

import gpuplace as tf

VocabularyProcessor = tf.contrib.learn.preprocessing.VocabularyProcessor
TEXTS = ["the cat sat", "the dog's nose, TensorFlow-like", "a cat"]


def test_words_get_their_numbers_in_order_and_unknown_ones_0():
    processor = VocabularyProcessor(4)
    assert [row.tolist() for row in processor.fit_transform(TEXTS)] == [
        [1, 2, 3, 0],
        [1, 4, 5, 6],
        [8, 2, 0, 0],
    ]
    assert len(processor.vocabulary_) == 9 and processor.vocabulary_._mapping["Flow-like"] == 7
    assert next(processor.transform(["cat bird the"])).tolist() == [2, 0, 1, 0]
    assert list(processor.reverse([[2, 0, 1]])) == ["cat <UNK> the"]


def test_rare_words_are_left_out_and_the_rest_is_sorted(tmp_path):
    processor = VocabularyProcessor(3, min_frequency=1).fit(["b b a a a", "c b a"])
    assert processor.vocabulary_._mapping == {"<UNK>": 0, "a": 1, "b": 2}
    processor.save(str(tmp_path / "vocabulary"))
    again = VocabularyProcessor.restore(str(tmp_path / "vocabulary"))
    assert next(again.transform(["c b a a"])).tolist() == [0, 2, 1]


def test_another_way_to_split():
    processor = VocabularyProcessor(5, tokenizer_fn=lambda texts: (text.split("|") for text in texts))
    assert next(processor.fit_transform(["x y|z|x y"])).tolist() == [1, 2, 1, 0, 0]
