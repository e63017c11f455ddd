// What the lists of sessions say of one.

interface Listed {
  readonly title: string | null;
  readonly updatedAt: string;
  /** Its first message. */
  readonly messages: { readonly nodes: readonly { readonly text: string; readonly role: string }[] };
  /** Its last message. */
  readonly latest: { readonly nodes: readonly { readonly sentAt: string }[] };
}

/** A session without a title is called after what the user said first. A reply, as to a command to forget, is no title. */
export function titleOf({ title, messages }: Pick<Listed, "title" | "messages">): string {
  const [first] = messages.nodes;
  return title || (first?.role === "USER" && first.text) || "New session";
}

/** When its last message was said. That of an imported chat was stored later. */
export const lastSaid = ({ latest, updatedAt }: Pick<Listed, "latest" | "updatedAt">): string => latest.nodes[0]?.sentAt ?? updatedAt;
