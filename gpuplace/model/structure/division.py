"""Divide the contents of a scope with many layers into parts for a picture.

Four methods are tried in turn, each in the order of the data flow:

- by common prefixes of neighboring names: ``block1_conv1 block1_conv2`` form ``block1``
- by the flow: a part ends where a single tensor carries everything, after a residual addition or concatenation::

      stem ─┬─ conv ─ conv ─┬─ add ─┬─ conv ─ conv ─┬─ add_1 ─>       stem | add | add_1
            └───────────────┘       └───────────────┘

- by common numbers of neighbors: ``conv_dw_5 conv_dw_5_bn conv_pw_5`` form ``conv_pw_5``
- into pieces of similar size, cut where the fewest tensors cross

Equal parts in sequence or side by side become a series: ``layer_0 … layer_11``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from gpuplace.model.structure.flow import flow_order
from gpuplace.model.structure.scopes import stem
from gpuplace.model.structure.visits import circles
from gpuplace.model.subject.bookkeeping import neighbors

MOST = 16
"""Maximum number of parts inside a part."""
_TOLERATED = 24
"""Number of parts up to which natural parts are preferred to even pieces, and equal parts to shorter series."""
_LEAST_SERIES = 4
"""Smallest number of parts in a series."""
_ALONE = 8
"""Number of parts up to which equal parts stay separate."""
_TOKENS = re.compile(r"\d+(?=[a-z](?:_|$))|[^_.]+")
"""Pieces of a name: ``Mixed 5 b``, ``block1 conv1``."""
_PLUMBING = re.compile(
    r"((re)?add|sub|mul|truediv|concat|mean|reshape|identity|expanddims|cast|(leaky_?)?relu6?|elu|tanh|sigmoid|max_?pool\w*"
    r"|average_?pool\w*|dropout|activation)(_\d+)?",
    re.IGNORECASE,
)
"""Op names that do not identify the layer that they end."""
_FUNCTION = re.compile(r"tf\..+|(reshape|transpose|permute|cast|identity|expanddims)(_\d+)?", re.IGNORECASE)
"""Names that Keras and TensorFlow give to functions that are called between layers."""
NORM = re.compile(r"norm|(^|_)(bn|ln)(_|\d|$)", re.IGNORECASE)
"""Names of normalization layers; a part is named after one only if it has no other layer."""
_DOMINANT = 0.5
"""A group with this fraction of all items or more is divided further."""
_LARGEST_BOX = 0.45
"""A group with this fraction of all ops or more is divided further, too: its box would hold most of the model."""
_LEAST_SCOPES = 3
"""Smallest number of inner scopes with variables for attaching the ops between them."""
_FEW_OPS = 3
"""A scope with at most this number of ops counts as an op, such as the scope of a function."""
_LARGEST = 0.7
"""Largest fraction of all items in one group."""
_PURE = 0.6
"""Smallest fraction of a group's own items between its first and last item."""
_COVERED = 0.6
"""Smallest fraction of all items in groups by names."""
_LONGEST_PERIOD = 24
"""Longest period of recurring items."""
_SPAN = 0.4
"""A tensor that spans this fraction of the order serves all layers, such as a mask."""


@dataclass(eq=False)
class Item:
    """A scope, an op, or a group of them, during the division of a part."""

    label: str
    """Its name."""
    key: int
    """Position of the scope, or -1 less the position of the op; 0 for a group."""
    first: int
    """Position in the flow, that of its first node."""
    signature: int
    """A number; items with the same ops have the same number."""
    is_heavy: bool
    """Whether it reads variables."""
    members: list[Item] = field(default_factory=list)
    """The members of a group."""
    times: int = 1
    """The number of equal parts in a series."""
    is_alone: bool = False
    """Whether it is excluded from series, such as a tower."""
    is_tower: bool = False
    """Whether it is a group that is a tower."""
    guests: list[Item] = field(default_factory=list)
    """Ops and scopes without variables that belong to the layer."""
    size: int = 1
    """Number of ops inside."""
    is_plain: bool = False
    """Whether it is an op whose name only repeats its type."""
    result: str = ""
    """The name that a following identity gives to its result."""


