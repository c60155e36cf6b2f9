import { importSources } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct, useAll } from '../../api/calls.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Field, NamedOptions, SelectInput, TextInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { FormProblem } from '../../components/states.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useGo, usePaths } from '../../url.ts';

type Source = (typeof importSources)[number];
const examples: Readonly<Record<Source, string>> = {
  holdfast: 'backups/bkp_01K9ZQ3V5T0HNB6E',
  'firestore-export': '2025-11-18T02:00:04_81234',
  json: 'exports/shop.json',
  ndjson: 'exports/shop.ndjson',
};
/** A relative path below the destination, without `..`. */
const pathPattern = String.raw`(?!/)(?!.*://)(?!(?:.*/)?\.\.(?:/|$)).+`;

export function ImportDialog({ onClose }: { onClose: () => void }) {
  const projects = useAll('listProjects', {}).rows ?? [];
  const destinations = useAll('listStorageDestinations', {}).rows ?? [];
  const [project, setProject] = useState('');
  const [destination, setDestination] = useState('');
  const [source, setSource] = useState<Source>('firestore-export');
  const [path, setPath] = useState('');
  const go = useGo();
  const paths = usePaths();
  const values = { project, destination, source, path };
  const { question, keep } = useLeaveQuestion(values);
  const send = useAct('importBackup', {
    onDone: (made) => {
      keep(values);
      go(paths.backup(made.id));
    },
  });
  const faults = fieldErrors(send.error, ['projectId', 'storageDestinationId', 'path']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send.mutate({
      body: {
        projectId: project || projects[0]?.id || '',
        storageDestinationId: destination || destinations[0]?.id || '',
        path,
        metadata: { source },
      },
    });
  };
  return (
    <Dialog title={t.backups.importTitle} onClose={onClose}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label={t.backups.importSource}>
          <SelectInput value={source} onChange={(event) => setSource(event.target.value as typeof source)}>
            {importSources.map((value) => (
              <option key={value} value={value}>
                {t.backups.importSources[value]}
              </option>
            ))}
          </SelectInput>
        </Field>
        <Field label={t.backups.project} error={faults.projectId}>
          <SelectInput value={project} onChange={(event) => setProject(event.target.value)}>
            <NamedOptions of={projects} />
          </SelectInput>
        </Field>
        <Field label={t.backups.importFrom} error={faults.storageDestinationId}>
          <SelectInput value={destination} onChange={(event) => setDestination(event.target.value)}>
            <NamedOptions of={destinations} />
          </SelectInput>
        </Field>
        <Field label={t.backups.importPath} hint={t.backups.importPathHints[source]} error={faults.path}>
          <TextInput
            mono
            required
            pattern={pathPattern}
            title={t.backups.importPathRule}
            placeholder={examples[source]}
            value={path}
            onChange={(event) => setPath(event.target.value)}
          />
        </Field>
        {send.error && Object.keys(faults).length === 0 && <FormProblem error={send.error} />}
        <FormButtons action={t.backups.importIt} busy={send.isPending} onCancel={onClose} />
      </form>
      {question}
    </Dialog>
  );
}
