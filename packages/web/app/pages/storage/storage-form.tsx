import type { ItemOf, Operations } from '@holdfast/contract';
import { Cloud, Folder } from 'lucide-react';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { ChoiceCards, Field, TextInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { FormProblem } from '../../components/states.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useBuckets } from './bucket-field.tsx';
import { BucketFields, type FieldsProps, LockFields, MoreFields } from './place-fields.tsx';
import { changesOf, emptyPlace, type Place, placedFaults, requestOf, type StorageType } from './storage-request.ts';
import { TestSteps } from './test-steps.tsx';

export type Destination = ItemOf<Operations['listStorageDestinations']>;

interface StorageFormProps {
  onDone: (destination: Destination) => void;
  submitLabel: string;
  /** Closes the dialog; absent on a page. */
  onCancel?: () => void;
}

/** The form of a destination: credentials, bucket, test. A failed step says what to change, and the form stays. */
export function StorageForm({ onDone, submitLabel, onCancel }: StorageFormProps) {
  const [place, setPlace] = useState<Place>(emptyPlace);
  const [saved, setSaved] = useState<Destination | null>(null);
  const [tested, setTested] = useState<Place | null>(null);
  const test = useAct('testStorageDestination');
  const buckets = useBuckets(place);
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
  const faults = fieldErrors(error, placedFaults[place.type]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // A destination that failed its test stays: saving again changes it where possible, else creates another.
    const changes = saved && changesOf(saved, place);
    if (changes) update.mutate({ params: { storageDestinationId: saved.id }, body: changes });
    else create.mutate({ body: requestOf(place) });
  };
  // The result belongs to the tested values; hide it once they were edited.
  const isAsTested = tested === place;
  return (
    <>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <TypeChoice value={place.type} onChange={(type) => set({ type })} />
        {place.type === 'local' ? (
          <LocalFields place={place} set={set} faults={faults} />
        ) : (
          <>
            <BucketFields place={place} set={set} faults={faults} buckets={buckets} needsKey />
            <LockFields place={place} set={set} />
            <MoreFields place={place} set={set} faults={faults} buckets={buckets}>
              <Field label={t.storage.name} name="name" error={faults.name}>
                <TextInput
                  value={place.name}
                  placeholder={place.bucket || t.storage.types[place.type]}
                  onChange={(event) => set({ name: event.target.value })}
                />
              </Field>
              <Field label={t.storage.prefix} name="prefix" hint={t.storage.prefixHint} error={faults.prefix}>
                <TextInput mono value={place.prefix} onChange={(event) => set({ prefix: event.target.value })} />
              </Field>
            </MoreFields>
          </>
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
