import type { Backup } from '@holdfast/contract';
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { useAll, useGrowing, useRead } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { Checkbox, ChoiceCards, Field, NamedOptions, SelectInput, TextArea } from '../../components/field.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { formatDateTime } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';
import { momentOf, typeName } from '../backups/shared.tsx';
import { NoProject } from '../projects/no-project.tsx';
import { CollectionPicker, collectionsMax } from './collection-picker.tsx';
import { lines, type MergeMode, type Plan } from './plan.ts';
import type { PlanWords } from './plan-words.ts';

/** How an answer changes the address. */
export type Change = Record<string, string | undefined>;

interface StepProps {
  plan: Plan;
  onDone: (change?: Change) => void;
}

function Heading({ title }: { title: string }) {
  return <h2 className="mb-5 text-page font-semibold">{title}</h2>;
}

function Continue({ onDone, disabled }: { onDone: () => void; disabled?: boolean }) {
  return (
    <div className="mt-6">
      <Button kind="primary" onClick={onDone} disabled={disabled ?? false}>
        {t.newRestore.continue}
      </Button>
    </div>
  );
}

/** The size of a backup, and its warnings. */
function contentsOf(backup: Backup): string[] {
  const isPart = backup.collections.join() !== '*' || backup.excludeCollections.length > 0;
  return [
    t.newRestore.documentsIn(backup.documentCount ?? 0),
    ...(isPart ? [t.newRestore.isPart] : []),
    ...(backup.verification?.status === 'failed' ? [t.backups.verifyFailed] : []),
  ];
}

export function WhatStep({ plan, onDone }: StepProps) {
  const [, setSearch] = useSearch();
  const zone = useZone();
  const paths = usePaths();
  const projects = useAll('listProjects', {});
  const backup = useRead(
    'getBackup',
    { params: { backupId: plan.backupId ?? '' } },
    { enabled: plan.backupId !== undefined, everyMs: false },
  );
  const projectId = plan.projectId ?? backup.data?.projectId ?? projects.rows?.[0]?.id ?? '';
  const backups = useAll(
    'listBackups',
    { query: { projectId, status: 'completed' } },
    { enabled: projectId !== '', everyMs: false },
  );
  const choose = (change: Change) =>
    setSearch(
      {
        at: undefined,
        basket: undefined,
        collections: undefined,
        document: undefined,
        documents: undefined,
        below: undefined,
        version: undefined,
        step: 'what',
        ...change,
      },
      { replace: true },
    );
  if (projects.error) return <Problem error={projects.error} onRetry={() => void projects.refetch()} />;
  if (!projects.rows) return <Skeleton />;
  if (projects.rows.length === 0) return <NoProject icon={RotateCcw}>{t.newRestore.noBackups}</NoProject>;
  return (
    <div className="max-w-xl">
      <Heading title={t.newRestore.questions.what} />
      <div className="flex flex-col gap-4">
        <Field label={t.newRestore.chooseProject}>
          <SelectInput
            value={projectId}
            onChange={(event) => choose({ projectId: event.target.value, backupId: undefined })}
          >
            {!projects.rows.some(({ id }) => id === projectId) && (
              <option value={projectId}>{t.overview.formerProject}</option>
            )}
            <NamedOptions of={projects.rows} />
          </SelectInput>
        </Field>
        {plan.at !== undefined && (
          <p className="text-table">
            {t.newRestore.moment} <b className="font-medium">{formatDateTime(plan.at, zone)}</b>
          </p>
        )}
        {backups.rows?.length === 0 && <p className="text-table text-ink2">{t.newRestore.noBackups}</p>}
        {backups.rows && backups.rows.length > 0 && (
          <Field label={t.newRestore.chooseBackup}>
            <SelectInput
              value={plan.backupId ?? ''}
              onChange={(event) => choose({ projectId: undefined, backupId: event.target.value || undefined })}
            >
              <option value="">{t.newRestore.noBackupChosen}</option>
              {backups.rows.map((one) => (
                <option key={one.id} value={one.id}>
                  {[formatDateTime(momentOf(one), zone), typeName(one), ...contentsOf(one)].join(' · ')}
                </option>
              ))}
            </SelectInput>
          </Field>
        )}
        {projects.rows.find(({ id }) => id === projectId)?.pitr.coveredFrom && (
          <p className="text-table">
            <TextLink to={paths.time(projectId, plan.at)}>{t.newRestore.chooseMoment}</TextLink>
          </p>
        )}
      </div>
      <Continue onDone={() => onDone()} disabled={!plan.backupId && !plan.at && !plan.isBasket} />
    </div>
  );
}

