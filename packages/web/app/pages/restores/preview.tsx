import { pathOf, type Restore } from '@holdfast/contract';
import { Check, CircleCheck, LoaderCircle, RotateCcw } from 'lucide-react';
import { useEffect, useId, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { useWorkplace, useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProgressBar } from '../../components/progress.tsx';
import { FormProblem, Problem } from '../../components/states.tsx';
import { formatAboutMoney, formatDuration } from '../../format/numbers.ts';
import { priceOf } from '../../format/prices.ts';
import { formatClock } from '../../format/times.ts';
import { useBasket } from '../../shell/basket.ts';
import { t } from '../../texts/index.ts';
import { useGo, usePaths } from '../../url.ts';
import { bodyOf, isSmall, type Plan } from './plan.ts';
import type { PlanWords } from './plan-words.ts';
import { PreviewCounts, totalOf } from './preview-counts.tsx';
import { Samples } from './samples.tsx';
import { Irreversible, isRunning } from './shared.tsx';
import { useRestoreProgress } from './use-restore-progress.ts';
import { areAllSampled, useSamples } from './use-samples.ts';
import { secondsOf, startPerSecond } from './write-duration.ts';

interface PreviewProps {
  plan: Plan;
  words: PlanWords;
  onBack: () => void;
}

/** The preview: a dry run that starts by itself and writes nothing. */
export function Preview({ plan, words, onBack }: PreviewProps) {
  const { basket, clear } = useBasket(useWorkplace().organization.id);
  const [dryRunId, setDryRunId] = useState<string>();
  const dryRun = useAct('startRestore', { onDone: (made) => setDryRunId(made.id) });
  const { mutate } = dryRun;
  const [round, setRound] = useState(0);
  /** The dry run that is shown. */
  const [tried, setTried] = useState(basket);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed plan makes a new preview; this one runs once per round
  useEffect(() => {
    setTried(basket);
    mutate({ body: bodyOf(plan, basket, true) });
  }, [round]);
  const job = useRead(
    'getRestore',
    { params: { restoreJobId: dryRunId ?? '' } },
    { enabled: dryRunId !== undefined, everyMs: 700 },
  );
  useRestoreProgress(job.data);
  const go = useGo();
  const paths = usePaths();
  const start = useAct('startRestore', {
    onDone: (made) => {
      if (plan.isBasket) clear();
      go(paths.restore(made.id));
    },
  });
  const again = () => {
    setDryRunId(undefined);
    setRound((last) => last + 1);
  };
  const isOutdated = plan.isBasket && basket !== tried && !start.isPending && !start.isSuccess;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each change of the basket
  useEffect(() => {
    if (isOutdated) again();
  }, [isOutdated]);
  if (dryRun.error) return <Failed error={dryRun.error} onBack={onBack} />;
  if (isOutdated || !job.data || isRunning(job.data)) return <Working job={job.data} error={job.error} />;
  if (job.data.status !== 'completed' || !job.data.preview) {
    return <Failed error={job.data.error ?? new Error(t.newRestore.previewFailed)} onBack={onBack} />;
  }
  return (
    <Shown
      plan={plan}
      words={words}
      job={job.data}
      onBack={onBack}
      onAgain={again}
      onGo={() => start.mutate({ body: bodyOf(plan, tried, false) })}
      isBusy={start.isPending}
      error={start.error}
      call={JSON.stringify(bodyOf(plan, tried, false), null, 2)}
    />
  );
}

interface WorkingProps {
  job: Restore | undefined;
  error: Parameters<typeof FormProblem>[0]['error'];
}

function Working({ job, error }: WorkingProps) {
  return (
    <div className="max-w-xl" role="status">
      <h2 className="mb-3 flex items-center gap-3 text-page font-semibold">
        <LoaderCircle size={20} aria-hidden className="turning text-move" /> {t.newRestore.previewing}
      </h2>
      <ProgressBar percent={job?.progress.percent ?? 0} label={t.newRestore.previewing} />
      <p className="mt-2 text-table text-ink2">{job && t.restore.phaseNames[job.phase]}</p>
      <FormProblem error={error} />
    </div>
  );
}

function Failed({ error, onBack }: { error: React.ComponentProps<typeof Problem>['error']; onBack: () => void }) {
  return (
    <Panel tone="fail" flush>
      <Problem error={error} action={<Button onClick={onBack}>{t.newRestore.back}</Button>} />
    </Panel>
  );
}

interface ShownProps extends PreviewProps {
  job: Restore;
  onAgain: () => void;
  onGo: () => void;
  isBusy: boolean;
  error: Parameters<typeof FormProblem>[0]['error'];
  call: string;
}

function Shown({ plan, words, job, onBack, onAgain, onGo, isBusy, error, call }: ShownProps) {
  const zone = useZone();
  const paths = usePaths();
  const { basket } = useBasket(useWorkplace().organization.id);
  const preview = job.preview;
  const samples = useSamples(plan, basket, job.targetProjectId, preview !== null);
  if (!preview) return null;
  const total = totalOf(preview);
  const spent = {
    reads: total + preview.skip,
    writes: preview.create + preview.replace + preview.merge,
    deletes: preview.delete,
  };
  const isExact = plan.deleteExtra && plan.mode === 'overwrite';
  const isSame = total > 0 && samples.data?.length === 0 && areAllSampled(plan, basket);
  const { exactly, comesBack, comesBackAlone, comesBackSame } = t.newRestore;
  const isAlone = plan.documents.length > 0 && !plan.below;
  const sentence = isSame ? comesBackSame : isExact ? exactly : (isAlone ? comesBackAlone : comesBack)[plan.mode];
  return (
    <div className="flex flex-col gap-5">
      <header className="flex flex-wrap items-center gap-x-3">
        <CircleCheck size={20} aria-hidden className="text-held" />
        <h2 className="text-page font-semibold">
          {total === 0 ? t.newRestore.previewNothing : t.newRestore.previewTitle}
        </h2>
        <span className="ml-auto text-meta text-ink3 max-md:order-last max-md:mt-1 max-md:ml-0 max-md:w-full">
          {job.completedAt && t.newRestore.finished(formatClock(job.completedAt, zone))}{' '}
          <button type="button" onClick={onAgain} className="touch font-medium text-held hover:underline">
            {t.newRestore.runAgain}
          </button>
        </span>
        {words.moment && (
          <p className="w-full break-words pl-8 text-ink2 max-md:pl-0">
            {sentence(
              words.which === t.newRestore.all ? t.restores.everything : words.which,
              words.target,
              words.moment,
            )}
          </p>
        )}
      </header>
      <PreviewCounts preview={preview} />
      <Samples
        found={samples}
        compareTo={plan.backupId && !plan.targetProjectId ? paths.compare(plan.backupId) : undefined}
      />
      {job.irreversibleReasons.length > 0 && (
        <Panel tone="risk" title={t.newRestore.irreversible}>
          <Irreversible of={job} />
        </Panel>
      )}
      <dl className="grid grid-cols-2 gap-4 text-table sm:grid-cols-3">
        <div>
          <dt className="text-meta text-ink3">{t.newRestore.takes}</dt>
          <dd>
            <b className="font-medium">
              {formatDuration(Math.max(1, secondsOf(spent.writes + spent.deletes, words.rampsUp)) * 1000)}
            </b>
            {words.rampsUp && <span className="block text-ink2">{t.newRestore.startsAt(startPerSecond)}</span>}
          </dd>
        </div>
        <div>
          <dt className="text-meta text-ink3">{t.newRestore.costs}</dt>
          <dd>
            <b className="font-medium">{formatAboutMoney(priceOf(spent))}</b>
            <span className="block text-ink2">{t.newRestore.spent(spent.reads, spent.writes, spent.deletes)}</span>
          </dd>
        </div>
        <div className="max-sm:col-span-2">
          <dt className="text-meta text-ink3">{t.newRestore.canUndo}</dt>
          <dd>
            <b className="font-medium">{plan.safety ? t.newRestore.canUndoYes : t.newRestore.canUndoNo}</b>
            <span className="block text-ink2">
              {plan.safety ? t.newRestore.canUndoHint(words.place) : t.newRestore.canUndoNoHint}
            </span>
          </dd>
        </div>
      </dl>
      <details>
        <summary className="text-table font-medium text-held">{t.newRestore.asCall}</summary>
        <div className="mt-2 flex items-start gap-2 rounded-control border border-line bg-bg p-3">
          <pre className="min-w-0 flex-1 overflow-x-auto font-mono text-meta">{`POST ${pathOf('startRestore')}\n${call}`}</pre>
          <CopyButton text={call} />
        </div>
      </details>
      <ConfirmBox
        plan={plan}
        words={words}
        total={total}
        removes={preview.delete}
        overwrites={preview.replace + preview.merge}
        onBack={onBack}
        onGo={onGo}
        isBusy={isBusy}
        error={error}
      />
    </div>
  );
}

interface ConfirmBoxProps extends PreviewProps {
  total: number;
  removes: number;
  overwrites: number;
  onGo: () => void;
  isBusy: boolean;
  error: ShownProps['error'];
}

/** Typed confirmation is needed when something is removed, when more than named documents is overwritten, or without undo. */
function ConfirmBox({ plan, words, total, removes, overwrites, onBack, onGo, isBusy, error }: ConfirmBoxProps) {
  const [typed, setTyped] = useState('');
  const id = useId();
  const needsTyping = removes > 0 || !plan.safety || (overwrites > 0 && !isSmall(plan));
  // The project id is not loaded yet.
  const isReady = !needsTyping || (words.targetSourceId !== '' && typed.trim() === words.targetSourceId);
  const [before, , after] = t.newRestore.typeToOverwrite(words.targetSourceId);
  const button = (
    <div className="ml-auto flex gap-2">
      <Button onClick={onBack}>{t.newRestore.back}</Button>
      <Button
        kind={needsTyping ? 'danger' : 'primary'}
        icon={RotateCcw}
        disabled={!isReady || total === 0}
        busy={isBusy}
        onClick={onGo}
      >
        {t.newRestore.go(total)}
      </Button>
    </div>
  );
  // Sticky, so that it stays in view while samples load above it; on a phone above the bottom bar.
  if (!needsTyping)
    return (
      <div className="sticky bottom-0 flex flex-wrap items-center gap-3 border-line border-t bg-surface py-3 max-md:bottom-[calc(56px+env(safe-area-inset-bottom))]">
        <FormProblem error={error} />
        {button}
      </div>
    );
  return (
    <div className="flex flex-wrap items-end gap-4 rounded-panel border border-fail px-5 py-4">
      <FormProblem error={error} />
      <div className="min-w-72">
        <label htmlFor={id} className="text-table font-medium">
          {before} <code className="rounded-tag bg-fail-weak px-1.5 font-mono">{words.targetSourceId}</code> {after}
        </label>
        <FormProblem error={words.error} />
        <p className="mb-2 text-table text-ink2">
          {removes > 0 ? t.newRestore.typeToRemove(removes) : t.newRestore.peopleSee(words.target)}
        </p>
        <span className="relative block">
          <input
            id={id}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            autoComplete="off"
            spellCheck={false}
            className="control w-full font-mono"
          />
          {isReady && <Check size={16} aria-hidden className="absolute top-2 right-2.5 text-held" />}
        </span>
      </div>
      {button}
    </div>
  );
}
