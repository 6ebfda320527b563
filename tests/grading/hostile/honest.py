"""No attack: the solution, to compare with."""
# like: honest
