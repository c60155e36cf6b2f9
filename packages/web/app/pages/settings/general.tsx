import type { DataOf, Operations } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct, useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Id } from '../../components/copy.tsx';
import { Field, SelectInput, TextInput } from '../../components/field.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { SaveRow } from '../../components/save-row.tsx';
import { Time } from '../../components/time.tsx';
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

/** What admins may change, for those who may read it. */
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

function Form({ organization }: { organization: OrganizationDetail }) {
  const [name, setName] = useState(organization.name);
  const [timezone, setTimezone] = useState(organization.settings.timezone);
  const [storage, setStorage] = useState(organization.settings.defaultStorageId ?? '');
  const destinations = useAll('listStorageDestinations', {}).rows ?? [];
  const save = useAct('updateOrganization');
  const faults = fieldErrors(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ body: { name, settings: { timezone, defaultStorageId: storage || null } } });
  };
  return (
    <Panel>
      <form onSubmit={submit} className="flex max-w-xl flex-col gap-4">
        <Field label={t.settings.name} name="name" error={faults.name}>
          <TextInput required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field
          label={t.settings.timezone}
          name="settings.timezone"
          hint={t.settings.timezoneHint}
          error={faults['settings.timezone']}
        >
          <SelectInput value={timezone} onChange={(event) => setTimezone(event.target.value)}>
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
          <SelectInput value={storage} onChange={(event) => setStorage(event.target.value)}>
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
    </Panel>
  );
}
