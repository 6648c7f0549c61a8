"""The three dials: what a step divides by, how microbatches combine, how ranks combine.

A `Setting` of the dials predicts the weight w_i of every item in the update u = Σ w_i g_i. Comparing what
happened with what each setting predicts *names* a step.
Formulas: lessons 1 to 5; docs/field_guide.md shows where each mistake was met.
"""

from autograder.dials.explain import (
    RTOL,
    Explanation,
    explain_blocks,
    explain_report,
    explain_two_terms,
    explain_update,
    explain_weights,
)
from autograder.dials.predict import ambiguous, catalogue, predict_weights
from autograder.dials.settings import BASIC_KEYS, RIGHT, Setting, diagnosis_key

__all__ = ["BASIC_KEYS", "RIGHT", "RTOL", "Explanation", "Setting", "ambiguous", "catalogue", "diagnosis_key",
           "explain_blocks", "explain_report", "explain_two_terms", "explain_update", "explain_weights",
           "predict_weights"]
