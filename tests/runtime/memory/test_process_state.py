"""What sessions of one process share, and what they are told when they ask for something else."""

import threading
import warnings

import pytest

from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.device.machine import Machine
from gpuplace.device.mapping import default_memory_limit
from gpuplace.errors import AlreadyExistsError, InternalError, InvalidArgumentError
from gpuplace.release import set_release
from gpuplace.runtime.memory import process_state
from gpuplace.runtime.memory.process_state import GPUOptionsWarning, ProcessState

GPU = "/job:localhost/replica:0/task:0/device:GPU:{}".format


@pytest.fixture
def environ():
    return {}


@pytest.fixture
def state(environ):
    state = ProcessState(environ)
    state.use_machine("4x Tesla K20m")
    return state


def gpus(devices):
    return [device for device in devices if device.device_type == "GPU"]


def quietly(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*args)


def test_devices_and_allocators_of_a_session(state):
    devices = state.session_devices()
    assert [device.name for device in gpus(devices)] == [GPU(index) for index in range(4)]
    assert [devices.allocators[GPU(index)].name for index in range(4)] == [
        f"GPU_{index}_bfc" for index in range(4)
    ]
    limit = default_memory_limit(state.current_machine().gpus[0], GPUSettings())
    assert devices.allocators[GPU(0)].memory_limit == gpus(devices)[0].memory_limit == limit
    assert devices.client_device.device_type == "CPU" and devices.client_device.name not in devices.allocators
    assert [row.device for row in devices.mapping] == [f"/device:GPU:{index}" for index in range(4)]
    assert devices.machine is state.current_machine()


def test_two_sessions_share_allocators(state):
    one, two = state.session_devices(), quietly(state.session_devices)
    assert one == two
    assert all(one.allocators[name] is two.allocators[name] for name in one.allocators)


def test_visible_devices_are_read_when_devices_are_first_made(state, environ):
    environ["CUDA_VISIBLE_DEVICES"] = "2"
    (gpu,) = gpus(state.session_devices())
    assert gpu.physical_device_desc.startswith("device: 0, name: Tesla K20m, pci bus id: 0000:83:00.0")


def test_later_changes_of_visible_devices_have_no_effect_and_are_told(state, environ):
    environ["CUDA_VISIBLE_DEVICES"] = "2"
    state.session_devices()
    environ["CUDA_VISIBLE_DEVICES"] = "0,1"
    with pytest.warns(GPUOptionsWarning) as caught:
        (gpu,) = gpus(state.session_devices())
    assert gpu.physical_id == 2
    assert str(caught[0].message) == (
        "CUDA_VISIBLE_DEVICES='0,1' has no effect: this process created its GPU devices with CUDA_VISIBLE_DEVICES='2', "
        "and CUDA reads it only once. Set it before the first session, or call tf.reset_runtime()."
    )
    assert caught[0].filename == __file__
    del environ["CUDA_VISIBLE_DEVICES"]
    with pytest.warns(GPUOptionsWarning, match="no CUDA_VISIBLE_DEVICES has no effect"):
        state.session_devices()


def test_later_change_of_the_order_is_told_too(state, environ):
    state.session_devices()
    environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    with pytest.warns(
        GPUOptionsWarning, match="CUDA_DEVICE_ORDER='PCI_BUS_ID' has no effect.*with no CUDA_DEVICE_ORDER"
    ):
        state.session_devices()


def test_no_warning_on_a_machine_without_gpus(state, environ):
    state.use_machine("cpu")
    state.session_devices()
    environ["CUDA_VISIBLE_DEVICES"] = "0"
    assert quietly(state.session_devices).names == ["/job:localhost/replica:0/task:0/device:CPU:0"]


def test_reset_reads_the_environment_anew(state, environ):
    state.session_devices()
    environ["CUDA_VISIBLE_DEVICES"] = "1,0"
    state.reset()
    assert [gpu.physical_id for gpu in gpus(quietly(state.session_devices))] == [1, 0]


SENTENCE_1_15 = (
    "TensorFlow device (GPU:0) is being mapped to multiple CUDA devices (1 now, and 0 previously), which is not "
    "supported. This may be the result of providing different GPU configurations (ConfigProto.gpu_options, for example "
    "different visible_device_list) when creating multiple Sessions in the same process. This is not  currently "
    "supported, see https://github.com/tensorflow/tensorflow/issues/19083"
)


@pytest.mark.parametrize(
    ("release", "sentence"),
    [
        ("1.15", SENTENCE_1_15),
        ("2.21", SENTENCE_1_15.replace("CUDA devices", "devices").replace("not  currently", "not currently")),
    ],
)
def test_a_gpu_device_stays_on_its_gpu(state, release, sentence):
    set_release(release)
    state.session_devices(GPUSettings(visible_device_list="0"))
    with pytest.raises(AlreadyExistsError) as caught:
        state.session_devices(GPUSettings(visible_device_list="1"))
    assert caught.value.message == sentence
    assert caught.value.facts["first session"] == "visible_device_list='0'"
    assert "tf.reset_runtime()" in caught.value.hint
    state.reset()
    assert gpus(state.session_devices(GPUSettings(visible_device_list="1")))[0].physical_id == 1


