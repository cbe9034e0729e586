"""Renders questions as Markdown that also reads well as plain text."""

from quizapp.bank.answers import GAP, gaps, result_text, shuffled
from quizapp.bank.model import Question
from quizapp.bank.parameters import sample_question


def question_text(question: Question, seed: int = 0) -> str:
    """Render one question with its whole answer; raises `ContentError` if a formula fails."""
    parts = [f"# {question.id}", _facts(question), *asked(question, seed), "## Answer"]
    parts += solved(question, seed)
    return "\n\n".join(parts)


def asked(question: Question, seed: int = 0) -> list[str]:
    """Render the task: the prompt, and the options, steps or text with gaps."""
    return [sample_question(question, seed).prompt.strip(), *_task(question, seed)]


def solved(question: Question, seed: int = 0) -> list[str]:
    """Render the solution, the answer and everything that belongs to it."""
    parts = [*_solution(question, seed), sample_question(question, seed).answer.strip()]
    if question.say:
        parts += ["Say: " + question.say.strip()]
    if question.key_points:
        points = "\n".join(f"- [{p.weight}, {p.kind}] {p.text}" for p in question.key_points)
        parts += ["## Key points", points]
    if question.misconceptions:
        lines = "\n".join(f"- “{m.wrong}” — {m.right}" for m in question.misconceptions)
        parts += ["## Misconceptions", lines]
    if question.follow_ups:
        parts += ["## Follow-ups", "\n".join(f"- {f.ask}\n  {f.answer}" for f in question.follow_ups)]
    if question.sources:
        parts += ["## Sources", "\n".join(f"- {source}" for source in question.sources)]
    return [part for part in parts if part]


def _facts(question: Question) -> str:
    facts = f"{question.topic} · {question.level} · {question.kind}"
    return f"{facts} · exercise: {question.exercise}" if question.exercise else facts


def _task(question: Question, seed: int) -> list[str]:
    if question.kind == "choice":
        order = shuffled(question, seed)
        return ["\n".join(f"{n}. {question.options[i].text}" for n, i in enumerate(order, 1))]
    if question.kind == "order":
        return ["\n".join(f"{n}. {question.steps[i]}" for n, i in enumerate(shuffled(question, seed), 1))]
    if question.kind == "cloze":
        return [GAP.sub("____", question.text)]
    return []


def _solution(question: Question, seed: int) -> list[str]:
    if question.kind == "numeric":
        sample = sample_question(question, seed)
        return [f"**{result_text(question, sample)}**", sample.worked.strip()]
    if question.kind == "choice":
        order = shuffled(question, seed)
        rows = [(n, question.options[i]) for n, i in enumerate(order, 1)]
        return ["\n".join(f"- {n}. {'right' if o.right else 'wrong'}: {o.why}" for n, o in rows)]
    if question.kind == "order":
        return ["\n".join(f"{n}. {step}" for n, step in enumerate(question.steps, 1))]
    if question.kind == "cloze":
        forms = iter(gaps(question))
        return [GAP.sub(lambda _: f"**{next(forms)[0]}**", question.text)]
    return []
