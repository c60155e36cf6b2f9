import { useState } from 'react';
import { type Fields, rowsOf } from '../format/values.ts';
import { TypeName, Value } from './value.tsx';

/** A document's fields, one row each; maps and arrays fold. */
export function DocumentFields({ fields, label }: { fields: Fields; label: string }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  return (
    <table aria-label={label} className="w-full table-fixed border-collapse text-table">
      <tbody>
        {rowsOf(fields, open).map((row) => (
          <tr key={row.id} className="border-line border-b last:border-b-0">
            <th
              scope="row"
              className="w-1/4 px-4 py-2 text-left align-top font-normal text-ink2 max-sm:w-[34%] max-sm:pr-1"
            >
              <span className="break-words" style={{ paddingLeft: row.depth * 16 }}>
                {row.name}
              </span>
            </th>
            <td className="px-2 py-2 align-top">
              <Value value={row.value} isOpen={open.has(row.id)} onToggle={() => toggle(row.id)} />
            </td>
            <td className="w-32 px-4 py-2 text-right align-top max-sm:w-24 max-sm:pl-1">
              <TypeName value={row.value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
