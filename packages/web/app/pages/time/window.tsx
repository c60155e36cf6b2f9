import { dayMs, type PitrWindow } from '@holdfast/contract';
import { useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Panel } from '../../components/panel.tsx';
import { Problem } from '../../components/states.tsx';
import { State } from '../../components/status.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { formatCount, formatDuration } from '../../format/numbers.ts';
import { formatDateTime } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { standsStillAt } from './reach.ts';
import { Disable, Enable } from './switch.tsx';

const tones = { starting: 'move', running: 'held', catching_up: 'risk', stopped: 'off', error: 'fail' } as const;

/** What can be reached, in a sentence; while that is not known or point in time is off, what the page is for. */
export function WindowSentence({ projectId, name }: { projectId: string; name: string }) {
  const { data } = useRead('getPitr', { params: { projectId } }, { everyMs: false });
  const now = useNow();
  const zone = useZone();
  return data && (data.enabled || data.coveredFrom !== null) ? sentenceOf(name, data, now, zone) : t.time.subtitle;
}

function sentenceOf(name: string, pitr: PitrWindow, now: number, zone: string): string {
  const days = pitr.retentionDays ?? 7;
  const isYoung = pitr.coveredFrom !== null && Date.parse(pitr.coveredFrom) > now - (days - 1) * dayMs;
  const until = standsStillAt(pitr, now);
  const gaps = pitr.gaps.length;
  if (pitr.coveredFrom === null) return t.time.offText;
  const from = formatDateTime(pitr.coveredFrom, zone);
  if (!pitr.enabled)
    return t.time.sentenceOff(name, from, formatDateTime(pitr.coveredTo ?? pitr.coveredFrom, zone), gaps);
  if (until !== undefined) return t.time.sentenceUntil(name, from, formatDateTime(until, zone), gaps);
  return isYoung ? t.time.sentenceSince(name, from, gaps) : t.time.sentence(name, days, gaps);
}

export function WindowFacts({ projectId, pitr }: { projectId: string; pitr: PitrWindow }) {
  const days = pitr.retentionDays ?? 7;
  const changes = pitr.changesPerHour.reduce((sum, { count }) => sum + count, 0);
  const canSwitch = useCan('member');
  return (
    <>
      <div className="flex flex-wrap items-start gap-x-10 gap-y-3">
        <dl className="flex flex-wrap gap-x-10 gap-y-3 text-table max-sm:grid max-sm:grid-cols-2 max-sm:gap-x-4">
          <Fact
            label={t.time.facts.capture}
            detail={pitr.lagSeconds === null ? '' : t.time.behind(behindWords(pitr.lagSeconds))}
          >
            <State tone={tones[pitr.status]}>{pitr.enabled ? t.time.status[pitr.status] : t.time.isOff}</State>
          </Fact>
          <Fact label={t.time.facts.reaches} detail={t.time.keptFor(days)}>
            <Time at={pitr.coveredFrom} />
          </Fact>
          <Fact label={t.time.facts.captured} detail={changes === 1 ? t.time.change : t.time.changes}>
            {formatCount(changes)}
          </Fact>
          {pitr.lastReconciledAt && (
            <Fact label={t.time.facts.reconciled} detail="">
              <Time at={pitr.lastReconciledAt} as="age" />
            </Fact>
          )}
        </dl>
        {canSwitch && (
          <div className="sm:ml-auto">
            {pitr.enabled ? <Disable projectId={projectId} /> : <Enable projectId={projectId} pitr={pitr} />}
          </div>
        )}
      </div>
      {pitr.error && (
        <Panel tone="fail" flush>
          <Problem error={pitr.error} />
        </Panel>
      )}
    </>
  );
}

const behindWords = (seconds: number) => (seconds < 60 ? `${seconds.toFixed(1)} s` : formatDuration(seconds * 1000));

function Fact({ label, detail, children }: { label: string; detail: string; children: React.ReactNode }) {
  return (
    <div>
      <dt className="text-meta text-ink3">{label}</dt>
      <dd className="font-medium">
        {children}
        <span className="block text-meta font-normal text-ink3">{detail}</span>
      </dd>
    </div>
  );
}
