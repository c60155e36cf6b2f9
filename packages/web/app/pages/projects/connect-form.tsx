import { type ItemOf, type Operations, pathOf } from '@holdfast/contract';
import { Cloud, FileKey, FlaskConical } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useAct, useAll, useRead } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { ChoiceCards, Field, SelectInput, TextInput } from '../../components/field.tsx';
import { FormProblem, Problem, Skeleton } from '../../components/states.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { KeyDrop, type ServiceAccountKey } from './key-drop.tsx';

export type Project = ItemOf<Operations['listProjects']>;
type Way = 'oauth' | 'key' | 'emulator';
type Body = Parameters<ReturnType<typeof useAct<'createProject'>>['mutate']>[0]['body'];

/** Connects a project in one of three ways. The service checks the connection before it answers. */
export function ConnectForm({ onDone }: { onDone: (project: Project) => void }) {
  const [way, setWay] = useState<Way>('key');
  const connect = useAct('createProject', { onDone });
  const send = (body: Body) => connect.mutate({ body });
  const form = { send, busy: connect.isPending, faults: fieldErrors(connect.error) };
  const { ways } = t.projects;
  const allows = useRead('getOrganization', {}).data?.allows;
  return (
    <div className="flex flex-col gap-4">
      <ChoiceCards
        label={ways.label}
        name="way"
        value={way}
        onChange={(next) => {
          connect.reset();
          setWay(next);
        }}
        columns="grid-cols-1 sm:grid-cols-3"
        choices={[
          { value: 'key', title: ways.key, detail: ways.keyHint, icon: <FileKey size={17} aria-hidden /> },
          ...(allows?.googleConsent
            ? [
                {
                  value: 'oauth' as const,
                  title: ways.oauth,
                  detail: ways.oauthHint,
                  icon: <Cloud size={17} aria-hidden />,
                },
              ]
            : []),
          ...(allows?.emulators
            ? [
                {
                  value: 'emulator' as const,
                  title: ways.emulator,
                  detail: ways.emulatorHint,
                  icon: <FlaskConical size={17} aria-hidden />,
                },
              ]
            : []),
        ]}
      />
      {way === 'key' && <ByKey {...form} />}
      {way === 'oauth' && <ByConsent {...form} />}
      {way === 'emulator' && <ByEmulator {...form} />}
      {connect.error && Object.keys(form.faults).length === 0 && <FormProblem error={connect.error} />}
    </div>
  );
}

interface WayProps {
  send: (body: Body) => void;
  busy: boolean;
  faults: Record<string, string>;
}

function ByKey({ send, busy, faults }: WayProps) {
  const [key, setKey] = useState<ServiceAccountKey | null>(null);
  const [name, setName] = useState('');
  const [database, setDatabase] = useState('(default)');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!key) return;
    send({
      name: name || key.project_id,
      sourceProjectId: key.project_id,
      databaseId: database,
      connection: { type: 'service_account', key: { ...key } },
    });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <KeyDrop value={key} onChange={setKey} error={faults['connection.key']} />
      <Names
        name={name}
        setName={setName}
        placeholder={key?.project_id}
        database={database}
        setDatabase={setDatabase}
        faults={faults}
      />
      <Submit busy={busy} disabled={!key} />
    </form>
  );
}

function ByEmulator({ send, busy, faults }: WayProps) {
  const [host, setHost] = useState('127.0.0.1:8080');
  const [source, setSource] = useState('');
  const [name, setName] = useState('');
  const [database, setDatabase] = useState('(default)');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send({
      name: name || source,
      sourceProjectId: source,
      databaseId: database,
      connection: { type: 'emulator', host },
    });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t.projects.host} name="connection.host" error={faults['connection.host'] ?? faults.connection}>
          <TextInput mono required value={host} onChange={(event) => setHost(event.target.value)} />
        </Field>
        <Field label={t.projects.sourceId} name="sourceProjectId" error={faults.sourceProjectId}>
          <TextInput mono required value={source} onChange={(event) => setSource(event.target.value)} />
        </Field>
      </div>
      <Names
        name={name}
        setName={setName}
        placeholder={source}
        database={database}
        setDatabase={setDatabase}
        faults={faults}
      />
      <Submit busy={busy} />
    </form>
  );
}

function ByConsent({ send, busy, faults }: WayProps) {
  const available = useAll('listAvailableProjects', {}, { everyMs: false });
  const [source, setSource] = useState('');
  const [database, setDatabase] = useState('');
  const [name, setName] = useState('');
  const chosen = available.rows?.find(({ sourceProjectId }) => sourceProjectId === source) ?? available.rows?.[0];
  const databases = chosen?.databases.filter(({ connected }) => !connected) ?? [];
  // What was chosen of one project is none of another's.
  const databaseId = databases.find((one) => one.databaseId === database)?.databaseId ?? databases[0]?.databaseId ?? '';
  if (available.isLoading) return <Skeleton rows={2} />;
  if (available.error && available.error.code !== 'SOURCE_AUTH_ERROR')
    return <Problem error={available.error} onRetry={() => void available.refetch()} />;
  if (!chosen)
    return (
      <div className="flex flex-col items-start gap-3">
        <p className="text-table text-ink2">{available.rows ? t.projects.noneVisible : t.projects.consentText}</p>
        <Button icon={Cloud} onClick={() => window.location.assign(pathOf('startSignIn'))}>
          {t.projects.consent}
        </Button>
      </div>
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send({
      name: name || chosen.name,
      sourceProjectId: chosen.sourceProjectId,
      databaseId,
      connection: { type: 'oauth' },
    });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t.projects.pickProject} name="sourceProjectId" error={faults.sourceProjectId}>
          <SelectInput value={chosen.sourceProjectId} onChange={(event) => setSource(event.target.value)}>
            {available.rows?.map((project) => (
              <option key={project.sourceProjectId} value={project.sourceProjectId}>
                {project.name}
              </option>
            ))}
          </SelectInput>
        </Field>
        <Field label={t.projects.pickDatabase} name="databaseId" error={faults.databaseId}>
          <SelectInput value={databaseId} onChange={(event) => setDatabase(event.target.value)}>
            {databases.map(({ databaseId: id, location }) => (
              <option key={id} value={id}>
                {[id, location].filter(Boolean).join(' · ')}
              </option>
            ))}
          </SelectInput>
        </Field>
      </div>
      <Field label={t.common.name} name="name" error={faults.name}>
        <TextInput value={name} placeholder={chosen.name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Submit busy={busy} disabled={databases.length === 0} />
    </form>
  );
}

interface NamesProps {
  name: string;
  setName: (name: string) => void;
  placeholder: string | undefined;
  database: string;
  setDatabase: (database: string) => void;
  faults: Record<string, string>;
}

function Names({ name, setName, placeholder, database, setDatabase, faults }: NamesProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label={t.common.name} name="name" error={faults.name}>
        <TextInput
          value={name}
          placeholder={placeholder}
          onChange={(event) => setName(event.target.value)}
          maxLength={100}
        />
      </Field>
      <Field label={t.projects.databaseId} name="databaseId" error={faults.databaseId}>
        <TextInput mono required value={database} onChange={(event) => setDatabase(event.target.value)} />
      </Field>
    </div>
  );
}

function Submit({ busy, disabled }: { busy: boolean; disabled?: boolean }) {
  return (
    <div>
      <Button kind="primary" type="submit" busy={busy} disabled={disabled ?? false}>
        {t.projects.connectButton}
      </Button>
    </div>
  );
}
