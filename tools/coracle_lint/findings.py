"""What the lint says, of each rule: the compilers that are wrong, or that the program is, and the cure."""
from dataclasses import dataclass

INTENDED = "lint: intended"  # on a line of the source: the finding there is on purpose

MESSAGES = {
    "condition": "g++ 12 does not run the body of a coroutine that awaits in a condition and declares no local variable; "
                 "bind the result to a variable first",
    "aggregate": "g++ 12 destroys a temporary aggregate twice in an expression that awaits; bind it to a variable first, "
                 "and move that",
    "lambda": "g++ 12 destroys the captures of a temporary lambda twice in an expression that awaits; bind the lambda to a "
              "variable first",
    "conditional": "g++ 12 destroys a temporary that ?: makes twice in an expression that awaits; bind the result of the "
                   "?: to a variable first, or write an if where the ?: itself awaits",
    "early": "g++ (12, 14, 16) evaluates this temporary before the await, and even where the await's result should prevent "
             "that; bind the result of the await to a variable first",
    "initializer_list": "g++ 12 does not compile a std::initializer_list in an expression that awaits; bind the container "
                        "to a variable first",
    "step": "g++ 12 does not compile `co_await ++it` as the step of a for in a template; write "
            "`while (auto* x = co_await g.next())`",
    "dangling_lambda": "dangling with every compiler: the coroutine reads the captures of a lambda that is gone when it "
                       "runs; pass the lambda uncalled, as in scope.spawn([s] {...}), or its captures as parameters",
    "dangling_argument": "dangling with every compiler: the task refers to a temporary that is gone when it runs; bind "
                         "that to a variable, or pass function and arguments, as in scope.spawn(f, args...)",
}


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    rule: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {MESSAGES[self.rule]}"


def is_intended(lines, line):
    """Whether the source's author says that what is found on `line` is meant."""
    return line <= len(lines) and INTENDED in lines[line - 1]
