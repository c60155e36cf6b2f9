import { Search } from 'lucide-react';

interface SearchFieldProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
}

/** Filters the list below by the typed text. */
export function SearchField({ label, value, onChange }: SearchFieldProps) {
  return (
    <label className="relative block">
      <span className="sr-only">{label}</span>
      <Search size={14} aria-hidden className="absolute top-2.5 left-2.5 text-ink3 max-sm:top-4" />
      <input
        type="search"
        data-filter=""
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder={label}
        autoComplete="off"
        spellCheck={false}
        className="control w-full pl-8!"
      />
    </label>
  );
}
