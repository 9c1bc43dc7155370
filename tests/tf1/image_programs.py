"""Functions of ``tf.image``, for TensorFlow 1.15 and for gpuplace: what they build and what it gives.

Each takes the module and returns what to fetch. Runs in Python 3.7 too.
"""

import numpy as np

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def wave(*shape):
    return ((np.arange(int(np.prod(shape))) * 37 % 101) / 100).reshape(shape).astype(np.float32)


def bytes_of(*shape):
    return (np.arange(int(np.prod(shape))) * 89 % 256).reshape(shape).astype(np.uint8)


@program
def flips(tf):
    image, batch = tf.constant(wave(3, 4, 2)), tf.constant(wave(2, 3, 4, 2))
    i = tf.image
    return [i.flip_left_right(image), i.flip_up_down(image), i.flip_left_right(batch), i.flip_up_down(batch)]


@program
def random_flips(tf):
    tf.set_random_seed(4)
    image, batch = tf.constant(wave(3, 4, 2)), tf.constant(wave(4, 3, 4, 2))
    found = [tf.image.random_flip_left_right(image, seed=seed) for seed in (1, 2, 3)]
    return [*found, tf.image.random_flip_up_down(image), tf.image.random_flip_up_down(batch, seed=5)]


@program
def turns(tf):
    image, batch = tf.constant(wave(3, 4, 2)), tf.constant(wave(2, 3, 4, 2))
    return [
        *[tf.image.rot90(image, k) for k in (0, 1, 2, 3, 5)],
        tf.image.rot90(batch, 3),
        tf.image.transpose_image(image),
        tf.image.transpose_image(batch),
    ]


@program
def parts(tf):
    image, batch = tf.constant(wave(6, 7, 2)), tf.constant(wave(2, 6, 7, 2))
    unknown = tf.placeholder_with_default(wave(6, 7, 2), [None, None, 2])
    i = tf.image
    return [
        i.central_crop(image, 0.5),
        i.central_crop(batch, 0.3),
        i.central_crop(unknown, 0.5),
        i.crop_to_bounding_box(image, 1, 2, 3, 4),
        i.crop_to_bounding_box(unknown, 1, 2, 3, 4),
        i.pad_to_bounding_box(batch, 1, 2, 9, 10),
        i.pad_to_bounding_box(unknown, 1, 2, 9, 10),
        i.resize_image_with_crop_or_pad(image, 4, 9),
        i.resize_image_with_crop_or_pad(batch, 8, 3),
        i.resize_image_with_crop_or_pad(unknown, 5, 5),
    ]


@program
def sizes(tf):
    image, batch = tf.constant(wave(6, 7, 2)), tf.constant(wave(2, 6, 7, 2))
    found = [tf.image.resize_images(image, [4, 5], method) for method in range(4)]
    i = tf.image
    return [
        *found,
        i.resize_images(batch, [12, 9], align_corners=True),
        i.resize_images(batch, [6, 7]),
        i.resize_images(image, [12, 9], preserve_aspect_ratio=True),
        i.resize_image_with_pad(image, 10, 10),
        i.resize_image_with_pad(batch, 5, 12),
        i.resize_bilinear(batch, [3, 3], half_pixel_centers=True),
    ]


@program
def gradients_of_sizes(tf):
    image = tf.constant(wave(1, 4, 5, 2))
    found = []
    for resize in (tf.image.resize_bilinear, tf.image.resize_nearest_neighbor, tf.image.resize_bicubic):
        weights = tf.constant(wave(1, 6, 3, 2))
        found += tf.gradients(resize(image, [6, 3]) * weights, image)
    boxes = tf.constant([[0.1, 0.2, 0.8, 0.9]])
    crop = tf.image.crop_and_resize(image, boxes, box_ind=[0], crop_size=[3, 3])
    return [*found, crop, *tf.gradients(crop * tf.constant(wave(1, 3, 3, 2)), [image, boxes])]


@program
def adjustments(tf):
    floats, pixels = tf.constant(wave(4, 5, 3)), tf.constant(bytes_of(4, 5, 3))
    i, found = tf.image, []
    for image in (floats, pixels):
        found += [
            i.adjust_brightness(image, 0.2),
            i.adjust_contrast(image, 1.7),
            i.adjust_hue(image, 0.15),
            i.adjust_saturation(image, 0.4),
            i.adjust_gamma(image, 0.8, 1.1),
            i.per_image_standardization(image),
        ]
    return found


