"""An hour's interview by somebody who types a lot: long answers, long code, many submissions."""

from datetime import timedelta
from pathlib import Path

from quizapp.interview.service import Interview
from quizapp.interview.session.question import CodeSubmission
from quizapp.scheduling.study_day import FixedClock
from tests.interview.mock_kit import EVENING, Hand, answer_now, begin, real_bank, sit, solve, study, wait

WORDS = "the optimizer keeps two moments per parameter, so its memory grows by a factor that we must count; "
TYPED = (WORDS * 50)[:4000]
CODE = "\n".join(
    f"    score_{n} = torch.einsum('bhqd,bhkd->bhqk', q, k) * scale  # step {n}" for n in range(300)
)


def long_report(folder: Path, *, before: int = 2, mark: str = "") -> dict:
    """The report, with ``before`` interviews before it; ``mark`` begins each answer in words or code."""
    clock = FixedClock(EVENING)
    with study(folder, real_bank(), clock) as made:
        for seed in range(1, before + 1):
            interview, hand = begin(made, "research-engineer", 60, seed=seed)
            sit(interview, hand, seed)
            if not interview.session.ended:
                interview.session.end("early")
            interview.record()
            clock.time += timedelta(days=4)
        interview, hand = begin(made, "research-engineer", 60, seed=7)
        for _ in range(300):
            answer_at_length(interview, hand, mark)
        assert interview.session.ended
        return interview.record().as_json()


def answer_at_length(interview: Interview, hand: Hand, mark: str) -> None:
    """Answer what is in hand with many words; go on where nothing is."""
    session = interview.session
    if session.ended:
        return
    wait(interview, hand, 20, step=5.0)
    item = session.item
    if session.ended:
        return
    if item is None:
        session.proceed()
    elif item.state == "confidence":
        session.confide(75)
    elif item.kind == "recall":
        reference = item.open_follow_up.answer if item.open_follow_up else item.asked.answer
        session.type(f"{mark} {reference} {TYPED}")
        session.submit()
    elif item.kind == "incident":
        solve(interview, f"{mark} {item.asked.answer} {TYPED}")
        session.submit()
    elif item.kind == "coding":
        session.write_code(f"def {mark or 'scores'}():\n{CODE}\n")
        item.typed = f"{mark} {TYPED}"
        item.submissions += [submission(item.code, mark, number) for number in range(6)]
        session.submit()
    elif item.kind in {"numeric", "cloze"} and mark:
        session.give([mark] if item.kind == "cloze" else mark)
        session.submit()
    else:
        answer_now(interview)


def submission(source: str, mark: str, number: int) -> CodeSubmission:
    """A failed submission whose verdict quotes the code, as the judge's does."""
    message = f"{mark} returned a tensor of shape (2, 3), not (3, 2). " * 8
    tests = [{"name": f"t{b}", "behaviour": b, "passed": b % 2 == 0, "message": message, "seconds": 0.1}
             for b in range(1, 8)]  # fmt: skip
    verdict = {
        "schema": "quizapp.verdict/1", "exercise": "adamw", "file": f"/home/{mark}/adamw.py", "device": "cpu",
        "status": "failed", "passed": False, "tests": tests, "seconds": 1.0, "seed": 1, "tier": "full",
        "error": {"type": "TypeError", "message": mark, "traceback": f"line 3 in {mark}"},
        "printed": f"{mark}\n" * 200, "notes": [f"{mark} calls no kernel"], "versions": {},
    }  # fmt: skip
    return CodeSubmission(1000 * number, source, verdict)
