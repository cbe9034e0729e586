"""Reads one file of questions into the bank: the shipped strictly, users' decks in the short form too."""

from pathlib import Path

from quizapp import paths
from quizapp.bank.decks.parse_question import read_question
from quizapp.bank.decks.short_form import topic_slug
from quizapp.bank.model import Fault, Question, Topic
from quizapp.bank.parameters import try_formulas
from quizapp.bank.yaml_loader import LINE, read_yaml
from quizapp.errors import ContentError

_MAX_HEADING = 500  # characters each of a topic's slug, its name and its description


def of_the_bank(path: Path) -> bool:
    """Whether a file belongs to a bank, shipped or in work, rather than to a user's deck.

    Every question of a bank has an exercise, an id, and the keys of its kind. A bank is known by the
    ``paths.yaml`` beside the folder of its questions.
    """
    return path.is_relative_to(paths.content()) or (path.absolute().parents[1] / "paths.yaml").is_file()


def read_deck(path: Path, questions: dict[str, Question], topics: dict[str, Topic]) -> list[Fault]:
    """Add the valid questions of one YAML file and its topic; returns the faults of the other questions."""
    data, fault = read_yaml(path)
    if fault is not None:
        return [fault]
    file, short = str(path), not of_the_bank(path)
    if not isinstance(data, dict) or not isinstance(data.get("questions"), list):
        return [Fault(file, 1, "must hold a list under 'questions:', each with a prompt and an answer")]
    allowed_keys = ("topic", "name", "about", "questions", LINE)
    faults = [
        Fault(file, 1, f"unknown key '{str(key)[:40]}'; a file has topic, name, about, questions")
        for key in data
        if key not in allowed_keys
    ]
    heading = {key: str(data.get(key) or "")[:_MAX_HEADING] for key in ("topic", "name", "about")}
    topic = heading["topic"]
    if not topic and short:
        topic, heading["name"] = topic_slug(path.stem), heading["name"] or path.stem
    elif not topic:
        faults.append(Fault(file, 1, "lacks 'topic'; name it at the top of the file"))
        topic = path.stem
    topics.setdefault(topic, Topic(topic, heading["name"] or topic, heading["about"]))
    # The tests try the formulas of shipped questions, so skipping them here saves a third of a second.
    shipped = path.is_relative_to(paths.content())
    for item in data["questions"]:
        question, question_faults = read_question(item, topic, file, short=short)
        if question is not None and not shipped:
            question_faults += formula_faults(question)
        faults += question_faults
        if question is None or question_faults:
            continue
        if question.id in questions:
            first = questions[question.id]
            text = f"the id '{question.id}' is taken by {first.file}:{first.line}; rename one"
            faults.append(Fault(file, question.line, text))
        else:
            questions[question.id] = question
    return faults


def formula_faults(question: Question) -> list[Fault]:
    """Try the formulas of a numeric question. Returns one fault or none."""
    try:
        try_formulas(question)
    except ContentError as error:
        return [Fault(question.file, question.line, f"question '{question.id}': {error}", question.id)]
    return []
