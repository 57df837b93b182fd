"""Audits for unintended behavior: bias, and extraction of memorized secrets."""
