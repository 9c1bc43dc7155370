"""Variables, handles and the store of a session."""

import threading

import numpy as np
import pytest

import gpuplace.release
from gpuplace import dtypes, errors
from gpuplace.kernels.resources import ResourceHandle, SessionResources, VariableStorage, change
from gpuplace.shapes import TensorShape

SHAPE = TensorShape([2])


def test_assign_read_and_update():
    variable = VariableStorage("w", dtypes.float32, SHAPE)
    assert not variable.is_initialized
    assert variable.nbytes == 0
    first = variable.assign(np.float32([1, 2]))
    assert variable.read() is variable.value is first
    variable.update(lambda value, is_own: value + 1)
    assert first.tolist() == [1, 2]
    assert variable.value.tolist() == [2, 3]
    assert variable.nbytes == 8
    variable.reset()
    assert not variable.is_initialized


def test_uninitialised_reference_variable():
    variable = VariableStorage("scope/w", dtypes.float32, SHAPE, device="/device:GPU:0")
    with pytest.raises(errors.FailedPreconditionError) as caught:
        variable.update(lambda value, is_own: value)
    assert caught.value.message == "Attempting to use uninitialized value scope/w"
    assert caught.value.facts == {"device": "/device:GPU:0"}
    assert "global_variables_initializer" in str(caught.value)


def test_uninitialised_resource_variable():
    variable = VariableStorage("w", dtypes.float32, SHAPE, is_resource=True)
    with pytest.raises(errors.FailedPreconditionError) as caught:
        variable.read()
    assert caught.value.message == (
        "Error while reading resource variable w from Container: localhost. This could mean that the variable was"
        " uninitialized. Not found: Resource localhost/w/N10tensorflow3VarE does not exist."
    )
    gpuplace.release.set_release("2.21")
    with pytest.raises(errors.FailedPreconditionError) as caught:
        variable.read()
    assert caught.value.message == (
        "Could not find variable w. This could mean that the variable has been deleted. In TF1, it can also mean the"
        " variable is uninitialized. Debug info: container=localhost, status error message=Resource"
        " localhost/w/N10tensorflow3VarE does not exist."
    )


def test_updates_from_several_threads_are_not_lost():
    variable = VariableStorage("n", dtypes.int64, TensorShape([]))
    variable.assign(np.int64(0))
    threads = [
        threading.Thread(target=lambda: [variable.update(lambda n, is_own: n + 1) for _ in range(500)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert variable.value == 2000


def test_one_variable_per_device_container_and_name():
    store = SessionResources()
    variable = store.variable("w", dtypes.float32._as_ref, SHAPE, device="/device:CPU:0")
    assert variable.dtype is dtypes.float32
    assert variable.container == "localhost"
    assert (
        store.variable("w", dtypes.float32, SHAPE, device="/device:CPU:0", container="localhost") is variable
    )
    assert store.variable("w", dtypes.float32, SHAPE, device="/device:GPU:0") is not variable
    assert store.variable("w", dtypes.float32, SHAPE, device="/device:CPU:0", container="c") is not variable
    assert len(store) == 3
    assert [v.device for v in store.variables()] == ["/device:CPU:0", "/device:CPU:0", "/device:GPU:0"]


def test_a_shared_name_with_another_type_or_kind_is_refused():
    store = SessionResources()
    store.variable("w", dtypes.float32, SHAPE)
    with pytest.raises(
        errors.InvalidArgumentError, match="with dtype int32, which was created with dtype float"
    ):
        store.variable("w", dtypes.int32, SHAPE)
    store.get_or_create("", "queue", list)
    with pytest.raises(
        errors.InvalidArgumentError, match="Resource localhost/queue is a list, not a variable"
    ):
        store.variable("queue", dtypes.int32, SHAPE)


def test_handles_name_and_hold_their_variable():
    store = SessionResources()
    variable = store.variable("w", dtypes.float32, SHAPE, is_resource=True)
    handle = variable.handle
    assert handle.variable is variable
    assert handle == ResourceHandle("", "localhost", "w", "N10tensorflow3VarE", None)
    with pytest.raises(errors.InvalidArgumentError, match="Expected N10tensorflow3VarE got queue"):
        _ = ResourceHandle("", "localhost", "q", "queue", []).variable


def test_lookup_and_delete():
    store = SessionResources()
    with pytest.raises(errors.NotFoundError, match="Resource localhost/w/N10tensorflow3VarE does not exist."):
        store.lookup("", "w")
    variable = store.variable("w", dtypes.float32, SHAPE)
    variable.assign(np.zeros(2, np.float32))
    assert store.lookup("localhost", "w") is variable
    store.delete("", "w")
    assert not variable.is_initialized
    with pytest.raises(errors.NotFoundError):
        store.delete("", "w")


def test_kernel_state_and_clearing():
    store = SessionResources()
    state = store.kernel_state("random", lambda: np.random.default_rng(7))
    assert store.kernel_state("random", lambda: np.random.default_rng(8)) is state
    kept = store.variable("kept", dtypes.float32, SHAPE, container="c")
    gone = store.variable("gone", dtypes.float32, SHAPE)
    for variable in (kept, gone):
        variable.assign(np.zeros(2, np.float32))
    store.clear("localhost")
    assert (kept.is_initialized, gone.is_initialized, len(store)) == (True, False, 1)
    assert store.kernel_state("random", dict) is state
    store.clear()
    assert (kept.is_initialized, len(store)) == (False, 0)
    assert store.kernel_state("random", dict) == {}


def test_creation_races_make_one_object():
    store = SessionResources()
    made = []
    barrier = threading.Barrier(4)

    def create():
        barrier.wait()
        made.append(store.get_or_create("", "r", object))

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, made))) == 1


