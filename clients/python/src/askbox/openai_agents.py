"""The helper for the OpenAI Agents SDK: tool calls that need approval await a person, in any number and in nested agents.

    result = await askbox.openai_agents.run(agent, "Delete the old backups", "backups-7")
"""

from __future__ import annotations

from typing import Any, Optional

from agents import Agent, RunContextWrapper, Runner, RunResult, RunState
from agents.exceptions import AgentsException

from .errors import Invalid
from .hosts import Box, Host, permission
from .programs import run_async

__all__ = ["run"]


async def run(agent: Agent[Any], input: Any, workflow_id: str, *, context: Any = None, box: Box = None, **options: Any) -> RunResult:
    """Runs the agent until it ends, and returns its result. Raises `Waiting` if a call needs the approval of a person.

    In the run that has the answer, it goes on from the saved `RunState`, and `input` is not used. Each allowed call is marked with `once`
    before it is made. `options` go to `Runner.run`. Raises `Invalid` if this program cannot read the saved state, so its round is parked.
    """
    host = Host("openai_agents", workflow_id, box)
    saved = await run_async(host.go_on())
    start: Any = input
    if saved is not None:
        start = await _read(agent, saved.state, context)
        items = start.get_interruptions()
        if {item.call_id for item in items} != set(host.decisions):
            raise Invalid(f"the saved state of {workflow_id} awaits other calls than its question asks about", "begin a new workflow")
        # Before any call is marked: the SDK would find out later.
        for item in items:
            if await _lacks_tool(item, context):
                raise Invalid(
                    f"the agent {item.agent.name} has no tool {item.name}, which the saved state awaits", "go on with the tools that saved it"
                )
        for item in items:
            why_not = await run_async(host.why_not(item.call_id))
            if why_not is None:
                start.approve(item)
            else:
                start.reject(item, rejection_message=why_not)
    result = await Runner.run(agent, start, context=None if saved else context, **options)
    if result.interruptions:
        parts = [permission(str(item.call_id), f"{item.name} of {item.agent.name}", item.arguments) for item in result.interruptions]
        await run_async(host.ask(parts, result.to_state().to_string()))
    return result


async def _lacks_tool(item: Any, context: Any) -> bool:
    raw = item.raw_item
    if (raw.get("type") if isinstance(raw, dict) else getattr(raw, "type", None)) != "function_call":
        return False
    return all(tool.name != item.name for tool in await item.agent.get_all_tools(RunContextWrapper(context)))


async def _read(agent: Agent[Any], state: str, context: Optional[Any]) -> RunState[Any]:
    more = {} if context is None else {"context_override": context}
    try:
        return await RunState.from_string(agent, state, **more)
    except (AgentsException, ValueError, KeyError, TypeError) as error:
        raise Invalid(
            f"the saved state cannot be read by this program: {error}",
            "go on with the agents, the tools and the version of openai-agents that saved it",
        ) from error