Links = set[tuple[int, int]]
"""Pairs of positions of items between which data flows."""


def divided(items: Sequence[Item], links: Links) -> list[Item]:
    """Combine items into about `MOST` at most, with groups and series among them.

    Args:
        items: items in the order of the flow.
        links: data flow between them.
    """
    parts = list(items)
    if _LEAST_SCOPES <= sum(item.key > 0 and item.is_heavy for item in parts) <= MOST:
        parts, links = _glued(parts, links, with_layers=False)
        if len(parts) > MOST:
            parts, links = _series(parts, links)
        if len(parts) > MOST and any(item.key > 0 for item in parts):
            parts, links = _glued(parts, links, with_layers=True)
        parts, links = _grouped(parts, links, _copies(parts) if len(parts) > MOST else [])
    if len(parts) > MOST:
        for divide in (_by_names, _by_flow, _by_numbers):
            groups = divide(parts, links)
            if 1 < len(groups) < len(parts) and max(len(group) for group, _ in groups) <= _LARGEST * len(
                parts
            ):
                parts, links = _grouped(parts, links, groups)
                break
    parts, links = _series(parts, links)
    if len(parts) > MOST:
        parts, links = _grouped(parts, links, _chains(parts, links))
    if len(parts) > MOST:
        parts, links = _grouped(parts, links, _periods(parts))
        parts, links = _series(parts, links)
    if len(parts) > _TOLERATED:
        level = _Level(parts, links)
        ends = even_cuts(level.crossing, 12)
        starts = [0, *ends[:-1]]
        pieces = [(list(range(a, b)), _end_label(parts[a:b])) for a, b in zip(starts, ends, strict=True)]
        parts, _ = _grouped(parts, links, pieces)
    return parts


def _grouped(
    items: list[Item], links: Links, groups: Sequence[tuple[list[int], str]]
) -> tuple[list[Item], Links]:
    """Replace members with labeled groups of positions, and divide the groups in turn."""
    group_of = [-1] * len(items)
    for number, (members, _) in enumerate(groups):
        for position in members:
            group_of[position] = number
    parts: list[Item] = []
    place: dict[int, int] = {}
    at = [0] * len(items)
    inside: list[Links] = [set() for _ in groups]
    index = [0] * len(items)
    for members, _ in groups:
        for number, position in enumerate(members):
            index[position] = number
    for a, b in links:
        if group_of[a] == group_of[b] >= 0:
            inside[group_of[a]].add((index[a], index[b]))
    for position, item in enumerate(items):
        number = group_of[position]
        if number < 0 or len(groups[number][0]) == 1:
            at[position] = len(parts)
            parts.append(item)
            continue
        if number not in place:
            place[number] = len(parts)
            parts.append(_group([items[i] for i in groups[number][0]], inside[number], groups[number][1]))
        at[position] = place[number]
    return parts, {(at[a], at[b]) for a, b in links if at[a] != at[b]}


def _beginning(name: str, pieces: int) -> str:
    """Return the first pieces of a name.

    >>> _beginning("Mixed_5b", 2)
    'Mixed_5'
    """
    return name[: [piece.end() for piece in _TOKENS.finditer(name)][pieces - 1]] if pieces else ""


def grouped(members: list[Item], positions: Sequence[int], links: Links, label: str) -> Item:
    """Return a group for several items, divided in turn.

    Args:
        members: items of the group.
        positions: position of each member.
        links: pairs of positions between which data flows, also of other items.
        label: name of the group.
    """
    at = {position: number for number, position in enumerate(positions)}
    return _group(members, {(at[a], at[b]) for a, b in links if a in at and b in at}, label)


