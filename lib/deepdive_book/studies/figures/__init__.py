"""Interactive figures of the case studies."""
