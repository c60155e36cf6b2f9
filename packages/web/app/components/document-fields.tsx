import { useState } from 'react';
import { type Fields, rowsOf } from '../format/values.ts';
import { Exact } from './exact.tsx';
import { useFirstRows } from './first-rows.tsx';
import { TypeName, Value } from './value.tsx';

interface DocumentFieldsProps {
  fields: Fields;
  label: string;
  /** Builds the link for a reference value. */
  linkTo: (name: string) => string | undefined;
}

/** A document's fields, one row each; maps and arrays fold. */
export function DocumentFields({ fields, label, linkTo }: DocumentFieldsProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const { shown, more } = useFirstRows(rowsOf(fields, open));
  return (
    <>
      <table aria-label={label} className="w-full table-fixed border-collapse text-table">
        <tbody>
          {shown.map((row) => (
            <tr key={row.id} className="border-line border-b last:border-b-0">
              <th
                scope="row"
                className="w-1/4 px-4 py-2 text-left align-top font-normal text-ink2 max-sm:w-[34%] max-sm:pr-1"
              >
                <span className="break-words" style={{ paddingLeft: row.depth * 16 }}>
                  <Exact text={row.name} />
                </span>
              </th>
              <td className="px-2 py-2 align-top">
                <Value value={row.value} linkTo={linkTo} isOpen={open.has(row.id)} onToggle={() => toggle(row.id)} />
              </td>
              <td className="w-32 px-4 py-2 text-right align-top max-sm:w-24 max-sm:pl-1">
                <TypeName value={row.value} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}
