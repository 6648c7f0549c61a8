"""outcome: synchronized_item_mean=right, is_equivalent=right, item_mean_q1=right

Hands in modules that shadow those of the grader and of Python. They are never imported.
"""
CODE = "import os; open('/tmp/hostile-module-ran', 'w').close(); os._exit(0)"
FILES = {f"{name}.py": CODE for name in ("sitecustomize", "usercustomize", "numpy", "torch", "autograder", "IPython",
                                         "cloudpickle", "random", "json", "nbgrader", "nbgrader_config")}
