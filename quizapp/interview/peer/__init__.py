"""What a friend marks: in the terminal, or on a sheet."""
