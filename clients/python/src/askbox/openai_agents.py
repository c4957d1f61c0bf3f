"""The helper for the OpenAI Agents SDK: tool calls that need approval await a person, in any number and in nested agents.

    result = await askbox.openai_agents.run(agent, "Delete the old backups", "backups-7")
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Union

from agents import Agent, FunctionTool, RunContextWrapper, Runner, RunResult, RunResultStreaming, RunState, StreamEvent, ToolOutputText
from agents.exceptions import AgentsException

from .errors import Invalid
from .hosts import Box, Host, permission
from .programs import run_async
from .words import Decision

__all__ = ["run"]


async def run(
    agent: Agent[Any],
    input: Any,
    workflow_id: str,
    *,
    context: Any = None,
    on_event: Optional[Callable[[StreamEvent], Any]] = None,
    box: Box = None,
    **options: Any,
) -> Union[RunResult, RunResultStreaming]:
    """Runs the agent until it ends, and returns its result. Raises `Waiting` if a call needs the approval of a person.

    In the run that has the answer, it goes on from the saved `RunState`, and `input` is not used. Each allowed call is marked with `once`
    before it is made. `options` go to `Runner.run`; with `on_event`, which gets each event, to `Runner.run_streamed`. Raises `Invalid` if
    this program cannot read the saved state, so its round is parked.
    """
    host = Host("openai_agents", workflow_id, box)
    saved = await run_async(host.go_on())
    start: Any = input
    items: List[Any] = []
    allowed: Dict[str, Decision] = {}
    if saved is not None:
        start = await _read(agent, saved.state, context)
        items = start.get_interruptions()
        if {item.call_id for item in items} != set(host.decisions):
            raise Invalid(f"the saved state of {workflow_id} awaits other calls than its question asks about", "begin a new workflow")
        # Before any call is marked: the SDK would find out later.
        have_room = {item.call_id: await _has_room(item, context) for item in items}
        for item in items:
            decision = host.decisions[item.call_id]
            if decision.beside and not decision.changed and not have_room[item.call_id] and decision.refusal is None:
                await run_async(host.ask_again(saved, f"a note beside the allowed call of {item.name} cannot be told; answer without it"))
        for item in items:
            decision = host.decisions[item.call_id]
            is_lost = decision.changed and not have_room[item.call_id]
            why_not = decision.instead if is_lost else await run_async(host.why_not(item.call_id))
            if why_not is None:
                allowed[item.call_id] = decision
                start.approve(item)
            else:
                start.reject(item, rejection_message=why_not)
    with _told({id(item.agent): item.agent for item in items}, allowed):
        options["context"] = None if saved else context
        result: Union[RunResult, RunResultStreaming]
        if on_event is None:
            result = await Runner.run(agent, start, **options)
        else:
            result = Runner.run_streamed(agent, start, **options)
            async for event in result.stream_events():
                on_event(event)
    if result.interruptions:
        parts = [permission(str(item.call_id), f"{item.name} of {item.agent.name}", _named(item.arguments)) for item in result.interruptions]
        await run_async(host.ask(parts, result.to_state().to_string()))
    return result


@contextmanager
def _told(agents: Dict[int, Agent[Any]], allowed: Dict[str, Decision]) -> Iterator[None]:
    """Makes the allowed calls as the person has changed them, and puts the words for the model behind their results."""

    def changed(tool: FunctionTool) -> None:
        make = tool.on_invoke_tool

        async def on_invoke_tool(context: Any, arguments: str) -> Any:
            # Once: some models use the id of a call again.
            decision = allowed.pop(context.tool_call_id, None)
            if decision is None:
                return await make(context, arguments)
            output = await make(context, json.dumps(decision.changed) if decision.changed else arguments)
            return output if decision.beside is None else _with(output, decision.beside)

        on_invoke_tool.is_told = True  # type: ignore[attr-defined]
        tool.on_invoke_tool = on_invoke_tool
        before.append((tool, make))

    def watched(agent: Agent[Any]) -> None:
        get_all_tools = agent.get_all_tools

        async def tools(context: Any) -> Any:
            # The tools of an MCP server are new ones each time.
            found = await get_all_tools(context)
            for tool in found:
                if isinstance(tool, FunctionTool) and not hasattr(tool.on_invoke_tool, "is_told"):
                    changed(tool)
            return found

        agent.get_all_tools = tools  # type: ignore[method-assign]

    before: List[Any] = []
    for agent in agents.values():
        watched(agent)
    try:
        yield
    finally:
        for agent in agents.values():
            del agent.get_all_tools
        for tool, make in before:
            tool.on_invoke_tool = make


def _with(output: Any, words: str) -> Any:
    """The output of a tool with these words behind it. An output may have parts."""
    parts = list(output) if isinstance(output, (list, tuple)) else [output]
    types = [part.get("type") if isinstance(part, dict) else getattr(part, "type", None) for part in parts]
    if parts and all(kind in ("text", "image", "file") for kind in types):
        return [*parts, ToolOutputText(text=words)]
    return f"{output}\n\n{words}"


def _named(arguments: Any) -> Any:
    """The arguments with their names, if they are a JSON object."""
    try:
        found = json.loads(arguments)
    except (TypeError, ValueError):
        return arguments
    return found if isinstance(found, dict) else arguments


async def _has_room(item: Any, context: Any) -> bool:
    """Whether a call can be changed, and has a result to which words for the model can be added. Raises `Invalid` without its tool."""
    raw = item.raw_item
    if (raw.get("type") if isinstance(raw, dict) else getattr(raw, "type", None)) != "function_call":
        return False
    tools = [tool for tool in await item.agent.get_all_tools(RunContextWrapper(context)) if tool.name == item.name]
    if not tools:
        raise Invalid(
            f"the agent {item.agent.name} has no tool {item.name}, which the saved state awaits", "go on with the tools that saved it"
        )
    # The SDK refuses a result that is not of the declared type.
    return all(getattr(tool, "output_json_schema", None) is None for tool in tools)


async def _read(agent: Agent[Any], state: str, context: Optional[Any]) -> RunState[Any]:
    more = {} if context is None else {"context_override": context}
    try:
        return await RunState.from_string(agent, state, **more)
    except (AgentsException, ValueError, KeyError, TypeError) as error:
        raise Invalid(
            f"the saved state cannot be read by this program: {error}",
            "go on with the agents, the tools and the version of openai-agents that saved it",
        ) from error
