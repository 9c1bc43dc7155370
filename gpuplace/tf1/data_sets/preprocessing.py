"""``tf.contrib.learn.preprocessing``: convert texts to word indices.

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
    """Split texts into words, CamelCase ones into several.

    Args:
        iterator: the texts.
    """
    for text in iterator:
        yield _WORD.findall(text)


class CategoricalVocabulary:
    """A vocabulary: word indices in order of first appearance; 0 is for unknown words.

    Args:
        unknown_token: the token for unknown words.
        support_reverse: whether words can be looked up by index too.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._frequencies: Counter[Any] = Counter()
        self._freeze = False

    def __len__(self) -> int:
        """Return the number of words, including the unknown token."""
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Stop adding words.

        Args:
            freeze: whether to stop; False resumes adding words.
        """
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """Return the index of a word; a new word is added unless the vocabulary is frozen.

        Args:
            category: the word.
        """
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Add to the count of a word.

        Args:
            category: the word.
            count: the number of occurrences.
        """
        if self.get(category) > 0:
            self._frequencies[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Remove rare and overly frequent words, and sort the rest by descending frequency.

        Args:
            min_frequency: words that are not more frequent than this are removed.
            max_frequency: words at least this frequent are removed; -1: no limit.
        """
        in_order = sorted(self._frequencies.items(), key=lambda entry: (isinstance(entry[0], str), entry[0]))
        in_order.sort(key=lambda entry: entry[1], reverse=True)
        rest = [
            (word, count)
            for word, count in in_order
            if count > min_frequency and (max_frequency <= 0 or count < max_frequency)
        ]
        self._mapping = {word: number for number, (word, _) in enumerate([(self._unknown_token, 0), *rest])}
        self._frequencies = Counter(dict(rest))

    def reverse(self, class_id: int) -> Any:
        """Return the word of an index.

        Args:
            class_id: the index.

        Raises:
            ValueError: the vocabulary was created without ``support_reverse``.
        """
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary wasn't initialized with support_reverse to support reverse() function."
            )
        words = list(self._mapping)
        return words[class_id] if 0 <= class_id < len(words) else self._unknown_token


class VocabularyProcessor:
    """A converter of texts to word indices, all of one length.

    Args:
        max_document_length: the number of words kept from a text; shorter texts are padded with 0.
        min_frequency: words that are not more frequent than this count as unknown.
        vocabulary: the vocabulary; None: a new one.
        tokenizer_fn: splits texts into words; None: ``tokenizer``.
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
        """Learn the vocabulary from texts.

        Args:
            raw_documents: the texts.
            unused_y: ignored.

        Returns:
            This object.
        """
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[Any]:
        """Learn the vocabulary, then yield the word indices of the texts.

        Args:
            raw_documents: the texts, which are read twice.
            unused_y: ignored.
        """
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """Yield the word indices of texts.

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
        """Yield the words of each index sequence, joined by spaces.

        Args:
            documents: the indices of each text.
        """
        for numbers in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in numbers)

    def save(self, filename: str) -> None:
        """Save the processor to a file.

        Args:
            filename: the path.
        """
        with GFile(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Load a processor that ``save`` wrote; a file from an untrusted source can run any code.

        Args:
            filename: the path.
        """
        with GFile(filename, "rb") as file:
            processor: VocabularyProcessor = pickle.loads(file.read())
        return processor
