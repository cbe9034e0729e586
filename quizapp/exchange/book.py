"""Writes the bank as a book: an index, and one Markdown file per topic."""

import re
from pathlib import Path

from quizapp.bank.model import Bank
from quizapp.bank.render import question_text
from quizapp.errors import QuizError
from quizapp.util.text import plural


def write_book(bank: Bank, folder: Path) -> int:
    """Write the book into ``folder`` and return the number of questions. Raises `QuizError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        index = ["# The question bank", ""]
        for topic in bank.topics.values():
            questions = [q for q in bank.questions.values() if q.topic == topic.slug]
            if not questions:
                continue
            # The slug of a topic in a user's deck can be any text, even a path out of the folder.
            name = re.sub(r"[^\w-]+", "-", topic.slug) + ".md"
            index.append(f"- [{topic.name}]({name}): {plural(len(questions), 'question')}. {topic.about}")
            # The text of a question has its own headings; move them below the topic's heading.
            pages = "\n\n".join(
                question_text(q).replace("\n## ", "\n### ").replace("# ", "## ", 1) for q in questions
            )
            text = f"# {topic.name}\n\n{topic.about}\n\n{pages}\n"
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "README.md").write_text("\n".join(index) + "\n", encoding="utf-8")
    except OSError as error:
        raise QuizError(f"{folder} cannot be written: {error.strerror}; name another folder") from None
    return len(bank.questions)
