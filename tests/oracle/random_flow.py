"""Random programs for each op of control flow, variables by reference, constants, messages and calls into Python.

Functions are as in `random_resources`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.oracle.random_cases import Draw
from tests.oracle.random_datasets import Rows, function_of
from tests.oracle.random_programs import Program
from tests.oracle.random_resources import REAL, _kind, attempt

NUMBERS = ("float32", "int64", "float64", "int32", "complex64", "float16")


def frames(d: Draw) -> Program:
    """A loop of the ops that loops are made of."""
    name, dtype = _kind(d, NUMBERS)
    value, times = d.values(dtype, d.shape(0, 3, 3)), d.int(0, 4)
    by_reference = d.op.startswith("Ref")
    parallel = d.pick(1, 10)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, start = tf.raw_ops, "Ref" if by_reference else ""
        frame = f"frame{d.op}{d.index}"
        same = {"frame_name": frame, "parallel_iterations": parallel}
        if by_reference:
            variable = raw.VariableV2(shape=list(value.shape), dtype=getattr(tf, name), shared_name=frame)
            session.run(raw.Assign(ref=variable, value=tf.constant(value)))
            x = raw.RefEnter(data=variable, **same)
            out = raw.RefExit(data=raw.RefIdentity(input=x) if d.index % 2 else x)
            made = attempt(tf, session, tf.identity(out))
            if d.op != "RefNextIteration":
                return [
                    *made,
                    *attempt(tf, session, raw.Assign(ref=variable, value=tf.constant(value + value))),
                ]
        number = raw.Enter(data=tf.constant(0), **same)
        one = raw.Enter(data=tf.constant(1), is_constant=True, **same)
        most = raw.Enter(data=tf.constant(times), is_constant=True, **same)
        step = raw.Enter(data=tf.constant(value), is_constant=True, **same)
        total = getattr(raw, f"{start}Enter")(data=variable if by_reference else tf.constant(value), **same)
        merged = raw.Merge(inputs=[number, number])
        total_merged = (raw.RefMerge if by_reference else raw.Merge)(inputs=[total, total])
        going = raw.LoopCond(input=tf.less(merged[0], most))
        left = raw.Switch(data=merged[0], pred=going)
        kept = (raw.RefSwitch if by_reference else raw.Switch)(data=total_merged[0], pred=going)
        again = raw.NextIteration(data=left[1] + one)
        if by_reference:
            total_again = raw.RefNextIteration(data=raw.RefIdentity(input=kept[1]))
        else:
            total_again = raw.NextIteration(data=kept[1] * step + step)
        merged[0].op._update_input(1, again)
        total_merged[0].op._update_input(1, total_again)
        exits = [raw.Exit(data=left[0]), getattr(raw, f"{start}Exit")(data=kept[0])]
        return attempt(tf, session, [exits[0], tf.identity(exits[1])])

    return program


def switches(d: Draw) -> Program:
    """One of two branches, and its gradient; by reference the branch changes a variable."""
    name, dtype = _kind(d, REAL if d.index % 2 else NUMBERS)
    value, which = d.values(dtype, d.shape(0, 3, 3)), d.chance(2)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, pred = tf.raw_ops, tf.placeholder(tf.bool, [])
        if d.op == "RefSwitch":
            variable = raw.VariableV2(
                shape=list(value.shape), dtype=getattr(tf, name), shared_name=f"{d.op}{d.index}"
            )
            session.run(raw.Assign(ref=variable, value=tf.constant(value)))
            sides = raw.RefSwitch(data=variable, pred=pred)
            changed = raw.AssignAdd(ref=sides[1], value=tf.constant(value))
            other = raw.Identity(input=sides[0])
            joined = raw.Merge(inputs=[other, changed])
            found = [session.run(joined[0], {pred: which}) for _ in range(2)]
            return [*found, session.run(raw.Identity(input=variable))]
        x = tf.constant(value)
        sides = raw.Switch(data=x, pred=pred)
        made = list(raw.Merge(inputs=[sides[0] * 3, sides[1] * sides[1]]))
        if np.dtype(dtype).kind == "f" and name in REAL:
            made += tf.gradients(tf.reduce_sum(made[0] * 2), x)
        try:
            return session.run(made, {pred: which})
        except tf.errors.OpError as error:
            return [type(error).__name__]

    return program


def references(d: Draw) -> Program:
    """Variables by the ops that make, name, read and drop them."""
    name, dtype = _kind(d, ("float32", "int64", "float64", "int32", "complex64"))
    value = d.values(dtype, d.shape(0, 3, 3, 0))
    more = d.values(dtype, value.shape)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, kind = tf.raw_ops, getattr(tf, name)
        if d.op in ("TemporaryVariable", "DestroyTemporaryVariable"):
            temporary = raw.TemporaryVariable(shape=list(value.shape), dtype=kind, var_name=f"t{d.index}")
            first = raw.Assign(ref=temporary, value=tf.constant(value))
            second = raw.AssignAdd(ref=first, value=tf.constant(more))
            return attempt(tf, session, raw.DestroyTemporaryVariable(ref=second, var_name=f"t{d.index}"))
        shared = f"{d.op}{d.index}"
        if d.op in ("VarHandleOp", "DestroyResourceOp"):
            handle = raw.VarHandleOp(dtype=kind, shape=list(value.shape), shared_name=shared)
            read = raw.ReadVariableOp(resource=handle, dtype=kind)
            made = attempt(tf, session, read)
            session.run(raw.AssignVariableOp(resource=handle, value=tf.constant(value)))
            made += attempt(tf, session, read)
            session.run(raw.AssignAddVariableOp(resource=handle, value=tf.constant(more)))
            made += attempt(tf, session, [read, raw.VarIsInitializedOp(resource=handle)])
            for _ in range(2):
                step = raw.DestroyResourceOp(resource=handle, ignore_lookup_error=bool(d.index % 2))
                made += attempt(tf, session, step)
            return [*made, *attempt(tf, session, raw.VarIsInitializedOp(resource=handle))]
        op = raw.Variable if d.op == "Variable" else raw.VariableV2
        ref = op(shape=list(value.shape), dtype=kind, shared_name=shared)
        if d.op == "RefIdentity":
            ref = raw.RefIdentity(input=ref)
        made = attempt(tf, session, tf.identity(ref))
        made += attempt(tf, session, raw.Assign(ref=ref, value=tf.constant(value)))
        made += attempt(tf, session, raw.AssignSub(ref=ref, value=tf.constant(more)))
        return [*made, *attempt(tf, session, tf.identity(ref))]

    return program


def plain(d: Draw) -> Program:
    """Constants, what is fed, and ops that only come before others."""
    name, dtype = _kind(d)
    value = d.values(dtype, d.shape(0, 4))
    unknown = d.chance(2)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, kind = tf.raw_ops, getattr(tf, name)
        if d.op in ("Placeholder", "PlaceholderV2"):
            op = (
                "Placeholder" if tf.__name__ != "gpuplace" else d.op
            )  # the other one is gone since version 23
            given = getattr(raw, op)(
                dtype=kind, shape=None if unknown and d.op == "Placeholder" else list(value.shape)
            )
            made = attempt(tf, session, given)
            return [*made, *session.run([tf.identity(given), tf.shape(given)], {given: value})]
        constant = tf.constant(value, kind, [2, *value.shape] if value.size == 1 and unknown else None)
        before = {"NoOp": raw.NoOp, "ControlTrigger": raw.ControlTrigger}.get(d.op)
        if before is None:
            return session.run([constant, tf.shape(constant)])
        with tf.control_dependencies([before()]):
            return session.run([tf.identity(constant), tf.shape(constant)])

    return program


def messages(d: Draw) -> Program:
    """Checks and messages, which let values through."""
    name, dtype = _kind(d)
    value, holds = d.values(dtype, d.shape(0, 2)), not d.chance(3)
    most = d.pick(-1, 0, 3)

    def program(tf: Any, session: Any) -> list[Any]:
        raw, x = tf.raw_ops, tf.constant(value, getattr(tf, name))
        if d.op == "Print":
            return attempt(
                tf, session, raw.Print(input=x, data=[x, x], message="x: ", first_n=2, summarize=3)
            )
        if d.op == "PrintV2":
            step = raw.PrintV2(input=tf.constant("text"), output_stream=["stderr", "log(info)"][d.index % 2])
        else:
            condition = tf.placeholder_with_default(holds, [])
            step = raw.Assert(condition=condition, data=[x, tf.constant("false")], summarize=most)
        with tf.control_dependencies([step]):
            return attempt(tf, session, tf.identity(x))

    return program


def python_calls(d: Draw) -> Program:
    """Functions of Python on arrays of every type, which may fail."""
    name, dtype = _kind(d)
    value, wrong = d.values(dtype, d.shape(0, 3)), d.chance(6)

    def program(tf: Any, session: Any) -> list[Any]:
        def twice(x: Any) -> Any:
            if wrong:
                raise ValueError("no")
            return np.concatenate([np.ravel(x), np.ravel(x)])

        x = tf.constant(value, getattr(tf, name))
        made = tf.py_func(twice, [x], x.dtype, stateful=d.op == "PyFunc")
        return attempt(tf, session, made)

    return program


def remote_calls(d: Draw) -> Program:
    """A function called on a device that a tensor names."""
    name, dtype = _kind(d, NUMBERS)
    value = d.values(dtype, d.shape(0, 3, 3))

    def program(tf: Any, session: Any) -> list[Any]:
        kind = getattr(tf, name)
        rows = Rows(None, [name], [list(value.shape)])
        target = tf.placeholder_with_default("/job:localhost/replica:0/task:0/device:CPU:0", [])
        made = tf.raw_ops.RemoteCall(
            target=target,
            args=[tf.constant(value)],
            Tout=[kind],
            f=function_of(tf, lambda x: x * x + x, rows),
        )
        return attempt(tf, session, made)

    return program


PROGRAMS_OF: dict[str, Callable[[Draw], Program]] = {
    **dict.fromkeys(
        ("Enter", "Exit", "LoopCond", "NextIteration", "RefEnter", "RefExit", "RefNextIteration"), frames
    ),
    **dict.fromkeys(("Switch", "RefSwitch"), switches),
    **dict.fromkeys(
        (
            "TemporaryVariable", "DestroyTemporaryVariable", "VarHandleOp", "DestroyResourceOp", "Variable",
            "VariableV2", "RefIdentity",
        ),
        references,
    ),
    **dict.fromkeys(("Const", "Placeholder", "PlaceholderV2", "NoOp", "ControlTrigger"), plain),
    **dict.fromkeys(("Assert", "Print", "PrintV2"), messages),
    **dict.fromkeys(("PyFunc", "PyFuncStateless"), python_calls),
    "RemoteCall": remote_calls,
}  # fmt: skip
"""Op type to what makes its programs."""
