"""Verdicts as JUnit XML, for continuous integration."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from quizapp.bank.model import ONLY_STAGE
from quizapp.errors import QuizError
from quizapp.judge.verdict import Verdict, VerdictStatus


def write_junit(path: Path, verdicts: Sequence[Verdict]) -> None:
    """Write one test suite per verdict to ``path``. Raises `QuizError` if it cannot be written."""
    try:
        ElementTree(junit(verdicts)).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise QuizError(f"{path} cannot be written: {error.strerror}.") from None


def junit(verdicts: Sequence[Verdict]) -> Element:
    """The ``testsuites`` element: one suite per submission, one case per hidden test."""
    root = Element("testsuites", name="quizapp")
    for verdict in verdicts:
        broken = verdict.status not in (VerdictStatus.PASSED, VerdictStatus.FAILED)
        failures = sum(not test.passed for test in verdict.tests)
        suite = SubElement(
            root,
            "testsuite",
            name=_xml(f"{verdict.exercise}: {verdict.file}"),
            tests=str(len(verdict.tests) + broken),
            failures=str(failures),
            errors=str(int(broken)),
            time=f"{verdict.seconds:.3f}",
        )
        for key, value in {"seed": verdict.seed, "device": verdict.device, "tier": verdict.tier}.items():
            SubElement(_properties(suite), "property", name=key, value=str(value))
        for test in verdict.tests:
            case = _case(suite, verdict, f"{test.behaviour} {test.name}", test.seconds, test.stage)
            if not test.passed:
                SubElement(case, "failure", message=_xml(test.message)).text = _xml(test.message)
        if broken:
            case = _case(suite, verdict, "run", verdict.seconds)
            SubElement(case, "error", type=verdict.status, message=_xml(verdict.error or verdict.status))
        if verdict.printed:
            SubElement(suite, "system-out").text = _xml(verdict.printed)
    indent(root)
    return root


def _properties(suite: Element) -> Element:
    properties = suite.find("properties")
    return SubElement(suite, "properties") if properties is None else properties


def _case(suite: Element, verdict: Verdict, name: str, seconds: float, stage: str = ONLY_STAGE) -> Element:
    """Add a test case. Its class name ends with the stage if the exercise has several."""
    class_name = f"quizapp.{verdict.exercise}" + ("" if stage == ONLY_STAGE else f".{stage}")
    return SubElement(suite, "testcase", classname=_xml(class_name), name=name, time=f"{seconds:.6f}")


def _xml(text: str) -> str:
    """``text`` with only the characters that XML 1.0 allows."""
    return "".join(
        c if c in "\t\n\r" or "\x20" <= c <= "\ud7ff" or "\ue000" <= c <= "�" or c >= "\U00010000" else "?"
        for c in text
    )
