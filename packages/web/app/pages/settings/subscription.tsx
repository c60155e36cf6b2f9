import { plans } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Field, SelectInput } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem, Problem, Skeleton } from '../../components/states.tsx';
import { differing } from '../../format/differing.ts';
import { t } from '../../texts/index.ts';

type Plan = (typeof plans)[number];
type Cycle = 'monthly' | 'yearly';

/** A plan is changed when somebody says so: a lower one takes things away. */
export function Subscription() {
  const subscription = useRead('getSubscription', {});
  const change = useAct('updateSubscription');
  const words = t.settings.plan;
  const [chosen, setChosen] = useState<{ plan?: Plan; billingCycle?: Cycle }>({});
  const { question } = useLeaveQuestion(differing<typeof chosen>(chosen, subscription.data ?? {}));
  if (subscription.error && !subscription.data)
    return <Problem error={subscription.error} onRetry={() => void subscription.refetch()} />;
  if (!subscription.data) return <Skeleton rows={2} />;
  const { plan, billingCycle } = { ...subscription.data, ...chosen };
  const isLower = plans.indexOf(plan) < plans.indexOf(subscription.data.plan);
  const isChanged = plan !== subscription.data.plan || billingCycle !== subscription.data.billingCycle;
  const save = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ body: { plan, billingCycle } }, { onSuccess: () => setChosen({}) });
  };
  return (
    <Panel title={words.title}>
      {question}
      <form onSubmit={save} className="grid max-w-xl gap-4 sm:grid-cols-2">
        <Field label={words.plan}>
          <SelectInput value={plan} onChange={(event) => setChosen({ ...chosen, plan: event.target.value as Plan })}>
            {plans.map((one) => (
              <option key={one} value={one}>
                {words.plans[one]}
              </option>
            ))}
          </SelectInput>
        </Field>
        <Field label={words.cycle}>
          <SelectInput
            value={billingCycle}
            onChange={(event) => setChosen({ ...chosen, billingCycle: event.target.value as Cycle })}
          >
            <option value="monthly">{words.cycles.monthly}</option>
            <option value="yearly">{words.cycles.yearly}</option>
          </SelectInput>
        </Field>
        {isLower && <p className="text-risk text-table sm:col-span-2">{words.lower}</p>}
        <div className="flex flex-col items-start gap-3 sm:col-span-2">
          <FormProblem error={change.error} />
          <Button kind="primary" type="submit" busy={change.isPending} disabled={!isChanged}>
            {t.common.save}
          </Button>
        </div>
      </form>
    </Panel>
  );
}
