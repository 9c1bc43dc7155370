"""Images: files, sizes, colours, boxes, and how alike two of them are."""
