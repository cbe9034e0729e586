"""The settings file: defaults, faults by file and line, writing that keeps comments."""

from datetime import date
from pathlib import Path

import pytest

from quizapp.errors import QuizError
from quizapp.settings.file import begin_file, write_plan, write_setting
from quizapp.settings.model import PlanSettings, Settings, load_settings


def test_defaults_without_a_file(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "config.toml") == Settings()
    assert Settings().desired_retention == 0.90


def test_values_are_read(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'desired_retention = 0.85\ndecks = ["~/mine"]\nconfidence = true\n[keys]\nundo = "z"\n'
        f'[retention]\n"{tmp_path}" = 0.95\n'
    )
    settings = load_settings(file)
    assert (settings.desired_retention, settings.decks, settings.confidence) == (0.85, ("~/mine",), True)
    assert settings.keys == {"undo": "z"}
    assert settings.retention_for(str(tmp_path / "deck.yaml")) == 0.95
    assert settings.retention_for("/elsewhere/deck.yaml") == 0.85


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("desired_retention = 1.5", "number from 0.7 to 0.97"),
        ('new_per_day = "many"', "whole number"),
        ("new_per_day = true", "whole number"),
        ("rollover_hour = 24", "from 0 to 23"),
        ("confidence = 1", "true or false"),
        ("editor = 3", "text in quotes"),
        ('decks = "one"', "list of texts"),
        ("keys = 1", "table"),
        ("new_per_days = 5", "did you mean 'new_per_day'"),
        ("new_per_days = 5", "'new_per_day'?"),
        ("colour = 5", "the settings are"),
        ("plan = 30", "a table such as [plan]"),
        ("voice = true", "a table such as [voice]"),
        ('endpoint = ""', "'endpoint' is a setting of [voice]; write it below a line [voice]."),
        ("minutes = 30", "'minutes' is a setting of [plan]; write it below a line [plan]."),
    ],
)
def test_wrong_value_names_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"# my settings\n\n{line}\n")
    with pytest.raises(QuizError) as error:
        load_settings(file)
    assert str(error.value).startswith(f"{file}:3: ")
    assert said in str(error.value)
    assert not str(error.value).endswith("?.")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("new_per_day = 9", "there is no setting 'new_per_day' in [plan]; write it above the line [plan]."),
        ("minutes = 0", "minutes must be a whole number from 1 to 720, not 0"),
        ("target = 85", "target must be a number from 0.05 to 0.99"),
        ('days_off = ["sunday"]', "days_off must be a list of days"),
        ("sat = 9999", "sat must be a whole number from 0 to 720"),
        ('sun = 30\ndays_off = ["sun"]', "sun is in days_off and has minutes; remove one of the two."),
        ("minuts = 5", "no setting 'minuts' in [plan]; did you mean 'minutes'"),
    ],
)
def test_wrong_value_of_the_plan_names_its_own_line(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[keys]\nminutes = "m"\nsat = "s"\n[plan]\n{line}\n')
    with pytest.raises(QuizError) as error:
        load_settings(file)
    assert str(error.value).startswith(f"{file}:5: ")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        (('endpoint = "http://192.168.0.9:8080/v1"', 'model = "m"'), 5, "'192.168.0.9' is not this machine"),
        (('model = "m"', 'endpoint = "https://api.example.com/v1"'), 6, "add allow_remote = true"),
        (('endpoint = "http://localhost.example.com/v1"', 'model = "m"'), 5, "is not this machine"),
        (('endpoint = "http://0.0.0.0:8080/v1"', 'model = "m"'), 5, "is not this machine"),
        (('endpoint = "http://127.0.0.1@example.com/v1"', 'model = "m"'), 5, "must be an address such as"),
        (('endpoint = "localhost:8080/v1"', 'model = "m"'), 5, "must be an address such as"),
        (('endpoint = "ftp://localhost/v1"', 'model = "m"'), 5, "must be an address such as"),
        (('endpoint = "http://localhost:x/v1"', 'model = "m"'), 5, "must be an address such as"),
        (('endpoint = "http://[::1/v1"', 'model = "m"'), 5, "must be an address such as"),
        (('endpoint = "http://local host/v1"', 'model = "m"'), 5, "must be an address such as"),
        (('endpoint = "http://localhost/v1"',), 5, "needs the name of a model"),
        (("endpoint = 8080",), 5, "endpoint must be text in quotes"),
        (('key_env = "sk-0123456789"',), 5, "key_env must be the name of an environment variable"),
        (("timeout = 0",), 5, "timeout must be a number from 1 to 300"),
        (("timeout = nan",), 5, "timeout must be a number from 1 to 300"),
        (('allow_remote = "yes"',), 5, "allow_remote must be true or false"),
        (('endpiont = ""',), 5, "no setting 'endpiont' in [voice]; did you mean 'endpoint'"),
        (
            ("new_per_day = 9",),
            5,
            "no setting 'new_per_day' in [voice]; write it above the line [voice]",
        ),
    ],
)
def test_wrong_values_of_the_voice_name_their_line(
    tmp_path: Path, lines: tuple[str, ...], line: int, said: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("\n".join(['[keys]\nmodel = "m"\n\n[voice]', *lines]) + "\n")
    with pytest.raises(QuizError) as error:
        load_settings(file)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert said in str(error.value)
    assert "sk-0123456789" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        'endpoint = "http://127.8.9.1:11434/v1"\nmodel = "m"',
        'endpoint = "http://[::1]:8080"\nmodel = "m"',
        'endpoint = "https://LOCALHOST/v1/"\nmodel = "m"\nkey_env = "LLM_KEY"\ntimeout = 3',
        'endpoint = "https://api.example.com/v1"\nmodel = "m"\nallow_remote = true',
        'model = "m"\nallow_remote = true',
    ],
)
def test_the_voice_is_off_by_default_and_may_be_on_this_machine(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[voice]\n{text}\n")
    voice = load_settings(file).voice
    assert voice.model == "m"
    assert Settings().voice.endpoint == ""


def test_the_plan_reads_minutes_by_weekday(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[plan]\nminutes = 30\ntarget = 0.9\ndays_off = ["sun"]\nsat = 60\n')
    plan = load_settings(file).plan
    assert (plan.minutes, plan.target, dict(plan.weekdays)) == (30, 0.9, {5: 60, 6: 0})


def test_broken_toml_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("new_per_day = \n")
    with pytest.raises(QuizError, match="line 1"):
        load_settings(file)
    with pytest.raises(QuizError, match="not valid TOML"):
        write_setting(file, "theme", "x")


def test_writing_keeps_comments_and_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "sub" / "config.toml"
    write_setting(file, "theme", "nord")
    file.write_text("# pace\nnew_per_day = 10 # enough\n" + file.read_text())
    write_setting(file, "new_per_day", 15)
    assert file.read_text() == '# pace\nnew_per_day = 15 # enough\ntheme = "nord"\n'
    assert load_settings(file) == Settings(new_per_day=15, theme="nord")


def test_a_top_level_key_can_follow_a_table(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[keys]\nundo = "z"\n')
    write_setting(file, "new_per_day", 7)
    assert load_settings(file).new_per_day == 7


def test_wrong_values_are_not_written(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    for key, value in (("new_per_day", -1), ("colour", 1)):
        with pytest.raises(QuizError):
            write_setting(file, key, value)
    assert not file.exists()


def test_the_plan_is_written_into_the_file_and_its_comments_stay(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    begin_file(path, [])
    before = path.read_text()
    write_plan(path, {"date": date(2026, 12, 24), "role": "research-engineer", "minutes": 45})
    write_setting(path, "new_per_day", 12)
    settings = load_settings(path)
    assert settings.plan == PlanSettings(45, until=date(2026, 12, 24), role="research-engineer")
    assert settings.new_per_day == 12
    comments = [line for line in before.splitlines() if line.startswith("#")]
    assert [line for line in path.read_text().splitlines() if line.startswith("#")] == comments
    write_plan(path, {"date": None, "leave_out": ["hard"]})
    plan = load_settings(path).plan
    assert (plan.until, plan.minutes, plan.leave_out) == (None, 45, ("hard",))


@pytest.mark.parametrize(("key", "value"), [("date", "soon"), ("minutes", 0), ("days", 3)])
def test_a_wrong_key_of_the_plan_is_refused_before_the_file_is_touched(
    tmp_path: Path, key: str, value: object
) -> None:
    path = tmp_path / "config.toml"
    with pytest.raises(QuizError, match=key):
        write_plan(path, {key: value})
    assert not path.exists()
