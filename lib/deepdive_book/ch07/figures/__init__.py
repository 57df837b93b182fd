"""Interactive figures of chapter 7."""
