"""A wire of another package (docs/extending.md): the form of a provider's requests and replies."""

from hellofresh.models import Answer, Finish
from hellofresh.models.providers import HttpModel, encoded, failure, parsed
from hellofresh.models.wires import Wire


class PlainModel(HttpModel):
    path = "/complete"

    def body(self, request):
        text = "\n\n".join(message.text for message in request.messages)
        return encoded({"model": self._model, "prompt": text, "length": request.max_tokens})

    def read(self, reply, request):
        if reply.status != 200:
            return failure(reply.status, reply.body, self.where, reply.wait_s)
        return Answer(parsed(reply.body)["text"], Finish.STOP)


WIRE = Wire("my_wire:PlainModel", has_seed=False)
