import type { BodyInput, Operations } from '@holdfast/contract';
import type { HoldfastError } from '@holdfast/contract/client';
import { useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Field, SelectInput, TextInput } from '../../components/field.tsx';
import { t } from '../../texts/index.ts';
import { type Place, requestOf } from './storage-request.ts';

type Question = BodyInput<Operations['listBuckets']>;

interface Refusal {
  readonly at: 'id' | 'secret';
  readonly words: string;
}

/** Loads the buckets that the key sees when a field loses the focus after a change. */
export function useBuckets(place: Place) {
  const list = useAct('listBuckets');
  const [asked, setAsked] = useState<Question>();
  const question = questionOf(place);
  const isAnswered = asked !== undefined && question !== undefined && keyOf(asked) === keyOf(question);
  const cause = (list.error?.details as { cause?: string } | undefined)?.cause ?? '';
  const refusals: Readonly<Record<string, Refusal>> = t.storage.keyRefused;
  const refusal = isAnswered ? refusals[cause] : undefined;
  const found = isAnswered ? list.data?.buckets : undefined;
  return {
    ask: () => {
      if (!question || found || JSON.stringify(asked) === JSON.stringify(question)) return;
      setAsked(question);
      list.mutate({ body: question });
    },
    found,
    refusal,
    trouble: isAnswered && list.error && !refusal ? troubleOf(list.error) : undefined,
  };
}

const troubleOf = ({ code }: HoldfastError) =>
  code === 'STORAGE_PERMISSION_DENIED' ? t.storage.bucketsUnseen : t.storage.bucketsUnreached;

/** Another region sees the same buckets, so the list stays. */
const keyOf = ({ region: _, ...rest }: Question & { region?: string | undefined }) => JSON.stringify(rest);

/** Without a key there is nothing to ask with. */
function questionOf(place: Place): Question | undefined {
  const hasKey =
    place.type === 'gcs' ? place.serviceAccountKey !== null : place.accessKeyId !== '' && place.secretAccessKey !== '';
  if (!hasKey) return undefined;
  const request = requestOf(place);
  if (request.type === 'local') return undefined;
  if (request.type === 'gcs') return { type: request.type, credentials: request.credentials };
  const { type, credentials, endpoint, region, forcePathStyle } = request;
  return {
    type,
    credentials,
    ...(endpoint ? { endpoint } : {}),
    ...(region ? { region } : {}),
    ...(forcePathStyle ? { forcePathStyle } : {}),
  };
}

export type Buckets = ReturnType<typeof useBuckets>;

interface BucketFieldProps {
  place: Place;
  set: (change: Partial<Place>) => void;
  fault: string | undefined;
  buckets: Buckets;
}

/** A select of visible buckets, or a text field if the key may not list them. */
export function BucketField({ place, set, fault, buckets }: BucketFieldProps) {
  const { found, ask } = buckets;
  const keyTrouble = place.type === 'gcs' ? buckets.refusal?.words : undefined;
  const isSeen = place.bucket === '' || found?.some(({ name }) => name === place.bucket);
  const hint = found ? t.storage.bucketsVisible(found.length) : (keyTrouble ?? buckets.trouble);
  return (
    <Field label={t.storage.bucket} name="bucket" hint={hint} error={fault}>
      {found && found.length > 0 ? (
        <SelectInput
          required
          value={place.bucket}
          onChange={(event) => {
            const region = found.find(({ name }) => name === event.target.value)?.region;
            set({ bucket: event.target.value, ...(region ? { region } : {}) });
          }}
        >
          <option value="" disabled />
          {!isSeen && <option value={place.bucket}>{t.storage.bucketUnseen(place.bucket)}</option>}
          {found.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </SelectInput>
      ) : (
        <TextInput
          mono
          required
          value={place.bucket}
          onFocus={ask}
          onChange={(event) => set({ bucket: event.target.value })}
        />
      )}
    </Field>
  );
}
