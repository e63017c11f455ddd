"""Uses the server through the official Python client."""

import os
import time

import openai

client = openai.OpenAI(base_url=os.environ["RECALL_ADDRESS"] + "/v1", api_key="any", max_retries=0)


def ask(text, chat, **more):
    headers = {"x-openwebui-chat-id": chat, "x-recall-citations": "text"}
    return client.chat.completions.create(
        model="recall", messages=[{"role": "user", "content": text}], extra_headers=headers, **more
    )


assert "recall" in [model.id for model in client.models.list()]
told = ask("Anna likes Boris.", "python-1").choices[0].message.content
assert told == "Noted. I will remember that.", told

answer = ""
for _ in range(100):
    answer = ask("Who does Anna like?", "python-2").choices[0].message.content
    # A message that is not understood yet is quoted.
    if answer.startswith("Anna likes Boris"):
        break
    time.sleep(0.1)
assert answer.startswith("Anna likes Boris [1].") and "Sources:" in answer, answer

stream = ask("Who does Anna like?", "python-3", stream=True, stream_options={"include_usage": True})
chunks = list(stream)
streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
assert streamed == answer, streamed
assert chunks[-1].usage.total_tokens > 0



def respond(text, chat, **more):
    headers = {"x-openwebui-chat-id": chat, "x-recall-citations": "text"}
    return client.responses.create(model="recall", input=text, extra_headers=headers, **more)


items = [{"role": "user", "content": [{"type": "input_text", "text": "Who does Anna like?"}]}]
for question in ("Who does Anna like?", items):
    response = respond(question, "python-4")
    assert response.output_text == answer and response.usage.total_tokens > 0, response
with client.responses.stream(model="recall", input="Who does Anna like?", extra_headers={"x-openwebui-chat-id": "python-5"}) as stream:
    streamed = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
    assert stream.get_final_response().output_text == streamed and answer.startswith(streamed) and streamed, streamed

vectors = client.embeddings.create(model="recall", input=["a walk by the sea", "cheese"])
assert len(vectors.data) == 2 and len(vectors.data[0].embedding) == 256, len(vectors.data[0].embedding)

try:
    client.chat.completions.create(model="unknown", messages=[{"role": "user", "content": "Hello"}])
    raise SystemExit("an unknown model was accepted")
except openai.NotFoundError as error:
    assert error.code == "model_not_found", error
print("the Python client works:", openai.__version__)
