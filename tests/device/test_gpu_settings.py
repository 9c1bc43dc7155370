"""Device settings of a ``ConfigProto`` as a record."""

import pytest

import gpuplace as tf
from gpuplace.device.gpu_settings import GPUSettings


def test_without_a_config_all_is_as_by_default():
    assert GPUSettings.from_config(None) == GPUSettings.from_config(tf.ConfigProto()) == GPUSettings()


def test_each_setting_is_read():
    config = tf.ConfigProto(
        device_count={"GPU": 1, "CPU": 2},
        gpu_options=tf.GPUOptions(
            visible_device_list="1,0",
            per_process_gpu_memory_fraction=0.5,
            allow_growth=True,
            allocator_type="BFC",
        ),
    )
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[100, 200.5])
    config.gpu_options.experimental.virtual_devices.add()
    config.gpu_options.experimental.use_unified_memory = True
    settings = GPUSettings.from_config(config)
    assert settings == GPUSettings({"GPU": 1, "CPU": 2}, "1,0", 0.5, True, "BFC", ((100.0, 200.5), ()), True)
    assert GPUSettings.from_config(settings) is settings


@pytest.mark.parametrize("config", [{}, "GPU", 1, 0.5, (), []])
def test_plain_values_are_refused(config):
    with pytest.raises(TypeError, match="config must be a tf.ConfigProto"):
        GPUSettings.from_config(config)


def test_options_alone_are_refused_with_a_hint():
    with pytest.raises(TypeError, match=r"got GPUOptions; pass tf.ConfigProto\(gpu_options=...\)"):
        GPUSettings.from_config(tf.GPUOptions())


def test_differences_of_chosen_settings():
    one, other = GPUSettings(visible_device_list="0"), GPUSettings(visible_device_list="1", allow_growth=True)
    assert one.describe_differences(other, ("visible_device_list",)) == {"visible_device_list": ("0", "1")}
    assert one.describe_differences(other, ("allocator_type",)) == {}
    assert set(one.describe_differences(other, ("allow_growth", "visible_device_list"))) == {
        "allow_growth",
        "visible_device_list",
    }
