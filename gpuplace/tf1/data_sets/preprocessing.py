"""``tf.contrib.learn.preprocessing``: texts as numbers of their words.

>>> words = VocabularyProcessor(4)
>>> [numbers.tolist() for numbers in words.fit_transform(["a dog", "the dog's a dog, a big dog"])]
[[1, 2, 0, 0], [3, 4, 1, 2]]
>>> list(words.reverse([[1, 5, 2, 9]]))
['a big dog <UNK>']

Source: tensorflow/contrib/learn/python/learn/preprocessing/text.py and categorical_vocabulary.py, release 1.15.
"""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gpuplace.files.gfile import GFile

__all__ = ["CategoricalVocabulary", "VocabularyProcessor", "tokenizer"]

_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+")


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of texts; what is written in CamelCase is several.

    Args:
        iterator: the texts.
    """
    for text in iterator:
        yield _WORD.findall(text)


class CategoricalVocabulary:
    """Numbers of words, in the order in which they come; 0 is for words that are not known.

    Args:
        unknown_token: what stands for these.
        support_reverse: words are found by their numbers too.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._frequencies: Counter[Any] = Counter()
        self._freeze = False

    def __len__(self) -> int:
        """How many there are, with that of unknown words."""
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Takes no further words.

        Args:
            freeze: False: takes them again.
        """
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The number of a word, which is a new one unless the vocabulary is frozen.

        Args:
            category: the word.
        """
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a word.

        Args:
            category: the word.
            count: how often.
        """
        if self.get(category) > 0:
            self._frequencies[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Leaves out rare words, and those that are too frequent; the most frequent come first then.

        Args:
            min_frequency: words that are no more frequent are left out.
            max_frequency: words that are as frequent are left out; -1: none.
        """
        in_order = sorted(self._frequencies.items(), key=lambda one: (isinstance(one[0], str), one[0]))
        in_order.sort(key=lambda one: one[1], reverse=True)
        kept = [
            (word, count)
            for word, count in in_order
            if count > min_frequency and (max_frequency <= 0 or count < max_frequency)
        ]
        self._mapping = {word: number for number, (word, _) in enumerate([(self._unknown_token, 0), *kept])}
        self._frequencies = Counter(dict(kept))

    def reverse(self, class_id: int) -> Any:
        """The word of a number.

        Args:
            class_id: the number.

        Raises:
            ValueError: the vocabulary was made without.
        """
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary wasn't initialized with support_reverse to support reverse() function."
            )
        words = list(self._mapping)
        return words[class_id] if 0 <= class_id < len(words) else self._unknown_token


class VocabularyProcessor:
    """Texts as numbers of their words, all of one length.

    Args:
        max_document_length: how many words of a text count; shorter texts end in 0.
        min_frequency: words that are no more frequent are not known.
        vocabulary: the vocabulary; None: a new one.
        tokenizer_fn: from texts to their words; None: ``tokenizer``.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Any]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary if vocabulary is not None else CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words.

        Args:
            raw_documents: the texts.
            unused_y: ignored.

        Returns:
            Itself.
        """
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[Any]:
        """Learns the words, and gives the texts' numbers.

        Args:
            raw_documents: the texts, more than once to be read.
            unused_y: ignored.
        """
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """The numbers of texts' words.

        Args:
            raw_documents: the texts.

        Yields:
            int64 arrays, ``[max_document_length]``.
        """
        for words in self._tokenizer(raw_documents):
            numbers = np.zeros(self.max_document_length, np.int64)
            for position, word in enumerate(words):
                if position >= self.max_document_length:
                    break
                numbers[position] = self.vocabulary_.get(word)
            yield numbers

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The words of numbers, with spaces between them.

        Args:
            documents: the numbers of each text.
        """
        for numbers in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in numbers)

    def save(self, filename: str) -> None:
        """Writes it to a file.

        Args:
            filename: the path.
        """
        with GFile(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Reads one from a file that ``save`` wrote; a file from elsewhere can run any code.

        Args:
            filename: the path.
        """
        with GFile(filename, "rb") as file:
            found: VocabularyProcessor = pickle.loads(file.read())
        return found
