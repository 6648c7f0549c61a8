"""The learner's process: runs the notebook's cells in order, and hands out functions and values when asked."""
from __future__ import annotations

import base64
import builtins
import getpass
import os
import signal
import socket
import sys
import traceback
from pathlib import Path

from autograder.ranks import processes, wire
from autograder.ranks.launch import Place, pickled_function

# Magics that Jupyter's kernel adds and that act on its page only: here they do nothing.
_OF_THE_PAGE = ("autosave", "clear", "connect_info", "edit", "less", "man", "more", "qtconsole")


def serve(channel: socket.socket, _number: int = 0) -> None:
    """Life of the learner's process: run cells, hand out functions and values, until the channel closes."""
    _, descriptors, *_ = socket.recv_fds(channel, 1, 1)
    processes.adopt_server(socket.socket(fileno=descriptors[0]))
    notebook: _Notebook | None = None
    while (body := wire.receive(channel)) is not None:
        order = wire.decode(body)
        if notebook is None:
            notebook = _Notebook(order["output"])
            answer = {"pid": os.getpid()}
        else:
            answer = getattr(notebook, order.pop("do"))(**order)
        wire.send(channel, wire.encode(wire.portable(answer)))
    os._exit(0)


class _Notebook:
    """The notebook's state: IPython's shell, in this process, with its outputs caught and capped."""

    def __init__(self, output: int) -> None:
        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
        os.environ |= {"PIP_RETRIES": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                       "PATH": f"{os.path.dirname(sys.executable)}:{os.environ.get('PATH', '/usr/bin:/bin')}"}
        builtins.input = getpass.getpass = _nobody_answers
        sys.path.insert(0, "")
        self.outputs = _Outputs(output)
        self.ipython = _shell_class()(self.outputs)
        sys.breakpointhook = lambda *_, **__: None
        sys.modules["__main__"] = self.ipython.user_module

    def cell(self, source: str, number: int) -> dict:
        self.outputs.clear()
        sys.stdout, sys.stderr = _Stream(self.outputs, "stdout"), _Stream(self.outputs, "stderr")
        self.ipython.cell_number = number
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self.ipython.run_cell(source, store_history=True)
        except KeyboardInterrupt:
            self.outputs.add({"kind": "error", "name": "KeyboardInterrupt", "message": "", "lines": []})
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in (sys.__stdout__, sys.__stderr__):
            stream.flush()
        return {"outputs": self.outputs.all()}

    def value(self, name: str) -> dict:
        value = self.ipython.user_ns.get(name)
        return {"value": str(value)[:200] if isinstance(value, str) else None, "type": type(value).__name__}

    def function(self, name: str) -> dict:
        """The function as bytes for ranks, with the module path and the folder that it knows."""
        if name not in self.ipython.user_ns:
            return {"why": f"There is no {name} in the notebook when its check comes. Define it, with exactly this "
                           "name.", "callable": False}
        function = self.ipython.user_ns[name]
        if not callable(function):
            return {"why": f"{name} is a {type(function).__name__}, not a function.", "callable": False}
        try:
            pickled = pickled_function(function)
        except BaseException as error:
            why = str(error) or f"{name} cannot be sent to the ranks: pickling it raised {type(error).__name__}."
            return {"why": why, "callable": True}
        place = Place.here()
        return {"function": pickled, "path": place.path, "directory": place.directory}


def _nobody_answers(prompt: object = "", *_: object, **__: object) -> str:
    raise EOFError("Nobody is there to answer input() when a notebook is graded: write the value into the cell.")


class _Outputs:
    """A cell's outputs in order: at most so many bytes, of rich ones more, and at most so many pieces."""

    _PIECES, _RICH, _RICHEST = 500, 64, 8  # times the limit: what all rich ones may have, and each

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.clear()

    def clear(self) -> None:
        self._found: list[dict] = []
        self._left = self.limit
        self._room = self._RICH * self.limit
        self._left_out = 0

    def write(self, name: str, text: str) -> None:
        kept = text[:max(self._left, 0)]
        self._left -= len(kept)
        self._left_out += len(text) - len(kept)
        if kept and self._found and self._found[-1].get("name") == name and "parts" in self._found[-1]:
            self._found[-1]["parts"].append(kept)
        elif kept and len(self._found) < self._PIECES:
            self._found.append({"kind": "stream", "name": name, "parts": [kept]})

    def add(self, output: dict) -> None:
        size = sum(len(text) for text in _texts(output))
        if size > min(self._RICHEST * self.limit, self._room) or len(self._found) >= self._PIECES:
            self._left_out += size
        else:
            self._room -= size
            self._found.append(output)

    def all(self) -> list[dict]:
        found = [{"kind": "stream", "name": output["name"], "text": "".join(output["parts"])} if "parts" in output
                 else output for output in self._found]
        if self._left_out:
            found.append({"kind": "stream", "name": "stdout",
                          "text": f"\n… {self._left_out} more characters left out …\n"})
        return found