@pytest.mark.parametrize("release", ["1.0", "1.4"])
def test_old_releases_move_it_silently_here_with_a_warning(state, release):
    set_release(release)
    one = state.session_devices(GPUSettings(visible_device_list="0"))
    with pytest.warns(
        GPUOptionsWarning,
        match="GPU:0 is visible GPU 1 in this session, but it was visible GPU 0 in an earlier session",
    ):
        two = state.session_devices(GPUSettings(visible_device_list="1"))
    assert gpus(two)[0].physical_id == 1
    assert one.allocators[GPU(0)] is not two.allocators[GPU(0)]


def test_lists_that_agree_where_they_overlap_are_fine(state):
    state.session_devices(GPUSettings(visible_device_list="2,1"))
    assert [
        gpu.physical_id for gpu in gpus(quietly(state.session_devices, GPUSettings(visible_device_list="2")))
    ] == [2]
    longer = GPUSettings(visible_device_list="2,1,0")
    assert [gpu.physical_id for gpu in gpus(quietly(state.session_devices, longer))] == [2, 1, 0]


def test_a_session_that_fails_settles_nothing_but_visibility(state, environ):
    environ["CUDA_VISIBLE_DEVICES"] = "3"
    with pytest.raises(InvalidArgumentError, match="invalid GPU id '2' but visible device count is 1"):
        state.session_devices(GPUSettings(visible_device_list="2"))
    assert gpus(quietly(state.session_devices, GPUSettings(visible_device_list="0")))[0].physical_id == 3


def test_first_memory_options_win_and_the_others_are_told(state):
    first = state.session_devices(GPUSettings(per_process_gpu_memory_fraction=0.4))
    with pytest.warns(GPUOptionsWarning) as caught:
        second = state.session_devices(GPUSettings(per_process_gpu_memory_fraction=0.7, allow_growth=True))
    assert str(caught[0].message) == (
        "GPU options are process-wide and the first session's win. per_process_gpu_memory_fraction: 0.4 stays, 0.7 is "
        "ignored; allow_growth: False stays, True is ignored. Use one GPUOptions for all sessions, or call "
        "tf.reset_runtime() before this one."
    )
    assert caught[0].filename == __file__
    assert gpus(second)[0].memory_limit == gpus(first)[0].memory_limit == int(4_972_412_928 * 0.4)
    assert second.allocators[GPU(0)] is first.allocators[GPU(0)]
    assert not second.allocators[GPU(0)].allow_growth


def test_other_limits_of_virtual_devices_are_told(environ):
    state = ProcessState(environ)
    state.use_machine("P100")
    state.session_devices(GPUSettings(virtual_devices=((100, 200),)))
    with pytest.warns(
        GPUOptionsWarning, match="memory limit of GPU:1 in bytes: 209715200 stays, 314572800 is ignored"
    ):
        devices = state.session_devices(GPUSettings(virtual_devices=((100, 300),)))
    assert gpus(devices)[1].memory_limit == 200 << 20


def test_a_session_without_gpus_settles_no_options(state):
    state.session_devices(GPUSettings(device_count={"GPU": 0}, allow_growth=True))
    devices = quietly(state.session_devices, GPUSettings(per_process_gpu_memory_fraction=0.5))
    assert not devices.allocators[GPU(0)].allow_growth
    quietly(state.session_devices, GPUSettings(device_count={"GPU": 0}))


def test_a_gpu_that_a_later_session_adds_gets_that_sessions_options(state):
    state.session_devices(GPUSettings(device_count={"GPU": 1}))
    with pytest.warns(GPUOptionsWarning, match="allow_growth: False stays, True is ignored"):
        devices = state.session_devices(GPUSettings(device_count={"GPU": 2}, allow_growth=True))
    assert [devices.allocators[GPU(index)].allow_growth for index in range(2)] == [False, True]
    assert [devices.memory_settings[GPU(index)].allow_growth for index in range(2)] == [False, True]


def test_unknown_allocator_type(state, caplog):
    with pytest.raises(InternalError) as caught:
        state.session_devices(GPUSettings(allocator_type="POOL", per_process_gpu_memory_fraction=0.5))
    assert caught.value.message == (
        f"Failed to get memory allocator for TF GPU 0 with {4_972_412_928 // 2} bytes of memory."
    )
    assert caplog.messages == ["Invalid allocator type: POOL"]
    assert state.session_devices(GPUSettings(allocator_type="BFC")).allocators
    with pytest.warns(GPUOptionsWarning, match="allocator_type: 'BFC' stays, 'POOL' is ignored"):
        state.session_devices(GPUSettings(allocator_type="POOL"))


