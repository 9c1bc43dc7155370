"""Images: file formats, sizes, colours, boxes and similarity."""
