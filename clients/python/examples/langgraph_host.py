"""langgraph_host.py WORKFLOW COMMAND: a command and a question of a graph await a person, in one question of two parts."""

import os
import subprocess
import sys
from typing import TypedDict

import askbox
import askbox.langgraph
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

workflow, command = sys.argv[1], " ".join(sys.argv[2:])
State = TypedDict("State", {"command": str, "output": str, "port": str})


def act(state: State) -> dict[str, str]:
    # The graph runs the lines above this one again when it goes on.
    permit = askbox.langgraph.permit("shell", {"command": state["command"]})
    if permit.arguments is None:
        return {"output": permit.words}
    made = subprocess.run(permit.arguments["command"], shell=True, text=True, capture_output=True)
    return {"output": made.stdout + permit.words}


def configure(state: State) -> dict[str, str]:
    return {"port": interrupt({"question": "Which port?", "type": "number", "range": {"min": 1, "max": 65535}})}


graph = StateGraph(State).add_node(act).add_node(configure).add_edge(START, "act").add_edge(START, "configure")
graph.add_edge("act", END).add_edge("configure", END)

with askbox.exits(), SqliteSaver.from_conn_string(os.path.expanduser("~/graphs.db")) as saver:
    result = askbox.langgraph.invoke(graph.compile(checkpointer=saver), {"command": command}, workflow)
    print(result["output"], result["port"])
