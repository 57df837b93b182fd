"""Interactive figures of chapter 6a."""