def test_creation_is_logged(state, caplog):
    with caplog.at_level("INFO"):
        state.session_devices(GPUSettings(device_count={"GPU": 1}))
    assert caplog.messages == [
        f"Created TensorFlow device ({GPU(0)} with 4370 MB memory) -> physical GPU (device: 0, name: Tesla K20m, "
        "pci bus id: 0000:02:00.0, compute capability: 3.5)"
    ]


def test_virtual_devices_share_the_memory_of_their_gpu(environ):
    state = ProcessState(environ)
    state.use_machine("P100")
    state.retry_wait_ms = 0
    devices = state.session_devices(GPUSettings(virtual_devices=((12000, 12000),)))
    one, two = (devices.allocators[GPU(index)] for index in range(2))
    assert one.allocate(1 << 20) is not None
    assert two.allocate(6 << 30) is None  # 12,000 MiB of the 16 GB are taken


def test_oversubscription_has_room(environ):
    state = ProcessState(environ)
    state.use_machine("P100")
    devices = state.session_devices(GPUSettings(per_process_gpu_memory_fraction=2.0))
    assert devices.allocators[GPU(0)].allocate(20 << 30) is not None


def test_growth_forced_by_the_environment(state, environ):
    environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    assert state.session_devices().allocators[GPU(0)].allow_growth


def test_another_machine_is_another_process(state):
    state.session_devices(GPUSettings(visible_device_list="3"))
    assert state.use_machine("2x K80") == state.current_machine() == Machine.parse("2x K80")
    assert len(gpus(quietly(state.session_devices, GPUSettings(visible_device_list="1")))) == 1


def test_machine_of_the_environment(environ):
    environ["GPUPLACE_MACHINE"] = "3x T4"
    state = ProcessState(environ)
    assert len(state.session_devices().allocators) == 3
    environ["GPUPLACE_MACHINE"] = "T4"
    assert len(state.current_machine().gpus) == 3
    state.reset()
    assert len(state.current_machine().gpus) == 1


def test_real_gpus_have_no_simulated_allocator(state):
    import dataclasses

    machine = Machine.parse("T4")
    (gpu,) = machine.gpus
    state.use_machine(dataclasses.replace(machine, gpus=(dataclasses.replace(gpu, is_simulated=False),)))
    devices = state.session_devices(GPUSettings(per_process_gpu_memory_fraction=0.5))
    assert devices.allocators == {}
    assert gpus(devices)[0].memory_limit == gpu.total_bytes // 2
    with pytest.warns(GPUOptionsWarning, match="0.5 stays, 0.9 is ignored"):
        devices = state.session_devices(GPUSettings(per_process_gpu_memory_fraction=0.9))
    assert gpus(devices)[0].memory_limit == gpu.total_bytes // 2


def test_memory_settings_of_a_later_session_are_the_firsts(state):
    state.session_devices(GPUSettings(allow_growth=True))
    with pytest.warns(GPUOptionsWarning):
        later = state.session_devices()
    assert later.memory_settings[GPU(1)].allow_growth


def test_threads_get_one_set_of_allocators(state):
    found = []
    barrier = threading.Barrier(8)

    def work():
        barrier.wait()
        found.append(state.session_devices().allocators[GPU(0)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_functions_of_the_module(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    machine = process_state.use_machine("2x T4")
    assert process_state.current_machine() is machine
    assert process_state.session_devices().names[-1] == GPU(0)
    rows = process_state.device_mapping()
    assert [(row.device, row.reason) for row in rows] == [
        (None, "not in CUDA_VISIBLE_DEVICES='1'"),
        ("/device:GPU:0", ""),
    ]
    process_state.process_state.retry_wait_ms = 5
    process_state.reset_runtime()
    assert process_state.current_machine() is machine
    assert process_state.session_devices().allocators[GPU(0)].retry_wait_ms == 5
    process_state.process_state.retry_wait_ms = process_state.SIMULATED_RETRY_WAIT_MS
    assert process_state.use_machine(None) is None
    with pytest.raises(InvalidArgumentError, match="Unknown GPU model"):
        process_state.use_machine("4x K21m")
    with pytest.raises(
        TypeError, match="a machine must be a Machine or its text, such as '4x Tesla K20m'; got 4"
    ):
        process_state.use_machine(4)


def test_all_memory_of_a_gpu_is_more_than_a_process_gets(caplog):
    """A fraction is one of the total, of which driver and context have a part already."""
    state = ProcessState({})
    state.use_machine("1x Tesla K40c")
    devices = state.session_devices(GPUSettings(per_process_gpu_memory_fraction=1.0))
    (allocator,) = devices.allocators.values()
    with caplog.at_level("INFO", "gpuplace"):
        allocator.allocate(1024)
    assert caplog.messages == [
        "failed to allocate 11.17G (11995578368 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    ]
    assert allocator.regions()[0].size == 10796020736
