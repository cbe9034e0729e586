"""One exercise as an interviewer gives it: in stages that extend it, or with faults to find."""
