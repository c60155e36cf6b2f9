import { type ItemOf, type Operations, pathOf } from '@holdfast/contract';
import { Cloud, FileKey, FlaskConical } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useAct, useAll, useRead } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { ChoiceCards, Field, SelectInput, TextInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { FormProblem, Problem, Skeleton } from '../../components/states.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { KeyDrop, type ServiceAccountKey } from './key-drop.tsx';

export type Project = ItemOf<Operations['listProjects']>;
type Way = 'oauth' | 'key' | 'emulator';
type Body = Parameters<ReturnType<typeof useAct<'createProject'>>['mutate']>[0]['body'];

/** Input is kept when another way is selected. */
interface Values {
  readonly key: ServiceAccountKey | null;
  readonly host: string;
  readonly source: string;
  readonly name: string;
  readonly database: string;
  /** A project that the consent can see. */
  readonly seen: { readonly source: string; readonly database: string };
}

const emptyValues: Values = {
  key: null,
  host: '127.0.0.1:8080',
  source: '',
  name: '',
  database: '(default)',
  seen: { source: '', database: '' },
};

const placedFaults: Readonly<Record<Way, readonly string[]>> = {
  key: ['connection.key', 'name', 'databaseId'],
  oauth: ['sourceProjectId', 'name', 'databaseId'],
  emulator: ['connection.host', 'connection', 'sourceProjectId', 'name', 'databaseId'],
};

interface ConnectFormProps {
  onDone: (project: Project) => void;
  /** Closes the dialog; absent on a page. */
  onCancel?: () => void;
}

/** Connects a project in one of three ways. The service checks the connection before it answers. */
export function ConnectForm({ onDone, onCancel }: ConnectFormProps) {
  const [way, setWay] = useState<Way>('key');
  const [values, setValues] = useState(emptyValues);
  const { question, keep } = useLeaveQuestion(values);
  const connect = useAct('createProject', {
    onDone: (project) => {
      keep(values);
      onDone(project);
    },
  });
  const form: WayProps = {
    values,
    set: (change) => setValues((former) => ({ ...former, ...change })),
    send: (body) => connect.mutate({ body }),
    busy: connect.isPending,
    faults: fieldErrors(connect.error, placedFaults[way]),
    onCancel,
  };
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
      {question}
    </div>
  );
}

interface WayProps {
  values: Values;
  set: (change: Partial<Values>) => void;
  send: (body: Body) => void;
  busy: boolean;
  faults: Record<string, string>;
  onCancel: (() => void) | undefined;
}

function ByKey({ values, set, send, busy, faults, onCancel }: WayProps) {
  const { key, name, database } = values;
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
      <KeyDrop value={key} onChange={(read) => set({ key: read })} error={faults['connection.key']} />
      <Names values={values} set={set} placeholder={key?.project_id} faults={faults} />
      <FormButtons action={t.projects.connectButton} busy={busy} disabled={!key} onCancel={onCancel} />
    </form>
  );
}

function ByEmulator({ values, set, send, busy, faults, onCancel }: WayProps) {
  const { host, source, name, database } = values;
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
          <TextInput mono required value={host} onChange={(event) => set({ host: event.target.value })} />
        </Field>
        <Field label={t.projects.sourceId} name="sourceProjectId" error={faults.sourceProjectId}>
          <TextInput mono required value={source} onChange={(event) => set({ source: event.target.value })} />
        </Field>
      </div>
      <Names values={values} set={set} placeholder={source} faults={faults} />
      <FormButtons action={t.projects.connectButton} busy={busy} onCancel={onCancel} />
    </form>
  );
}

function ByConsent({ values: { name, seen }, set, send, busy, faults, onCancel }: WayProps) {
  const available = useAll('listAvailableProjects', {}, { everyMs: false });
  const chosen = available.rows?.find(({ sourceProjectId }) => sourceProjectId === seen.source) ?? available.rows?.[0];
  const databases = chosen?.databases.filter(({ connected }) => !connected) ?? [];
  // The chosen database belongs to the project chosen before.
  const databaseId =
    databases.find((one) => one.databaseId === seen.database)?.databaseId ?? databases[0]?.databaseId ?? '';
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
          <SelectInput
            value={chosen.sourceProjectId}
            onChange={(event) => set({ seen: { ...seen, source: event.target.value } })}
          >
            {available.rows?.map((project) => (
              <option key={project.sourceProjectId} value={project.sourceProjectId}>
                {project.name}
              </option>
            ))}
          </SelectInput>
        </Field>
        <Field label={t.projects.pickDatabase} name="databaseId" error={faults.databaseId}>
          <SelectInput
            value={databaseId}
            onChange={(event) => set({ seen: { ...seen, database: event.target.value } })}
          >
            {databases.map(({ databaseId: id, location }) => (
              <option key={id} value={id}>
                {[id, location].filter(Boolean).join(' · ')}
              </option>
            ))}
          </SelectInput>
        </Field>
      </div>
      <Field label={t.common.name} name="name" error={faults.name}>
        <TextInput value={name} placeholder={chosen.name} onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <FormButtons
        action={t.projects.connectButton}
        busy={busy}
        disabled={databases.length === 0}
        onCancel={onCancel}
      />
    </form>
  );
}

interface NamesProps extends Pick<WayProps, 'values' | 'set' | 'faults'> {
  placeholder: string | undefined;
}

function Names({ values: { name, database }, set, placeholder, faults }: NamesProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label={t.common.name} name="name" error={faults.name}>
        <TextInput
          value={name}
          placeholder={placeholder}
          onChange={(event) => set({ name: event.target.value })}
          maxLength={100}
        />
      </Field>
      <Field label={t.projects.databaseId} name="databaseId" error={faults.databaseId}>
        <TextInput mono required value={database} onChange={(event) => set({ database: event.target.value })} />
      </Field>
    </div>
  );
}
