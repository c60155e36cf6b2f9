import type { Schedule } from '@holdfast/contract';
import { CalendarClock, CircleCheck, LifeBuoy, type LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { useAct, useAll, useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { useTakeKit } from '../../api/take-kit.ts';
import { Button, LinkButton, TextLink } from '../../components/button.tsx';
import { FormProblem } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { requestOf, usualDraft } from '../schedules/draft.ts';

/** After the first backup: take the recovery kit and add a schedule. */
export function AfterFirstBackup({ projectId, backupId }: { projectId: string; backupId: string }) {
  const paths = usePaths();
  const schedules = useAll('listSchedules', { query: { projectId } });
  const made = schedules.rows?.find(({ enabled }) => enabled);
  // Without a schedule the overview would only say "By hand only".
  const isNextMissing = schedules.rows !== undefined && made === undefined;
  return (
    <div className="flex flex-col gap-3">
      <TakeKit />
      {schedules.rows && <AddSchedule projectId={projectId} made={made} />}
      <div className="mt-2 flex flex-wrap gap-2">
        <LinkButton kind={isNextMissing ? 'secondary' : 'primary'} to={paths.overview}>
          {t.start.toOverview}
        </LinkButton>
        <LinkButton to={paths.browse(backupId)}>{t.start.lookInside}</LinkButton>
      </div>
    </div>
  );
}

function TakeKit() {
  const isOwner = useCan('owner');
  const organization = useRead('getOrganization', {});
  const take = useTakeKit();
  if (!isOwner || organization.data === undefined) return null;
  const isTaken = organization.data.recoveryKitTakenAt !== null;
  return (
    <Offer
      icon={LifeBuoy}
      isDone={isTaken}
      title={isTaken ? t.start.kitDone : t.start.kitTitle}
      text={isTaken ? t.start.kitDoneText : t.start.kitText}
    >
      {!isTaken && (
        <Button busy={take.isPending} onClick={() => take.mutate({})}>
          {t.start.kitTake}
        </Button>
      )}
      <FormProblem error={take.error} />
    </Offer>
  );
}

function AddSchedule({ projectId, made }: { projectId: string; made: Schedule | undefined }) {
  const zone = useZone();
  const paths = usePaths();
  const create = useAct('createSchedule');
  if (made)
    return (
      <Offer
        icon={CalendarClock}
        isDone
        title={t.start.scheduleDone(made.name)}
        text={<TextLink to={paths.schedule(made.id)}>{t.start.scheduleLook}</TextLink>}
      />
    );
  return (
    <Offer icon={CalendarClock} title={t.start.scheduleTitle} text={t.start.scheduleText(zone)}>
      <span className="flex flex-wrap items-center gap-3">
        <Button
          kind="primary"
          busy={create.isPending}
          onClick={() => create.mutate({ body: requestOf(usualDraft(projectId, zone)) })}
        >
          {t.start.scheduleAdd}
        </Button>
        <TextLink to={paths.newSchedule(projectId)}>{t.start.scheduleOther}</TextLink>
      </span>
      <FormProblem error={create.error} />
    </Offer>
  );
}

interface OfferProps {
  icon: LucideIcon;
  title: string;
  text: ReactNode;
  isDone?: boolean;
  children?: ReactNode;
}

function Offer({ icon, title, text, isDone = false, children }: OfferProps) {
  const Icon = isDone ? CircleCheck : icon;
  return (
    <section className="flex gap-3 rounded-panel border border-line px-4 py-3">
      <Icon size={18} aria-hidden className="mt-0.5 shrink-0 text-held" />
      <div className="flex min-w-0 flex-1 flex-col items-start gap-2">
        <div>
          <h3 className="font-semibold text-body">{title}</h3>
          <div className="text-ink2 text-table">{text}</div>
        </div>
        {children}
      </div>
    </section>
  );
}
