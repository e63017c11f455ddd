// The graph as a list with the same actions. Screen readers always find it; others show it with a button.
import { useCallback, useMemo } from "preact/hooks";
import { VirtualList } from "../../common/parts/virtual-list.tsx";
import { lower, nameOf, sentence, statusWord, typeWord } from "../../common/state/words.ts";
import { outline, type OutlineRow } from "../state/outline.ts";
import { addressHref, type GraphAddress } from "../state/place.ts";
import type { GraphStore } from "../state/store.ts";
import { strings } from "../strings.ts";

interface Props {
  store: GraphStore;
  address: GraphAddress;
}

const INDENT_PX = 18;
/** Deeper rows are not indented further. */
const MAX_INDENTS = 5;

const factsText = ({ facts: [first, ...more] }: OutlineRow): string => (first ? strings.outline.facts(sentence(first), first.status === "ACTIVE" ? null : statusWord[first.status], more.length) : "");

interface RowProps extends Props {
  row: OutlineRow;
  tabIndex: 0 | -1;
  selected: boolean;
  isCentre: boolean;
}

function Row({ store, address, row, tabIndex, selected, isCentre }: RowProps) {
  const { thing, expanded, repeated, level } = row;
  const name = nameOf(thing);
  // Among all things, neighbours are listed below each thing only.
  const mayToggle = !repeated && store.canToggle(thing.id) && !(store.showsAll.value && level > 1);
  const onKeyDown = (event: KeyboardEvent) => {
    const opens = event.key === "ArrowRight" && !expanded;
    const closes = event.key === "ArrowLeft" && expanded;
    if (!mayToggle || !(opens || closes)) return;
    event.preventDefault();
    void store.toggle(thing.id);
  };
  return (
    <div class="row" data-open={selected || undefined} style={{ paddingLeft: `${10 + INDENT_PX * Math.min(MAX_INDENTS, level - 1)}px` }} onKeyDown={onKeyDown}>
      {mayToggle
        ? <button type="button" class="twist" tabIndex={tabIndex} aria-expanded={expanded} aria-label={strings.outline.toggle(expanded, name)} onClick={() => void store.toggle(thing.id)}><span aria-hidden="true">{expanded ? "−" : "+"}</span></button>
        : <span class="twist" />}
      <button type="button" class="what" data-row tabIndex={tabIndex} aria-pressed={selected} onClick={() => store.select(thing.id)}>
        <span class="name">{name} <span class="type" data-type={lower(thing.type)}>{typeWord[thing.type]}</span></span>
        <small>{factsText(row) || (isCentre ? strings.outline.isCentre : "")}{repeated && strings.outline.repeated}</small>
      </button>
      {!isCentre && <a class="quiet" tabIndex={tabIndex} href={addressHref({ ...address, centre: thing.id })} aria-label={strings.outline.centreOn(name)}>{strings.outline.centre}</a>}
    </div>
  );
}

const levelOf = (row: OutlineRow) => row.level;
const doNothing = () => {};

export function OutlineList({ store, address }: Props) {
  const [network, expanded, all, selected, centre] = [store.network.value, store.expanded.value, store.showsAll.value && !store.readingAll.value, store.selected.value, store.centre.value?.id];
  const rows = useMemo(() => outline(network, expanded, all), [network, expanded, all]);
  const render = useCallback((row: OutlineRow, tabIndex: 0 | -1) => (
    <Row store={store} address={address} row={row} tabIndex={tabIndex} selected={row.thing.id === selected} isCentre={row.thing.id === centre} />
  ), [address, selected, centre, all]);
  if (rows.length === 0) return null;
  return <VirtualList label={strings.outline.label} rows={rows} total={rows.length} render={render} levelOf={levelOf} onNearEnd={doNothing} />;
}
