"""Real process groups for functions: start ranks, run, collect numbers and text, say who waits for whom, end everything."""
