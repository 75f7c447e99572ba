"""What several test files share: cases, expected numbers, ways to run, processes."""
