import { plans } from '@holdfast/contract';
import { useAct, useRead } from '../../api/calls.ts';
import { Field, SelectInput } from '../../components/field.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem, Problem, Skeleton } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';

export function Subscription() {
  const subscription = useRead('getSubscription', {});
  const change = useAct('updateSubscription');
  const words = t.settings.plan;
  if (subscription.error && !subscription.data)
    return <Problem error={subscription.error} onRetry={() => void subscription.refetch()} />;
  if (!subscription.data) return <Skeleton rows={2} />;
  return (
    <Panel title={words.title}>
      <div className="grid max-w-xl gap-4 sm:grid-cols-2">
        <Field label={words.plan}>
          <SelectInput
            value={subscription.data.plan}
            onChange={(event) => change.mutate({ body: { plan: event.target.value as (typeof plans)[number] } })}
          >
            {plans.map((plan) => (
              <option key={plan} value={plan}>
                {words.plans[plan]}
              </option>
            ))}
          </SelectInput>
        </Field>
        <Field label={words.cycle}>
          <SelectInput
            value={subscription.data.billingCycle}
            onChange={(event) => change.mutate({ body: { billingCycle: event.target.value as 'monthly' | 'yearly' } })}
          >
            <option value="monthly">{words.cycles.monthly}</option>
            <option value="yearly">{words.cycles.yearly}</option>
          </SelectInput>
        </Field>
        <FormProblem error={change.error} />
      </div>
    </Panel>
  );
}
