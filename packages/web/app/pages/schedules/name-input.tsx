import { t } from '../../texts/index.ts';

/** The title of the page is the name, and is edited where it stands. */
export function NameInput({ name, onChange }: { name: string; onChange: (name: string) => void }) {
  return (
    <input
      aria-label={t.schedules.fields.name}
      value={name}
      maxLength={100}
      onChange={(event) => onChange(event.target.value)}
      className="-ml-2 field-sizing-content min-w-24 max-w-[calc(100%+8px)] rounded-control border border-transparent bg-transparent px-2 text-page font-semibold hover:border-line focus:border-control"
    />
  );
}
