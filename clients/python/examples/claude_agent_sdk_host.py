"""claude_agent_sdk_host.py WORKFLOW PROMPT…: shell commands and questions of a Claude session await a person."""

import asyncio
import sys

import askbox
import askbox.claude_agent_sdk
from claude_agent_sdk import ClaudeAgentOptions

workflow, prompt = sys.argv[1], " ".join(sys.argv[2:])
options = ClaudeAgentOptions(allowed_tools=["Read"])

with askbox.exits():
    run = askbox.claude_agent_sdk.run(prompt, workflow, ask="Bash|AskUserQuestion", options=options)
    print(asyncio.run(run).result)