def large(value=0.0):
    variable = VariableStorage("w", dtypes.float32, TensorShape([8192]))
    variable.assign(np.full(8192, value, np.float32))
    return variable


def add_one(value, is_own):
    return np.add(value, 1, out=value if is_own else None)


def test_an_array_that_nobody_else_has_is_changed_in_place():
    variable = large()
    address = variable.value.ctypes.data
    for _ in range(3):
        variable.update(add_one)
    assert variable.value[0] == 3 and variable.value.ctypes.data == address


@pytest.mark.parametrize("hold", [lambda array: array, lambda array: array[1:2], lambda array: array.data])
def test_an_array_that_was_read_stays_what_it_was(hold):
    variable = large()
    held = hold(variable.value)
    variable.update(add_one)
    assert np.asarray(held)[0] == 0 and variable.value[0] == 1
    address = variable.value.ctypes.data
    variable.update(add_one)
    assert variable.value.ctypes.data == address


def test_a_view_of_another_array_is_replaced():
    variable = large()
    whole = np.zeros((2, 8192), np.float32)
    variable.assign(whole[0])
    variable.update(add_one)
    assert whole[0, 0] == 0 and variable.value[0] == 1


def test_small_and_read_only_arrays_are_replaced():
    variable = VariableStorage("w", dtypes.float32, SHAPE)
    variable.assign(np.zeros(2, np.float32))
    seen = []
    variable.update(lambda value, is_own: (seen.append(is_own), value + 1)[1])
    variable = large()
    variable.value.setflags(write=False)
    variable.update(lambda value, is_own: (seen.append(is_own), value + 1)[1])
    assert seen == [False, False]


def test_several_variables_change_together():
    first, second = large(1.0), large(2.0)
    change((first, second), lambda values, are_own: [values[1] + values[0], values[0] * 3])
    assert (first.value[0], second.value[0]) == (3, 3)
    change((first, first), lambda values, are_own: [add_one(values[0], are_own[0]), values[1]])
    assert first.value[0] == 3  # the last one counts, and it was not written to
    second.reset()
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized"):
        change((first, second), lambda values, are_own: values)
    assert first.value[0] == 3


def test_a_change_that_fails_leaves_the_value():
    variable = large(5.0)

    def fail(value, is_own):
        raise errors.InvalidArgumentError(None, None, "no")

    with pytest.raises(errors.InvalidArgumentError, match="no"):
        variable.update(fail)
    assert variable.is_initialized and variable.value[0] == 5


def test_who_reads_during_a_change_waits_for_its_end():
    variable = large(1.0)
    begun, goes_on = threading.Event(), threading.Event()
    found = []

    def slowly(value, is_own):
        value[:4096] += 1
        begun.set()
        assert goes_on.wait(10)
        value[4096:] += 1
        return value

    changer = threading.Thread(target=lambda: variable.update(slowly))
    readers = [
        threading.Thread(target=lambda: found.append(variable.value)),
        threading.Thread(target=lambda: found.append(variable.is_initialized)),
    ]
    changer.start()
    assert begun.wait(10)
    for reader in readers:
        reader.start()
    assert not found
    goes_on.set()
    for thread in (changer, *readers):
        thread.join(10)
    assert True in [one for one in found if isinstance(one, bool)]
    (array,) = [one for one in found if not isinstance(one, bool)]
    assert array.min() == array.max() == 2