def _group(members: list[Item], links: Links, label: str) -> Item:
    signature = hash(tuple(member.signature for member in members))
    heavy = any(member.is_heavy for member in members)
    return Item(label, 0, members[0].first, signature, heavy, divided(members, links))


def _glued(items: list[Item], links: Links, *, with_layers: bool) -> tuple[list[Item], Links]:
    """Attach ops between layers to the only layer that uses their result, otherwise to a layer that they depend on.

    Args:
        items: scopes and ops.
        links: between them.
        with_layers: whether ops that read variables go to scopes, too.
    """
    befores: list[list[int]] = [[] for _ in items]
    afters: list[list[int]] = [[] for _ in items]
    for a, b in sorted(links):
        befores[b].append(a)
        afters[a].append(b)
    home = [
        position if item.is_heavy and (item.key > 0 or (item.key < 0 and not with_layers)) else -1
        for position, item in enumerate(items)
    ]
    # Not their positions: a layer of the decoder may begin with the encoder's result, before those that it follows.
    ends = np.array(sorted(links), dtype=np.int64).reshape(-1, 2)
    place = np.argsort(flow_order(len(items), ends[:, 0], ends[:, 1])).tolist()
    for near in (afters, befores):
        for position in reversed(range(len(items))) if near is afters else range(len(items)):
            homes = {home[other] for other in near[position]}
            item = items[position]
            is_small = len(items) > MOST and item.size <= _FEW_OPS
            is_glue = item.key < 0 or (item.key > 0 and not item.is_heavy and is_small)
            if (
                home[position] < 0
                and is_glue
                and (len(homes) == 1 or (near is befores and homes))
                and max(homes) >= 0
            ):
                home[position] = max(homes - {-1}, key=place.__getitem__)
    for position in reversed(
        range(len(items))
    ):  # a chain of ops between layers is one part, named after its last op
        following = afters[position]
        if home[position] < 0 and items[position].key < 0 and len(following) == 1:
            last = following[0] if home[following[0]] < 0 else home[following[0]]
            if items[last].key < 0 and not items[last].is_heavy:
                home[position] = last
    for position, item in enumerate(items):
        if home[position] not in (-1, position):
            items[home[position]].guests.append(item)
    kept = [position for position in range(len(items)) if home[position] in (-1, position)]
    at = {position: number for number, position in enumerate(kept)}
    places = [at[position if home[position] < 0 else home[position]] for position in range(len(items))]
    return [items[i] for i in kept], {(places[a], places[b]) for a, b in links if places[a] != places[b]}


def _copies(items: Sequence[Item]) -> list[tuple[list[int], str]]:
    """Return groups of ops with the same type and stem, such as the lookups of an unrolled network."""
    alike: dict[tuple[int, str], list[int]] = {}
    for position, item in enumerate(items):
        if item.key < 0:
            alike.setdefault((item.signature, stem(item.label)), []).append(position)
    return [(members, items[members[0]].label) for members in alike.values() if len(members) >= _LEAST_SERIES]


def _series(items: list[Item], links: Links) -> tuple[list[Item], Links]:
    """Merge each run of neighbors with equal ops and stems into a series."""
    if len(items) <= _ALONE:
        return items, links
    runs: list[list[int]] = []
    for position, item in enumerate(items):
        last = items[runs[-1][-1]] if runs else None
        if last is not None and last.signature == item.signature and stem(last.label) == stem(item.label):
            runs[-1].append(position)
        else:
            runs.append([position])
    if len(runs) == 1 and len(items) > _TOLERATED:
        return divided_evenly(items), set()
    merged: list[Item] = []
    at = [0] * len(items)
    for run in runs:
        members = [items[i] for i in run]
        is_series = _LEAST_SERIES <= len(run) < len(items) and not (
            members[0].is_alone and len(run) <= _ALONE
        )
        for position in run:
            at[position] = len(merged) if is_series else len(merged) + position - run[0]
        if is_series:
            first, last = members[0], members[-1]
            label = first.label if first.label == last.label else f"{first.label} … {last.label}"
            signature = hash((first.signature, len(run)))
            parts = members if len(members) <= _TOLERATED else divided_evenly(members)
            merged.append(Item(label, 0, first.first, signature, first.is_heavy, parts, len(run)))
        else:
            merged += members
    return merged, {(at[a], at[b]) for a, b in links if at[a] != at[b]}


