import type { DataOf, Operations } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct, useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Id } from '../../components/copy.tsx';
import { Field, SelectInput, TextInput } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { SaveRow } from '../../components/save-row.tsx';
import { Time } from '../../components/time.tsx';
import { differing } from '../../format/differing.ts';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';

export type OrganizationDetail = DataOf<Operations['getOrganization']>;
const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

export function General({ organization }: { organization: OrganizationDetail }) {
  const canEdit = useCan('admin');
  const { statistics } = organization;
  const words = t.settings.statistics;
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[1fr_360px]">
      {canEdit ? <Form organization={organization} /> : <Known organization={organization} />}
      <Panel title={words.title}>
        <Facts
          rows={[
            [words.owner, organization.owner.email],
            [words.members, formatCount(statistics.memberCount)],
            [words.projects, formatCount(statistics.projectCount)],
            [words.backups, formatCount(statistics.backupCount)],
            [words.stored, formatBytes(statistics.storageUsed)],
            [words.created, <Time key="c" at={organization.createdAt} as="age" />],
            [words.id, <Id key="i" id={organization.id} />],
          ]}
        />
      </Panel>
    </div>
  );
}

/** The settings, read-only. */
function Known({ organization }: { organization: OrganizationDetail }) {
  const destinations = useAll('listStorageDestinations', {}).rows;
  const { timezone, defaultStorageId } = organization.settings;
  return (
    <Panel>
      <Facts
        rows={[
          [t.settings.name, organization.name],
          [t.settings.timezone, timezone],
          [t.settings.defaultStorage, destinations?.find(({ id }) => id === defaultStorageId)?.name ?? t.common.none],
        ]}
      />
    </Panel>
  );
}

/** The values of the fields as text. */
interface Values {
  readonly name: string;
  readonly timezone: string;
  /** Empty: no default. */
  readonly storage: string;
}

type Stored = Pick<OrganizationDetail, 'name' | 'settings' | 'updatedAt'>;

const valuesOf = ({ name, settings }: Stored): Values => ({
  name,
  timezone: settings.timezone,
  storage: settings.defaultStorageId ?? '',
});

/** Sends only edited fields; what a colleague changed meanwhile stays. */
const bodyOf = ({ name, timezone, storage }: Partial<Values>) => ({
  ...(name === undefined ? {} : { name }),
  settings: {
    ...(timezone === undefined ? {} : { timezone }),
    ...(storage === undefined ? {} : { defaultStorageId: storage || null }),
  },
});

function Form({ organization }: { organization: OrganizationDetail }) {
  const [typed, setTyped] = useState<Partial<Values>>({});
  const [answered, setAnswered] = useState<Stored>(organization);
  const stored = valuesOf(answered.updatedAt > organization.updatedAt ? answered : organization);
  const { name, timezone, storage } = { ...stored, ...typed };
  const type = (values: Partial<Values>) => setTyped((former) => ({ ...former, ...values }));
  const destinations = useAll('listStorageDestinations', {}).rows ?? [];
  const { question } = useLeaveQuestion(differing<Values>(typed, stored));
  const save = useAct('updateOrganization');
  const faults = fieldErrors(save.error, ['name', 'settings.timezone', 'settings.defaultStorageId']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const onSuccess = (answer: Stored) => {
      setAnswered(answer);
      // Input typed during the save is still unsaved.
      setTyped((latest) => differing<Values>(latest, typed));
    };
    save.mutate({ body: bodyOf(typed) }, { onSuccess });
  };
  return (
    <Panel>
      <form onSubmit={submit} className="flex max-w-xl flex-col gap-4">
        <Field label={t.settings.name} name="name" error={faults.name}>
          <TextInput required maxLength={100} value={name} onChange={(event) => type({ name: event.target.value })} />
        </Field>
        <Field
          label={t.settings.timezone}
          name="settings.timezone"
          hint={t.settings.timezoneHint}
          error={faults['settings.timezone']}
        >
          <SelectInput value={timezone} onChange={(event) => type({ timezone: event.target.value })}>
            {(zones.includes(timezone) ? zones : [timezone, ...zones]).map((zone) => (
              <option key={zone}>{zone}</option>
            ))}
          </SelectInput>
        </Field>
        <Field
          label={t.settings.defaultStorage}
          name="settings.defaultStorageId"
          error={faults['settings.defaultStorageId']}
        >
          <SelectInput value={storage} onChange={(event) => type({ storage: event.target.value })}>
            <option value="">{t.settings.noDefault}</option>
            {destinations.map(({ id, name: label }) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </SelectInput>
        </Field>
        <SaveRow save={save} faults={faults} />
      </form>
      {question}
    </Panel>
  );
}
