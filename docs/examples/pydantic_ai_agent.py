"""An agent in pydantic-ai (docs/extending.md)."""

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import hellofresh as hf


async def solve(sample, tools):
    at = await tools.endpoint()
    model = OpenAIChatModel(at.model, provider=OpenAIProvider(base_url=at.base_url, api_key=at.api_key))
    agent = Agent(model, output_type=bool, instructions="Look before you answer.")

    @agent.tool_plain
    async def search(query: str) -> list[str]:
        return [f"{hit.title}: {hit.snippet}" for hit in (await tools.search(query)).results]

    return hf.Choice(label=int((await agent.run(tools.question)).output))
