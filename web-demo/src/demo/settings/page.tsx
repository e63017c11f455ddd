// The settings of a user, in sections. Their code loads when they are first opened.
import "../styles/place-page.css";
import "../styles/settings.css";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { settingsHref } from "../state/route.ts";
import { start } from "../state/viewer.ts";
import { Activity } from "./parts/activity.tsx";
import { Appearance } from "./parts/appearance.tsx";
import { Connection } from "./parts/connection.tsx";
import { FrontEnds } from "./parts/front-ends.tsx";
import { NeverStored } from "./parts/never-stored.tsx";
import { Remembering } from "./parts/remembering.tsx";
import { Retention } from "./parts/retention.tsx";
import { Tokens } from "./parts/tokens.tsx";
import { Usage } from "./parts/usage.tsx";
import { Users } from "./parts/users.tsx";
import { strings } from "./strings.ts";

function YourData() {
  const [before, link, after] = strings.data.exportOrDelete;
  return <p>{before}<a href="#/memory/data">{link}</a>{after}</p>;
}

type Section = readonly [path: string, title: string, Content: () => JSX.Element];
const first: Section = ["tokens", strings.tokens.title, Tokens];
const sections: readonly Section[] = [
  first, ["front-ends", strings.frontEnds.title, FrontEnds], ["usage", strings.usage.title, Usage], ["activity", strings.activity.title, Activity], ["users", strings.users.title, Users], ["remembering", strings.remembering.title, Remembering], ["never-stored", strings.neverStored.title, NeverStored],
  ["retention", strings.retention.title, Retention], ["appearance", strings.appearance.title, Appearance], ["data", strings.data.title, YourData], ["connection", strings.connection.title, Connection],
];
/** Sections that other users do not see. */
const forAdministrators: ReadonlySet<string> = new Set(["users"]);

/** An unknown section opens the first one. */
export function SettingsPage({ section }: { section: string }) {
  const isAdministrator = start.value?.viewer.role === "ADMIN";
  const shown = sections.filter(([path]) => isAdministrator || !forAdministrators.has(path));
  const [open, title, Content] = shown.find(([path]) => path === section) ?? first;
  useEffect(() => {
    const before = document.title;
    document.title = strings.pageTitle;
    return () => { document.title = before; };
  }, []);
  return (
    <main id="main" class="place-page settings" tabIndex={-1}>
      <div class="head">
        <h1>{strings.title}</h1>
        {/* What the user may do must be known first. A later link would move the section. */}
        {start.value && (
          <div class="views" role="navigation" aria-label={strings.parts}>
            {shown.map(([path, label]) => <a key={path} href={`${settingsHref}/${path}`} aria-current={path === open ? "page" : undefined}>{label}</a>)}
          </div>
        )}
      </div>
      {start.value && (
        <section key={open} class="sheet" aria-label={title} tabIndex={0}>
          <h2>{title}</h2>
          <Content />
        </section>
      )}
    </main>
  );
}
