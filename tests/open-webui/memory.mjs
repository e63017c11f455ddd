// Reads the memory of a user of Open WebUI, as the front end would: with its key and a signed user.
import { createHmac } from "node:crypto";

const base64url = (value) => Buffer.from(value).toString("base64url");

export class Memory {
  constructor(user) {
    this.user = user;
  }

  async get(path) {
    const now = Math.floor(Date.now() / 1_000);
    const content = [{ alg: "HS256", typ: "JWT" }, { sub: this.user, iat: now, exp: now + 60 }].map((part) => base64url(JSON.stringify(part))).join(".");
    const signature = createHmac("sha256", process.env.RECALL_FRONTEND_USER_SECRET).update(content).digest("base64url");
    const headers = { authorization: `Bearer ${process.env.RECALL_FRONTEND_KEY}`, "x-openwebui-user-jwt": `${content}.${signature}` };
    const reply = await fetch(`${process.env.RECALL_URL}${path}`, { headers });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return (await reply.json()).items;
  }

  sessions() {
    return this.get("/sessions?limit=100");
  }

  /** Returns the texts of all messages with a role. */
  async texts(role = "USER") {
    const lists = await Promise.all((await this.sessions()).map((session) => this.get(`/sessions/${session.session_id}/messages?limit=100`)));
    return lists.flat().filter((message) => message.role.toUpperCase() === role).map((message) => message.text ?? message.message);
  }
}
