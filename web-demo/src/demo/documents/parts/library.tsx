// The list of documents, with uploads, search and filter.
import { useRef, useState } from "preact/hooks";
import type { DocumentStatus } from "@relevantic/recall";
import { Icon } from "../../parts/icon.tsx";
import { mayWrite } from "../../state/viewer.ts";
import { filter, isFiltered, isLoaded, loadError, own, refresh, setFilter, shared, showMore, type Shelf } from "../state/library.ts";
import { chosen, MIN_COMPARED } from "../state/choice.ts";
import { areComparisonsLoaded } from "../state/comparisons.ts";
import { STATUS } from "../state/format.ts";
import { addFiles, uploads } from "../state/uploads.ts";
import { Ask } from "./ask.tsx";
import { CompareButton, CompareForm } from "./compare-form.tsx";
import { ComparisonsList } from "./comparisons-list.tsx";
import { DocumentItem } from "./document-item.tsx";
import { TopicsList } from "./topic.tsx";
import { UploadItem } from "./upload-item.tsx";
import { strings } from "../strings.ts";

const ACCEPTED = ".pdf,.docx,.html,.htm,.md,.markdown,.csv,.tsv,.txt,text/*,application/pdf";

function AddFiles() {
  const [isShared, setShared] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  return (
    <div class="add">
      <button type="button" class="primary" onClick={() => field.current?.click()}><Icon name="plus" />{strings.library.add}</button>
      <input
        ref={field} hidden type="file" multiple accept={ACCEPTED}
        onChange={(event) => {
          addFiles([...(event.currentTarget.files ?? [])], isShared);
          event.currentTarget.value = "";
        }}
      />
      <p class="soft">{strings.library.formats}<span class="by-mouse">{strings.library.drop}</span></p>
      {mayWrite(true) && (
        <label class="check"><input type="checkbox" checked={isShared} onChange={(event) => setShared(event.currentTarget.checked)} />{strings.library.share}</label>
      )}
    </div>
  );
}

function FilterBar() {
  const { text, status, older } = filter.value;
  return (
    <div class="filter" role="search" aria-label={strings.library.filter}>
      <input type="search" value={text} aria-label={strings.library.search} placeholder={strings.library.search} onInput={(event) => setFilter({ text: event.currentTarget.value })} />
      <select aria-label={strings.library.status} value={status ?? ""} onChange={(event) => setFilter({ status: (event.currentTarget.value || null) as DocumentStatus | null })}>
        <option value="">{strings.library.everyStatus}</option>
        {(Object.keys(STATUS) as DocumentStatus[]).map((name) => <option key={name} value={name}>{STATUS[name]}</option>)}
      </select>
      <label class="check"><input type="checkbox" checked={older} onChange={(event) => setFilter({ older: event.currentTarget.checked })} />{strings.library.older}</label>
    </div>
  );
}

function ShelfList({ shelf, isShared }: { shelf: Shelf; isShared: boolean }) {
  return (
    <>
      <ul class="doc-list">
        {!isShared && uploads.value.map((upload) => <UploadItem key={upload.key} upload={upload} />)}
        {shelf.rows.map((row) => <DocumentItem key={row.id} row={row} />)}
      </ul>
      {shelf.next && <button type="button" class="earlier" onClick={() => void showMore(isShared)}>{strings.library.more}</button>}
    </>
  );
}

function Empty() {
  if (isFiltered.value) {
    return <p class="empty">{strings.library.noMatch}<button type="button" class="link" onClick={() => setFilter({ text: "", status: null })}>{strings.library.showAll}</button></p>;
  }
  return (
    <div class="drop-zone">
      <Icon name="document" />
      <p><b><span class="by-mouse">{strings.library.dropHere}</span><span class="by-touch">{strings.library.addHere}</span></b></p>
      <p class="soft">{strings.library.reads}</p>
    </div>
  );
}

export function Library() {
  const mine = own.value;
  const everyones = shared.value;
  const isEmpty = isLoaded.value && mine.rows.length === 0 && everyones.rows.length === 0 && uploads.value.length === 0;
  const known = mine.total + everyones.total + uploads.value.length > 0 || isFiltered.value;
  return (
    <div class="column">
      <header class="place-head">
        <h1>{strings.library.title}</h1>
        <AddFiles />
      </header>
      {known && <Ask documentId={null} />}
      {known && <FilterBar />}
      {loadError.value && <p class="trouble" role="alert">{loadError.value} <button type="button" onClick={() => void refresh()}>{strings.tryAgain}</button></p>}
      <section aria-label={strings.library.own} aria-busy={!isLoaded.value}>
        {known && (
          <div class="list-head">
            <h2>{mine.total > 0 ? strings.library.ownCount(mine.total, isFiltered.value) : strings.library.own}</h2>
            {(mine.total + everyones.total >= MIN_COMPARED || isFiltered.value || chosen.value) && <CompareButton />}
          </div>
        )}
        <ShelfList shelf={mine} isShared={false} />
        {isEmpty && <Empty />}
      </section>
      {everyones.rows.length > 0 && (
        <section aria-label={strings.library.shared}>
          <h2>{strings.library.sharedCount(everyones.total)}</h2>
          <ShelfList shelf={everyones} isShared />
        </section>
      )}
      {chosen.value ? <CompareForm /> : isLoaded.value && <><ComparisonsList />{areComparisonsLoaded() && <TopicsList />}</>}
    </div>
  );
}