def divided_evenly(members: list[Item]) -> list[Item]:
    """Return the members of a long series as shorter series of equal length."""
    length = math.ceil(len(members) / MOST)
    pieces = [members[start : start + length] for start in range(0, len(members), length)]
    return [
        Item(
            f"{piece[0].label} … {piece[-1].label}",
            0,
            piece[0].first,
            hash((piece[0].signature, len(piece))),
            piece[0].is_heavy,
            piece if len(piece) <= _TOLERATED else divided_evenly(piece),
            len(piece),
        )
        if len(piece) > 1
        else piece[0]
        for piece in pieces
    ]


# ------------------------------------------------------------------------------------------------------------- by names


def _by_names(items: list[Item], links: Links) -> list[tuple[list[int], str]]:
    """Return groups of neighbors with a common name prefix; none if prefixes cover too few items."""
    tokens = [_TOKENS.findall(item.label) for item in items]
    common = _common_beginning(tokens)
    # Functions that layers call have names of their own, so only the names of layers count where there are some.
    heavy = [0, *accumulate(item.is_heavy for item in items)]
    sizes = [0] * len(items)
    owner = 0  # what follows a layer is likely to join its group
    for position, item in enumerate(items):
        owner = position if item.is_heavy or not heavy[-1] else owner
        sizes[owner] += item.size
    groups: list[tuple[list[int], str]] = []
    has_layers: list[bool] = []
    for group, pieces in _beginnings(tokens, sizes, list(range(len(items))), common):
        own, span = len(group), group[-1] - group[0] + 1
        if layers := sum(items[position].is_heavy for position in group):
            own, span = layers, heavy[group[-1] + 1] - heavy[group[0]]
        if len(group) > 1 and own >= _PURE * span:
            groups.append((group, _beginning(items[group[0]].label, pieces)))
            has_layers.append(layers > 0)
    group_of = {position: number for number, (members, _) in enumerate(groups) for position in members}
    chosen = [item.is_heavy or not heavy[-1] for item in items]
    if len(groups) < 2 or sum(chosen[position] for position in group_of) < _COVERED * sum(chosen):
        return []
    named_groups = dict(group_of)
    _join_strays(items, links, group_of)
    of_layers = {position: number for position, number in named_groups.items() if has_layers[number]}
    _untangle(len(items), links, group_of, of_layers)
    _join_functions(items, links, group_of)
    members: dict[int, list[int]] = {}
    for position in sorted(group_of):
        members.setdefault(group_of[position], []).append(position)
    return [
        (
            part,
            groups[number][1]
            if number < len(groups) and has_layers[number]
            else _chain_label([items[position] for position in part])
            if number >= len(groups)
            else _last_layer([items[position] for position in part]),
        )
        for number, part in members.items()
    ]


