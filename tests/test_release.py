"""Which TensorFlow to behave like: of the process, and of a block."""

import threading

import pytest

from gpuplace.release import acting_as, get_release, rules


def test_a_block_acts_as_a_release_of_its_own():
    seen = []
    before = get_release()
    with acting_as("2.21"):
        assert (get_release(), rules(), rules("1.4")) == ("2.21", "2.21", "1.15")
        other = threading.Thread(target=lambda: seen.append((get_release(), rules())))
        other.start()
        other.join()
        with acting_as("1.0"):
            assert (get_release(), rules()) == ("1.0", "1.15")
        assert rules() == "2.21"
    assert seen == [(before, rules(before))] and get_release() == before


def test_a_block_that_fails_leaves_the_release_as_it_was():
    before = get_release()
    with pytest.raises(KeyError), acting_as("2.21"):
        raise KeyError
    with pytest.raises(ValueError, match="Unknown release '3'"), acting_as("3"):
        pass
    assert get_release() == before
