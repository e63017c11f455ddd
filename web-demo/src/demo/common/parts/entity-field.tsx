// A field for the name of an entity, with suggestions from the memory.
import type { EntityType } from "@relevantic/recall";
import { manyOf, nameOf, typeWord } from "../state/words.ts";
import { client } from "../../state/login.ts";
import { Suggestions, type Thing } from "../generated/operations.ts";
import { Combobox, type Option } from "./combobox.tsx";

interface Props {
  label: string;
  text: string;
  placeholder?: string;
  hideLabel?: boolean;
  required?: boolean;
  first?: boolean;
  shared?: boolean;
  /** Suggest only these types. Empty: all. */
  types?: readonly EntityType[];
  exclude?: string | undefined;
  onText: (text: string) => void;
  onChoose: (thing: Thing) => void;
}

const toOption = (thing: Thing): Option<Thing> => ({
  key: thing.id, label: nameOf(thing), value: thing,
  hint: [typeWord[thing.type], thing.description, thing.mentionCount > 0 ? manyOf(thing.mentionCount, "mention") : null].filter(Boolean).join(", "),
});

export function EntityField({ shared = false, types = [], exclude, onChoose, ...field }: Props) {
  const find = async (text: string) => {
    const { nodes } = (await client.graphql(Suggestions, { text, shared })).entities;
    return nodes.filter((thing) => thing.id !== exclude && (types.length === 0 || types.includes(thing.type))).map(toOption);
  };
  return <Combobox<Thing> {...field} find={find} onChoose={(option) => onChoose(option.value)} />;
}
