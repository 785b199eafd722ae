"""An agent in LangChain (docs/extending.md)."""

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

import hellofresh as hf


async def solve(sample, tools):
    @tool
    async def search(query: str) -> str:
        """Search the web."""
        return "\n".join(hit.title for hit in (await tools.search(query)).results)

    at = await tools.endpoint()
    model = ChatOpenAI(model=at.model, base_url=at.base_url, api_key=at.api_key).bind_tools([search])
    turns = [("user", tools.question)]
    while (said := await model.ainvoke(turns)).tool_calls:
        turns += [said, *[await search.ainvoke(call) for call in said.tool_calls]]
    return hf.Choice(label=int(said.text.lower().startswith("yes")))
