"""nbgrader's own autograding of one assignment, a student at a time, with results in place of an execution.

So late penalties, extensions, marks by hand, folders and the gradebook are nbgrader's.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from jsonschema.exceptions import best_match
from jsonschema.validators import validator_for
from nbformat import NotebookNode
from nbgrader import api, nbgraderformat
from nbgrader.converters import Autograde
from traitlets.config import LoggingConfigurable
from traitlets.utils.importstring import import_item

from autograder.classroom.course import Course
from autograder.classroom.grade.submission import PreparedExecute, Result
from autograder.classroom.sealed.execute import SealedExecute

_SEALED = "autograder.classroom.sealed.execute.SealedExecute"


class Writer:
    """What nbgrader reads of submissions of an assignment, and writes about them. Raises what nbgrader raises."""

    def __init__(self, course: Course, assignment: str) -> None:
        self.course, self.assignment = course, assignment

    def read(self, student: str, notebook: str, file: Path) -> list[NotebookNode]:
        """The cells of a submission after nbgrader's sanitizing steps."""
        converter = self._converter(student)
        exporter = converter.exporter_class(parent=converter, config=converter.config)
        exporter._preprocessors = []
        for step in converter.sanitize_preprocessors:
            if "CheckCellMetadata" not in str(step):  # that is for what is written
                exporter.register_preprocessor(step)
        seen: list = []
        exporter.register_preprocessor(lambda nb, resources: (seen.append(nb) or nb, resources))
        exporter.from_filename(str(file), resources={"unique_key": notebook, **self.resources(student, notebook)})
        return seen[0].cells

    def write(self, student: str, results: Mapping[str, Result]) -> None:
        """Marks and graded notebooks of a student, from the result for each notebook."""
        converter = self._converter(student)
        converter.force = True
        prepared = type("PreparedSubmission", (_Prepared,), {"results": results})
        steps = converter.autograde_preprocessors
        converter.autograde_preprocessors = [prepared if _is_sealed(step) else step for step in steps]
        try:
            converter.start()
        except Exception as error:
            raise converter.failure or error from None

    def steps(self) -> list[type]:
        """The classes of the steps of autograding that the course has, in order."""
        steps = _Autograde(coursedir=self.course.folders, parent=self.parent).autograde_preprocessors
        return [import_item(step) if isinstance(step, str) else step for step in steps]

    def resources(self, student: str, notebook: str) -> dict[str, dict[str, str]]:
        """What nbgrader's steps know a notebook by."""
        return {"nbgrader": {"student": student, "assignment": self.assignment, "notebook": notebook,
                             "db_url": self.course.db_url}}

    @property
    def parent(self) -> LoggingConfigurable:
        """What nbgrader's classes take configuration and log from."""
        return _Parent(config=self.course.config)

    def _converter(self, student: str) -> _Autograde:
        folders = type(self.course.folders)(config=self.course.config)
        folders.assignment_id, folders.student_id = map(_literal, (self.assignment, student))
        return _Autograde(coursedir=folders, parent=self.parent)


def _literal(name: str) -> str:
    """A name where nbgrader wants a pattern, and takes spaces around it away."""
    return re.sub(r"\s", r"[\g<0>]", name)


class _Parent(LoggingConfigurable):
    pass


class _Autograde(Autograde):
    """nbgrader's Autograde, which tells in `failure` why a submission could not be written."""

    failure: Exception | None = None

    def convert_single_notebook(self, notebook_filename: str) -> None:
        with self._noted():
            super().convert_single_notebook(notebook_filename)

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        with self._noted():
            super().init_assignment(assignment_id, student_id)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failure = error
            raise


class _Prepared(PreparedExecute):
    """PreparedExecute for a student's notebooks."""

    results: Mapping[str, Result]

    def preprocess(self, nb, resources):
        self.result = self.results[resources["nbgrader"]["notebook"]]
        return super().preprocess(nb, resources)


def _is_sealed(step: object) -> bool:
    return step == _SEALED or (isinstance(step, type) and issubclass(step, SealedExecute))


@contextmanager
def quick() -> Iterator[None]:
    """What nbgrader does anew some fifteen times a submission is done once while this context lasts: the gradebook's
    engine, with the statements it has compiled, the search for its tables, the check that a fixed schema is one."""
    before = api.create_engine, api.inspect, nbgraderformat.common.jsonschema
    tables = api.Base.metadata
    api.create_engine, api.inspect, tables.create_all = map(cache, (api.create_engine, api.inspect, tables.create_all))
    nbgraderformat.common.jsonschema = _Checker
    try:
        yield
    finally:
        api.create_engine, api.inspect, nbgraderformat.common.jsonschema = before
        del tables.create_all  # the method of its class is back


class _Checker:
    """jsonschema.validate, for a schema that is known to be one."""

    @staticmethod
    def validate(instance: object, schema: dict) -> None:
        error = best_match(validator_for(schema)(schema).iter_errors(instance))
        if error is not None:
            raise error
