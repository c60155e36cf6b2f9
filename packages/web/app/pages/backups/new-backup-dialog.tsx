import { type FormEvent, useEffect, useState } from 'react';
import { useAct, useAll } from '../../api/calls.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Field, NamedOptions, SelectInput, TextInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { FormProblem } from '../../components/states.tsx';
import { namesOfLine } from '../../format/names.ts';
import { formatAboutMoney, formatCount, formatDuration } from '../../format/numbers.ts';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useGo, usePaths } from '../../url.ts';
import { DestinationField } from '../storage/destination-field.tsx';

interface NewBackupProps {
  /** The id of the preselected project; another value selects none. */
  projectId: string;
  onClose: () => void;
}

export function NewBackupDialog({ projectId, onClose }: NewBackupProps) {
  const projects = useAll('listProjects', {}).rows ?? [];
  const destinations = useAll('listStorageDestinations', {}).rows ?? [];
  const [project, setProject] = useState(projectId === '1' ? '' : projectId);
  const [type, setType] = useState<'full' | 'incremental'>('full');
  const [destination, setDestination] = useState('');
  const [collections, setCollections] = useState('');
  const chosen = project || projects[0]?.id || '';
  const go = useGo();
  const paths = usePaths();
  const values = { project, type, destination, collections };
  const { question, keep } = useLeaveQuestion(values);
  const create = useAct('createBackup', {
    onDone: (made) => {
      keep(values);
      if ('id' in made) go(paths.backup(made.id));
    },
  });
  const faults = fieldErrors(create.error, ['projectId', 'type', 'storageDestinationId', 'collections']);
  const names = namesOfLine(collections);
  const scope = {
    projectId: chosen,
    ...(names.length > 0 ? { collections: names } : {}),
    ...(destination ? { storageDestinationId: destination } : {}),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate({ body: { ...scope, type } });
  };
  return (
    <Dialog title={t.backups.newTitle} onClose={onClose}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label={t.backups.project} name="projectId" error={faults.projectId}>
          <SelectInput value={chosen} onChange={(event) => setProject(event.target.value)}>
            <NamedOptions of={projects} />
          </SelectInput>
        </Field>
        <Field label={t.backups.type} name="type" error={faults.type}>
          <SelectInput value={type} onChange={(event) => setType(event.target.value as typeof type)}>
            <option value="full">{t.backups.typeFull}</option>
            <option value="incremental">{t.backups.typeIncrement}</option>
          </SelectInput>
        </Field>
        <DestinationField
          of={destinations}
          value={destination}
          onChange={setDestination}
          error={faults.storageDestinationId}
        />
        <Field
          label={t.backups.collections}
          name="collections"
          hint={t.backups.collectionsHint}
          error={faults.collections}
        >
          <TextInput mono value={collections} onChange={(event) => setCollections(event.target.value)} />
        </Field>
        {chosen && type === 'full' && (
          <Estimate key={`${chosen} ${names.join()}`} projectId={chosen} collections={names} />
        )}
        {create.error && Object.keys(faults).length === 0 && <FormProblem error={create.error} />}
        <FormButtons action={t.backups.startIt} busy={create.isPending} disabled={chosen === ''} onCancel={onClose} />
      </form>
      {question}
    </Dialog>
  );
}

/** The dry-run estimate. */
function Estimate({ projectId, collections }: { projectId: string; collections: readonly string[] }) {
  const dryRun = useAct('createBackup');
  const { mutate } = dryRun;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key of this piece names what it counts
  useEffect(() => {
    const timer = setTimeout(
      () =>
        mutate({
          body: { projectId, dryRun: true, ...(collections.length > 0 ? { collections: [...collections] } : {}) },
        }),
      400,
    );
    return () => clearTimeout(timer);
  }, []);
  if (dryRun.error) return null;
  const found = dryRun.data && 'dryRun' in dryRun.data ? dryRun.data : undefined;
  return (
    <p className="text-table text-ink2" role="status">
      {found
        ? t.backups.estimate(
            formatCount(found.estimatedReads),
            formatAboutMoney(found.estimatedCost),
            formatDuration(found.estimatedDurationSeconds * 1000),
          )
        : t.backups.estimating}
    </p>
  );
}