def _untangle(count: int, links: Links, group_of: dict[int, int], named: dict[int, int]) -> None:
    """Change groups between which data flows both ways, so that the flow passes each of them once.

    Items that joined such a group leave it, and groups without layers are dissolved. Then what the flow passes on its
    way from a group back to it joins the group. Groups that the flow still alternates between are cut into runs. At
    last, items that left a group join the group of all their consumers, if there is one.

    Args:
        count: number of items.
        links: flow between them.
        group_of: position -> group of an item in a group; is changed.
        named: the same for the items that are in a group of layers by their names.
    """
    tangled = _circles_of_groups(count, links, group_of)
    if not tangled:
        return
    left = [
        position
        for group in tangled
        for position in group
        if position not in named and group_of.pop(position, None) is not None
    ]
    for number in sorted(set(group_of.values())):
        alone = {position: of for position, of in group_of.items() if of == number}
        others = {position for position in group_of if position not in alone}
        inner = {(a, b) for a, b in links if a not in others and b not in others}
        for group in _circles_of_groups(count, inner, alone):
            group_of.update(dict.fromkeys(group, number))
    ends = np.array(sorted(links), dtype=np.int64).reshape(-1, 2)
    place = np.argsort(flow_order(count, ends[:, 0], ends[:, 1])).tolist()
    new = max(group_of.values())
    for group in _circles_of_groups(count, links, group_of):
        runs: dict[int, list[list[int]]] = {}
        last = -1
        for position in sorted(group, key=place.__getitem__):
            number = group_of.get(position, -1)
            if number >= 0:
                if number != last:
                    runs.setdefault(number, []).append([])
                runs[number][-1].append(position)
            last = number
        for cut in runs.values():
            for run in sorted(cut, key=len, reverse=True)[1:]:
                new += 1
                group_of.update(dict.fromkeys(run, new))
    consumers = neighbors(ends[:, 0], ends[:, 1], count)
    for position in sorted(left, key=place.__getitem__, reverse=True):
        groups = {group_of.get(after, -1) for after in consumers[position]}
        if position not in group_of and len(groups) == 1 and -1 not in groups:
            group_of[position] = groups.pop()


def _join_functions(items: Sequence[Item], links: Links, group_of: dict[int, int]) -> None:
    """Assign functions between groups, such as ``tf.reshape_5``, to the group that computes all their inputs."""
    befores: list[list[int]] = [[] for _ in items]
    afters: list[list[int]] = [[] for _ in items]
    for a, b in links:
        befores[b].append(a)
        afters[a].append(b)
    between = {
        position
        for position, item in enumerate(items)
        if position not in group_of and _FUNCTION.fullmatch(item.label)
    }
    for position in sorted(between, reverse=True):
        if not afters[position] or any(
            after not in group_of and after not in between for after in afters[position]
        ):
            between.remove(position)
    for position in sorted(between):
        groups = {group_of.get(before, -1) for before in befores[position]}
        if len(groups) == 1 and -1 not in groups:
            group_of[position] = groups.pop()


def _circles_of_groups(count: int, links: Links, group_of: dict[int, int]) -> list[list[int]]:
    """Return the positions of the items in each circle that groups and other items form."""
    node = [group_of.get(position, -1) for position in range(count)]
    top = max(node, default=-1) + 1
    node = [number if number >= 0 else top + position for position, number in enumerate(node)]
    tangled = circles(top + count, {(node[a], node[b]) for a, b in links if node[a] != node[b]})
    of_circle = {number: position for position, group in enumerate(tangled) for number in group}
    positions: list[list[int]] = [[] for _ in tangled]
    for position, number in enumerate(node):
        if number in of_circle:
            positions[of_circle[number]].append(position)
    return positions


def _by_numbers(items: list[Item], links: Links) -> list[tuple[list[int], str]]:
    """Return runs of neighbors that share a number in their names; none if most names have no number."""
    runs: list[tuple[str, list[int]]] = []
    for position, item in enumerate(items):
        number = next(filter(str.isdigit, reversed(_TOKENS.findall(item.label))), "")
        if not number or not runs or runs[-1][0] != number:
            runs.append((number, []))
        runs[-1][1].append(position)
    groups = [(run, _last_layer([items[position] for position in run])) for _, run in runs if len(run) > 1]
    return groups if sum(len(run) for run, _ in groups) >= _COVERED * len(items) else []


def _common_beginning(tokens: Sequence[Sequence[str]]) -> int:
    """Return the number of leading pieces that nearly all names share."""
    depth = 0
    while True:
        counts: dict[tuple[str, ...], int] = {}
        for name in tokens:
            if len(name) > depth + 1:
                counts[tuple(name[: depth + 1])] = counts.get(tuple(name[: depth + 1]), 0) + 1
        if max(counts.values(), default=0) < 0.9 * len(tokens):
            return depth
        depth += 1


