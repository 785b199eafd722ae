"""What the verifier must know of the task."""

from verifier.content import Documented

DOCUMENTED = Documented("wf-", ("wrong", "right"))
