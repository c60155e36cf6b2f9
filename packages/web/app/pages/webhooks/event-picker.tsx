import { allowedEvents, events as catalogue, type EventFormat } from '@holdfast/contract';
import { Checkbox } from '../../components/field.tsx';
import { t } from '../../texts/index.ts';

interface EventPickerProps {
  format: EventFormat;
  value: readonly string[];
  onChange: (events: string[]) => void;
}

/** Selects events: single ones, a whole group or all, including future events. */
export function EventPicker({ format, value, onChange }: EventPickerProps) {
  const names = allowedEvents(format);
  const groups = [...new Set(names.map((name) => name.split('.')[0] ?? ''))];
  const isAll = value.includes('*');
  const toggle = (entry: string, isOn: boolean) =>
    onChange(isOn ? [...value, entry] : value.filter((other) => other !== entry));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-table font-medium">{t.webhooks.events}</legend>
      <Checkbox
        label={t.webhooks.allEvents}
        checked={isAll}
        onChange={(event) => onChange(event.target.checked ? ['*'] : [])}
      />
      {!isAll && (
        <div className="max-h-72 overflow-y-auto rounded-control border border-line p-3">
          {groups.map((group) => {
            const wildcard = `${group}.*`;
            const isWhole = value.includes(wildcard);
            return (
              <div key={group} className="mb-2 last:mb-0">
                <Checkbox
                  label={<code className="font-mono font-medium">{wildcard}</code>}
                  checked={isWhole}
                  onChange={(event) =>
                    onChange([
                      ...value.filter((name) => !name.startsWith(`${group}.`)),
                      ...(event.target.checked ? [wildcard] : []),
                    ])
                  }
                />
                {!isWhole && (
                  <div className="mt-1 flex flex-col gap-1 pl-6">
                    {names
                      .filter((name) => name.startsWith(`${group}.`))
                      .map((name) => (
                        <Checkbox
                          key={name}
                          label={<code className="font-mono">{name}</code>}
                          hint={catalogue[name].description}
                          checked={value.includes(name)}
                          onChange={(event) => toggle(name, event.target.checked)}
                        />
                      ))}
                  </div>
                )}
              </div>
            );
          })}
        </div>
      )}
    </fieldset>
  );
}
