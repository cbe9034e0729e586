"""``python -m tools.site`` writes the pages of ``docs/`` that follow from the program."""

from tools.site.commands import PAGE, commands_page

if __name__ == "__main__":
    PAGE.write_text(commands_page(), encoding="utf-8")
