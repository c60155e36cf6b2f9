import { Pencil } from 'lucide-react';
import { t } from '../../texts/index.ts';

/** The title of the page is the schedule's name and is edited in place. */
export function NameInput({ name, onChange }: { name: string; onChange: (name: string) => void }) {
  return (
    <label className="-my-px inline-flex max-w-full items-center gap-1 text-ink3">
      <input
        aria-label={t.schedules.fields.name}
        value={name}
        maxLength={100}
        onChange={(event) => onChange(event.target.value)}
        className="-ml-2 field-sizing-content min-w-24 max-w-full rounded-control border border-transparent bg-transparent px-2 text-page font-semibold text-ink hover:border-line focus:border-control"
      />
      <Pencil size={15} aria-hidden className="shrink-0" />
    </label>
  );
}
