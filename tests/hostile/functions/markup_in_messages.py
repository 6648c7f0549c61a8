"""outcome: error

Puts scripts, escape sequences and paths into its output and into its exception.
"""
import sys

MARKUP = ("<script>alert('canary-script')</script><img src=x onerror=alert(1)>\x1b[2J\x1b]0;title\x07 "
          "../../etc/passwd \u202e")
print(MARKUP)


def synchronized_item_mean(local_gradients):
    print(MARKUP, file=sys.stderr)
    raise RuntimeError(MARKUP)
