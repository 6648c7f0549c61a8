"""Real process groups for functions: start ranks, run, collect numbers and text, say who waits where, end it all."""
