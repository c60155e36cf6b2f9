import type { PitrWindow } from '@holdfast/contract';
import { useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Line } from '../../components/line/line.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem, Problem } from '../../components/states.tsx';
import { State } from '../../components/status.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';

const tones = { starting: 'move', running: 'held', catching_up: 'risk', stopped: 'off', error: 'fail' } as const;

export function WindowFacts({ projectId, name, pitr }: { projectId: string; name: string; pitr: PitrWindow }) {
  const now = useNow();
  const days = pitr.retentionDays ?? 7;
  const changes = pitr.changesPerHour.reduce((sum, { count }) => sum + count, 0);
  const canSwitch = useCan('member');
  const bands =
    pitr.coveredFrom && pitr.coveredTo
      ? [{ kind: 'any' as const, fromMs: Date.parse(pitr.coveredFrom), toMs: Date.parse(pitr.coveredTo) }]
      : [];
  const gaps = pitr.gaps.map((gap) => ({
    kind: 'gap' as const,
    fromMs: Date.parse(gap.from),
    toMs: Date.parse(gap.to),
  }));
  return (
    <>
      <p className="text-ink2">{t.time.sentence(name, days, pitr.gaps.length)}</p>
      <dl className="flex flex-wrap gap-x-10 gap-y-3 text-table">
        <Fact
          label={t.time.facts.capture}
          detail={pitr.lagSeconds === null ? '' : t.time.behind(pitr.lagSeconds.toFixed(1))}
        >
          <State tone={tones[pitr.status]}>{t.time.status[pitr.status]}</State>
        </Fact>
        <Fact label={t.time.facts.reaches} detail={t.time.keptFor(days)}>
          <Time at={pitr.coveredFrom} />
        </Fact>
        <Fact label={t.time.facts.captured} detail={t.time.changes}>
          {formatCount(changes)}
        </Fact>
        {pitr.lastReconciledAt && (
          <Fact label={t.time.facts.reconciled} detail="">
            <Time at={pitr.lastReconciledAt} as="age" />
          </Fact>
        )}
        {canSwitch && <Disable projectId={projectId} />}
      </dl>
      {pitr.error && (
        <Panel tone="fail" flush>
          <Problem error={pitr.error} />
        </Panel>
      )}
      <Panel title={t.time.hoursTitle}>
        <Hours pitr={pitr} />
        <Line
          label={t.time.sentence(name, days, pitr.gaps.length)}
          days={days}
          nowMs={now}
          points={[]}
          bands={[...bands, ...gaps]}
        />
      </Panel>
    </>
  );
}

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

function Hours({ pitr }: { pitr: PitrWindow }) {
  const hours = pitr.changesPerHour.slice(-7 * 24);
  const peak = Math.max(1, ...hours.map(({ count }) => count));
  if (hours.length === 0) return null;
  return (
    <svg
      role="img"
      aria-label={t.time.hoursLabel(formatCount(peak))}
      viewBox={`0 0 ${hours.length * 4} 60`}
      preserveAspectRatio="none"
      className="h-16 w-full"
    >
      {hours.map(({ hour, count }, index) => (
        <rect
          key={hour}
          x={index * 4 + 0.5}
          width="3"
          y={60 - (count / peak) * 56}
          height={(count / peak) * 56}
          className="fill-control"
        />
      ))}
    </svg>
  );
}

function Disable({ projectId }: { projectId: string }) {
  const [isAsking, setAsking] = useState(false);
  const disable = useAct('disablePitr', { onDone: () => setAsking(false) });
  return (
    <div className="ml-auto">
      <Button onClick={() => setAsking(true)}>{t.time.disable}</Button>
      {isAsking && (
        <Confirm
          title={t.time.disableTitle}
          action={t.time.disable}
          danger
          busy={disable.isPending}
          error={disable.error}
          onClose={() => setAsking(false)}
          onConfirm={() => disable.mutate({ params: { projectId } })}
        >
          <p>{t.time.disableText}</p>
        </Confirm>
      )}
    </div>
  );
}

export function EnablePanel({ projectId }: { projectId: string }) {
  const enable = useAct('enablePitr');
  return (
    <>
      <Button kind="primary" busy={enable.isPending} onClick={() => enable.mutate({ params: { projectId } })}>
        {t.time.enable}
      </Button>
      <FormProblem error={enable.error} />
    </>
  );
}
