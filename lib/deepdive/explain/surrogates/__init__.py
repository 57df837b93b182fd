"""Global surrogates, interpretable models of a whole model: decision trees, finite automata."""
