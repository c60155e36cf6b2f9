import { type ReactNode, useState } from 'react';
import { formatCount } from '../format/numbers.ts';
import { t } from '../texts/index.ts';
import { Button } from './button.tsx';
import { SearchField } from './search-field.tsx';

/** More rows than this are folded, so that what follows the list stays within reach. */
const foldedRows = 20;

interface FoldedWords {
  /** Label of the filter field. */
  readonly filter: string;
  /** The plural noun, as in "Show all 1,000 collections". */
  readonly things: string;
}

/** A list that may have a thousand names: shows the first ones, a filter, and all of them on request. */
export function useFolded<Row>(rows: readonly Row[], nameOf: (row: Row) => string, words: FoldedWords) {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const wanted = text.trim().toLowerCase();
  const found = wanted === '' ? rows : rows.filter((row) => nameOf(row).toLowerCase().includes(wanted));
  const isLong = found.length > foldedRows;
  const field = rows.length > foldedRows && <SearchField label={words.filter} value={text} onChange={setText} />;
  const more: ReactNode = isLong && (
    <Button kind="quiet" onClick={() => setOpen(!isOpen)}>
      {isOpen ? t.common.showFewer : t.common.showAll(formatCount(found.length), words.things)}
    </Button>
  );
  return {
    shown: isOpen || !isLong ? found : found.slice(0, foldedRows),
    found,
    isFiltered: wanted !== '',
    /** The unfolded list scrolls inside its own frame. */
    frame: isOpen && isLong ? 'max-h-[480px] overflow-y-auto' : '',
    field,
    more,
  };
}
