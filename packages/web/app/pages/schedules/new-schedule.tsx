import { CalendarClock, Check } from 'lucide-react';
import { useState } from 'react';
import { useAct, useAll } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Box } from '../../components/list.tsx';
import { FormProblem, NoPermission } from '../../components/states.tsx';
import { formatHour, formatNearDay } from '../../format/times.ts';
import { PageFrame, PageSkeleton, ProblemPage } from '../../shell/page.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useGo, usePaths, useSearch } from '../../url.ts';
import { NoProject } from '../projects/no-project.tsx';
import { type Draft, placedFaults, requestOf, usualDraft } from './draft.ts';
import { Editor } from './editor.tsx';
import { NameInput } from './name-input.tsx';
import { useNextRuns } from './use-next-runs.ts';

export function Page() {
  const projects = useAll('listProjects', {});
  const [search] = useSearch();
  const paths = usePaths();
  const crumbs = [{ label: t.schedules.title, to: paths.schedules }, { label: t.schedules.newTitle }];
  if (!useCan('member'))
    return (
      <PageFrame title={t.schedules.newTitle} crumbs={crumbs}>
        <Box>
          <NoPermission title={t.common.onlyReads}>{t.common.whoMay}</NoPermission>
        </Box>
      </PageFrame>
    );
  if (!projects.rows && projects.error)
    return <ProblemPage error={projects.error} onRetry={() => void projects.refetch()} from="schedules" />;
  if (!projects.rows) return <PageSkeleton />;
  if (projects.rows.length === 0)
    return (
      <PageFrame title={t.schedules.newTitle} crumbs={crumbs}>
        <Box>
          <NoProject icon={CalendarClock}>{t.schedules.emptyText}</NoProject>
        </Box>
      </PageFrame>
    );
  return <Form projectId={search.project ?? projects.rows[0]?.id ?? ''} />;
}

function Form({ projectId }: { projectId: string }) {
  const zone = useZone();
  const [draft, setDraft] = useState<Draft>(() => usualDraft(projectId, zone));
  const paths = usePaths();
  const go = useGo();
  const { question } = useLeaveQuestion(draft);
  const create = useAct('createSchedule', { onDone: (made) => go(paths.schedule(made.id), { evenUnsaved: true }) });
  const first = useNextRuns(draft).preview.data?.runs[0];
  // Hides errors of fields that were edited since they were sent.
  const [sent, setSent] = useState<Draft>();
  const refusal = sent === draft ? create.error : null;
  const faults = fieldErrors(refusal, placedFaults);
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  return (
    <PageFrame
      title={draft.name || t.schedules.newTitle}
      titleInput={<NameInput name={draft.name} onChange={(name) => set({ name })} />}
      crumbs={[{ label: t.schedules.title, to: paths.schedules }, { label: t.schedules.newTitle }]}
      subtitle={first && t.schedules.startsWith(nearDay(first, draft.timezone), formatHour(first, draft.timezone))}
      actions={
        <>
          <LinkButton to={paths.schedules}>{t.common.cancel}</LinkButton>
          <Button
            kind="primary"
            icon={Check}
            busy={create.isPending}
            disabled={draft.projectId === ''}
            onClick={() => {
              setSent(draft);
              create.mutate({ body: requestOf(draft) });
            }}
          >
            {t.schedules.save}
          </Button>
        </>
      }
    >
      {refusal && Object.keys(faults).length === 0 && <FormProblem error={refusal} />}
      <Editor draft={draft} set={set} faults={faults} />
      {question}
    </PageFrame>
  );
}

/** Lower case within a sentence: tomorrow, not Tomorrow. */
const nearDay = (run: string, zone: string) => formatNearDay(run, zone).replace(/^To/, 'to');
