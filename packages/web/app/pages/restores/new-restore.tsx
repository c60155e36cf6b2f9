import { Undo2 } from 'lucide-react';
import type { ReactNode } from 'react';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { NoPermission, Pending } from '../../components/states.tsx';
import { Step } from '../../components/steps.tsx';
import { useBasket } from '../../shell/basket.ts';
import { PageHeading } from '../../shell/page-heading.tsx';
import { usePageTitle } from '../../shell/page-title.tsx';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';
import { type Change, HowStep, WhatStep, WhereStep, WhichStep } from './answers.tsx';
import { isComplete, isSmall, type Plan, planOf } from './plan.ts';
import { type PlanWords, usePlanWords } from './plan-words.ts';
import { Preview } from './preview.tsx';

export type StepId = 'what' | 'which' | 'where' | 'how' | 'confirm';

export function Page() {
  const [search, setSearch] = useSearch();
  const plan = planOf(search);
  const { basket } = useBasket(useWorkplace().organization.id);
  const words = usePlanWords(plan);
  const paths = usePaths();
  const ready = isComplete(plan, basket);
  const step = stepOf(search.step, plan, ready);
  const goTo = (next: StepId) => (change?: Change) => setSearch({ ...change, step: next });
  const canRestore = useCan('member');
  usePageTitle([{ label: t.restores.title, to: paths.restores }, { label: t.newRestore.title }]);
  if (!canRestore)
    return (
      <>
        <PageHeading className="sr-only">{t.newRestore.title}</PageHeading>
        <NoPermission title={t.common.onlyReads}>{t.common.whoMay}</NoPermission>
      </>
    );
  return (
    <div className="grid flex-1 lg:grid-cols-[282px_1fr]">
      <Rail plan={plan} words={words} step={step} onStep={(next) => goTo(next)()} isReady={ready} />
      <div className="min-w-0 px-9 py-6 max-md:px-4">
        {step === 'what' && <WhatStep plan={plan} onDone={goTo('which')} />}
        {step === 'which' && <WhichStep plan={plan} onDone={goTo('where')} />}
        {step === 'where' && <WhereStep plan={plan} words={words} onDone={goTo('how')} />}
        {step === 'how' && <HowStep plan={plan} onDone={goTo('confirm')} />}
        {step === 'confirm' && ready && (
          <Preview key={JSON.stringify(search)} plan={plan} words={words} onBack={() => goTo('how')()} />
        )}
      </div>
    </div>
  );
}

/** Back and a shared address lead to the question that was open; an answer that is missing is asked for first. */
function stepOf(named: string | undefined, plan: Plan, isReady: boolean): StepId {
  if (!isReady) return 'what';
  const open = order.find((id) => id === named);
  return open ?? (isSmall(plan) ? 'confirm' : plan.collections.length > 0 ? 'how' : 'which');
}

interface RailProps {
  plan: Plan;
  words: PlanWords;
  step: StepId;
  onStep: (step: StepId) => void;
  isReady: boolean;
}

const order: readonly StepId[] = ['what', 'which', 'where', 'how', 'confirm'];

function Rail({ plan, words, step, onStep, isReady }: RailProps) {
  const answers: Record<StepId, ReactNode> = {
    what: (
      <>
        {words.what === '' && words.error ? (
          <span className="text-fail">{t.newRestore.notRead}</span>
        ) : (
          <b className="font-medium">{words.what || (words.isKnown ? '' : <Pending />)}</b>
        )}
        {words.moment && <span className="block text-ink2">{words.moment}</span>}
        {words.momentUtc && <span className="block text-meta text-ink3">{words.momentUtc}</span>}
        {words.takenFrom && <span className="block text-meta text-ink3">{words.takenFrom}</span>}
      </>
    ),
    which: (
      <b className="line-clamp-6 break-all font-medium" title={words.which}>
        {words.which}
      </b>
    ),
    where: (
      <>
        <b className="font-medium">{plan.targetProjectId ? words.target : t.newRestore.same}</b>
        <code className="block font-mono text-meta text-ink2">{words.targetSourceId}</code>
      </>
    ),
    how: (
      <>
        <b className="font-medium">{t.newRestore.modes[plan.mode]}</b>
        {plan.deleteExtra && <span className="block text-ink2">{t.restore.removing}</span>}
      </>
    ),
    confirm: null,
  };
  const at = order.indexOf(step);
  return (
    <aside className="flex flex-col border-line border-r bg-bg px-5 py-6 max-lg:order-last max-lg:border-t max-lg:border-r-0">
      <PageHeading className="text-page font-semibold">{t.newRestore.heading}</PageHeading>
      <p className="mb-5 text-table text-ink2">{t.newRestore.intro}</p>
      <ol>
        {order.map((id, index) => {
          const isDone = isReady && index < at;
          return (
            <Step
              key={id}
              number={index + 1}
              isLast={index === order.length - 1}
              state={id === step ? 'current' : isDone || (isReady && index < 4) ? 'done' : 'todo'}
              className="pb-5"
            >
              <div className="flex items-baseline justify-between gap-2 text-table">
                <span className={id === step ? 'font-semibold' : 'text-ink2'}>{t.newRestore.steps[id]}</span>
                {id !== step && (isReady || index < at) && (
                  <button
                    type="button"
                    onClick={() => onStep(id)}
                    className="touch shrink-0 font-medium text-held hover:underline"
                    aria-label={`${id === 'confirm' ? t.newRestore.continue : t.common.change}: ${t.newRestore.steps[id]}`}
                  >
                    {id === 'confirm' ? t.newRestore.continue : t.common.change}
                  </button>
                )}
              </div>
              {id !== step && (isReady || isDone) && <div className="text-table">{answers[id]}</div>}
            </Step>
          );
        })}
      </ol>
      <div className="mt-auto border-line border-t pt-4 text-table">
        <p className="flex items-center gap-2 text-ink2">
          <Undo2 size={14} aria-hidden /> {t.newRestore.safetyBackup}
        </p>
        <p className={plan.safety ? '' : 'text-fail'}>{plan.safety ? t.newRestore.safetyOn : t.newRestore.safetyOff}</p>
      </div>
    </aside>
  );
}
