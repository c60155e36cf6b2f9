import type { Schedule } from '@holdfast/contract';
import { Check, Play, Power, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useAct, useAll, useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Draft as Form } from '../../components/draft.tsx';
import { Checkbox } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { MoreMenu } from '../../components/menu.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem, Problem } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { formatDateTime } from '../../format/times.ts';
import { PageFrame, PageSkeleton, ProblemPage } from '../../shell/page.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useGo, useParam, usePaths } from '../../url.ts';
import { changesOf, type Draft, draftOf, placedFaults } from './draft.ts';
import { Editor } from './editor.tsx';
import { NameInput } from './name-input.tsx';
import { RunState } from './run-state.tsx';
import { ScheduleFacts } from './schedule-facts.tsx';
import { ScheduleHead } from './schedule-head.tsx';
import { ObstaclePanel, ScheduleBadge } from './schedule-state.tsx';

export function Page() {
  const scheduleId = useParam('scheduleId');
  const schedule = useRead('getSchedule', { params: { scheduleId } });
  if (schedule.error && !schedule.data)
    return <ProblemPage error={schedule.error} onRetry={() => void schedule.refetch()} from="schedules" />;
  if (!schedule.data) return <PageSkeleton />;
  return (
    <Form key={scheduleId} version={schedule.data.updatedAt}>
      <Shown schedule={schedule.data} />
    </Form>
  );
}

function Shown({ schedule }: { schedule: Schedule }) {
  const [saved, setSaved] = useState<Draft>(() => draftOf(schedule));
  const [draft, setDraft] = useState<Draft>(saved);
  const paths = usePaths();
  const canEdit = useCan('member');
  const { question, keep } = useLeaveQuestion(draft);
  const save = useAct('updateSchedule');
  // Hides errors of fields that were edited since they were sent.
  const [sent, setSent] = useState<Draft>();
  const refusal = sent === draft ? save.error : null;
  const faults = fieldErrors(refusal, placedFaults);
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const params = { scheduleId: schedule.id };
  const submit = () => {
    setSent(draft);
    save.mutate(
      { params, body: changesOf(saved, draft) },
      {
        onSuccess: (answer) => {
          keep(draftOf(answer));
          setSaved(draftOf(answer));
          setDraft(draftOf(answer));
        },
      },
    );
  };
  return (
    <PageFrame
      title={schedule.name}
      titleInput={canEdit && <NameInput name={draft.name} onChange={(name) => set({ name })} />}
      crumbs={[{ label: t.schedules.title, to: paths.schedules }, { label: schedule.name }]}
      badge={<ScheduleBadge schedule={schedule} />}
      subtitle={<ScheduleHead schedule={schedule} />}
      actions={canEdit && <Actions schedule={schedule} onSave={submit} isSaving={save.isPending} />}
    >
      <ObstaclePanel schedule={schedule} />
      {refusal && Object.keys(faults).length === 0 && <FormProblem error={refusal} />}
      {canEdit ? (
        <Editor draft={draft} set={set} faults={faults} schedule={schedule} />
      ) : (
        <ScheduleFacts schedule={schedule} />
      )}
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Runs scheduleId={schedule.id} />
        <Retention scheduleId={schedule.id} />
      </div>
      {question}
    </PageFrame>
  );
}

