"""Counterfactual and adversarial edits: which changed words change the decision."""