def _texts(output: dict):
    for value in output.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from _texts(value)
        elif isinstance(value, list):
            yield from (part for part in value if isinstance(part, str))


class _Stream:
    """What `print` writes to while a cell runs."""

    encoding, errors, closed = "utf-8", "strict", False

    def __init__(self, outputs: _Outputs, name: str) -> None:
        self._outputs, self._name = outputs, name

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._outputs.write(self._name, text)
        return len(text)

    def writelines(self, lines) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1 if self._name == "stdout" else 2


def _shell_class():
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.process import system
    from traitlets import Type
    from traitlets.config import Config

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, **_: object) -> None:
            self.shell.caught.add({"kind": "display", "data": _shown(data)})

        def clear_output(self, wait: bool = False) -> None:
            pass

    class Hook(DisplayHook):
        def write_output_prompt(self) -> None:
            pass

        def write_format_data(self, format_dict, md_dict=None) -> None:
            self.shell.caught.add({"kind": "result", "data": _shown(format_dict)})

        def finish_displayhook(self) -> None:
            self._is_active = False

    class Shell(InteractiveShell):
        """IPython without a terminal: display, results and errors go to `caught`."""

        display_pub_class = Type(Publisher)
        displayhook_class = Type(Hook)

        def __init__(self, caught: _Outputs) -> None:
            self.caught = caught
            self.cell_number = 0
            config = Config()
            config.HistoryManager.enabled = False
            config.InteractiveShell.colors = "nocolor"
            config.InteractiveShell.autocall = 0
            super().__init__(config=config)
            type(self)._instance = self
            InteractiveShell._instance = self
            for name in _OF_THE_PAGE:
                self.register_magic_function(lambda line: None, "line", name)

        def ask_exit(self) -> None:
            """`exit()` ends nothing: a learner who ran the cells below it, all the same, wants them graded."""

        def enable_matplotlib(self, gui: str | None = None) -> tuple:
            """Pictures are drawn into the notebook, whatever is asked for: there is no screen."""
            return super().enable_matplotlib("inline")

        def enable_gui(self, gui: str | None = None) -> None:
            """No window waits for events."""

        def system(self, cmd: str) -> None:
            """A shell command as IPython runs it, but one that asks gets no answer instead of waiting for it."""
            if cmd.rstrip().endswith("&"):
                raise OSError("Background processes not supported.")
            self.user_ns["_exit_code"] = system(f"exec < /dev/null\n{self.var_expand(cmd, depth=1)}")

        def showtraceback(self, exc_tuple=None, *_: object, **__: object) -> None:
            self.caught.add(_described(exc_tuple[1] if exc_tuple else sys.exc_info()[1]))

        def showsyntaxerror(self, *_: object, **__: object) -> None:
            self.showtraceback()

        def _format_exception_for_storage(self, *_: object, **__: object) -> dict:
            """Nobody reads the history, and a message is made by the learner's code: it is asked for once."""
            return {}

        def show_usage_error(self, error) -> None:
            self.caught.add({"kind": "error", "name": "UsageError", "message": str(error), "lines": []})

    return Shell


def _shown(data: object) -> dict:
    """Of a rich output what is kept: its text, and pictures in base64."""
    shown = {}
    for kind in ("text/plain", "image/png", "image/jpeg"):
        value = data.get(kind) if isinstance(data, dict) else None
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode()
        if isinstance(value, str):
            shown[kind] = str(value)
    return shown


def _is_learners(file: str) -> bool:
    """A cell, or a file that a cell wrote; an environment may lie below /tmp, too."""
    return file.startswith(("<ipython-input", "/tmp/")) and not file.startswith(_NOT_LEARNERS) or "ipykernel" in file


_NOT_LEARNERS = (sys.prefix + os.sep, sys.base_prefix + os.sep, str(Path(__file__).parents[3]) + os.sep)


def _described(error: BaseException | None) -> dict:
    """A learner's exception: its name, its message, and the lines of their own code that it went through."""
    if error is None:
        return {"kind": "error", "name": "Error", "message": "", "lines": []}
    own = [entry for entry in traceback.extract_tb(error.__traceback__) if _is_learners(entry.filename)]
    lines = [f"line {entry.lineno}, in {entry.name}:  {entry.line}" if entry.name != "<module>" else
             f"line {entry.lineno}:  {entry.line}" for entry in own[-12:]]
    if isinstance(error, SyntaxError):
        lines.append(f"line {error.lineno}:  {(error.text or '').strip()}")
    try:
        message = str(error.msg if isinstance(error, SyntaxError) else error)  # its line is in `lines`
    except BaseException:
        message = "(its message could not be read)"
    return {"kind": "error", "name": type(error).__name__, "message": message[:4000],
            "lines": [line[:400] for line in lines]}
