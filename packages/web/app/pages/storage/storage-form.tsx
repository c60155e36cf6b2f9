import type { ItemOf, Operations } from '@holdfast/contract';
import { Cloud, Folder } from 'lucide-react';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox, ChoiceCards, Field, SelectInput, TextInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { FormProblem } from '../../components/states.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { KeyDrop, type ServiceAccountKey } from '../projects/key-drop.tsx';
import { BucketField, useBuckets } from './bucket-field.tsx';
import { changesOf, type Place, requestOf, type StorageType } from './storage-request.ts';
import { TestSteps } from './test-steps.tsx';

export type Destination = ItemOf<Operations['listStorageDestinations']>;

const emptyPlace: Place = {
  type: 's3',
  name: '',
  accessKeyId: '',
  secretAccessKey: '',
  serviceAccountKey: null,
  bucket: '',
  region: '',
  endpoint: '',
  prefix: '',
  pathStyle: false,
  path: '',
  lockDays: null,
  lockMode: 'governance',
};

interface StorageFormProps {
  onDone: (destination: Destination) => void;
  submitLabel: string;
  /** In a dialog. */
  onCancel?: () => void;
}

/** Credentials, bucket, test. What fails is said at the step that failed, and the form stays as it is. */
export function StorageForm({ onDone, submitLabel, onCancel }: StorageFormProps) {
  const [place, setPlace] = useState<Place>(emptyPlace);
  const [saved, setSaved] = useState<Destination | null>(null);
  const [tested, setTested] = useState<Place | null>(null);
  const test = useAct('testStorageDestination');
  const { question, keep } = useLeaveQuestion(place);
  const check = (destination: Destination) => {
    keep(place);
    setSaved(destination);
    setTested(place);
    test.mutate(
      { params: { storageDestinationId: destination.id } },
      { onSuccess: (result) => result.ok && onDone(destination) },
    );
  };
  const create = useAct('createStorageDestination', { onDone: check });
  const update = useAct('updateStorageDestination', { onDone: check });
  const set = (change: Partial<Place>) => setPlace({ ...place, ...change });
  const error = create.error ?? update.error;
  const faults = fieldErrors(error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // A destination that failed its test stays: mending it changes what can be changed, the rest makes a new one.
    const changes = saved && changesOf(saved, place);
    if (changes) update.mutate({ params: { storageDestinationId: saved.id }, body: changes });
    else create.mutate({ body: requestOf(place) });
  };
  // What was found out is about what was tested, not about what the form says since.
  const isAsTested = tested === place;
  return (
    <>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <TypeChoice value={place.type} onChange={(type) => set({ type })} />
        {place.type === 'local' ? (
          <LocalFields place={place} set={set} faults={faults} />
        ) : (
          <BucketFields place={place} set={set} faults={faults} />
        )}
        {isAsTested && test.data && <TestSteps test={test.data} isNew />}
        {error && Object.keys(faults).length === 0 && <FormProblem error={error} />}
        {isAsTested && <FormProblem error={test.error} />}
        <FormButtons
          action={submitLabel}
          busy={create.isPending || update.isPending || test.isPending}
          onCancel={onCancel}
        >
          {isAsTested && saved && test.data && !test.data.ok && (
            <Button onClick={() => check(saved)} busy={test.isPending}>
              {t.storage.testAgain}
            </Button>
          )}
        </FormButtons>
      </form>
      {question}
    </>
  );
}

function TypeChoice({ value, onChange }: { value: StorageType; onChange: (type: StorageType) => void }) {
  const choice = (type: StorageType, icon: ReactNode) => ({
    value: type,
    title: t.storage.types[type],
    detail: t.storage.typeHints[type],
    icon,
  });
  const allowsFolders = useRead('getOrganization', {}).data?.allows.folders;
  const cloud = <Cloud size={17} aria-hidden />;
  return (
    <ChoiceCards
      label={t.storage.kind}
      name="type"
      value={value}
      onChange={onChange}
      choices={[
        choice('s3', cloud),
        choice('gcs', cloud),
        choice('spaces', cloud),
        ...(allowsFolders ? [choice('local', <Folder key="f" size={17} aria-hidden />)] : []),
      ]}
    />
  );
}

interface FieldsProps {
  place: Place;
  set: (change: Partial<Place>) => void;
  faults: Record<string, string>;
}

function LocalFields({ place, set, faults }: FieldsProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label={t.storage.name} name="name" error={faults.name}>
        <TextInput
          value={place.name}
          placeholder={t.storage.types.local}
          onChange={(event) => set({ name: event.target.value })}
        />
      </Field>
      <Field label={t.storage.path} name="path" hint={t.storage.pathHint} error={faults.path ?? faults.type}>
        <TextInput
          mono
          required
          value={place.path}
          placeholder="backups"
          onChange={(event) => set({ path: event.target.value })}
        />
      </Field>
    </div>
  );
}

function BucketFields({ place, set, faults }: FieldsProps) {
  const isGoogle = place.type === 'gcs';
  const buckets = useBuckets(place);
  const refused = (at: 'id' | 'secret') =>
    buckets.refusal?.at === at && <span className="text-fail">{buckets.refusal.words}</span>;
  return (
    <>
      {isGoogle ? (
        <KeyDrop
          value={place.serviceAccountKey}
          onChange={(serviceAccountKey: ServiceAccountKey | null) => set({ serviceAccountKey })}
          error={faults['credentials.serviceAccountKey']}
        />
      ) : (
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label={t.storage.accessKeyId}
            name="credentials.accessKeyId"
            hint={refused('id')}
            error={faults['credentials.accessKeyId']}
          >
            <TextInput
              mono
              required
              value={place.accessKeyId}
              onBlur={buckets.ask}
              onChange={(event) => set({ accessKeyId: event.target.value })}
            />
          </Field>
          <Field
            label={t.storage.secretAccessKey}
            name="credentials.secretAccessKey"
            hint={refused('secret')}
            error={faults['credentials.secretAccessKey']}
          >
            <TextInput
              mono
              type="password"
              autoComplete="new-password"
              required
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
      <LockFields place={place} set={set} />
      <details>
        <summary className="text-table font-medium text-ink2">{t.storage.more}</summary>
        <div className="mt-3 grid gap-4 sm:grid-cols-2">
          <Field label={t.storage.name} name="name" error={faults.name}>
            <TextInput
              value={place.name}
              placeholder={place.bucket || t.storage.types[place.type]}
              onChange={(event) => set({ name: event.target.value })}
            />
          </Field>
          {!isGoogle && (
            <Field label={t.storage.endpoint} name="endpoint" hint={t.storage.endpointHint} error={faults.endpoint}>
              <TextInput
                mono
                value={place.endpoint}
                onBlur={buckets.ask}
                placeholder="https://…"
                onChange={(event) => set({ endpoint: event.target.value })}
              />
            </Field>
          )}
          <Field label={t.storage.prefix} name="prefix" hint={t.storage.prefixHint} error={faults.prefix}>
            <TextInput mono value={place.prefix} onChange={(event) => set({ prefix: event.target.value })} />
          </Field>
          {!isGoogle && (
            <Checkbox
              label={t.storage.pathStyle}
              checked={place.pathStyle}
              onChange={(event) => set({ pathStyle: event.target.checked })}
            />
          )}
        </div>
      </details>
    </>
  );
}

function LockFields({ place, set }: Pick<FieldsProps, 'place' | 'set'>) {
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
