"""Roles: the purpose of each node of a graph.

The search starts from the ops that change trained variables and follows their values back to the loss::

    input ─> forward ─────────────> loss        what leads to a result of the graph: forward
               │  ▲                   │
    variable ──┘  │                   ▼         what leads to an update and to no result: backward,
       ▲          └─────────────── backward     from the first node that combines or clips gradients on: averaging
       └── update <── averaging <─────┘         what only updates need, and what reads their own variable: update

In graphs whose only result is the training op, and for nodes that structure alone cannot distinguish, op types and the
names from ``tf.gradients`` and ``GradientTape`` decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from gpuplace.graph.op_sets import (
    ASSIGNMENTS,
    CHECKS,
    CONSTANT_OPS,
    ENTERS,
    IDENTITY_OPS,
    MERGES,
    METADATA_OPS,
    NEXT_ITERATIONS,
    PLUMBING,
    RANDOM_OPS,
    SIZE_ARITHMETIC,
    SUMS,
    SWITCHES,
    UPDATES_OF_VARIABLES,
    VARIABLE_OPS,
    WEIGHTS_OF,
)
from gpuplace.model.structure.flow import flow_order
from gpuplace.model.subject.bookkeeping import SHELVES, NodeColumns, neighbors

ROLES = ("input", "forward", "loss", "backward", "averaging", "update", "variable", "bookkeeping")
"""The roles, by the numbers in `Roles.role`."""
INPUT, FORWARD, LOSS, BACKWARD, AVERAGING, UPDATE, VARIABLE, BOOKKEEPING = range(len(ROLES))

READS = IDENTITY_OPS | {"ReadVariableOp"}
"""Op types that return the value of a variable."""
_ALIASES = READS | ENTERS | SWITCHES
_INPUTS = re.compile(
    r"Placeholder(V2|WithDefault)?|_Arg|\w*Queue\w*Dequeue\w*|\w*Iterator\w*GetNext\w*|ReaderRead(UpTo)?(V2)?"
)
_GRADIENT_TYPE = re.compile(
    r"(?!Stop|Prevent)\w+Grad(V\d|WithFixedKSInput|Ext)?|\w+BackpropFilter\w*|\w+FilterBackprop\w*"
)
"""Op types that only gradients have; ``Conv2DBackpropInput`` can also be a transposed convolution."""
_GRADIENT_NAME = re.compile(r"(?:^|/)(?:gradients(?:_\d+)?|gradient_tape)/|_grad(?:_\d+)?(?:/|$)")
_CLIPPING_NAME = re.compile(r"clip|global_norm|average|all_?reduce|accum", re.IGNORECASE)
_UPDATE_NAME = re.compile(r"(?:^|/)update_")
"""The scope that an optimizer opens for each variable that it updates."""
_ASSERTION_NAME = re.compile(r"(?:^|/)AssertGuard(?:_\d+)?/")
_LOSS_TYPE = re.compile(r"\w*CrossEntropy\w*|CTCLoss(V2)?")
_LOSS_NAME = re.compile(r"(?:loss|entropy)[^/]*(?:/[^/]*)?$", re.IGNORECASE)
"""Names of a loss, and of functions that create one."""
_PENALTY_NAME = re.compile(r"regulari[sz]er|l2_loss|weight_?decay", re.IGNORECASE)
_INITIALIZERS = SHELVES.index("initializers")
_MANY = -2
"""Stands for the gradients of several nodes."""
_READ_BY_RESULTS = 0.9
"""Least share of the updated variables that results must read for structure to decide which nodes are backward."""


class Columns(NodeColumns, Protocol):
    """A graph as columns, with the outputs where edges start, such as a `PlacementView`."""

    @property
    def src_output(self) -> np.ndarray:
        """[edges] output of the producing node, -1 for a control edge."""

    @property
    def attached(self) -> dict[str, Any]:
        """Results that modules store with the graph, each under its key."""


class Roles:
    """The role of every node, and other facts about nodes.

    Attributes:
        role: [nodes] int8 index into `ROLES`.
        variable_of: [nodes] variable whose value or handle a node passes on; -1 for none.
        shelf: [nodes] bookkeeping purpose as in `bookkeeping`, -1 for none.
        order: nodes in flow order.
        is_size: [nodes] whether a node computes a size from sizes and constants alone.
        inputs: [nodes] producers of a node's data inputs.
        consumers: [nodes] consumers of a node's data.
    """

    def __init__(self, view: Columns, shelf: np.ndarray) -> None:
        self.view, self.shelf = view, shelf
        count = len(view)
        is_next = self._of_types(NEXT_ITERATIONS.__contains__)
        data = (view.src_output >= 0) & ~is_next[view.src]
        src, dst = view.src[data], view.dst[data]
        self.order: list[int] = flow_order(count, src, dst).tolist()
        self.inputs = neighbors(dst, src, count)
        self.consumers = neighbors(src, dst, count)
        self.is_variable = self._of_types(VARIABLE_OPS.__contains__).tolist()
        self.is_constant = self._of_types(CONSTANT_OPS.__contains__).tolist()
        self.is_passing = self._of_types(PLUMBING.__contains__).tolist()
        if not any(self.is_variable):
            self._find_frozen_weights()
        self.variable_of = self._variables()
        self.is_size = self._sizes()
        self.is_pivot = self._pivots()
        changes = self._of_types(lambda name: name.startswith(UPDATES_OF_VARIABLES) or name in ASSIGNMENTS)
        self.is_update = (changes & (shelf < 0)).tolist()
        self._roles = [FORWARD] * count
        self._decide()
        self.role = np.array(self._roles, dtype=np.int8)

    def _of_types(self, test: Callable[[str], object]) -> np.ndarray:
        """[nodes] bool: whether the op type passes a test."""
        passed: np.ndarray = np.array([*(bool(test(name)) for name in self.view.op_types), False])[
            self.view.op_type
        ]
        return passed

    def _find_frozen_weights(self) -> None:
        """Treat constants that layers use as weights as variables, because a frozen graph has no other variables."""
        view, inputs = self.view, self.inputs
        is_read = self._of_types(READS.__contains__).tolist()
        for node in np.flatnonzero(self._of_types(WEIGHTS_OF.__contains__)).tolist():
            for place in WEIGHTS_OF[view.op_types[view.op_type[node]]]:
                if place < len(inputs[node]):
                    weight = inputs[node][place]
                    while is_read[weight] and inputs[weight]:
                        weight = inputs[weight][0]
                    self.is_variable[weight] = self.is_variable[weight] or self.is_constant[weight]
        self.is_constant = [
            constant and not variable
            for constant, variable in zip(self.is_constant, self.is_variable, strict=True)
        ]

    def _sizes(self) -> list[bool]:
        is_size = self._of_types(METADATA_OPS.__contains__).tolist()
        is_arithmetic = self._of_types(SIZE_ARITHMETIC.__contains__).tolist()
        for node in self.order:
            if is_arithmetic[node]:
                is_size[node] = all(
                    is_size[before] or self.is_constant[before] for before in self.inputs[node]
                )
        return is_size

    def _pivots(self) -> list[bool]:
        """[nodes] whether a node only selects the branch of a conditional through control edges."""
        is_switch = self._of_types(SWITCHES.__contains__).tolist()
        is_pivot = [
            self.is_passing[node] and not after and any(is_switch[before] for before in self.inputs[node])
            for node, after in enumerate(self.consumers)
        ]
        return [
            is_pivot[node] or (is_switch[node] and all(is_pivot[after] for after in self.consumers[node]))
            for node in range(len(is_pivot))
        ]

    def _variables(self) -> list[int]:
        is_alias = self._of_types(_ALIASES.__contains__).tolist()
        is_merge = self._of_types(MERGES.__contains__).tolist()
        variable_of = [-1] * len(self.view)
        for node in self.order:
            if self.is_variable[node]:
                variable_of[node] = node
            elif is_alias[node] and self.inputs[node]:
                variable_of[node] = variable_of[self.inputs[node][0]]
            elif is_merge[node] and len(self.inputs[node]) > 1:
                # a variable or, before its initialization, its initial value
                if all(is_alias[before] for before in self.inputs[node]):
                    variable_of[node] = max(variable_of[before] for before in self.inputs[node])
        return variable_of

    def _decide(self) -> None:
        """Set all roles; each rule applies to nodes that the previous rules left as forward."""
        roles, view = self._roles, self.view
        shelf = self.shelf.tolist()
        is_input = self._of_types(_INPUTS.fullmatch).tolist()
        is_assertion: list[bool] = self._of_types("Assert".__eq__).tolist()
        names = view.names
        for node in range(len(view)):
            if shelf[node] >= 0:
                roles[node] = VARIABLE if shelf[node] == _INITIALIZERS else BOOKKEEPING
            elif self.variable_of[node] >= 0:
                roles[node] = VARIABLE
            elif is_input[node]:
                roles[node] = INPUT
            elif self.is_update[node]:
                roles[node] = UPDATE
            elif is_assertion[node] or ("AssertGuard" in names[node] and _ASSERTION_NAME.search(names[node])):
                roles[node], is_assertion[node] = BOOKKEEPING, True
        is_check = self._of_types(CHECKS.__contains__).tolist()
        for node in reversed(self.order):
            after = self.consumers[node]
            if is_check[node] and after and all(is_assertion[consumer] for consumer in after):
                roles[node], is_assertion[node] = BOOKKEEPING, True
        named = self._named_gradients()
        backward = self._backward(named)
        if backward is not None:
            self._after_gradients(backward, named)
        self._what_updates_need()
        if BACKWARD in roles:
            self._losses(named)
        for node in self.order:  # includes a conditional of nodes that only updates need
            if self.is_pivot[node] and roles[node] == FORWARD and self.inputs[node]:
                condition = self.inputs[node][0]
                beside = {roles[after] for after in self.consumers[condition] if not self.is_pivot[after]}
                roles[node] = max({roles[condition], *beside}) if FORWARD not in beside else FORWARD
        self._groups()

    def _groups(self) -> None:
        """Give ops that only wait for other ops the role of the awaited ops."""
        view, roles = self.view, self._roles
        is_group = self._of_types("NoOp".__eq__)
        control = (view.src_output < 0) & is_group[view.dst]
        awaited = neighbors(view.dst[control], view.src[control], len(view))
        for node in np.flatnonzero(is_group).tolist():
            taken = {roles[before] for before in awaited[node]}
            if roles[node] == FORWARD and taken and (UPDATE in taken or taken == {BOOKKEEPING}):
                roles[node] = UPDATE if UPDATE in taken else BOOKKEEPING

    def _named_gradients(self) -> list[bool]:
        """[nodes] whether the op type or the name marks a gradient."""
        by_type = self._of_types(_GRADIENT_TYPE.fullmatch).tolist()
        roles = self._roles
        return [
            roles[node] == FORWARD
            and (by_type[node] or ("grad" in name and _GRADIENT_NAME.search(name) is not None))
            for node, name in enumerate(self.view.names)
        ]

    def _leading_to(self, ends: Sequence[bool]) -> list[bool]:
        """[nodes] whether data flows from a node to an end, or the node is one."""
        leads = list(ends)
        for node in reversed(self.order):
            if not leads[node]:
                for after in self.consumers[node]:
                    if leads[after]:
                        leads[node] = True
                        break
        return leads

    def _backward(self, named: list[bool]) -> list[bool] | None:
        """[nodes] whether a node leads to updates of trained variables and to no result; None without training."""
        roles, consumers = self._roles, self.consumers
        nodes = range(len(roles))
        depends = list(named)
        for node in self.order:
            if not depends[node]:
                depends[node] = any(depends[before] for before in self.inputs[node])
        is_end = [
            roles[node] in (INPUT, FORWARD)
            and not depends[node]
            and not self.is_passing[node]
            and not self.is_constant[node]
            and not self.is_pivot[node]
            and all(roles[after] == BOOKKEEPING for after in consumers[node])
            for node in nodes
        ]
        for node in nodes:  # a result may be passed on first
            if (
                self.is_passing[node]
                and not self.is_pivot[node]
                and roles[node] == FORWARD
                and not consumers[node]
            ):
                for before in self.inputs[node]:
                    is_end[before] = is_end[before] or not depends[before]
        for forward in self.differentiated_by_name(named).values():  # a result that only the loss uses
            is_end[forward] = is_end[forward] or not depends[forward]
        for_results = self._leading_to(is_end)
        read = {
            self.variable_of[before]
            for node in nodes
            if for_results[node] and roles[node] == FORWARD
            for before in self.inputs[node]
        }
        applied = [node for node in nodes if self.is_update[node] and self.inputs[node]]
        is_apply = self._of_types(lambda name: "Apply" in name).tolist()
        applies = {self.variable_of[self.inputs[node][0]] for node in applied if is_apply[node]} - {-1}
        is_whole = bool(read - {-1}) and len(applies & read) >= _READ_BY_RESULTS * len(applies)
        if not is_whole and not any(named):
            return None
        trained = [False] * len(roles)
        for node in applied:
            trained[node] = not is_whole or self.variable_of[self.inputs[node][0]] in read
        leads = self._leading_to(trained)
        return [
            named[node]
            or (
                roles[node] == FORWARD
                and leads[node]
                and ((is_whole and not for_results[node]) or depends[node])
            )
            for node in nodes
        ]

    def _after_gradients(self, backward: list[bool], named: list[bool]) -> None:
        """Separate gradients, averaging or clipping, and updates."""
        roles, inputs = self._roles, self.inputs
        has_names = any(
            map(_GRADIENT_NAME.search, (self.view.names[node] for node in np.flatnonzero(named).tolist()))
        )
        source = [-1] * len(roles)  # the gradient that a node after the gradients uses, or _MANY
        combines, reads = [False] * len(roles), [False] * len(roles)
        later = []
        behind = list(named)  # a gradient
        for node in self.order:
            behind[node] = behind[node] or any(behind[before] for before in inputs[node])
            if not backward[node]:
                continue
            # Such as a moving average of a layer's result, or added gradients of the same row.
            if has_names and (not behind[node] or _UPDATE_NAME.search(self.view.names[node])):
                roles[node] = UPDATE
                reads[node] = self._reads_any(node, reads)
                continue
            befores = [before for before in inputs[node] if backward[before] and not self.is_constant[before]]
            if named[node] or not has_names or not befores:
                roles[node] = BACKWARD
                continue
            later.append(node)
            sources = {before if source[before] == -1 else source[before] for before in befores}
            source[node] = sources.pop() if len(sources) == 1 else _MANY
            combines[node] = (
                len(befores) > 1
                and source[node] == _MANY
                and (len(sources) > 0 or not all(source[before] == _MANY for before in befores))
            )
            reads[node] = self._reads_any(node, reads)
        is_apply = self._of_types(lambda name: "Apply" in name).tolist()
        is_sum = self._of_types(SUMS.__contains__).tolist()
        for node in reversed(later):
            afters = [after for after in self.consumers[node] if roles[after] != BOOKKEEPING]  # summaries
            if reads[node]:
                roles[node] = UPDATE
            elif (
                combines[node]
                or any(roles[after] == AVERAGING for after in afters)
                or (afters and all(is_apply[after] for after in afters))
                or any(combines[before] and is_sum[before] for before in inputs[node])  # a mean
                or _CLIPPING_NAME.search(self.view.names[node])
            ):
                roles[node] = AVERAGING
            else:
                roles[node] = UPDATE
        for node in reversed(self.order):  # nodes that serve only gradients, or only averages, belong to them
            if has_names and backward[node] and not behind[node]:
                taken = {roles[after] for after in self.consumers[node]}
                if BACKWARD in taken or taken == {AVERAGING}:
                    roles[node] = min(taken & {BACKWARD, AVERAGING})

        self._gradient_penalties(behind, named)

    def _gradient_penalties(self, behind: Sequence[bool], named: Sequence[bool]) -> None:
        """Mark nodes that depend on gradients and are differentiated again as loss, such as a critic's penalty."""
        roles = self._roles
        penalties = [False] * len(roles)
        for node in self.differentiated_by_name(named).values():
            penalties[node] = behind[node] and not named[node]
        for node in self.order:
            if roles[node] == FORWARD and not penalties[node]:
                penalties[node] = any(penalties[before] for before in self.inputs[node])
            if penalties[node]:
                roles[node] = LOSS

    def _reads_any(self, node: int, reads: Sequence[bool]) -> bool:
        """Return whether a node takes the value of a variable, directly or through such a node."""
        return any(self.variable_of[before] >= 0 or reads[before] for before in self.inputs[node])

    def _what_updates_need(self) -> None:
        """Give nodes that only updates, gradients or bookkeeping use the role of their consumers."""
        roles = self._roles
        of_training = {BACKWARD, AVERAGING, UPDATE}
        for node in reversed(self.order):
            if roles[node] not in (FORWARD, BACKWARD) or not self.consumers[node]:
                continue
            taken = {roles[after] for after in self.consumers[node] if not self.is_pivot[after]}
            taken = taken - {BOOKKEEPING} or taken
            if not taken:
                continue
            is_alone = all(self.is_constant[before] for before in self.inputs[node])
            if roles[node] == BACKWARD:
                if is_alone and BACKWARD not in taken and taken <= of_training:
                    roles[node] = min(taken)
            elif taken <= of_training and (is_alone or taken == {UPDATE}):
                roles[node] = min(taken)

    def _losses(self, named: list[bool]) -> None:
        """Mark the loss, after the last layer with a variable, and the metrics beside it."""
        roles, inputs, consumers = self._roles, self.inputs, self.consumers
        is_norm = self._of_types("L2Loss".__eq__).tolist()
        penalty = [False] * len(roles)
        reads = [False] * len(roles)
        for node in self.order:
            if roles[node] != FORWARD or self.is_passing[node] or self.is_constant[node]:
                continue
            is_reading = any(self.variable_of[before] >= 0 for before in inputs[node])
            if is_reading and (is_norm[node] or _PENALTY_NAME.search(self.view.names[node])):
                penalty[node] = True
            elif not any(penalty[before] for before in inputs[node]):
                reads[node] = is_reading
        in_layers = self._leading_to(reads)
        after_layers = list(reads)
        for node in self.order:
            after_layers[node] = after_layers[node] or any(after_layers[before] for before in inputs[node])
        last = [
            roles[node] == FORWARD and not in_layers[node] and not self.is_constant[node]
            for node in range(len(roles))
        ]
        is_loss = self._of_types(_LOSS_TYPE.fullmatch).tolist()
        # results of layers combined with labels, and everything after them
        named_loss = [
            last[node] and after_layers[node] and _LOSS_NAME.search(name) is not None
            for node, name in enumerate(self.view.names)
        ]
        joins = [
            penalty[node] or named_loss[node] or (is_loss[node] and last[node]) for node in range(len(roles))
        ]
        for node in self.order:
            if last[node] and not joins[node]:
                befores = inputs[node]
                joins[node] = any(joins[before] for before in befores) or (
                    any(after_layers[before] for before in befores)
                    and any(
                        not after_layers[before]
                        and not self.is_constant[before]
                        and self.variable_of[before] < 0
                        for before in befores
                    )
                )
        differentiated = [
            joins[node] and any(roles[after] == BACKWARD for after in consumers[node])
            for node in range(len(roles))
        ]
        for forward in self.differentiated_by_name(named).values():
            differentiated[forward] = differentiated[forward] or (last[forward] and joins[forward])
        before_loss = self._leading_to(differentiated)
        of_loss = [before_loss[node] and last[node] and joins[node] for node in range(len(roles))]
        for node in self.order:
            if last[node] and joins[node] and not of_loss[node]:
                of_loss[node] = any(of_loss[before] for before in inputs[node])
        for node in range(len(roles)):
            if of_loss[node]:
                roles[node] = LOSS
            elif joins[node] and last[node]:
                roles[node] = BOOKKEEPING
        for node in reversed(self.order):  # nodes that serve only the loss or metrics
            if roles[node] == FORWARD and not reads[node] and not in_layers[node] and consumers[node]:
                taken = {roles[after] for after in consumers[node]} - {BACKWARD}
                if len(taken) == 1 and (
                    taken == {BOOKKEEPING} or (taken == {LOSS} and not after_layers[node])
                ):
                    roles[node] = taken.pop()
            elif self.is_constant[node] and roles[node] == FORWARD and consumers[node]:
                taken = {roles[after] for after in consumers[node]}
                if len(taken) == 1 and taken <= {LOSS, BOOKKEEPING}:
                    roles[node] = taken.pop()

        self._side_results()
        loss_scopes = {
            self.view.names[node].rpartition("/")[0] for node in range(len(roles)) if roles[node] == LOSS
        }
        is_size = self._of_types((METADATA_OPS | CONSTANT_OPS).__contains__).tolist()
        for node, name in enumerate(self.view.names):
            # Functions that create a loss read sizes that they may not need.
            if is_size[node] and roles[node] == FORWARD and not consumers[node]:
                roles[node] = LOSS if name.rpartition("/")[0] in loss_scopes - {""} else FORWARD

    def _side_results(self) -> None:
        """Mark untrained nodes that depend on variables only, such as the value of a metric."""
        roles, inputs = self._roles, self.inputs
        if INPUT not in roles:
            return
        is_random = self._of_types(RANDOM_OPS.__contains__).tolist()
        fed = [False] * len(roles)
        for node in self.order:
            befores = inputs[node]
            if not befores:
                fed[node] = not self.is_constant[node] and self.variable_of[node] < 0
            elif is_random[node] or roles[node] == INPUT:
                fed[node] = True
            else:
                for before in befores:
                    if fed[before]:
                        fed[node] = True
                        break
        is_differentiated = [False] * len(roles)
        for node in range(len(roles)):
            if roles[node] == BACKWARD:
                for before in inputs[node]:
                    is_differentiated[before] = True
        is_trained = self._leading_to(is_differentiated)
        for node in range(len(roles)):
            if not (roles[node] != FORWARD or fed[node] or is_trained[node] or self.is_constant[node]):
                roles[node] = BOOKKEEPING

    def differentiated_by_name(self, named: Sequence[bool]) -> dict[int, int]:
        """Return the differentiated op of each gradient node, by their names."""
        index = {name: node for node, name in enumerate(self.view.names)}
        op_of_scope: dict[str, int] = {}
        op_of: dict[int, int] = {}
        for node in np.flatnonzero(np.array(named, dtype=bool)).tolist():
            name = self.view.names[node]
            scope, mark, _ = name.rpartition("_grad")
            key = scope if mark else name.rpartition("/")[0]
            if key not in op_of_scope:
                op_of_scope[key] = forward_op(name, index)
            if op_of_scope[key] >= 0:
                op_of[node] = op_of_scope[key]
        return op_of


def forward_op(name: str, index: dict[str, int]) -> int:
    """Return the node that a gradient differentiates according to its name; -1 if unknown.

    >>> forward_op("tower_1/gradients/tower_1/fc/MatMul_grad/MatMul_1", {"tower_1/fc/MatMul": 3})
    3
    >>> forward_op("gradient_tape/model/fc/MatMul/MatMul_1", {"model/fc/MatMul": 4})
    4
    """
    for mark in ("_grad", "/"):
        scope, separator, _ = name.rpartition(mark)
        while separator:
            rest = scope
            while rest:
                node = index.get(rest, -1)
                if node >= 0 and rest != name:
                    return node
                rest = rest.partition("/")[2]
            if mark == "/":
                break
            scope, separator, _ = scope.rpartition(mark)
    return -1
