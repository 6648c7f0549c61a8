"""What happens on a rank around the learner's function. Stages know torch and no expectation: they run beside it."""
