"""Interactive figures of chapter 3."""
