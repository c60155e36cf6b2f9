import { type FormEvent, useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Field, TextInput } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Panel } from '../../components/panel.tsx';
import { SaveRow } from '../../components/save-row.tsx';
import { differing } from '../../format/differing.ts';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useBuckets } from './bucket-field.tsx';
import { BucketFields, LockFields, MoreFields } from './place-fields.tsx';
import type { Destination } from './storage-form.tsx';
import { editsOf, isElsewhere, type Place, placedFaults, placeOf } from './storage-request.ts';

/** Name, key and address; changes are checked at once. Each field shows the saved value until it is edited. */
export function DestinationSettings({ destination }: { destination: Destination }) {
  const [typed, setTyped] = useState<Partial<Place>>({});
  const [answered, setAnswered] = useState(destination);
  const saved = placeOf(answered.updatedAt > destination.updatedAt ? answered : destination);
  const place = { ...saved, ...typed };
  const set = (change: Partial<Place>) => setTyped((former) => ({ ...former, ...change }));
  const buckets = useBuckets(place);
  const { question } = useLeaveQuestion(differing<Place>(typed, saved));
  const save = useAct('updateStorageDestination');
  const faults = fieldErrors(save.error, placedFaults[destination.type]);
  const moves = isElsewhere(saved, place);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(
      { params: { storageDestinationId: destination.id }, body: editsOf(saved, place) },
      {
        onSuccess: (answer) => {
          setAnswered(answer);
          setTyped((latest) => differing<Place>(latest, typed));
        },
      },
    );
  };
  const fields = { place, set, faults, buckets };
  return (
    <Panel title={t.storage.settings} aside={destination.type === 'local' ? undefined : t.storage.credentialsHint}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label={t.storage.name} name="name" error={faults.name}>
          <TextInput
            required
            maxLength={100}
            value={place.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        </Field>
        {destination.type !== 'local' && (
          <>
            <BucketFields {...fields} needsKey={moves} keyHint={moves ? t.storage.keyAgain : t.storage.keyStays} />
            {moves && destination.usage.backups > 0 && (
              <p className="text-table text-risk">{t.storage.holdsElsewhere(destination.usage.backups)}</p>
            )}
            <LockFields place={place} set={set} />
            <MoreFields {...fields} />
          </>
        )}
        <SaveRow save={save} faults={faults} kind="secondary" />
      </form>
      {question}
    </Panel>
  );
}