function Actions({ schedule, onSave, isSaving }: { schedule: Schedule; onSave: () => void; isSaving: boolean }) {
  const params = { scheduleId: schedule.id };
  const [isAsking, setAsking] = useState(false);
  const [withBackups, setWithBackups] = useState(false);
  const go = useGo();
  const paths = usePaths();
  const run = useAct('runSchedule', { onDone: (backup) => go(paths.backup(backup.id)) });
  const toggle = useAct('updateSchedule');
  const canDeleteBackups = useCan('admin');
  const remove = useAct('deleteSchedule', { onDone: () => go(paths.schedules, { evenUnsaved: true }) });
  return (
    <>
      <FormProblem error={run.error ?? toggle.error} />
      <Button icon={Play} busy={run.isPending} onClick={() => run.mutate({ params })}>
        {t.schedules.runNow}
      </Button>
      <Button kind="primary" icon={Check} busy={isSaving} onClick={onSave}>
        {t.schedules.save}
      </Button>
      <MoreMenu
        label={t.common.moreActions}
        items={[
          {
            label: schedule.enabled ? t.schedules.turnOff : t.schedules.turnOn,
            icon: Power,
            onSelect: () => toggle.mutate({ params, body: { enabled: !schedule.enabled } }),
          },
          'line',
          { label: t.schedules.delete, icon: Trash2, danger: true, onSelect: () => setAsking(true) },
        ]}
      />
      {isAsking && (
        <Confirm
          title={t.schedules.deleteTitle(schedule.name)}
          action={withBackups ? t.schedules.deleteWithBackups : t.schedules.delete}
          danger
          {...(withBackups ? { typed: schedule.name } : {})}
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setAsking(false)}
          onConfirm={() => remove.mutate({ params, query: withBackups ? { deleteBackups: true } : {} })}
        >
          <p>{t.schedules.deleteText}</p>
          <Checkbox
            label={t.schedules.deleteBackups}
            {...(canDeleteBackups ? {} : { disabled: true, hint: t.schedules.deleteBackupsNeedsAdmin })}
            checked={withBackups}
            onChange={(event) => setWithBackups(event.target.checked)}
          />
        </Confirm>
      )}
    </>
  );
}

function Runs({ scheduleId }: { scheduleId: string }) {
  const runs = useAll('listScheduleRuns', { params: { scheduleId }, query: { limit: 30 } });
  const paths = usePaths();
  return (
    <Panel title={t.schedules.runs} flush>
      {runs.error && <Problem error={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.rows?.length === 0 && <p className="px-4 py-3 text-table text-ink2">{t.schedules.noRuns}</p>}
      <ul>
        {runs.rows?.map((run) => (
          <li
            key={run.id}
            className="flex flex-wrap items-center gap-x-4 border-line border-b px-4 py-2 text-table last:border-b-0"
          >
            <RunState status={run.status} />
            {run.backupId ? (
              <TextLink to={paths.backup(run.backupId)}>
                <Time at={run.dueAt} as="due" />
              </TextLink>
            ) : (
              <Time at={run.dueAt} as="due" />
            )}
            {run.reason && (
              <span className="min-w-48 flex-1 truncate text-ink2" title={run.reason}>
                {run.reason}
              </span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Retention({ scheduleId }: { scheduleId: string }) {
  const preview = useAll('previewRetention', { params: { scheduleId } }, { everyMs: false });
  const zone = useZone();
  const paths = usePaths();
  if (preview.rows?.length === 0 || (!preview.rows && !preview.error)) return null;
  return (
    <Panel title={t.schedules.retention} flush>
      {preview.error && <Problem error={preview.error} onRetry={() => void preview.refetch()} />}
      <ul>
        {preview.rows?.map((entry) => (
          <li
            key={entry.backupId}
            className="flex flex-wrap items-center gap-x-4 border-line border-b px-4 py-2 text-table last:border-b-0"
          >
            <TextLink to={paths.backup(entry.backupId)}>
              <Time at={entry.countsFrom} as="near" />
            </TextLink>
            {entry.type === 'synthetic' && (
              <span className="text-ink3">{t.schedules.mergedOn(formatDateTime(entry.completedAt, zone))}</span>
            )}
            <span className="text-ink2">
              {entry.keptBy.map(({ rule }) => t.schedules.keepers[rule] ?? rule).join(', ')}
            </span>
            {entry.removedAt && (
              <span className="ml-auto text-ink3">{t.schedules.goes(formatDateTime(entry.removedAt, zone))}</span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
