import type { ReactNode } from 'react';
import { Checkbox, Field, SelectInput, TextInput } from '../../components/field.tsx';
import { t } from '../../texts/index.ts';
import { KeyDrop, type ServiceAccountKey } from '../projects/key-drop.tsx';
import { BucketField, type Buckets } from './bucket-field.tsx';
import type { Place } from './storage-request.ts';

export interface FieldsProps {
  place: Place;
  set: (change: Partial<Place>) => void;
  faults: Record<string, string>;
}

interface AddressProps extends FieldsProps {
  buckets: Buckets;
}

interface BucketFieldsProps extends AddressProps {
  /** False if the saved key can be kept. */
  needsKey: boolean;
  keyHint?: string;
}

/** Fields for the key, the bucket and its address. */
export function BucketFields({ place, set, faults, buckets, needsKey, keyHint }: BucketFieldsProps) {
  const hintAt = (at: 'id' | 'secret') =>
    buckets.refusal?.at === at ? <span className="text-fail">{buckets.refusal.words}</span> : keyHint;
  return (
    <>
      {place.type === 'gcs' ? (
        <KeyDrop
          value={place.serviceAccountKey}
          onChange={(serviceAccountKey: ServiceAccountKey | null) => set({ serviceAccountKey })}
          error={faults['credentials.serviceAccountKey'] ?? faults.credentials}
        />
      ) : (
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label={t.storage.accessKeyId}
            name="credentials.accessKeyId"
            hint={hintAt('id')}
            error={faults['credentials.accessKeyId'] ?? faults.credentials}
          >
            <TextInput
              mono
              required={needsKey || place.secretAccessKey !== ''}
              value={place.accessKeyId}
              onBlur={buckets.ask}
              onChange={(event) => set({ accessKeyId: event.target.value })}
            />
          </Field>
          <Field
            label={t.storage.secretAccessKey}
            name="credentials.secretAccessKey"
            hint={hintAt('secret')}
            error={faults['credentials.secretAccessKey']}
          >
            <TextInput
              mono
              type="password"
              autoComplete="new-password"
              required={needsKey || place.accessKeyId !== ''}
              value={place.secretAccessKey}
              onBlur={buckets.ask}
              onChange={(event) => set({ secretAccessKey: event.target.value })}
            />
          </Field>
        </div>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <BucketField place={place} set={set} fault={faults.bucket} buckets={buckets} />
        <Field label={t.storage.region} name="region" error={faults.region}>
          <TextInput
            mono
            required={place.type === 'spaces'}
            placeholder={place.type === 's3' ? 'eu-central-1' : ''}
            value={place.region}
            onChange={(event) => set({ region: event.target.value })}
          />
        </Field>
      </div>
    </>
  );
}

/** Rarely needed fields. */
export function MoreFields({ place, set, faults, buckets, children }: AddressProps & { children?: ReactNode }) {
  const hasAddress = place.type !== 'gcs';
  if (!hasAddress && !children) return null;
  return (
    <details>
      <summary className="text-table font-medium text-ink2">{t.storage.more}</summary>
      <div className="mt-3 grid gap-4 sm:grid-cols-2">
        {children}
        {hasAddress && (
          <>
            <Field label={t.storage.endpoint} name="endpoint" hint={t.storage.endpointHint} error={faults.endpoint}>
              <TextInput
                mono
                value={place.endpoint}
                onBlur={buckets.ask}
                placeholder="https://…"
                onChange={(event) => set({ endpoint: event.target.value })}
              />
            </Field>
            <Checkbox
              label={t.storage.pathStyle}
              checked={place.pathStyle}
              onChange={(event) => set({ pathStyle: event.target.checked })}
            />
          </>
        )}
      </div>
    </details>
  );
}

export function LockFields({ place, set }: Pick<FieldsProps, 'place' | 'set'>) {
  const isOn = place.lockDays !== null;
  return (
    <div className="flex flex-col gap-3">
      <Checkbox
        label={t.storage.lock}
        checked={isOn}
        onChange={(event) => set({ lockDays: event.target.checked ? 30 : null })}
      />
      {isOn && (
        <div className="grid gap-4 pl-6 sm:grid-cols-[100px_1fr]">
          <Field label={t.storage.lockDays}>
            <TextInput
              type="number"
              min={1}
              value={String(place.lockDays ?? '')}
              onChange={(event) => set({ lockDays: Number(event.target.value) })}
            />
          </Field>
          <Field label={t.storage.lockMode}>
            <SelectInput
              value={place.lockMode}
              onChange={(event) => set({ lockMode: event.target.value as Place['lockMode'] })}
            >
              <option value="governance">{t.storage.lockModes.governance}</option>
              <option value="compliance">{t.storage.lockModes.compliance}</option>
            </SelectInput>
          </Field>
        </div>
      )}
    </div>
  );
}
