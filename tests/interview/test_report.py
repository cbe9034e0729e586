"""The report: its schema, and its three forms."""

import itertools
import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import msgspec
import pytest

import quizapp.interview
from quizapp.bank.model import Topic
from quizapp.errors import QuizError
from quizapp.interview.peer.peer_review import ask_reviewer
from quizapp.interview.report.build import redacted
from quizapp.interview.report.explain import explain
from quizapp.interview.report.files import rendered
from quizapp.interview.report.model import best, costliest, load_report
from quizapp.interview.report.text import NO_TOPICS, moment_line, name_topics
from quizapp.tui.screens.interview.scorecard import INTERVIEW_PARTS
from quizapp.tui.widgets.score_card import ScoreCard
from tests.interview import generated
from tests.interview.long_interview import long_report
from tests.interview.mock_kit import done
from tools.schemas import FOLDER

pytestmark = pytest.mark.slow

SCHEMA = json.loads((FOLDER / "report.json").read_text())
VOID = {"meta", "line", "rect", "circle", "br"}


def form_of(report: dict, form: str, topics: dict = NO_TOPICS) -> str:
    """A stored report in one of its forms."""
    return rendered(load_report(report), form, topics)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict:
    found = done(tmp_path_factory.mktemp("report"), 6, "training-infrastructure", 45)
    item = next(item for item in found["items"] if item["kind"] == "recall")
    item["typed"] = "<script>alert(1)</script> & `code` <b>"
    return found


@pytest.mark.slow
def test_reports_fit_the_shipped_schema(report: dict) -> None:
    check = jsonschema.Draft202012Validator(SCHEMA)
    check.check_schema(SCHEMA)
    check.validate(json.loads(json.dumps(report)))
    check.validate(redacted(load_report(report)).as_json())
    for seed in range(20):
        check.validate(json.loads(json.dumps(generated.report(seed, rules=1 + seed % 2))))


