// Finds a thing, and chooses which facts the graph shows. The filters are those of the Memory page.
import { useState } from "preact/hooks";
import { EntityField } from "../../common/parts/entity-field.tsx";
import { AsOf, ChangedDays, ConfidenceChoice, FilterBar, RelationChoice, SessionChoice, SourceChoice, StatusChoice, TypeChoice, WhoseChoice } from "../../common/parts/filters.tsx";
import { noFilters, setFilters } from "../../common/state/place.ts";
import { navigate } from "../../state/route.ts";
import { addressHref, type GraphAddress } from "../state/place.ts";
import { strings } from "../strings.ts";

function Find({ address }: { address: GraphAddress }) {
  const [text, setText] = useState("");
  const open = (centre: string) => {
    setText("");
    navigate(addressHref({ ...address, centre }));
  };
  return (
    <div class="search">
      <EntityField label={strings.find} hideLabel placeholder={strings.find} text={text} shared={address.filters.whose === "shared"} onText={setText} onChoose={(thing) => open(thing.id)} />
    </div>
  );
}

export function GraphFilters({ address }: { address: GraphAddress }) {
  const { filters } = address;
  return (
    <FilterBar filters={filters} clearHref={addressHref({ ...address, filters: { ...noFilters, asOf: filters.asOf } })} search={<Find address={address} />}>
      {filters.text && <button type="button" class="about" aria-label={strings.removeContaining(filters.text)} onClick={() => setFilters({ text: "" })}>{strings.containing(filters.text)} <span aria-hidden="true">×</span></button>}
      <AsOf filters={filters} />
      <RelationChoice filters={filters} />
      <TypeChoice filters={filters} />
      {!filters.asOf && <><StatusChoice filters={filters} /><ConfidenceChoice filters={filters} /></>}
      <SourceChoice filters={filters} />
      <SessionChoice filters={filters} />
      <WhoseChoice filters={filters} />
      {!filters.asOf && <ChangedDays filters={filters} />}
    </FilterBar>
  );
}
