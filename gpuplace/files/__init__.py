"""Files as TensorFlow's programs use them: the file system with TensorFlow's errors, and files of records."""
