"""A program that `hellofresh proxy` serves (docs/extending.md): it asks about each sample and hands in a label."""

import os

import httpx
from openai import OpenAI

key = os.environ["OPENAI_API_KEY"]
with httpx.Client(base_url=os.environ["HELLOFRESH_PROXY"], headers={"Authorization": f"Bearer {key}"}) as proxy:
    for sample in proxy.get("/samples").json()["samples"]:
        with OpenAI(base_url=sample["base_url"], api_key=key) as client:
            turn = {"role": "user", "content": sample["question"]}
            said = client.chat.completions.create(model="main", messages=[turn]).choices[0].message.content
        proxy.post(
            f"{sample['base_url']}/output", json={"label": int(said.lower().startswith("yes"))}
        ).raise_for_status()
