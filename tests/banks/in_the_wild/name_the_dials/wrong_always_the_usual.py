"""diagnosis: wrong-answer

Names the usual mistake without a look at the weights."""


def name_the_dials(weights, window):
    return "rank", "sum", "mean"
