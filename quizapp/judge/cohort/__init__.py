"""Grades the submissions of a whole class on a Dask cluster; ``docs/cohort.md`` describes it."""