def _beginnings(
    tokens: Sequence[Sequence[str]], sizes: Sequence[int], chosen: Sequence[int], depth: int
) -> list[tuple[list[int], int]]:
    """Return groups by the next piece of the names and the number of shared pieces; dominant groups are redivided."""
    by_piece: dict[str, list[int]] = {}
    for position in chosen:
        if len(tokens[position]) > depth:
            by_piece.setdefault(tokens[position][depth], []).append(position)
    groups: list[tuple[list[int], int]] = []
    for members in by_piece.values():
        is_dominant = 1 < len(members) > _DOMINANT * len(tokens)
        is_large = sum(sizes[position] for position in members) > _LARGEST_BOX * sum(sizes)
        deeper: list[tuple[list[int], int]] = []
        if (is_dominant or is_large) and len(members) > 1:
            deeper = _beginnings(tokens, sizes, members, depth + 1)
        if is_dominant or sum(len(group) > 1 for group, _ in deeper) > 1:
            pieces = Counter(
                tokens[position][depth + 1] for position in members if len(tokens[position]) > depth + 1
            )
            if max(pieces.values(), default=0) > _DOMINANT * len(tokens):
                groups += deeper  # divided again by a later piece
                continue
            numbered = [group for group in deeper if tokens[group[0][0]][group[1] - 1][-1:].isdigit()]
            # An unnumbered continuation belongs to the first group: ``expanded_conv`` before ``expanded_conv_1``.
            rest = sorted({*members} - {position for group in numbered for position in group[0]})
            groups += numbered if numbered else deeper
            if numbered and rest:
                groups.append((rest, depth + 1))
        else:
            groups.append((members, depth + 1))
    return groups


def _join_strays(items: list[Item], links: Links, group_of: dict[int, int]) -> None:
    """Assign ungrouped items: a merge to the group of its inputs, a layer to the group of its consumers."""
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for a, b in links:
        before.setdefault(b, []).append(a)
        after.setdefault(a, []).append(b)
    strays = [position for position in range(len(items)) if position not in group_of]
    places: dict[int, list[int]] = {}
    for position, number in sorted(group_of.items()):
        places.setdefault(number, []).append(position)
    first = {number: positions[0] for number, positions in places.items()}
    last = {number: positions[-1] for number, positions in places.items()}
    for position in strays:
        groups = {group_of[a] for a in before.get(position, ()) if a in group_of}
        if len(before.get(position, ())) > 1 and groups:
            group_of[position] = max(groups, key=lambda number: last[number])
    for position in strays:
        around = [number for number in first if first[number] < position < last[number]]
        if position not in group_of and len(around) == 1:
            group_of[position] = around[0]
    if len(strays) + len(places) - sum(position in group_of for position in strays) <= MOST:
        return
    for position in reversed(strays):
        groups = {group_of.get(b, -1) for b in after.get(position, ())}
        if position not in group_of and items[position].is_heavy and len(groups) == 1 and -1 not in groups:
            group_of[position] = groups.pop()


def _chains(items: list[Item], links: Links) -> list[tuple[list[int], str]]:
    """Return each layer with the following items that read no variables, and runs of layers between groups."""
    taken: list[set[int]] = [set() for _ in items]
    for a, b in links:
        taken[b].add(a)
    runs: list[list[int]] = []
    for position, item in enumerate(items):
        is_next = bool(runs) and runs[-1][-1] == position - 1 and taken[position] == {position - 1}
        if is_next and not item.members and not items[position - 1].members:
            runs[-1].append(position)
        else:
            runs.append([position])
    return [
        (run, _chain_label([items[position] for position in run]))
        for run in runs
        if 1 < len(run) < len(items)
    ]


