import { useState } from 'react';
import { formatCount } from '../format/numbers.ts';
import { t } from '../texts/index.ts';
import { Button } from './button.tsx';

/** A document may have thousands of fields: the first ones are drawn until somebody asks for all. */
const shownRows = 250;

export function useFirstRows<Row>(rows: readonly Row[]) {
  const [isAll, setAll] = useState(false);
  const hasMore = !isAll && rows.length > shownRows;
  const more = hasMore && (
    <p className="px-4 py-3">
      <Button onClick={() => setAll(true)}>{t.common.showAllFields(formatCount(rows.length))}</Button>
    </p>
  );
  return { shown: hasMore ? rows.slice(0, shownRows) : rows, more };
}
