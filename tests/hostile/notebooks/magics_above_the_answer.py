"""outcome: synchronized_item_mean=right, is_equivalent=right, item_mean_q1=right

What learners put above their answers in Jupyter: magics, progress bars, a picture, exit().
"""
from sealed_course import RIGHT

ANSWERS = {
    "synchronized_item_mean": """%matplotlib widget
%config InlineBackend.figure_format = "retina"
%load_ext autoreload
%autoreload 2
import matplotlib.pyplot as plt
from tqdm.auto import tqdm
for _ in tqdm([1]): pass
plt.plot([1, 2])
plt.show()
""" + RIGHT["synchronized_item_mean"] + "\nexit()",
    "is_equivalent": "%%time\n" + RIGHT["is_equivalent"],
    "item_mean_q1": "%matplotlib inline\n" + RIGHT["item_mean_q1"],
}
