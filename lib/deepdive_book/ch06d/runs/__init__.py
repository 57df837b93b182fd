"""The experiments of chapter 6d, one module a page, named after the page."""
