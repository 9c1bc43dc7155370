"""``tensorflow.python.util.lock_util``: a lock for groups of threads, one group at a time.

Source: tensorflow/python/util/lock_util.py, release 1.15 (names).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager


class GroupLock:
    """Threads of one group hold it together, those of another wait.

    Args:
        num_groups: how many groups there are.

    Raises:
        ValueError: fewer than one.
    """

    def __init__(self, num_groups: int = 2) -> None:
        if num_groups < 1:
            raise ValueError(f"num_groups must be a positive integer, got {num_groups}")
        self._ready = threading.Condition()
        self._group_member_counts = [0] * num_groups

    def group(self, group_id: int) -> AbstractContextManager[None]:
        """A ``with`` block in which a thread holds the lock for its group.

        Args:
            group_id: the group's number.
        """
        self._check(group_id)
        return self._held(group_id)

    @contextlib.contextmanager
    def _held(self, group_id: int) -> Iterator[None]:
        self.acquire(group_id)
        try:
            yield
        finally:
            self.release(group_id)

    def acquire(self, group_id: int) -> None:
        """Waits until no thread of another group holds the lock, and holds it.

        Args:
            group_id: the group's number.
        """
        self._check(group_id)
        with self._ready:
            self._ready.wait_for(
                lambda: (
                    not any(
                        count for other, count in enumerate(self._group_member_counts) if other != group_id
                    )
                )
            )
            self._group_member_counts[group_id] += 1

    def release(self, group_id: int) -> None:
        """Lets go of the lock.

        Args:
            group_id: the group's number.
        """
        self._check(group_id)
        with self._ready:
            self._group_member_counts[group_id] -= 1
            if self._group_member_counts[group_id] == 0:
                self._ready.notify_all()

    def _check(self, group_id: int) -> None:
        if not 0 <= group_id < len(self._group_member_counts):
            raise ValueError(
                f"group_id must be between 0 and {len(self._group_member_counts) - 1}, got {group_id}"
            )
