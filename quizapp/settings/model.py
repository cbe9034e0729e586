"""The user's settings. Each is described once: its default, its check, and its text on the screen."""

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from quizapp.errors import QuizError
from quizapp.settings import checks
from quizapp.settings.checks import WrongValue
from quizapp.settings.voice_settings import NO_VOICE, VOICE_CHECKS, VoiceSettings, voice_fault
from quizapp.util.suggest import did_you_mean

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_MINUTES = 720  # of study per day
Choice = bool | float | str
"""One of the values that the settings screen steps through."""


class PlanSettings(NamedTuple):
    """The table ``[plan]`` of the settings file.

    ``minutes`` is the study time per day; 0 means as much as the learner's usual pace takes. ``weekdays``
    overrides it for single days: it maps 0 (Monday) to 6 to minutes, with 0 for a day off. ``target`` is the
    share of cards, 0 to 1, to be recalled on the day of the interview. ``until`` (in the file: date) is that
    day, and ``role`` the name of the interview's role; either may be missing. No new cards come from the
    topics and levels in ``leave_out``.
    """

    minutes: int = 0
    target: float = 0.85
    weekdays: Mapping[int, int] = MappingProxyType({})
    until: date | None = None
    role: str = ""
    leave_out: tuple[str, ...] = ()


