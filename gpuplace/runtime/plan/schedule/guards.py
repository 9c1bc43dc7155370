"""Guards of steps: the branches of conditionals, as conditions on local names.

A ``Switch`` sends its value along one of two branches. Nodes that depend on the other branch do not run, up to the
``Merge`` that takes the live value::

    pred ---> Switch --0--> Neg  (if g1) ----> Merge ---> ...
                 +-----1--> Exp  (if g0) ------^

In a plan every branch has a guard, the name of a truth value. A value without a guard is always alive. The branches of
one conditional have many ``Switch`` nodes and one pair of guards, so that their ``Merge`` is recognized as
unconditional.

>>> lines = []
>>> guards = Guards(lines.append)
>>> inside = guards.branches("pred", "p", None)
>>> lines
['g0 = bool(p)', 'g1 = not g0']
>>> guards.all_of([inside[1], None, inside[1]])
'g0'
>>> print(guards.any_of(list(inside)))
None

Source: tensorflow/core/common_runtime/executor.cc, release 1.15 (dead tensors).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from gpuplace.graph.op_sets import KNOWN_BRANCH, MERGES, SWITCHES, SWITCHES_OF_MANY
from gpuplace.graph.operation import Operation
from gpuplace.runtime.plan.schedule.partition import Slot, Step

GuardOf = dict[Slot | Operation, str]
"""Values and operations to their guards, if any."""

_Guard = str | None

Block = tuple[
    frozenset[str], dict[tuple[Hashable, _Guard], tuple[str, str]], dict[tuple[str, frozenset[str]], str]
]


class Guards:
    """The guards of one plan.

    Args:
        emit: function that writes a line that computes a guard.
        form: format of guard names, with braces for the number.
    """

    def __init__(self, emit: Callable[[str], None], form: str = "g{}") -> None:
        self._emit = emit
        self._form = form
        self._parents: dict[str, _Guard] = {}
        self._others: dict[str, str] = {}
        self._branches: dict[tuple[Hashable, _Guard], tuple[str, str]] = {}
        self._combined: dict[tuple[str, frozenset[str]], str] = {}
        self._true: frozenset[str] = frozenset()

    def fresh(self, expression: str) -> str:
        """Return a new, independent guard."""
        return self._name(expression, None)

    def begin_block(self, true: _Guard = None) -> Block:
        """Begin a block of lines that may be skipped; guards computed there are unknown after it.

        Args:
            true: guard that is known to be true in the block.

        Returns:
            Argument of ``end_block``.
        """
        kept = self._true, dict(self._branches), dict(self._combined)
        self.assume(true)
        return kept

    def end_block(self, kept: Block) -> None:
        """End a block."""
        self._true, self._branches, self._combined = kept

    def assume(self, true: _Guard) -> None:
        """Assume that a guard, and those it is nested in, are true until the end of the block."""
        if true is not None:
            self._true |= {true} | self._above(true)

    def known(self, guard: _Guard) -> _Guard:
        """Return the guard, or None if it is known to be true."""
        return None if guard in self._true else guard

    def _name(self, expression: str, parent: _Guard) -> str:
        name = self._form.format(len(self._parents))
        self._parents[name] = parent
        self._emit(f"{name} = {expression}")
        return name

    def __len__(self) -> int:
        return len(self._parents)

    def branches(self, key: Hashable, predicate: str, inside: _Guard) -> tuple[str, str]:
        """Return the guards of a switch's outputs 0 (the predicate is false) and 1.

        Args:
            key: identity of the predicate, equal for all switches of a conditional.
            predicate: expression for its value.
            inside: guard of the switch itself.
        """
        inside = self.known(inside)
        if (key, inside) not in self._branches:
            condition = f"bool({predicate})"
            taken = self._name(condition if inside is None else f"{inside} and {condition}", inside)
            other = self._name(f"not {taken}" if inside is None else f"{inside} and not {taken}", inside)
            self._others[taken], self._others[other] = other, taken
            self._branches[key, inside] = other, taken
        return self._branches[key, inside]

    def cases(self, key: Hashable, index: str, count: int, inside: _Guard) -> list[_Guard]:
        """Return the guards of the outputs of a multi-way switch; the last output is the default.

        Args:
            key: identity of the index, equal for all switches of a conditional.
            index: expression for its value.
            count: number of outputs.
            inside: guard of the switch itself.
        """
        case_guards: list[_Guard] = []
        rest = inside
        for number in range(count - 1):
            rest, taken = self.branches((key, number), f"{index} == {number}", rest)
            case_guards.append(taken)
        return [*case_guards, rest]

    def has_branches(self, key: Hashable) -> bool:
        """Whether an unguarded switch uses this predicate."""
        return (key, None) in self._branches

    def _above(self, guard: str) -> set[str]:
        ancestors: set[str] = set()
        parent = self._parents[guard]
        while parent is not None:
            ancestors.add(parent)
            parent = self._parents[parent]
        return ancestors

    def all_of(self, guards: Iterable[_Guard]) -> _Guard:
        """Return the guard of a step that needs all given values."""
        named = {guard for guard in guards if guard is not None and guard not in self._true}
        implied = {above for guard in named for above in self._above(guard)}
        return self._combine("and", named - implied)

    def any_of(self, guards: Sequence[_Guard]) -> _Guard:
        """Return the guard of a step that needs any given value."""
        left: set[str] = set()
        for guard in guards:
            if guard is None or guard in self._true:
                return None
            left.add(guard)
        while pair := next((guard for guard in left if self._others.get(guard) in left), None):
            left -= {pair, self._others[pair]}
            parent = self._parents[pair]
            if parent is None or parent in self._true:
                return None
            left.add(parent)
        return self._combine("or", {guard for guard in left if not self._above(guard) & left})

    def _combine(self, word: str, guards: set[str]) -> _Guard:
        if len(guards) < 2:
            return next(iter(guards), None)
        key = word, frozenset(guards)
        if key not in self._combined:
            self._combined[key] = self._name(f" {word} ".join(sorted(guards)), None)
        return self._combined[key]


def guard_of_step(
    step: Step,
    guards: Guards,
    guard_of: GuardOf,
    roots: Mapping[Slot, Slot],
    predicate_of: Callable[[Step], str],
) -> str | None:
    """Compute the guard of a step, and record those of its outputs.

    Args:
        step: the step.
        guards: guards of the plan.
        guard_of: guards of values and operations, if any.
        roots: aliases to their values.
        predicate_of: function that returns the expression of a switch's predicate.
    """
    op = step.op
    input_guards = [guard_of.get(slot) for slot in step.inputs]
    controls = [guard_of.get(control) for control in step.control_inputs]
    if op is not None and op.type in MERGES:  # dead control inputs count as done
        guard = guards.any_of(input_guards)
    elif op is not None and op.type == "ControlTrigger":  # runs even if its control inputs are dead
        guard = None
    else:
        guard = guards.all_of([*input_guards, *controls])
    if guard is not None:
        guard_of.update(dict.fromkeys([*step.outputs, *([] if op is None else [op])], guard))
    if op is not None and op.type in SWITCHES:
        root = roots.get(step.inputs[1], step.inputs[1])
        branch_guards = guards.branches(root, predicate_of(step), guard)
        guard_of.update(zip(step.outputs, branch_guards, strict=True))
        if (branch := op.attrs.get(KNOWN_BRANCH)) is not None:
            guards.assume(branch_guards[branch])
    elif op is not None and op.type in SWITCHES_OF_MANY:
        root = roots.get(step.inputs[1], step.inputs[1])
        cases = guards.cases(root, predicate_of(step), len(step.outputs), guard)
        guard_of.update(
            (slot, case) for slot, case in zip(step.outputs, cases, strict=True) if case is not None
        )
    return guard
