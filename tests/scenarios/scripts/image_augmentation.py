"""Images from files in memory, distorted by ops with seeds, in batches."""
import numpy as np
import tensorflow as tf

rows, columns = np.mgrid[0:12, 0:16]
pictures = [np.stack([rows * 20, columns * 15, (rows * columns + 40 * k) % 256], -1) for k in range(4)]

with tf.Graph().as_default(), tf.Session() as sess:
    pixels = tf.placeholder(tf.uint8, [None, None, 3])
    encoded = tf.image.encode_png(pixels)
    files = [sess.run(encoded, {pixels: picture.astype("uint8")}) for picture in pictures]
print("files", [name[1:4].decode() for name in files])


def load(content, label):
    image = tf.image.decode_png(content, channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    return tf.image.resize_images(image, [9, 10]), label


def distort(image, label):
    image = tf.random_crop(image, [8, 8, 3], seed=1)
    image = tf.image.random_brightness(image, 0.3, seed=3)
    image = tf.image.random_contrast(image, 0.6, 1.4, seed=4)
    image = tf.image.adjust_saturation(image, 0.7)
    return tf.image.per_image_standardization(image), label


dataset = tf.data.Dataset.from_tensor_slices((files, np.arange(4)))
dataset = dataset.map(load).map(distort).repeat(3).batch(4, drop_remainder=True)
images, labels = dataset.make_one_shot_iterator().get_next()
grey = tf.reduce_mean(tf.image.rgb_to_grayscale(images), axis=[1, 2, 3])
smaller = tf.image.resize_bilinear(images, [4, 4])
edges = tf.reduce_mean(tf.image.total_variation(smaller))
boxes = tf.image.crop_and_resize(images, [[0.0, 0.0, 0.5, 0.5]], box_ind=[1], crop_size=[2, 2])
flipped = tf.image.flip_left_right(images)[:, :, 0, 1]

with tf.Session() as sess:
    print("shapes", images.shape[1:], smaller.shape[1:], boxes.shape)
    while True:
        try:
            found = sess.run([labels, grey, edges, boxes, flipped])
        except tf.errors.OutOfRangeError:
            break
        print(found[0].tolist())
        print("grey", found[1].round(4).tolist(), "edges %.4f" % found[2])
        print("crop", found[3].round(3).reshape(-1).tolist())
        print("flipped", found[4].sum(1).round(3).tolist())
