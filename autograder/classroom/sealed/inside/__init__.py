"""What runs inside a sandbox: the template, from it for each submission a warden, and the learner's own process.

`template.py` loads PyTorch once and runs no learner's code. For each submission it forks a process into fresh
namespaces, which gives every right up (`confinement.py`) and becomes that submission's *warden* (`warden.py`): process
1 of what the submission sees, with two small writable folders of its own. The warden forks the learner's *shell*
(`shell.py`, the notebook's cells in order) and the ranks of every check, carries frames, and runs no learner's code.

Processes here cannot look into one another (they are not dumpable, and ptrace is denied). When the grader's end of
a warden's channel closes, the warden ends, and everything of that submission with it.
"""
