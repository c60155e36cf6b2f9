import { useState } from 'react';
import { t } from '../texts/index.ts';
import { useSearch } from '../url.ts';
import { SearchField } from './search-field.tsx';
import { FilteredEmpty } from './states.tsx';

/** Shorter lists need no filter. */
const seenAtOnce = 20;

/** Filters a list by a typed text, which is kept in the address. */
export function useNameFilter<Row>(all: readonly Row[] | undefined, wordsOf: (row: Row) => string) {
  const [search, setSearch] = useSearch();
  const [text, setText] = useState(search.q ?? '');
  const set = (next: string) => {
    setText(next);
    void setSearch({ q: next }, { replace: true });
  };
  const wanted = text.trim().toLowerCase();
  const isLong = all !== undefined && all.length > seenAtOnce;
  return {
    rows: wanted === '' ? all : all?.filter((row) => wordsOf(row).toLowerCase().includes(wanted)),
    field: (isLong || wanted !== '') && (
      <div className="max-w-80">
        <SearchField label={t.common.findInList} value={text} onChange={set} />
      </div>
    ),
    empty: wanted !== '' && <FilteredEmpty onClear={() => set('')} />,
  };
}