NO_PLAN = PlanSettings()


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of all settings; without a file, the defaults.

    ``retention`` overrides ``desired_retention`` for deck folders. ``keys`` maps actions of the interface to
    keys. ``plan`` says how much time there is until an interview, and ``voice`` whom to ask where the marking
    of a typed answer is unsure.
    """

    desired_retention: float = 0.90
    new_per_day: int = 20
    reviews_per_day: int = 200
    rollover_hour: int = 4
    max_interval_days: int = 36500
    leech_lapses: int = 8
    memory_model: str = "auto"
    decks: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    retention: Mapping[str, float] = field(default_factory=dict)
    editor: str = ""
    transcript: str = ""
    theme: str = ""
    confidence: bool = False
    typed_answers: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)
    plan: PlanSettings = NO_PLAN
    voice: VoiceSettings = NO_VOICE

    def retention_for(self, file: str) -> float:
        """Desired retention of a question, by the deck folder that holds its file."""
        if not self.retention:
            return self.desired_retention
        path = Path(file)
        for deck, value in self.retention.items():
            if path.is_relative_to(Path(deck).expanduser()):
                return value
        return self.desired_retention


DEFAULTS = Settings()


def _days(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not set(map(str, value)) <= set(WEEKDAYS):
        raise WrongValue(f'a list of days such as ["sat", "sun"], out of {", ".join(WEEKDAYS)}')
    return tuple(value)


class Setting(NamedTuple):
    """One setting: its check, and its text and choices on the screen.

    The screen steps through ``choices``; without choices the user types a value. A setting without a
    ``group`` is a table that is edited in the file only. ``empty`` is shown for a value that is not set.
    """

    key: str
    check: Callable[[object], object]
    group: str = ""
    title: str = ""
    help: str = ""
    choices: tuple[Choice, ...] = ()
    unit: str = ""
    empty: str = "automatic"


_RETENTION = checks.number(0.70, 0.97)
SCHEMA = (
    Setting("desired_retention", _RETENTION, "Schedule", "Desired retention",
            "The chance of recall at which a card falls due. 0.90 suits most; more means more reviews.",
            (0.80, 0.85, 0.88, 0.90, 0.92, 0.94, 0.95)),
    Setting("new_per_day", checks.whole(0, 9999), "Schedule", "New cards per day",
            "How many cards not yet seen are shown each day.", (0, 5, 10, 15, 20, 25, 30, 40, 60, 100)),
    Setting("reviews_per_day", checks.whole(0, 9999), "Schedule", "Reviews per day",
            "The most due cards shown each day.", (50, 100, 150, 200, 300, 500, 9999)),
    Setting("rollover_hour", checks.whole(0, 23), "Schedule", "The day begins at",
            "Hour of local time at which a new study day begins.", (0, 1, 2, 3, 4, 5, 6), ":00"),
    Setting("max_interval_days", checks.whole(1, 36500), "Schedule", "Longest interval",
            "No card waits longer than this.", (30, 60, 90, 180, 365, 1000, 36500), " days"),
    Setting("leech_lapses", checks.whole(2, 99), "Schedule", "Lapses of a leech",
            "A card forgotten this often is pointed out.", (4, 6, 8, 10, 12, 16)),
    Setting("memory_model", checks.one_of("auto", "FSRS-6", "FSRS-7"), "Schedule", "Memory model",
            "What predicts your memory; auto: the one that has predicted it better. Promised dates stay.",
            ("auto", "FSRS-6", "FSRS-7")),
    Setting("confidence", checks.switch, "Drill", "Ask for confidence",
            "Before the reveal, ask how sure you are; the statistics compare it with what was right.",
            (False, True)),
    Setting("typed_answers", checks.switch, "Drill", "Typed answers",
            "Offer a field for your own words; after the reveal, what shows a key point lights up.",
            (False, True)),
    Setting("tracks", checks.texts, "Content", "Tracks",
            "Only questions of these tracks (names with commas; empty: all). Takes effect at the next start.",
            empty="all"),
    Setting("decks", checks.texts, "Content", "Your own decks",
            "Folders or files of questions (paths with commas). Takes effect at the next start.",
            empty="none"),
    Setting("editor", checks.text, "Interface", "Editor",
            "The command for ctrl+o, such as nvim or code --wait; empty: VISUAL or EDITOR."),
    Setting("transcript", checks.text, "Interface", "Transcript",
            "A command that prints a text, such as the transcript of your recording of a spoken round.",
            empty="none"),
    Setting("theme", checks.text, "Interface", "Theme", "Colors; ansi uses those of the terminal.",
            ("", "dark", "light", "contrast", "ansi", "ansi-light")),
    Setting("retention", checks.table_of(_RETENTION, "deck folders and numbers from 0.7 to 0.97")),
    Setting("keys", checks.table_of(checks.text, "actions and keys")),
)  # fmt: skip
"""All settings except ``[plan]`` and ``[voice]``, in the order of the screen."""
BY_KEY = {setting.key: setting for setting in SCHEMA}
assert {*BY_KEY, "plan", "voice"} == {attribute.name for attribute in fields(Settings)}
PLAN_CHECKS: Mapping[str, Callable[[object], object]] = {
    "minutes": checks.whole(1, MOST_MINUTES),
    "target": checks.number(0.05, 0.99),
    "days_off": _days,
    "date": checks.day,
    "role": checks.text,
    "leave_out": checks.texts,
    **dict.fromkeys(WEEKDAYS, checks.whole(0, MOST_MINUTES)),
}


def check_plan(key: str, value: object) -> None:
    """Raise ``QuizError`` if a key of ``[plan]`` does not exist or cannot have that value."""
    if key not in PLAN_CHECKS:
        raise QuizError(unknown_setting(key, PLAN_CHECKS, " in [plan]"))
    try:
        PLAN_CHECKS[key](value)
    except WrongValue as wrong:
        raise QuizError(f"{key} must be {wrong}, not {value!r}.") from wrong


def changed(settings: Settings, values: Mapping[str, Any], plan: Mapping[str, Any]) -> Settings:
    """The settings with other values and other keys of ``[plan]``; None is the default of such a key."""
    names = {"date": "until"}
    default = NO_PLAN._asdict()
    fields_of_plan: dict[str, Any] = {}
    for key, given in plan.items():
        name = names.get(key, key)
        value = default[name] if given is None else given
        fields_of_plan[name] = tuple(value) if isinstance(value, list) else value
    return replace(settings, **values, plan=settings.plan._replace(**fields_of_plan))


def load_settings(path: Path) -> Settings:
    """Read the settings from a TOML file; without a file, return the defaults.

    Raises ``QuizError``, with the file and the line, if the TOML or a value is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise QuizError(f"The settings file {path} cannot be read ({error}).") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise QuizError(f"{path}: not valid TOML: {error}.") from error
    reader = _SettingsReader(path, text)
    values: dict[str, Any] = {key: reader.read(key, value) for key, value in table.items()}
    return Settings(**values)