def _chain_label(items: Sequence[Item]) -> str:
    """Return the common prefix of layers' names, or the name of the last layer if they have none."""
    if not any(item.is_heavy for item in items):
        return items[-1].label
    tokens = [_TOKENS.findall(item.label) for item in items]
    shared = 0
    while all(len(name) > shared and name[shared] == tokens[0][shared] for name in tokens):
        shared += 1
    return _beginning(items[0].label, shared) or _last_layer(items)


def _periods(items: list[Item]) -> list[tuple[list[int], str]]:
    """Return groups of neighbors that recur, such as attention with the layers around it."""
    codes = [hash((item.signature, stem(item.label))) for item in items]
    best: tuple[int, int, int] = (0, 0, 0)  # number of items covered less the period, and their start
    for period in range(2, min(_LONGEST_PERIOD, len(items) // 2) + 1):
        begin = 0
        for position in range(len(items) - period + 1):
            if position + period < len(items) and codes[position] == codes[position + period]:
                continue
            covered = (position - begin) // period * period + period
            best = max(best, (covered if position - begin >= period else 0, -period, -begin))
            begin = position + 1
    covered, period, begin = best[0], -best[1], -best[2]
    if covered < 0.5 * len(items):
        return []
    return [
        (list(range(start, start + period)), _period_label(items, begin, start, period))
        for start in range(begin, begin + covered, period)
    ]


def _period_label(items: Sequence[Item], begin: int, start: int, period: int) -> str:
    """Return the name that is unique to one repetition, or the last name if none is."""
    named = [item.result for item in items[start : start + period] if item.result]
    if named:
        return named[-1]
    other = begin if start > begin else begin + period
    own = [
        item
        for item, same in zip(items[start : start + period], items[other : other + period], strict=False)
        if item.label != same.label and not NORM.search(item.label) and not _PLUMBING.fullmatch(item.label)
    ]
    numbered = [item.label for item in own if item.key > 0 or item.members] or [
        item.label for item in own if item.is_heavy
    ]
    return (numbered or [items[start + period - 1].label])[-1]


# -------------------------------------------------------------------------------------------------------------- by flow


class _Level:
    """The data flow between items in order.

    Attributes:
        crossing: [items + 1] number of items before each cut whose results are needed after it.
        merges: whether an item combines the results of several items.
    """

    def __init__(self, items: Sequence[Item], links: Iterable[tuple[int, int]]) -> None:
        count = len(items)
        last = list(range(count))
        befores: list[set[int]] = [set() for _ in items]
        for a, b in links:
            if a < b:
                last[a] = max(last[a], b)
                befores[b].add(a)
        is_global = [
            not befores[a] and last[a] - a > _SPAN * count and not items[a].is_heavy for a in range(count)
        ]
        self.merges = [sum(not is_global[a] for a in before) > 1 for before in befores]
        change = np.zeros(count + 2, dtype=np.int64)
        for a in range(count):
            if not is_global[a]:
                change[a + 1] += 1
                change[last[a] + 1] -= 1
        self.crossing = np.cumsum(change)[: count + 1]


def _by_flow(items: list[Item], links: Links) -> list[tuple[list[int], str]]:
    """Return the parts between places where a single tensor carries the flow, each named after its last op."""
    level = _Level(items, links)
    count = len(items)
    is_choke = [bool(level.crossing[i + 1] <= 1) for i in range(count)]
    runs: list[tuple[bool, list[int]]] = []  # whether it is a chain, and its positions
    for position in range(count):
        is_begin = position == 0 or is_choke[position - 1]
        is_chain = is_begin and is_choke[position]
        if runs and (runs[-1][0] if is_chain else not is_begin):
            runs[-1][1].append(position)
        else:
            runs.append((is_chain, [position]))
    parts: list[tuple[list[int], str]] = []
    for is_chain, positions in runs:
        if not is_chain:
            pieces = [positions]
            if (
                3 * len(positions) > count
            ):  # such as a U-Net, where results of each level pass by all below it
                cut = _pooled(items, positions, level.merges)
                pieces = cut if len(cut) <= MOST else pieces
            for piece in pieces:
                region = [items[position] for position in piece]
                heavy = [item.label for item in region if item.is_heavy]
                parts.append((piece, heavy[0] if len(heavy) == 1 else _end_label(region)))
            continue
        light = (i for i, position in enumerate(positions) if items[position].is_heavy)
        kept = next(light, len(positions))
        if parts and kept:  # an activation after an addition is part of its block
            block, label = parts[-1]
            parts[-1] = (block + positions[:kept], items[positions[kept - 1]].result or label)
            positions = positions[kept:]
        for piece in _chain_pieces(items, positions):
            parts.append((piece, _end_label([items[position] for position in piece])))
    return [
        (piece, label if items[piece[-1]].result else _own_beginning(items, piece) or label)
        for piece, label in parts
    ]


def _own_beginning(items: Sequence[Item], piece: Sequence[int]) -> str:
    """Return the numbered prefix that is common in a part and absent outside; ``""`` for none.

    >>> names = ["block35_1_conv", "block35_1_mixed", "block35_1_ac", "scale_1", "block35_2_conv"]
    >>> _own_beginning([Item(name, 1, 0, 0, False) for name in names], range(4))
    'block35_1'
    """
    everywhere, here = Counter[str](), Counter[str]()
    inside = set(piece)
    for position, item in enumerate(items):
        tokens = _TOKENS.findall(item.label)
        for pieces in range(1, len(tokens)):
            if not tokens[pieces].isdigit():
                beginning = _beginning(item.label, pieces)
                everywhere[beginning] += 1
                here[beginning] += position in inside
    own = [
        (times, len(beginning), beginning)
        for beginning, times in here.items()
        if times == everywhere[beginning] and times >= _LEAST_SCOPES and any(map(str.isdigit, beginning))
    ]
    return max(own, default=(0, 0, ""))[2]


def _end_label(items: Sequence[Item]) -> str:
    """Return the name of the result or of the last op; if that is plumbing, the name of the last layer."""
    last = items[-1]
    if last.result or not (
        last.is_plain or _PLUMBING.fullmatch(last.label) or (last.is_heavy and NORM.search(last.label))
    ):
        return last.result or last.label
    return _last_layer(items)


def _last_layer(items: Sequence[Item]) -> str:
    """Return the name of the last layer, preferably not of a normalization."""
    heavy = [item.label for item in items if item.is_heavy]
    named = [label for label in heavy if not (NORM.search(label) or _PLUMBING.fullmatch(label))]
    return (named or heavy or [items[-1].label])[-1]


def _chain_pieces(items: list[Item], positions: list[int]) -> list[list[int]]:
    """Return a chain of layers, cut after each pooling layer if it is long."""
    if len(positions) <= MOST:
        return [positions] if positions else []
    return _pooled(items, positions)


def _pooled(items: list[Item], positions: list[int], merges: Sequence[bool] | None = None) -> list[list[int]]:
    """Return positions, cut after each pooling item and before each merging item."""
    pieces: list[list[int]] = []
    for number, position in enumerate(positions):
        is_begin = merges is not None and merges[position]
        if not number or is_begin or "pool" in items[positions[number - 1]].label.lower():
            pieces.append([])
        pieces[-1].append(position)
    return pieces


def even_cuts(crossing: np.ndarray, parts: int) -> list[int]:
    """Return the ends of parts of about equal length, cut where the fewest tensors cross.

    Args:
        crossing: [items + 1] tensors that cross the cut before each item.
        parts: number of parts.
    """
    count = len(crossing) - 1
    length = count / parts
    ends: list[int] = []
    last = 0
    for k in range(1, parts):
        ideal = k * length
        low = max(last + 1, math.ceil(ideal - length / 2))
        high = min(count - 1, math.floor(ideal + length / 2))
        if low > high:
            continue
        where = np.arange(low, high + 1)
        best = np.lexsort((np.abs(where - ideal), crossing[low : high + 1]))[0]
        last = int(where[best])
        ends.append(last)
    return [*ends, count]
