"""openai_agents_host.py WORKFLOW PROMPT…: the commands of two agents, one within the other, await a person."""

import asyncio
import subprocess
import sys

import askbox
import askbox.openai_agents
from agents import Agent, function_tool

workflow, prompt = sys.argv[1], " ".join(sys.argv[2:])


@function_tool(needs_approval=True)
async def shell(command: str) -> str:
    """Runs a shell command."""
    return subprocess.run(command, shell=True, text=True, capture_output=True).stdout


cleaner = Agent(name="cleaner", instructions="You tidy up.", tools=[shell])
agent = Agent(name="operator", instructions="You look after a server.", tools=[shell, cleaner.as_tool("clean", "Tidies up.")])

with askbox.exits():
    print(asyncio.run(askbox.openai_agents.run(agent, prompt, workflow)).final_output)
