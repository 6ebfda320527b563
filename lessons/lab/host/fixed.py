"""Classes that stay as they are: a program that is checked gets objects of them."""

from typing import NoReturn


class Fixed(type):
    """The type of such a class: nobody may give it other methods, or take one away."""

    def __setattr__(cls, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{cls.__name__} is the lab's own: {name} stays as it is")

    def __delattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"{cls.__name__} is the lab's own: {name} stays as it is")
