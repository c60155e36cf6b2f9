import { SlidersHorizontal, X } from 'lucide-react';
import { Children, type ReactNode, useId, useState } from 'react';
import { t } from '../texts/index.ts';
import { Button } from './button.tsx';
import { useIsPhone } from './use-is-phone.ts';

interface FilterProps {
  label: string;
  value: string | undefined;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string | undefined) => void;
  isFirst?: boolean;
  /** One option is always chosen; there is no "any". */
  required?: boolean;
}

/** A native select with its label inside the control: "Status Any". */
export function Filter({ label, value, options, onChange, isFirst, required }: FilterProps) {
  const isSet = value !== undefined && value !== '' && !required;
  return (
    <span
      className={`control relative inline-flex min-w-0 items-center gap-1.5 pr-1! focus-within:outline-2 focus-within:outline-held ${isSet ? 'bg-bg max-sm:col-span-2' : ''}`}
    >
      <label className="flex min-w-0 flex-1 items-center gap-1.5">
        <span className="shrink-0 text-ink2">{label}</span>
        <select
          {...(isFirst ? { 'data-filter': '' } : {})}
          value={value ?? ''}
          onChange={(event) => onChange(event.target.value || undefined)}
          className="chevron field-sizing-content min-w-0 max-w-64 cursor-pointer truncate max-md:max-w-none max-md:flex-1 bg-transparent py-1 font-medium text-ink outline-none"
        >
          {!required && <option value="">{t.common.any}</option>}
          {isSet && !options.some(([option]) => option === value) && <option>{value}</option>}
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {isSet && (
        <button
          type="button"
          aria-label={`${t.common.clearFilters}: ${label}`}
          onClick={() => onChange(undefined)}
          className="inline-flex size-6 items-center justify-center rounded-tag text-ink2 hover:bg-sunken"
        >
          <X size={13} aria-hidden />
        </button>
      )}
    </span>
  );
}

interface FilterBarProps {
  children: ReactNode;
  aside?: ReactNode;
  /** The values of the filters, as in the address: those that are set are counted on the button of a phone. */
  values: readonly (string | undefined)[];
}

/** On a phone several filters are folded behind one button: the list is what one came for. */
export function FilterBar({ children, aside, values }: FilterBarProps) {
  const isPhone = useIsPhone();
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const isFolded = isPhone && Children.toArray(children).length > 1;
  const note = aside && <span className="ml-auto text-meta text-ink3">{aside}</span>;
  const bar = (
    <div
      id={id}
      className="flex flex-wrap items-center gap-2 max-md:grid max-md:grid-cols-2 max-md:*:only:col-span-2 max-md:*:last:odd:col-span-2"
    >
      {children}
      {!isFolded && note}
    </div>
  );
  if (!isFolded) return bar;
  const activeCount = values.filter(Boolean).length;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-center gap-2">
        <Button
          icon={SlidersHorizontal}
          aria-expanded={isOpen}
          aria-controls={isOpen ? id : undefined}
          onClick={() => setOpen(!isOpen)}
        >
          {t.common.filters}
          {activeCount > 0 && (
            <span className="rounded-full bg-held-weak px-2 text-held text-meta">
              {activeCount} <span className="sr-only">{t.common.filtersSet}</span>
            </span>
          )}
        </Button>
        {note}
      </div>
      {isOpen && bar}
    </div>
  );
}
