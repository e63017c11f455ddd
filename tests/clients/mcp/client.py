"""Uses the tools through the Python SDK, over HTTP and over the bridge, with both lifecycles of the protocol.

Arguments: the URL of the endpoint and the binary.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters

URL, RECALL = sys.argv[1:3]
NAMES = ["remember", "recall", "query_graph", "how_do_you_know", "forget", "list_entities", "timeline"]


async def use(client: Client, person: str) -> None:
    """Calls tools, and reads resources and the prompt."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == NAMES, tools

    async def call(name: str, **arguments):
        result = await client.call_tool(name, arguments)
        assert not result.is_error, f"{name}: {result}"
        return result.structured_content

    stored = await call("remember", text=f"{person} likes Jane.")
    assert stored["facts"][0]["text"] == f"{person} likes Jane", stored
    found = await call("recall", query=f"Who does {person} like?")
    assert found["messages"][0]["id"] == stored["message_id"], found
    graph = await call("query_graph", query=f"Who does {person} like?")
    assert graph["facts"][0]["object"] == "Jane", graph
    reasons = await call("how_do_you_know", question=f"Who does {person} like?")
    assert reasons["facts"][0]["evidence"][0]["stance"] == "supports", reasons
    line = await call("timeline", entity=person)
    assert line["entity"]["name"] == person, line
    assert (await call("list_entities", query=person))["entities"], "no entity"
    assert (await call("forget", query=f"everything about {person}"))["dry_run"] is True
    wrong = await client.call_tool("recall", {"query": "x", "limit": 0})
    assert wrong.is_error and wrong.content[0].text.startswith("INVALID_PAGE_SIZE: "), wrong

    uri = f"recall://session/{stored['session_id']}"
    assert any(str(resource.uri) == uri for resource in (await client.list_resources()).resources)
    read = await client.read_resource(uri)
    assert any(m["id"] == stored["message_id"] for m in json.loads(read.contents[0].text)["messages"])
    prompt = await client.get_prompt("what_do_you_know", {"about": person})
    assert "Jane" in prompt.messages[0].content.text, prompt


async def main() -> None:
    bridge = StdioServerParameters(command=RECALL, args=["mcp", "--url", URL])
    for name, server, mode, person in [
        ("over HTTP", URL, "auto", "Peter"),
        ("over HTTP with the handshake", URL, "legacy", "Paul"),
        ("over the bridge", bridge, "auto", "Anna"),
        ("over the bridge with the handshake", bridge, "legacy", "Clara"),
    ]:
        async with Client(server, mode=mode) as client:
            await use(client, person)
        print(f"Python SDK {name}")


asyncio.run(main())