/** A document path has an even number of segments. */
const isDocumentPath = (path: string) => path.split('/').length % 2 === 0 && path.split('/').every(Boolean);

type Which = 'all' | 'some' | 'docs';

export function WhichStep({ plan, onDone }: StepProps) {
  const [which, setWhich] = useState<Which>(
    plan.documents.length > 0 ? 'docs' : plan.collections.length > 0 ? 'some' : 'all',
  );
  const [given] = useState(() => plan.documents.join('\n'));
  const [documents, setDocuments] = useState(given);
  const [noPath, setNoPath] = useState<string>();
  const [below, setBelow] = useState(plan.below);
  const [, setSearch] = useSearch();
  const inBackup = useGrowing(
    'listBackupCollections',
    { params: { backupId: plan.backupId ?? '' } },
    { enabled: plan.backupId !== undefined },
  );
  const asOfThen = useGrowing(
    'viewPitrCollections',
    { params: { projectId: plan.projectId ?? '' }, query: { at: plan.at ?? '' } },
    { enabled: plan.at !== undefined && plan.projectId !== undefined },
  );
  const tree = plan.at === undefined ? inBackup : asOfThen;
  const backup = useRead(
    'getBackup',
    { params: { backupId: plan.backupId ?? '' } },
    { enabled: plan.backupId !== undefined && plan.at === undefined, everyMs: false },
  );
  const whole = backup.data?.documentCount ?? null;
  const [chosen, setChosen] = useState<readonly string[]>(plan.collections);
  const answerOf = (now: { which: Which; chosen: readonly string[]; documents: string; below: boolean }): Change => ({
    collections: now.which === 'some' ? now.chosen.join('\n') : undefined,
    below: now.which === 'docs' && now.below ? '1' : undefined,
    ...(now.which === 'docs'
      ? { extra: undefined, ...(now.documents === given ? {} : { document: undefined, documents: now.documents }) }
      : { document: undefined, documents: undefined }),
  });
  // Replaces the history entry of this step, so that Back finds the choice.
  const keep = (change: Partial<Parameters<typeof answerOf>[0]>) =>
    void setSearch({ ...answerOf({ which, chosen, documents, below, ...change }), step: 'which' }, { replace: true });
  const go = () => {
    // Text from the address may hold a line break.
    const isTyped = which === 'docs' && documents !== given;
    const wrong = isTyped ? lines(documents).find((path) => !isDocumentPath(path)) : undefined;
    setNoPath(wrong);
    if (wrong === undefined) onDone(answerOf({ which, chosen, documents, below }));
  };
  return (
    <div className="max-w-xl">
      <Heading title={t.newRestore.questions.which} />
      <ChoiceCards
        label={t.newRestore.questions.which}
        name="which"
        columns="grid-cols-1 sm:grid-cols-3"
        value={which}
        onChange={(next) => {
          setWhich(next);
          keep({ which: next });
        }}
        choices={[
          { value: 'all', title: t.newRestore.all, ...(whole === null ? {} : { detail: t.restores.documents(whole) }) },
          { value: 'some', title: t.newRestore.some, detail: t.newRestore.withSub },
          { value: 'docs', title: t.newRestore.docs, detail: t.newRestore.byPath },
        ]}
      />
      {which === 'some' && (
        <CollectionPicker
          tree={tree}
          chosen={chosen}
          onChange={(next) => {
            setChosen(next);
            keep({ chosen: next });
          }}
        />
      )}
      {which === 'docs' && (
        <div className="mt-4">
          <Field
            label={t.newRestore.documentsLabel}
            error={noPath === undefined ? undefined : t.newRestore.noPath(noPath)}
          >
            <TextArea
              rows={5}
              value={documents}
              placeholder="users/ada"
              onChange={(event) => {
                setDocuments(event.target.value);
                setNoPath(undefined);
                keep({ documents: event.target.value });
              }}
            />
          </Field>
          <Checkbox
            label={t.newRestore.below}
            checked={below}
            onChange={(event) => {
              setBelow(event.target.checked);
              keep({ below: event.target.checked });
            }}
            className="mt-3"
          />
        </div>
      )}
      <Continue
        onDone={go}
        disabled={
          (which === 'some' && (chosen.length === 0 || chosen.length > collectionsMax)) ||
          (which === 'docs' && documents.trim() === '')
        }
      />
    </div>
  );
}

