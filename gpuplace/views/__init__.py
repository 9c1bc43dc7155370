"""Output: rows, texts, pictures, timelines and pages, without third-party packages."""
