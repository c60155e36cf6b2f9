import { Field, NamedOptions, SelectInput } from '../../components/field.tsx';
import { t } from '../../texts/index.ts';

interface DestinationFieldProps {
  of: readonly { id: string; name: string }[];
  value: string;
  onChange: (id: string) => void;
  error: string | undefined;
}

/** Selects a destination; empty is the organization's default. */
export function DestinationField({ of, value, onChange, error }: DestinationFieldProps) {
  return (
    <Field label={t.backups.destination} name="storageDestinationId" error={error}>
      <SelectInput value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{t.backups.destinationDefault}</option>
        <NamedOptions of={of} />
      </SelectInput>
    </Field>
  );
}
