"""What stops a command of `deepdive assignment`."""


class AssignmentError(RuntimeError):
    """A course that cannot be worked on as asked; the text says why and what to do."""