export function WhereStep({ plan, words, onDone }: StepProps & { words: PlanWords }) {
  const [, setSearch] = useSearch();
  const projects = useAll('listProjects', {}).rows ?? [];
  return (
    <div className="max-w-xl">
      <Heading title={t.newRestore.questions.where} />
      <Field label={t.newRestore.target}>
        <SelectInput
          value={plan.targetProjectId ?? ''}
          onChange={(event) => setSearch({ target: event.target.value || undefined, step: 'where' }, { replace: true })}
        >
          <option value="">
            {t.newRestore.same}: {words.what}
          </option>
          {projects
            .filter(({ id }) => id !== words.sourceId)
            .map(({ id, name, sourceProjectId }) => (
              <option key={id} value={id}>
                {name} ({sourceProjectId})
              </option>
            ))}
        </SelectInput>
      </Field>
      <Continue onDone={() => onDone()} />
    </div>
  );
}

export function HowStep({ plan, onDone }: StepProps) {
  const { modes } = t.newRestore;
  // The checkbox reacts at once; the address follows.
  const [mode, setMode] = useState(plan.mode);
  const [extra, setExtra] = useState(plan.deleteExtra);
  const [safety, setSafety] = useState(plan.safety);
  const [, setSearch] = useSearch();
  const removesIn = (chosen: MergeMode) => plan.documents.length === 0 && !plan.isBasket && chosen === 'overwrite';
  const canRemove = removesIn(mode);
  const answerOf = (now: { mode: MergeMode; extra: boolean; safety: boolean }): Change => ({
    mode: now.mode === 'overwrite' ? undefined : now.mode,
    extra: now.extra && removesIn(now.mode) ? '1' : undefined,
    safety: now.safety ? undefined : 'off',
  });
  const keep = (change: Partial<Parameters<typeof answerOf>[0]>) =>
    void setSearch({ ...answerOf({ mode, extra, safety, ...change }), step: 'how' }, { replace: true });
  const go = () => onDone(answerOf({ mode, extra, safety }));
  return (
    <div className="max-w-xl">
      <Heading title={t.newRestore.questions.how} />
      <div className="flex flex-col gap-4">
        <ChoiceCards<MergeMode>
          label={t.newRestore.questions.how}
          name="mode"
          columns="grid-cols-1"
          value={mode}
          onChange={(next) => {
            setMode(next);
            keep({ mode: next });
          }}
          choices={(['overwrite', 'skip_existing', 'merge'] as const).map((value) => ({
            value,
            title: modes[value],
            detail: modes[`${value}Hint`],
          }))}
        />
        {canRemove && (
          <Checkbox
            label={t.newRestore.deleteExtra}
            hint={t.newRestore.deleteExtraHint[plan.collections.length > 0 ? 'some' : 'all']}
            checked={extra}
            onChange={(event) => {
              setExtra(event.target.checked);
              keep({ extra: event.target.checked });
            }}
          />
        )}
        <Checkbox
          label={t.newRestore.safety}
          hint={safety ? t.newRestore.safetyHint : t.newRestore.safetyOff}
          checked={safety}
          onChange={(event) => {
            setSafety(event.target.checked);
            keep({ safety: event.target.checked });
          }}
        />
      </div>
      <Continue onDone={go} />
    </div>
  );
}