@program
def random_adjustments(tf):
    tf.set_random_seed(9)
    image, i = tf.constant(wave(4, 5, 3)), tf.image
    return [
        i.random_brightness(image, 0.3),
        i.random_contrast(image, 0.5, 1.5, seed=2),
        i.random_hue(image, 0.2),
        i.random_saturation(image, 0.5, 2.0, seed=3),
        tf.random_crop(image, [2, 3, 3], seed=4),
    ]


@program
def types(tf):
    pixels, floats, i = tf.constant(bytes_of(2, 3, 3)), tf.constant(wave(2, 3, 3)), tf.image
    return [
        i.convert_image_dtype(pixels, tf.float32),
        i.convert_image_dtype(pixels, tf.uint16),
        i.convert_image_dtype(pixels, tf.uint8),
        i.convert_image_dtype(floats, tf.uint8),
        i.convert_image_dtype(floats * 2.0, tf.uint8, saturate=True),
        i.convert_image_dtype(floats, tf.float64),
        i.convert_image_dtype(tf.constant([70000, -5], tf.int32), tf.uint8, saturate=True),
    ]


@program
def other_colours(tf):
    pixels, floats, i = tf.constant(bytes_of(2, 3, 3)), tf.constant(wave(2, 3, 3)), tf.image
    grey = tf.placeholder_with_default(wave(2, 3, 1), [None, 3, 1])
    return [
        i.rgb_to_grayscale(floats),
        i.rgb_to_grayscale(pixels),
        i.grayscale_to_rgb(tf.constant(wave(2, 3, 1))),
        i.grayscale_to_rgb(grey),
        i.rgb_to_hsv(floats),
        i.hsv_to_rgb(floats),
        i.rgb_to_yiq(floats),
        i.yiq_to_rgb(floats),
        i.rgb_to_yuv(floats),
        i.yuv_to_rgb(floats),
    ]


@program
def measures(tf):
    one, other = tf.constant(wave(2, 14, 15, 2)), tf.constant(wave(2, 14, 15, 2)[:, ::-1] * 0.9)
    i = tf.image
    down, across = i.image_gradients(one)
    return [
        i.psnr(one, other, 1.0),
        i.psnr(tf.constant(bytes_of(3, 4, 3)), tf.constant(bytes_of(3, 4, 3)[::-1]), 255),
        i.ssim(one, other, 1.0),
        i.ssim(one, one, 1.0),
        i.total_variation(one),
        i.total_variation(one[0]),
        down,
        across,
        i.sobel_edges(one),
    ]


@program
def files(tf):
    pixels, i = bytes_of(5, 6, 3), tf.image
    png, jpeg = i.encode_png(pixels), i.encode_jpeg(pixels, quality=80)
    fine = i.encode_jpeg(pixels, quality=100, chroma_downsampling=False, progressive=True)
    return [
        i.decode_png(png),
        i.decode_png(i.encode_png(bytes_of(3, 4, 4).astype(np.uint16) * 3), dtype=tf.uint16),
        i.decode_image(png, channels=3),
        i.decode_image(png, dtype=tf.float32),
        i.decode_jpeg(jpeg, dct_method="INTEGER_ACCURATE"),
        i.decode_jpeg(jpeg, channels=1, dct_method="INTEGER_ACCURATE"),
        i.decode_jpeg(jpeg, ratio=2, dct_method="INTEGER_ACCURATE"),
        i.decode_jpeg(fine, dct_method="INTEGER_ACCURATE"),
        jpeg,
        fine,
        i.extract_jpeg_shape(jpeg),
        i.is_jpeg(jpeg),
        i.is_jpeg(png),
    ]


@program
def boxes(tf):
    i = tf.image
    chosen = i.non_max_suppression(
        [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]], [0.4, 0.9, 0.8], 2
    )
    begin, size, box = i.sample_distorted_bounding_box([30, 40, 3], [[[0.2, 0.2, 0.8, 0.7]]], seed=3)
    drawn = i.draw_bounding_boxes(tf.constant(wave(1, 6, 6, 3)), [[[0.1, 0.1, 0.7, 0.8]]])
    glimpse = i.extract_glimpse(tf.constant(wave(1, 6, 6, 3)), [3, 3], [[0.1, -0.1]])
    return [chosen, begin, size, box, drawn, glimpse]
