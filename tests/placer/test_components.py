"""Connected components, beside those of a search."""

import numpy as np
import pytest

from gpuplace.placer.components import components


def searched(count, pairs):
    label = list(range(count))
    changed = True
    while changed:
        changed = False
        for a, b in pairs:
            low = min(label[a], label[b])
            changed |= label[a] != low or label[b] != low
            label[a] = label[b] = low
    return label


@pytest.mark.parametrize("seed", range(8))
def test_components_are_those_of_a_search(seed):
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 60))
    pairs = random.integers(0, count, (int(random.integers(0, 2 * count)), 2))
    assert components(count, pairs[:, 0], pairs[:, 1]).tolist() == searched(count, pairs.tolist())


def test_a_chain_in_any_order_is_one_component():
    order = np.random.default_rng(1).permutation(500)
    assert components(500, order[:-1], order[1:]).tolist() == [0] * 500
