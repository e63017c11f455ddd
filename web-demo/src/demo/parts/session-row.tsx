// One session in the list, with its actions.
import { useState } from "preact/hooks";
import { memory, sessionId } from "../state/current-session.ts";
import { ago } from "../state/format.ts";
import { sessionHref } from "../state/route.ts";
import { changeSession, deleteSession, reportingProblems, type SessionChange } from "../state/session-actions.ts";
import type { SessionItem } from "../state/session-list.ts";
import { lastSaid, titleOf } from "../state/session-words.ts";
import { mayWrite } from "../state/viewer.ts";
import { MenuButton } from "./menu-button.tsx";
import { strings } from "../strings.ts";

/** Gives a lost focus to the menu of a session, or to the first control if the session is no longer listed. */
const focusSession = (id: string) => setTimeout(() => {
  const find = (control: string) => document.querySelector<HTMLElement>(control);
  if (document.activeElement === document.body) (find(`[data-session="${id}"] .icon-button`) ?? find(".new"))?.focus();
});

const focus = (control: HTMLElement | null) => control?.focus();

interface Props {
  session: SessionItem;
  onChoose: () => void;
}

export function SessionRow({ session, onChoose }: Props) {
  const [step, setStep] = useState<"rename" | "delete" | null>(null);
  const { id, pinned, archived, paused, shared } = session;
  const on = id === sessionId.value;
  const current = on ? memory.value : null;
  void current?.version.value;
  const title = titleOf(session);
  const facts = current?.counts().active ?? session.facts.totalCount ?? 0;
  const finish = (work: Promise<unknown> | null) => {
    setStep(null);
    void reportingProblems(work).then(() => focusSession(id));
  };
  const change = (values: SessionChange) => finish(changeSession(id, values));
  const onKeyDown = (event: KeyboardEvent) => {
    const words = event.target instanceof HTMLInputElement ? event.target.value.trim() : "";
    if (event.key === "Enter" && words && !event.isComposing) return change({ title: words });
    if (event.key !== "Escape" || !step) return;
    event.stopPropagation();
    finish(null);
  };
  return (
    <li class={on ? "on" : ""} data-session={id} onKeyDown={onKeyDown}>
      {step === "rename" ? (
        <input aria-label={strings.sessions.title} defaultValue={title} ref={focus} onFocus={(event) => event.currentTarget.select()} onBlur={() => setStep(null)} />
      ) : (
        <a href={sessionHref(id)} aria-current={on ? "page" : undefined} onClick={onChoose}>
          <span>{title}</span>
          <small>
            {([[strings.shared, shared], [strings.sessions.isArchived, archived], [strings.sessions.isPaused, paused]] as const).map(([word, isSet]) => isSet && <i key={word} class="badge">{word}</i>)}
            {strings.sessions.facts(facts)}{ago(lastSaid(session))}
          </small>
        </a>
      )}
      {!mayWrite(shared) || step === "rename" ? null : step ? (
        <button type="button" class="sure" ref={focus} onBlur={() => setStep(null)} onClick={() => finish(deleteSession(id))}>{strings.sessions.sure}</button>
      ) : (
        <MenuButton
          label={strings.sessions.actions(title)}
          items={[
            [strings.sessions.rename, () => setStep("rename")],
            [pinned ? strings.sessions.unpin : strings.sessions.pin, () => change({ pinned: !pinned })],
            [archived ? strings.sessions.unarchive : strings.sessions.archive, () => change({ archived: !archived })],
            [paused ? strings.sessions.resume : strings.sessions.pause, () => change({ paused: !paused })],
            [strings.sessions.delete, () => setStep("delete")],
          ]}
        />
      )}
    </li>
  );
}
