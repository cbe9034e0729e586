"""What is asked: questions, exercises, their YAML and its checks."""
