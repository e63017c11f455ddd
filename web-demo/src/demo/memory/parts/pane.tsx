// What is open: next to the list, or over it on a narrow screen.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { navigate } from "../../state/route.ts";
import type { Loaded } from "../../common/state/hooks.ts";
import { mayWrite } from "../../state/viewer.ts";
import { useMediaQuery } from "../../media-query.ts";
import { placeHref, type Place } from "../../common/state/place.ts";
import { strings } from "../strings.ts";

/** The style sheet has the same limit. */
const NARROW = "(max-width: 860px)";

/** `hint`: shown while nothing is open. */
export function Pane({ place, hint, children }: { place: Place; hint: string; children: ComponentChildren }) {
  const narrow = useMediaQuery(NARROW);
  const pane = useRef<HTMLElement>(null);
  const { id } = place;
  const wasOpen = useRef(false);
  const close = () => navigate(placeHref({ ...place, id: null }));
  useEffect(() => {
    if (pane.current) pane.current.scrollTop = 0;
    // What led here may be gone: a link in the pane, or the button of a dialog.
    if (id && (narrow || (wasOpen.current && document.activeElement === document.body))) pane.current?.focus({ preventScroll: true });
    // The reader goes on in the list, also after the Back button.
    if (!id && wasOpen.current) document.querySelector<HTMLElement>('.memory-page [data-row][tabindex="0"]')?.focus();
    wasOpen.current = id !== null;
  }, [id, narrow]);
  // Not only in the pane: on a wide screen, the focus stays in the list. Dialogs and fields have an Escape of their own.
  useEffect(() => {
    if (!id) return;
    const onKeyDown = ({ key, target }: KeyboardEvent) => { if (key === "Escape" && !document.querySelector("dialog") && !(target as HTMLElement).closest(".filters, .sort")) close(); };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [place]);
  return (
    <section ref={pane} class="pane" aria-label={strings.pane.label} tabIndex={0}>
      {id && <button type="button" class="quiet back-to-list" onClick={close}><Icon name="back" />{strings.pane.back}</button>}
      {id ? children : <p class="soft hint">{hint}</p>}
    </section>
  );
}

/** What was loaded, or why it is not there. `gone`: shown for null. */
export function Story<T>({ loaded, gone, children }: { loaded: Loaded<T | null>; gone: JSX.Element; children: (value: T) => JSX.Element }) {
  if (loaded.phase === "loading") return <p class="soft" aria-busy="true">{strings.loading}</p>;
  if (loaded.phase === "failed") return loaded.isNotKept ? <p class="soft" role="status">{loaded.why}</p> : <p class="trouble" role="alert">{strings.pane.failed}</p>;
  return loaded.value === null ? gone : children(loaded.value);
}

/** Why there are no actions. */
export const Unchangeable = ({ shared }: { shared: boolean }) =>
  <p class="soft">{mayWrite(shared) ? strings.whenBack : strings.pane.onlyAdministrators}</p>;

/** Shown for what was forgotten. Takes the focus if the button that had it is gone, too. */
export function Gone({ title, text }: { title: string; text: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => { if (document.activeElement === document.body) heading.current?.focus(); }, []);
  return <><h2 ref={heading} tabIndex={-1}>{title}</h2><p class="soft">{text}</p></>;
}