class _SettingsReader:
    """Checks the values of one file. A wrong value raises ``QuizError`` with its line."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def read(self, key: str, value: object) -> object:
        """The checked value of a top-level key."""
        if key == "plan":
            return self._plan(value)
        if key == "voice":
            return self._voice(value)
        for table, keys in (("plan", PLAN_CHECKS), ("voice", VOICE_CHECKS)):
            if key in keys:
                self._fail(key, f"{key!r} is a setting of [{table}]; write it below a line [{table}].")
        if key not in BY_KEY:
            self._fail(key, unknown_setting(key))
        return self._check(BY_KEY[key].check, key, value)

    def _voice(self, table: object) -> VoiceSettings:
        example = 'endpoint = "http://127.0.0.1:11434/v1"'
        voice = NO_VOICE._replace(**self._values("voice", table, VOICE_CHECKS, example))
        if fault := voice_fault(voice):
            self._fail(*fault, "voice")
        return voice

    def _values(
        self, name: str, table: object, table_checks: Mapping[str, Callable[[object], object]], example: str
    ) -> dict[str, Any]:
        """The checked values of a table. ``example`` is a line that it could have."""
        if not isinstance(table, dict):
            self._fail(name, f"{name} must be a table such as [{name}] with {example}, not {table!r}.")
        values = {}
        for key, value in table.items():
            if key in BY_KEY:
                hint = f"there is no setting {key!r} in [{name}]; write it above the line [{name}]."
                self._fail(key, hint, name)
            if key not in table_checks:
                self._fail(key, unknown_setting(key, table_checks, f" in [{name}]"), name)
            values[key] = self._check(table_checks[key], key, value, name)
        return values

    def _plan(self, table: object) -> PlanSettings:
        plan = self._values("plan", table, PLAN_CHECKS, "minutes = 30")
        for day in plan.get("days_off", ()):
            if plan.get(day):
                self._fail(day, f"{day} is in days_off and has minutes; remove one of the two.", "plan")
        weekdays = {number: plan[name] for number, name in enumerate(WEEKDAYS) if name in plan}
        weekdays |= {WEEKDAYS.index(name): 0 for name in plan.get("days_off", ())}
        return PlanSettings(
            plan.get("minutes", NO_PLAN.minutes),
            plan.get("target", NO_PLAN.target),
            weekdays,
            plan.get("date"),
            plan.get("role", NO_PLAN.role),
            plan.get("leave_out", ()),
        )

    def _check(self, check: Callable[[object], object], key: str, value: object, table: str = "") -> object:
        try:
            return check(value)
        except WrongValue as wrong:
            self._fail(key, f"{key} must be {wrong}, not {value!r}.", table)

    def _fail(self, key: str, sentence: str, table: str = "") -> NoReturn:
        raise QuizError(f"{self._path}:{_line(self._text, key, table)}: {sentence}")


def unknown_setting(key: str, keys: Collection[str] = (*BY_KEY, "plan", "voice"), where: str = "") -> str:
    """The sentence for a key that does not exist, with the closest one that does."""
    hint = did_you_mean(key, keys, f"the settings are {', '.join(keys)}.", most=1)
    return f"there is no setting {key!r}{where}; {hint}"


def place_of(path: Path, key: str) -> str:
    """``file:line`` of a setting, for a sentence about its value."""
    try:
        return f"{path}:{_line(path.read_text(encoding='utf-8'), key)}"
    except (OSError, UnicodeDecodeError):
        return str(path)


def _line(text: str, key: str, table: str = "") -> int:
    """The line of a top-level key or table, or of a key of ``table``; otherwise where the search began."""
    # tomllib does not report the lines of keys, so the text is searched.
    start = _line(text, table) if table else 1
    for number, line in enumerate(text.splitlines()[start - 1 :], start):
        head = line.strip().lstrip("[").split("=")[0].split("]")[0].split(".")[0].strip().strip("\"'")
        whole = line.split("=")[0].strip().strip("\"'")  # a quoted name may hold dots
        if key in {head, whole}:
            return number
    return start
