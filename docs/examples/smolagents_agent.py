"""An agent in smolagents, which blocks and so runs in a thread (docs/extending.md)."""

import asyncio

from smolagents import OpenAIModel, ToolCallingAgent, tool

import hellofresh as hf


async def solve(sample, tools):
    at = await tools.endpoint()

    @tool
    def search(query: str) -> str:
        """Search the web.

        Args:
            query: what to look for.
        """
        return "\n".join(hit.title for hit in tools.wait(tools.search(query)).results)

    model = OpenAIModel(at.model, api_base=at.base_url, api_key=at.api_key)
    agent = ToolCallingAgent([search], model, max_steps=4, verbosity_level=0)
    said = await asyncio.to_thread(agent.run, tools.question)
    return hf.Choice(label=int(str(said).lower().startswith("yes")))
