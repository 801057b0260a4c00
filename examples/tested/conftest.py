from soloist.testing.pytest import soloist

__all__ = ["soloist"]