def test_the_schema_refuses_what_is_no_report(report: dict) -> None:
    for change in ({"totals": {}}, {"minutes": 25}, {"extra": 1}, {"band": {"name": "great", "why": ""}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(report | change, SCHEMA)


def test_a_report_without_the_keys_of_later_versions_opens(report: dict) -> None:
    old = json.loads(json.dumps(report))
    for item in old["items"]:
        del item["bought"]
        if item["effect"]:
            item["effect"].pop("linked", None)
    assert all(question.asked.bought == [] for question in load_report(old).questions)
    assert "redacted" not in load_report(old).as_json()


def test_a_damaged_report_is_named(report: dict) -> None:
    says = f"the report of the mock interview {report['id']} cannot be read"
    for damage in ({"totals": 3}, {"items": [{}]}, {"band": {"name": "great", "why": ""}}):
        with pytest.raises(QuizError, match=says):
            load_report(report | damage)


def test_markdown_has_the_findings_and_every_item(report: dict) -> None:
    text = form_of(report, "md")
    for part in (
        "## Dimensions",
        "## Where the time went",
        "## Costliest moments",
        "## What happens tomorrow",
    ):
        assert part in text
    assert text.count("\n### ") == len(report["items"])
    assert f"{report['totals']['raw']} of 100" in text


def test_best_are_the_highest_marks_beside_the_costliest_in_every_form(report: dict) -> None:
    marks = [99, 75, 70, 0, 80, 49, *[49] * 20]
    items = [
        dict(row, planned=100, number=number, marks={**row["marks"], "total": mark})
        for number, (row, mark) in enumerate(zip(report["items"], marks, strict=False))
    ]
    items[1]["planned"] = 900
    made = report | {"items": items}
    questions = load_report(made).questions
    assert [row.marks.total for row in best(questions)] == [99, 80, 70]
    assert 1 in [row.asked.number for row in costliest(questions)[:3]]
    typed = load_report(made)
    names = [moment_line(row, typed.planned_seconds) for row in best(typed.questions)]
    assert ["points of the total lost" in name for name in names] == [True, True, True]
    questions[0].marks.total = 100
    assert " lost" not in moment_line(questions[0], 1000)
    markdown = form_of(made, "md").partition("## Best moments")[2].partition("##")[0]
    assert [line[2:] for line in markdown.splitlines() if line.startswith("- ")] == names
    page = form_of(made, "html").partition("<h3>Best</h3>")[2].partition("</section>")[0]
    assert [unescape(found) for found in re.findall(r"<li>(.*?)</li>", page)] == names


def test_topics_are_read_by_name_and_stored_by_id(report: dict) -> None:
    ids = {item["topic"] for item in report["items"]}
    topics = {topic: Topic(topic, f"The field of {topic.upper()}", "") for topic in ids}
    weak = [row["topic"] for row in report["weak_topics"] if row["mean"] < 80]
    assert weak
    for form in ("md", "html"):
        text = form_of(report, form, topics)
        for item in report["items"]:
            assert f"({item['slot']}, {topics[item['topic']].name})" in text
            assert f"({item['slot']}, {item['topic']})" not in text
        assert topics[weak[0]].name in text
    assert json.loads(form_of(report, "json", topics)) == report
    assert name_topics(load_report(report), {}).as_json() == report


def test_code_in_a_question_is_code_in_every_list_of_moments(report: dict) -> None:
    prompt = "Why does `loss.item()` cost time, and which call of the loop should not hold it: `backward()`?"
    items = [dict(row, question=dict(row["question"], prompt=prompt, title="")) for row in report["items"]]
    page = form_of(report | {"items": items}, "html").partition("<h2>Moments</h2>")[2]
    page = page.partition("</section>")[0]
    assert "<code>loss.item()</code>" in page
    assert "`" not in page
    card = "\n".join(
        line.plain
        for line in ScoreCard(load_report(report | {"items": items}), INTERVIEW_PARTS, id="card").lines(70)
    )
    assert "loss.item()" in card
    assert "`" not in card


def test_explain_shows_every_term_and_the_total(report: dict) -> None:
    text = explain(load_report(report))
    for item in report["items"]:
        assert f"-> {item['marks']['total']}" in text
    assert f"-> {report['totals']['raw']}" in text
    assert f"-> {report['totals']['adjusted']}" in text


MINE = "Zwyxqua"


@pytest.fixture(scope="module")
def telling(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """A long interview with a word of the learner's own wherever anything can be typed or said."""
    found = long_report(tmp_path_factory.mktemp("telling"), before=0, mark=MINE)
    review = ask_reviewer(
        load_report(found), lambda ask: MINE if "Your name" in ask else "y", lambda text: text
    )
    found["reviews"] = [msgspec.to_builtins(review)]
    for kind in ("numeric", "cloze"):  # the paper need not hold them
        rows = (item for seed in itertools.count() for item in generated.report(seed)["items"])
        item = next(row for row in rows if row["kind"] == kind)
        note = {"note": f"{MINE} is no number"} if kind == "numeric" else {}
        item |= {"number": len(found["items"]), "given": MINE if note else [MINE]}
        found["items"].append(item | {"marking": item["marking"] | note})
    for item in found["items"]:
        for point in item["marking"].get("points", ()):
            point.update(ticked=True, held=1.0, supported=True, quote=f"the phrase {MINE}")
            point["words"] = [*point["words"], MINE]
        if item["kind"] == "incident":
            item["bought"] = [dict(row, predicted=MINE) for row in item["bought"]]
            item["given"] = {key: [MINE] if key == "states" else MINE for key in item["given"] or {}}
    return found


def test_a_long_hour_is_a_small_page(telling: dict) -> None:
    assert telling["minutes"] == 60
    assert sum(len(item["typed"]) + len(item["code"]) for item in telling["items"]) > 40_000
    assert len(form_of(telling, "html").encode()) <= 300_000


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_redacted_reports_hold_no_word_of_the_learner(telling: dict, form: str) -> None:
    text = form_of(telling, form)
    plain = rendered(redacted(load_report(telling)), form)
    kinds = {item["kind"] for item in telling["items"]}
    assert {"recall", "numeric", "cloze", "incident", "coding"} <= kinds
    assert text.count(MINE) >= 20
    assert MINE.casefold() not in plain.casefold()
    assert "score_17" in text  # a name in the code
    assert "score_17" not in plain
    own = "its memory grows by a factor"
    assert own in text
    assert own not in plain


def test_redacted_reports_keep_every_mark_and_say_what_is_left_out(telling: dict) -> None:
    plain = redacted(load_report(telling)).as_json()
    assert plain["totals"] == telling["totals"]
    assert [item["marks"] for item in plain["items"]] == [item["marks"] for item in telling["items"]]
    for form in ("md", "html"):
        # A card may use these words too, so they are counted.
        assert form_of(plain, form).count("left out") > form_of(telling, form).count("left out")
    jsonschema.validate(json.loads(json.dumps(plain)), SCHEMA)


def test_a_point_shows_the_words_that_were_written_not_the_rubrics(telling: dict) -> None:
    item = next(item for item in telling["items"] if item["kind"] == "recall")
    shown = [word for point in item["marking"]["points"] for word in point["words"]]
    assert shown
    for passage in shown:
        assert passage in " ".join(item["typed"].split())


def test_friends_stand_beside_the_own_marks(telling: dict) -> None:
    review = telling["reviews"][0]
    number = next(iter(review["items"]))
    item, mark = telling["items"][int(number)], review["items"][number]["mark"]
    row = f"| {int(number) + 1}. {item['card']} | {item['marks']['total']} | {mark} |"
    assert row in form_of(telling, "md")
    page = form_of(telling, "html")
    assert f'>{item["marks"]["total"]}</td><td class="n">{mark}</td>' in page
    for text in (form_of(telling, "md"), page):
        assert f"{review['agreement']['percent']} % of {review['agreement']['points']} key points" in text


class Page(HTMLParser):
    """Reads a page strictly: what is opened is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.headings: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def all(self, name: str) -> list[dict]:
        return [attrs for tag, attrs in self.tags if tag == name]


def test_html_is_one_small_file_without_network_or_script(report: dict) -> None:
    text = form_of(report, "html")
    assert len(text.encode()) <= 300_000
    assert "<script" not in text
    assert not re.search(r"(?:src|href)=|url\(|@import|https?://", text)
    assert "&lt;script&gt;" in text
    assert "@page" in text
    assert "prefers-color-scheme:dark" in text


def test_html_is_accessible_by_its_structure(report: dict) -> None:
    page = Page(form_of(report, "html"))
    assert page.open == []
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("title")) >= 1
    assert [len(page.all(tag)) for tag in ("main", "header", "footer", "h1")] == [1, 1, 1, 1]
    steps = zip(page.headings, page.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    assert len(page.all("table")) == len(page.all("caption"))
    assert all(attrs.get("scope") in {"col", "row"} for attrs in page.all("th"))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)
    for picture in page.all("svg"):
        assert picture["role"] == "img"
        assert set(picture["aria-labelledby"].split()) <= set(ids)
    assert len(page.all("desc")) == len(page.all("svg")) == 2
    assert page.all("meta")[1]["name"] == "viewport"


def test_html_colours_have_contrast_in_light_dark_and_print() -> None:
    css = (Path(quizapp.interview.__file__).parent / "report" / "report.css").read_text()
    blocks = re.findall(r":root\{(.*?)\}", css, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        colours = dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})", block))
        for name in ("fg", "dim", "good", "mid", "bad"):
            for ground in ("bg", "soft"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground, colours)
        assert contrast(colours["accent"], colours["soft"]) >= 3


def contrast(one: str, two: str) -> float:
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
